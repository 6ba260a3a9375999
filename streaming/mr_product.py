"""Multiply the kernel matrix with vectors without ever storing it: a pass of conjugate gradients."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm.errors import AccountingError
from mr_elm.machines.gathering import RECORD_BYTES
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key, split_key
from mr_elm.store import load_arrays
from mr_elm.streaming.mr_kernel_rows import MRKernelRows
from mr_elm.streaming.stage import demand_width
from mr_elm.typing import Floats


class MRProduct(MRKernelRows):
    """Multiply the kernel matrix with vectors. There are no reducers.

    Each task gets all N scaled rows X by --rows, and V, shape (N, k), by
    --vectors. It keeps X, V and one tile of the kernel matrix K in memory, never
    all of K.

    Input:  <split, rows>, text or packed
    Output: <product FILE START FIRST, [P]>
                K(x, X) V for n rows from row FIRST of the split on, shape (n, k)

    Map:    scale each block, multiply tile by tile.

    One task computes a row of the product, in one order. So a retry gives the same
    bits, and so do other splits of packed rows.
    """

    REQUIRED = 'rows', 'vectors'
    INPUT_FILES = {'--vectors': 'npz: the vectors V'}

    def map_begin(self) -> None:
        """Load X and V."""
        super().map_begin()
        V = load_arrays(self.options.vectors)[1]['vectors']
        arrays = {**self.model.arrays, 'dual_coef': V, 'intercept': np.zeros(V.shape[1])}
        self.model = replace(self.model, arrays=arrays)

    def map_block(self, block: Block, row_key: Sequence[int]) -> Iterator[tuple[str, object]]:
        """Multiply a block."""
        demand_width(block.X, self.model.n_features)
        product = self.model.decision_function(block.X)
        rows = max(1, RECORD_BYTES // (8 * product.shape[1]))
        for start in range(0, len(product), rows):
            yield make_key('product', *row_key[:2], row_key[2] + start), [product[start : start + rows]]


def read_product(
    pairs: Iterable[tuple[str, Any]], shape: tuple[int, ...], first_of_splits: Mapping[tuple[int, ...], int]
) -> Floats:
    """Read the output pairs: K V, of this shape. Raises AccountingError if rows are missing.

    first_of_splits : (FILE, START) -> number of the first row of the split.
    """
    product, n_rows = np.empty(shape), 0
    for key, (part,) in pairs:
        file, start, ordinal = map(int, split_key(key)[1])
        first = first_of_splits[file, start] + ordinal
        product[first : first + len(part)] = part
        n_rows += len(part)
    if n_rows != len(product):
        raise AccountingError(f'expected {len(product)} rows of a product, found {n_rows}')
    return product


if __name__ == '__main__':
    MRProduct.run()
