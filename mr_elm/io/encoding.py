"""Encode the columns of a table as features: numbers with their missing values filled, categories as indicators."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
import scipy.sparse as sp

from mr_elm.errors import DataFormatError
from mr_elm.io.blocks import Block
from mr_elm.io.columns import Table, Values
from mr_elm.io.formats import RowError
from mr_elm.io.json_file import read_json
from mr_elm.typing import Floats, Rows

NUMBER, CATEGORY = 'number', 'category'
WIDE = 256  # features, up to which a block of encoded rows is dense: 4,096 rows take 8 MB
CROWDED = 0.2  # of the features of a row are not 0: rows fuller than this are dense


@dataclass(frozen=True)
class Column:
    """Say how the values of one column become features.

    kind : number or category. mean : what stands for a missing number. missing : whether a feature says that it is
    missing, because the training had such rows.
    categories : the values of the training that have a feature of their own, in byte order, '' for a missing one; all
    others share one more feature.
    """

    name: str
    kind: str = NUMBER
    mean: float = 0.0
    missing: bool = False
    categories: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Count its features."""
        return 1 + self.missing if self.kind == NUMBER else len(self.categories) + 1

    @property
    def names(self) -> list[str]:
        """Name its features."""
        if self.kind == NUMBER:
            return [self.name, *([f'{self.name} is missing'] if self.missing else [])]
        return [*(f'{self.name}={category}' if category else f'{self.name} is missing' for category in self.categories),
                f'{self.name}=(other)']

    @cached_property
    def lookup(self) -> dict[str, int]:
        """Return the position of each category among the features of the column."""
        return {category: i for i, category in enumerate(self.categories)}

    def encode(self, values: Values) -> tuple[Floats, np.ndarray]:
        """Return what is not 0 in each row: (values, positions among the features of the column), each (n, slots)."""
        if self.kind == CATEGORY:
            codes = values.codes(self.lookup, len(self.categories))
            return np.ones((len(codes), 1)), codes[:, None]
        try:
            numbers = values.numbers()
        except RowError as error:
            raise RowError(error.reason, f'column {self.name!r} {error.detail}') from None
        if np.isinf(numbers).any():
            raise RowError('nan or infinite', f'column {self.name!r} holds an infinite number')
        missing = np.isnan(numbers)
        filled = np.where(missing, self.mean, numbers)
        slots = [filled, missing] if self.missing else [filled]
        return np.column_stack(slots).astype(float), np.tile(np.arange(len(slots)), (len(numbers), 1))

    @property
    def n_slots(self) -> int:
        """Count the features of a row that may not be 0."""
        return 1 if self.kind == CATEGORY else self.width

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Column:
        """Make a column of `asdict`'s dictionary. Raises TypeError or ValueError when it is none."""
        column = cls(**{**values, 'categories': tuple(values['categories'])})
        texts = (column.name, *column.categories)
        if not all(isinstance(text, str) for text in texts) or column.kind not in (NUMBER, CATEGORY) or (
                not isinstance(column.missing, bool) or not isfinite(column.mean)):
            raise ValueError(f'expected a column of numbers or categories, found {str(values):.60}')
        return column


@dataclass(frozen=True)
class Encoding:
    """Say how the rows of a table become features, column by column."""

    columns: tuple[Column, ...]

    @cached_property
    def starts(self) -> list[int]:
        """Return the first feature of each column, and behind them the number of all features."""
        return np.cumsum([0, *(column.width for column in self.columns)]).tolist()

    @property
    def width(self) -> int:
        """Count the features."""
        return self.starts[-1]

    @property
    def names(self) -> list[str]:
        """Name the features."""
        return [name for column in self.columns for name in column.names]

    @property
    def indicators(self) -> np.ndarray:
        """Tell which features say yes or no, 1 or 0: (d,) bool. They are not scaled."""
        return np.concatenate([np.arange(column.width) > 0 if column.kind == NUMBER else np.ones(column.width, bool)
                               for column in self.columns])

    @property
    def sparse(self) -> bool:
        """Tell whether encoded rows are CSR: they are wide, and few of their values are not 0."""
        return self.width > WIDE and sum(column.n_slots for column in self.columns) < CROWDED * self.width

    def encode(self, table: Table) -> Rows:
        """Return the features of the rows, (n, width), dense or CSR.

        Raises RowError when a column of numbers holds text, or an infinite number.
        """
        parts = [column.encode(values) for column, values in zip(self.columns, table.columns, strict=True)]
        values = np.hstack([part for part, _ in parts])
        positions = np.hstack([part + start for (_, part), start in zip(parts, self.starts, strict=False)])
        if self.sparse:
            n, slots = values.shape
            X = sp.csr_matrix((values.ravel(), positions.ravel().astype(np.int32), np.arange(n + 1) * slots),
                              shape=(n, self.width))
            X.eliminate_zeros()
            return X
        X = np.zeros((table.n_rows, self.width))
        np.put_along_axis(X, positions, values, axis=1)
        return X

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold; `from_json` undoes it."""
        return {'columns': [asdict(column) for column in self.columns]}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Encoding:
        """Make an encoding of what `to_json` returned."""
        return cls(tuple(Column.from_json(column) for column in record['columns']))


def read_encoding(path: str | None) -> Encoding | None:
    """Read an encoding from a file of JSON; None where there is none. Raises DataFormatError when it is another."""
    if path is None:
        return None
    try:
        return Encoding.from_json(read_json(path))
    except (KeyError, TypeError, ValueError) as error:
        raise DataFormatError(f'{path}: expected an encoding of columns ({error!r})') from None


def encode_table(block: Block, encoding: Encoding | None) -> Block:
    """Encode the rows of a block where they are a Table and there is an encoding."""
    if encoding is None or not isinstance(block.X, Table):
        return block
    return replace(block, X=encoding.encode(block.X))
