"""Send rows through the shuffle and put them back in input order."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import one_line
from mr_elm.features.landmarks import rows_from_arrays, rows_to_arrays
from mr_elm.rows.blocks import Block, stack
from mr_elm.typing import Floats, Rows

RECORD_BYTES = 8 << 20  # of float64, so that a record stays under 16 MB as text


@dataclass(frozen=True)
class GatheredRows:
    """Hold rows that travel.

    places : (n, 3) int, where each row stands: file number, split start, ordinal. They sort in input order.
    numbers : (n,) float64, class numbers or targets. weights : (n,) float64.
    X : (n, d) dense or CSR.
    """

    places: np.ndarray
    numbers: Floats
    weights: Floats
    X: Rows
    __repr__ = one_line

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def first_of_splits(self) -> dict[tuple[int, ...], int]:
        """Return (file, split start) -> number of the first row of the split; rows stand in input order."""
        splits, firsts = np.unique(self.places[:, :2], axis=0, return_index=True)
        return {tuple(split): int(first) for split, first in zip(splits.tolist(), firsts, strict=True)}

    def take(self, rows: np.ndarray | slice) -> 'GatheredRows':
        """Return some of the rows, by their numbers, a mask or a slice."""
        return GatheredRows(self.places[rows], self.numbers[rows], self.weights[rows], self.X[rows])

    def without_features(self) -> 'GatheredRows':
        """Return places, class numbers and weights alone, X (n, 0)."""
        return GatheredRows(self.places, self.numbers, self.weights, np.empty((len(self), 0)))

    def are_at(self, places: set[tuple[int, ...]]) -> np.ndarray:
        """Tell which rows stand at one of these places: a mask (n,)."""
        return np.array([tuple(place) in places for place in self.places.tolist()], dtype=bool)

    def cut(self) -> Iterator[tuple[list[np.ndarray], slice]]:
        """Yield (list of arrays small enough for a record, slice of the rows in it)."""
        if sp.issparse(self.X):
            size = 16 * self.X.nnz
        else:
            size = 8 * self.X.size
        step = max(1, len(self) * RECORD_BYTES // max(size + 48 * len(self), 1))
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            rows = self.take(part)
            yield [rows.places, rows.numbers, rows.weights, *rows_to_arrays(rows.X)], part


def locate_rows(block: Block, row_key: Sequence[int], numbers: np.ndarray, weights: Floats) -> GatheredRows:
    """Make the GatheredRows of a block whose first row has this key."""
    places = np.tile(np.array(row_key), (len(block), 1))
    places[:, 2] += np.arange(len(block))
    return GatheredRows(places, numbers.astype(float), weights, block.X)


def read_piece(piece: list[np.ndarray]) -> GatheredRows:
    """Read one list of arrays of `GatheredRows.cut`."""
    return GatheredRows(piece[0].astype(int), piece[1], piece[2], rows_from_arrays(piece[3:]))


def join_rows(parts: Sequence[GatheredRows]) -> GatheredRows:
    """Put rows together in the order of the parts."""
    places, numbers, weights = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ('places', 'numbers', 'weights')
    )
    return GatheredRows(places, numbers, weights, stack([part.X for part in parts]))


def join_once(parts: Sequence[GatheredRows]) -> GatheredRows:
    """Join rows, each row once, in input order."""
    rows = join_rows(parts)
    return rows.take(np.unique(rows.places, axis=0, return_index=True)[1])


def gather(pieces: Iterable[list[np.ndarray]]) -> GatheredRows:
    """Join pieces in input order, so that the order in which they arrive does not show."""
    parts = sorted(map(read_piece, pieces), key=lambda part: part.places[0].tolist())
    rows = join_rows(parts)
    order = np.lexsort(rows.places.T[::-1])
    if (order[:-1] < order[1:]).all():
        return rows
    return rows.take(order)


def gather_to_file(pieces: Iterable[list[np.ndarray]], path: str) -> GatheredRows:
    """Join pieces as `gather` does, with all features on disk: X is a memory map, dense or CSR.

    path : what the names of new files begin with.
    """
    parts, stored = [], RowsOnDisk(path)
    with stored:
        for piece in map(read_piece, pieces):
            stored.add(piece.X)
            parts.append(piece.without_features())
    rows, X = join_rows(parts), stored.rows
    order = np.lexsort(rows.places.T[::-1])
    if (order[:-1] < order[1:]).all():
        return replace(rows, X=X)
    ordered, step = RowsOnDisk(f'{path}.sorted'), max(1, RECORD_BYTES * len(rows) // max(sp.count_bytes(X), 1))
    with ordered:
        for start in range(0, len(order), step):
            ordered.add(X[order[start : start + step]])
    return replace(rows.take(order), X=ordered.rows)


def expand_on_disk(X: Rows, path: str) -> Rows:
    """Do what `expand_some` does for rows on disk: the dense ones are on disk too. path : as of `gather_to_file`."""
    if not (sp.issparse(X) and sp.multiplies_faster_dense(X)):
        return X
    stored, step = RowsOnDisk(path), max(1, RECORD_BYTES // (8 * max(X.shape[1], 1)))
    with stored:
        for start in range(0, X.shape[0], step):
            stored.add(X[start : start + step].toarray())
    return stored.rows


class RowsOnDisk:
    """Write rows, dense or CSR, to files while the context lasts; then `rows` are memory maps of them."""

    def __init__(self, path: str) -> None:
        self.paths = f'{path}.numbers', f'{path}.columns'
        self.n_rows = self.width = 0
        self.lengths: list[np.ndarray] = []  # of CSR rows: how many numbers they have; dense rows have none

    def __enter__(self) -> None:
        self.files = ExitStack()
        self.numbers = self.files.enter_context(open(self.paths[0], 'wb'))
        self.columns = self.files.enter_context(open(self.paths[1], 'wb'))

    def __exit__(self, *_: object) -> None:
        self.files.close()

    def add(self, X: Rows) -> None:
        """Write some rows."""
        self.n_rows, self.width = self.n_rows + X.shape[0], X.shape[1]
        if sp.issparse(X):
            self.lengths.append(np.diff(X.indptr))
            self.columns.write(X.indices.astype(np.int32).tobytes())
        self.numbers.write((X.data if sp.issparse(X) else X).tobytes())

    @property
    def rows(self) -> Rows:
        """Return all rows, (n, d): arrays that stay on disk; they outlive the names of the files."""
        shape = self.n_rows, self.width
        if not self.lengths:
            return map_file(self.paths[0], float, shape)
        ends = np.cumsum(np.concatenate([[0], *self.lengths]))
        data, columns = (
            map_file(path, kind, (int(ends[-1]),)) for path, kind in zip(self.paths, (float, np.int32), strict=True)
        )
        return sp.csr_matrix((data, columns, ends), shape=shape, copy=False)


def map_file(path: str, kind: type, shape: tuple[int, ...]) -> np.ndarray:
    """Return the numbers of a file as an array that stays on disk."""
    if np.prod(shape):
        return np.asarray(np.memmap(path, kind, 'r', shape=shape))
    return np.empty(shape, kind)
