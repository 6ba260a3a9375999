"""Hold the rows of an encoded table in few bytes: numbers, and the positions of the features that are 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import one_line
from mr_elm.typing import Floats, Rows

DENSE_FEATURES = 256  # features, up to which rows are spread to a dense matrix: 4,096 rows take 8 MB
DENSE_SHARE = 0.2  # of the features of a row are not 0: rows fuller than this are dense


@dataclass(frozen=True)
class EncodedRows:
    """Hold n rows of d features, most of which are 0.

    numbers : (n, k) float64, the features `columns`. ones : (n, c) integers, positions of features that are 1, each of
    another column of the table; -1 where a row has none. Features that are in neither are 0.
    """

    numbers: Floats
    columns: tuple[int, ...]
    ones: np.ndarray
    width: int
    __repr__ = one_line

    @property
    def shape(self) -> tuple[int, int]:
        """Return (rows, features)."""
        return len(self.numbers), self.width

    def __getitem__(self, rows: Any) -> EncodedRows:
        return EncodedRows(self.numbers[rows], self.columns, self.ones[rows], self.width)

    def spread(self) -> Rows:
        """Return the rows as a matrix, (n, d), dense or CSR."""
        if is_sparse(self.width, len(self.columns) + self.ones.shape[1]):
            return self.to_csr()
        X = np.zeros(self.shape)
        X[:, self.columns] = self.numbers
        rows, groups = np.nonzero(self.ones >= 0)
        X[rows, self.ones[rows, groups]] = 1.0
        return X

    def to_csr(self) -> Any:
        """Return the rows as a CSR matrix."""
        n, c = self.ones.shape
        values = np.hstack([self.numbers, np.ones((n, c))])
        positions = np.hstack([np.tile(np.array(self.columns, np.int32), (n, 1)), self.ones.astype(np.int32)])
        order = np.argsort(positions, axis=1, kind='stable')
        positions, values = (np.take_along_axis(part, order, axis=1) for part in (positions, values))
        filled = (positions >= 0) & (values != 0)
        ends = np.append(0, np.cumsum(filled.sum(axis=1)))
        return sp.csr_matrix((values[filled], positions[filled], ends), shape=self.shape)


def is_sparse(width: int, n_slots: int) -> bool:
    """Tell whether rows are CSR: they are wide, and few of their features, at most n_slots of a row, are not 0."""
    return width > DENSE_FEATURES and n_slots < DENSE_SHARE * width


def spread(X: Any) -> Any:
    """Return rows as a matrix where they are `EncodedRows`; all other rows are returned as they are."""
    if isinstance(X, EncodedRows):
        return X.spread()
    return X


def stack_encoded(parts: Sequence[EncodedRows]) -> EncodedRows:
    """Put rows of the same features on top of each other."""
    return EncodedRows(
        np.concatenate([part.numbers for part in parts]),
        parts[0].columns,
        np.concatenate([part.ones for part in parts]),
        parts[0].width,
    )
