"""Turn rows into columns, the input of Zhao et al., 2015: <colID, column>, one feature a record, or some."""
import numpy as np

from mr_elm.io.wire import make_key, split_key
from mr_elm.streaming.mr_place import MRPlace


class MRColumns(MRPlace):
    """Map: `columns FIRST`, some scaled columns of a block of rows. Reduce: join them in input order; emit
    `columns FIRST`, an array (columns, N).

    Source: Zhao et al., Kernelized extreme learning machine in distributed environment, 2015, section 2.1; several
    columns a record are ours.
    """

    def configure_args(self):
        """Add how many columns a record holds."""
        super().configure_args()
        self.add_passthru_arg('--columns', type=int, default=1, help='columns a record')

    def steps(self):
        """Map and reduce."""
        return super(MRPlace, self).steps()

    def map_block(self, block, place):
        """Cut a block into groups of columns."""
        X = self.placed(block, place).X
        X = X.toarray() if hasattr(X, 'toarray') else X
        for first in range(0, X.shape[1], self.options.columns):
            yield make_key('columns', first), [np.array(place), X[:, first:first + self.options.columns].T]

    def reducer(self, key, values):
        """Join the pieces of some columns; pass on what else there is."""
        if split_key(key)[0] != 'columns':
            yield from super().reducer(key, values)
            return
        pieces = sorted(values, key=lambda piece: piece[0].tolist())
        yield key, [np.concatenate([columns for _, columns in pieces], axis=1)]


if __name__ == '__main__':
    MRColumns.run()
