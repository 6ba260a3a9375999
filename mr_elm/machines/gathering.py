"""Send rows through the shuffle and put them back in input order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from typing import TypeVar

import numpy as np

from mr_elm.errors import record
from mr_elm.features.landmarks import rows_from_arrays, rows_to_arrays
from mr_elm.rows.blocks import Block, stack
from mr_elm.typing import Floats, Rows

RECORD_BYTES = 8 << 20  # of float64, so that a record stays under 16 MB as text


Kind = TypeVar('Kind', bound='RowArrays')


@record
class RowArrays:
    """Hold arrays that have an entry for each row: the fields of a subclass."""

    def __len__(self) -> int:
        return getattr(self, fields(self)[0].name).shape[0]

    def take(self: Kind, rows: np.ndarray | slice) -> Kind:
        """Return some of the rows, by their numbers, a mask or a slice."""
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))

    @classmethod
    def join(cls: type[Kind], parts: Sequence[Kind]) -> Kind:
        """Put rows together in the order of the parts."""
        return cls(*(stack([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def to_arrays(self) -> list[np.ndarray]:
        """Return all arrays for the wire."""
        return [array for field in fields(self) for array in rows_to_arrays(getattr(self, field.name))]

    def cut(self) -> Iterator[tuple[list[np.ndarray], slice]]:
        """Yield (list of arrays small enough for a record, slice of the rows in it)."""
        n_bytes = 8 * sum(array.size for array in self.to_arrays())
        step = max(1, len(self) * RECORD_BYTES // max(n_bytes, 1))
        for start in range(0, len(self), step):
            part = slice(start, start + step)
            yield self.take(part).to_arrays(), part


@record
class GatheredRows(RowArrays):
    """Hold rows that travel.

    places : (n, 3) int, where each row stands: file number, split start, ordinal. They sort in input order.
    numbers : (n,) float64, class numbers or targets. weights : (n,) float64.
    X : (n, d) dense or CSR.
    """

    places: np.ndarray
    numbers: Floats
    weights: Floats
    X: Rows

    @cached_property
    def first_of_splits(self) -> dict[tuple[int, ...], int]:
        """Return (file, split start) -> number of the first row of the split; rows stand in input order."""
        splits, firsts = np.unique(self.places[:, :2], axis=0, return_index=True)
        return {tuple(split): int(first) for split, first in zip(splits.tolist(), firsts, strict=True)}

    def are_at(self, places: set[tuple[int, ...]]) -> np.ndarray:
        """Tell which rows stand at one of these places: a mask (n,)."""
        return np.array([tuple(place) in places for place in self.places.tolist()], dtype=bool)


def locate_rows(block: Block, row_key: Sequence[int], numbers: np.ndarray, weights: Floats) -> GatheredRows:
    """Make the GatheredRows of a block whose first row has this key."""
    places = np.tile(np.array(row_key), (len(block), 1))
    places[:, 2] += np.arange(len(block))
    return GatheredRows(places, numbers.astype(float), weights, block.X)


def read_piece(piece: list[np.ndarray]) -> GatheredRows:
    """Read one list of arrays of `GatheredRows.cut`."""
    return GatheredRows(piece[0].astype(int), piece[1], piece[2], rows_from_arrays(piece[3:]))


def join_once(parts: Sequence[GatheredRows]) -> GatheredRows:
    """Join rows, each row once, in input order."""
    rows = GatheredRows.join(parts)
    return rows.take(np.unique(rows.places, axis=0, return_index=True)[1])


def gather(pieces: Iterable[list[np.ndarray]]) -> GatheredRows:
    """Join pieces in input order, so that the order in which they arrive does not show."""
    rows = GatheredRows.join(sorted(map(read_piece, pieces), key=lambda part: part.places[0].tolist()))
    order = np.lexsort(rows.places.T[::-1])
    if (order[:-1] < order[1:]).all():
        return rows
    return rows.take(order)
