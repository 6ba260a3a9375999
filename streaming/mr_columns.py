"""Turn rows into columns, the input of Algorithm 1 of Zhao et al., 2015."""

from collections.abc import Iterator

from mr_elm import sparse as sp
from mr_elm.machines.gathering import GatheredRows
from mr_elm.machines.kernel import ColumnsTask
from mr_elm.rows.wire import make_key
from mr_elm.rows.wire_rows import BLOCK
from mr_elm.streaming.problem_stage import ProblemStage


class MRColumns(ProblemStage):
    """Turn the scaled rows into columns, the input of mr_kernel.

    Input:  <split, rows>, text or packed
    Output: <block COLUMN, [X]>
                X are the columns COLUMN, COLUMN + 1, ... of the scaled data, a row
                each: N numbers, in the order of the input rows

    Map:    scale each block, cut it into groups of columns.
    Reduce: put the rows of a group in input order, and transpose them.

    A reduce task holds one group at a time. How many columns make a group stands
    in --problem.
    Source: Zhao et al., Kernelized extreme learning machine in distributed
    environment, 2015, section 2.1, which begins with data stored by columns.
    """

    TASK = ColumnsTask

    def solve(self, rows: GatheredRows, *key: int) -> Iterator[tuple[str, object]]:
        """Write the columns of a group."""
        if sp.issparse(rows.X):
            X = rows.X.toarray()
        else:
            X = rows.X
        yield make_key(BLOCK, *key), [X.T]


if __name__ == '__main__':
    MRColumns.run()
