"""Scale the rows of a data set and hand them to the driver."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key
from mr_elm.streaming.problem_stage import ProblemStage


class MRPlace(ProblemStage):
    """Scale the rows: z = (x - offset) * scale. There are no reducers.

    Input:  <split, rows>, text or packed
    Output: <rows FILE START FIRST, [places, numbers, weights, Z]>
                n rows from row FIRST of the split on: places (n, 3) holds FILE,
                START and ROW of each row; numbers (n,) its class number, or its
                target; weights (n,) its weight times that of its class; Z (n, d)
                the scaled features. Sparse rows have data, indices, indptr and
                shape of a CSR matrix instead of Z

    Map:    scale the rows of the sample in each block; the sample is all rows,
            unless --problem has a smaller share of them.
    """

    MAP_ONLY = True

    def map_block(self, block: Block, row_key: Sequence[int]) -> Iterator[tuple[str, object]]:
        """Scale a block."""
        rows = self.gather_sample(block, row_key)
        for piece, part in replace(rows, X=self.problem.scale(rows.X)).cut():
            yield make_key('rows', *row_key[:2], row_key[2] + part.start), piece


if __name__ == '__main__':
    MRPlace.run()
