"""Send rows through the shuffle and put them back in input order."""
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mr_elm.features.landmarks import rows_from_arrays, rows_to_arrays
from mr_elm.io.blocks import stack

RECORD_BYTES = 8 << 20  # of float64, so that a record stays under 16 MB as text


@dataclass(frozen=True)
class Rows:
    """Hold rows that travel.

    places : (n, 3) int, where each row stands: file number, split start, ordinal. They sort in input order.
    numbers : (n,) float64, class numbers. weights : (n,) float64.
    X : (n, d) dense or CSR.
    """

    places: np.ndarray
    numbers: np.ndarray
    weights: np.ndarray
    X: np.ndarray | sp.csr_matrix

    def __len__(self):
        return len(self.numbers)

    def take(self, rows):
        """Return some of the rows."""
        return Rows(self.places[rows], self.numbers[rows], self.weights[rows], self.X[rows])

    def pieces(self):
        """Yield (list of arrays small enough for a record, slice of the rows in it)."""
        size = 16 * self.X.nnz if sp.issparse(self.X) else 8 * self.X.size
        step = max(1, len(self) * RECORD_BYTES // max(size + 48 * len(self), 1))
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            rows = self.take(part)
            yield [rows.places, rows.numbers, rows.weights, *rows_to_arrays(rows.X)], part


def rows_of(block, place, numbers, weights):
    """Make the Rows of a block whose first row stands at `place`."""
    places = np.tile(np.array(place), (len(block), 1))
    places[:, 2] += np.arange(len(block))
    return Rows(places, numbers.astype(float), weights, block.X)


def rows_from_piece(piece):
    """Read one list of arrays of `Rows.pieces`."""
    return Rows(piece[0].astype(int), piece[1], piece[2], rows_from_arrays(piece[3:]))


def join(parts):
    """Put Rows together as they come."""
    return Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in ('places', 'numbers', 'weights')),
                stack([part.X for part in parts]))


def gather(pieces):
    """Join pieces to Rows in input order, so that the order in which they arrive does not show."""
    parts = sorted(map(rows_from_piece, pieces), key=lambda part: part.places[0].tolist())
    rows = join(parts)
    order = np.lexsort(rows.places.T[::-1])
    return rows if (order[:-1] < order[1:]).all() else rows.take(order)
