"""Scale the rows of a data set and hand them to the driver."""
from mrjob.step import MRStep

from mr_elm.features.scaling import scale_rows
from mr_elm.io.wire import make_key
from mr_elm.machines.gathering import Rows
from mr_elm.streaming.mr_problem import MRProblem


class MRPlace(MRProblem):
    """Scale the rows: z = (x - offset) * scale. There is no reduce step.

    Input:  <split, rows>, text or packed
    Output: <rows FILE START FIRST, [places, numbers, weights, Z]>
                n rows from row FIRST of the split on: places (n, 3) holds FILE,
                START and ROW of each row; numbers (n,) its class number, or its
                target; weights (n,) its weight times that of its class; Z (n, d)
                the scaled features. Sparse rows have data, indices, indptr and
                shape of a CSR matrix instead of Z

    Map:    scale each block.
    """

    def steps(self):
        """Map."""
        return [MRStep(mapper=self.mapper)]

    def placed(self, block, place):
        """Return the Rows of a block, scaled."""
        rows = self.rows_of(block, place)
        arrays = self.problem.arrays
        X = scale_rows(rows.X, arrays['feature_offset'], arrays['feature_scale'])
        return Rows(rows.places, rows.numbers, rows.weights, X)

    def map_block(self, block, place):
        """Scale a block."""
        for piece, part in self.placed(block, place).pieces():
            yield make_key('rows', *place[:2], place[2] + part.start), piece


if __name__ == '__main__':
    MRPlace.run()
