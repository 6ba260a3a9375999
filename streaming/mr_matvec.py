"""Multiply U' with T and V with S^-1: Algorithm 2 of Zhao et al., 2015, corrected."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mr_elm.errors import AccountingError
from mr_elm.machines.gathering import RECORD_BYTES
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key, split_key
from mr_elm.solvers.kelm import U, V, multiply_entries
from mr_elm.store import load_arrays
from mr_elm.streaming.stage import MRRows
from mr_elm.typing import Floats


def cut_rows(matrix: str, rows: Floats) -> Iterator[Block]:
    """Yield the rows of U' or V as the input of the stage, labelled with the matrix and the number of the first row."""
    step = max(1, RECORD_BYTES // (8 * rows.shape[1]))
    for first in range(0, len(rows), step):
        part = np.ascontiguousarray(rows[first : first + step])
        yield Block(part, (f'{matrix} {first}',), np.zeros(len(part), np.int32))


class MRMatvec(MRRows):
    """Compute U'T and V S^-1: Algorithm 2, corrected.

    Input:  <block MATRIX ROW, [rows]>: rows of U' or of V; MATRIX is U or V, ROW
            the number of the first of them
    Output: <entry MATRIX ROW COLUMN, [value]>
                one number of U'T or of V S^-1, shape ()

    Map:    multiply rows of U' with T, divide rows of V by the singular values S.
            Each task gets S and T by --factors. Entries of U'T are written as one
            product a term.
    Reduce: add the terms of an entry.

    Source: Zhao et al., Kernelized extreme learning machine in distributed
    environment, 2015, Algorithm 2. mr_elm.solvers.kelm says what is corrected.
    """

    REQUIRED = ('factors',)
    INPUT_FILES = {'--factors': 'npz: the singular values S and the targets T'}

    def map_begin(self) -> None:
        """Load S and T."""
        arrays = load_arrays(self.options.factors)[1]
        self.S, self.T = arrays['S'], arrays['T']

    def map_block(self, block: Block, row_key: Sequence[int]) -> Iterator[tuple[str, object]]:
        """Emit what the rows of a block give; all are of one matrix, one after another."""
        codes: Any = block.codes
        matrix, number = block.names[codes[0]].split()
        for row, Z in enumerate(block.X, int(number)):
            for key, value in multiply_entries(matrix, row, Z, self.S, self.T):
                yield make_key('entry', *key), [value]

    def reducer(self, key: str, values: Iterable) -> Iterator[tuple[str, object]]:
        """Sum entries. Source: Algorithm 2, lines 15 to 18."""
        if split_key(key)[0] == 'entry':
            yield key, [math.fsum(float(value) for (value,) in values)]
        else:
            yield from super().reducer(key, values)


def read_products(
    pairs: Iterable[tuple[str, Any]], of_U: tuple[int, ...], of_V: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Read the output pairs: U'T and V S^-1, of these shapes. Raises AccountingError when a number is missing."""
    products = {U: np.full(of_U, np.nan), V: np.full(of_V, np.nan)}
    for key, (value,) in pairs:
        matrix, row, column = split_key(key)[1]
        products[matrix][int(row), int(column)] = value
    if any(np.isnan(product).any() for product in products.values()):
        raise AccountingError("expected every entry of U'T and V S^-1 once, some are missing: run the stage again")
    return products[U], products[V]


if __name__ == '__main__':
    MRMatvec.run()
