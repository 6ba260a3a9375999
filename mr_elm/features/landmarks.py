"""Choose rows by a keyed hash, so that the choice depends on the rows and the seed alone; find them again."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from mr_elm import linalg
from mr_elm import sparse as sp
from mr_elm.errors import DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.rows.blocks import BLOCK_ROWS, stack
from mr_elm.rows.wire import demand_arrays
from mr_elm.typing import Floats, Rows

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def scramble(x: np.ndarray) -> np.ndarray:
    """Scramble 64-bit integers. Source: Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def hash_rows(X: Rows, seed: int) -> np.ndarray:
    """Hash each row with a key: (n,) uint64. Equal rows, dense or sparse, have equal hashes; zeros do not count."""
    key = scramble(np.array([seed], np.uint64) * GOLDEN + GOLDEN)
    step = BLOCK_ROWS
    hash_some = hash_sparse
    if not sp.issparse(X):
        positions = scramble(np.arange(X.shape[1], dtype=np.uint64) * GOLDEN + key)
        step = max(1, (1 << 14) // max(X.shape[1], 1))  # rows whose numbers stay in a core's cache
        hash_some = partial(hash_dense, positions)
    parts = [hash_some(key, X[start : start + step]) for start in range(0, X.shape[0], step)]
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def hash_sparse(key: np.ndarray, X: Any) -> np.ndarray:
    """Hash some sparse rows; see `hash_rows`."""
    position = scramble(X.indices.astype(np.uint64) * GOLDEN + key)
    terms = scramble(np.ascontiguousarray(X.data, dtype=np.float64).view(np.uint64) ^ position)
    terms[X.data == 0] = 0
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return scramble(total[X.indptr[1:]] - total[X.indptr[:-1]] + key)


def hash_dense(positions: np.ndarray, key: np.ndarray, X: Floats) -> np.ndarray:
    """Hash some dense rows, few enough to stay in a core's cache; see `hash_rows`."""
    terms = scramble(np.ascontiguousarray(X, dtype=np.float64).view(np.uint64) ^ positions)
    terms[X == 0] = 0
    return scramble(terms.sum(axis=1, dtype=np.uint64) + key)


class Landmarks:
    """Keep the distinct rows with the smallest hashes among all rows seen; memory is bounded by 2 L rows and a block.

    Sets of landmarks merge in any order to the same result.
    """

    def __init__(self, n_landmarks: int, seed: int) -> None:
        self.n_landmarks, self.seed = n_landmarks, seed
        self._parts: list[tuple[np.ndarray, Rows]] = []  # (hashes, rows), the first sorted and without repetition
        self._n_new = 0

    def add(self, X: Rows) -> None:
        """Consider the rows of X."""
        hashes = hash_rows(X, self.seed)
        if self._parts and len(self._parts[0][0]) == self.n_landmarks:
            near = np.flatnonzero(hashes < self._parts[0][0][-1])
            X, hashes = X[near], hashes[near]
        if len(hashes):
            self._parts += [(hashes, X)]
        self._n_new += len(hashes)
        if self._n_new >= self.n_landmarks:
            self._choose()

    def _choose(self) -> None:
        """Leave the smallest hashes of all parts in one."""
        if self._n_new:
            hashes, first = np.unique(np.concatenate([part[0] for part in self._parts]), return_index=True)
            rows = stack([part[1] for part in self._parts])[first[: self.n_landmarks]]
            if sp.issparse(rows):  # of equal rows the first one is taken, in any order: they keep zeros alike
                rows.eliminate_zeros()
            else:
                rows = rows + 0.0  # -0.0 becomes 0.0
            self._parts, self._n_new = [(hashes[: self.n_landmarks], rows)], 0

    @property
    def hashes(self) -> np.ndarray:
        """Return the hashes of the rows, in increasing order."""
        self._choose()
        if self._parts:
            return self._parts[0][0]
        return np.zeros(0, np.uint64)

    @property
    def rows(self) -> Rows:
        """Return the rows in the order of their hashes, None where none was seen."""
        self._choose()
        if self._parts:
            return self._parts[0][1]
        return None

    def to_pieces(self, limit: int) -> Iterator[list[np.ndarray]]:
        """Yield the rows as lists of arrays, each of about `limit` bytes, in order of their hashes."""
        rows = self.rows
        if rows is None:
            n = 0
        else:
            n = rows.shape[0]
        if not n:
            size = 1
        else:
            size = (rows.nnz * 2 if sp.issparse(rows) else rows.size) * 8 // n + 1
        step = max(1, limit // size)
        for start in range(0, n, step):
            yield rows_to_arrays(rows[start : start + step])


def place_landmarks(rows: Rows, offset: Floats, scale: Floats) -> tuple[Rows, Floats]:
    """Return landmarks on scaled rows (L, d), and the offset of these: sparse rows have none, distances do not see it.

    Sparse landmarks stay so where they take less memory.
    """
    if not sp.issparse(rows):
        return (rows - offset) * scale, offset
    return sp.shrink(sp.multiply_columns(rows, scale)), np.zeros(len(offset))


class LandmarkFinder:
    """Find rows that a layer keeps as landmarks: those that scaling and metric turn into one of them.

    Scaling and a diagonal metric give a row the same bits in any block, so rows are compared by their hashes. A full
    metric is a product, which BLAS rounds otherwise in another block: behind it rows are compared up to this rounding.
    Rows count also as float32 holds them, since packs and files may have kept them so.
    """

    def __init__(self, layer: HiddenLayer) -> None:
        self.layer, self.hashes = layer, hash_rows(layer.weights, 0)

    def find(self, X: Rows) -> np.ndarray:
        """Tell which rows of X, (n, d) dense or CSR, are landmarks: (n,) bool."""
        with np.errstate(over='ignore'):
            single = X.astype(np.float32).astype(float)
        step = max(1, (1 << 20) // max(self.layer.n_features, self.layer.n_hidden))  # rows, of 8 MB
        parts = [
            self.compare(X[start : start + step]) | self.compare(single[start : start + step])
            for start in range(0, X.shape[0], step)
        ]
        return np.concatenate([np.zeros(0, bool), *parts])

    def compare(self, X: Rows) -> np.ndarray:
        """Tell which of a few rows are landmarks as they are: (n,) bool."""
        layer, Z = self.layer, self.layer.place_rows(X)
        if layer.metric is None or layer.metric.ndim == 1:
            return np.isin(hash_rows(Z, 0), self.hashes)
        nearest = linalg.cdist(Z, layer.dense_weights, 'chebyshev').min(axis=1)
        sizes = np.abs((sp.expand(X) - layer.offset) * layer.scale) @ np.abs(layer.metric).T
        return nearest <= 4 * sum(layer.metric.shape) * np.finfo(float).eps * sizes.max(axis=1)


def rows_to_arrays(X: Rows) -> list[np.ndarray]:
    """Take rows apart for the wire: [X], or [data, indices, indptr, shape] of CSR."""
    if sp.issparse(X):
        return [X.data, X.indices, X.indptr, np.array(X.shape)]
    return [X]


def rows_from_arrays(arrays: list[Floats]) -> Rows:
    """Undo `rows_to_arrays`. Raises DataFormatError on other arrays than it makes."""
    if len(demand_arrays(arrays, 1, 4)) == 1:
        if arrays[0].ndim != 2:
            raise DataFormatError(f'a damaged line on the wire: expected rows, found shape {arrays[0].shape}')
        return arrays[0]
    data, indices, indptr, shape = arrays
    return sp.csr_matrix((data, indices.astype(np.int32), indptr.astype(np.int32)), shape=tuple(shape.astype(int)))
