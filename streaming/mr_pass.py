"""Multiply E'E with vectors without ever forming it: a pass of PESVM by conjugate gradients."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from mr_elm.errors import AccountingError
from mr_elm.machines.gathering import RECORD_BYTES
from mr_elm.machines.grid_task import Folds
from mr_elm.rows.blocks import Block, take_rows
from mr_elm.rows.wire import make_key, split_key
from mr_elm.store import load_arrays, read_json
from mr_elm.streaming.mr_gram import LayerStage
from mr_elm.streaming.stage import demand_width
from mr_elm.sums.gram import TargetSums
from mr_elm.sums.product import PassSums
from mr_elm.sums.statistics import row_weights
from mr_elm.typing import Floats


class MRPass(LayerStage):
    """Multiply E'E with vectors D, and sum up E'T: a pass of PESVM without a Gram.

    E = [Phi(X), -e] has a row for each row of X and m = L + 1 columns: the outputs
    of the L hidden nodes, and -1. Each task gets D, shape (m, K), by --vectors. It
    keeps some rows of E and the sums in memory, never all of E and never E'E. The
    weight of a row, times that of its class, multiplies its share of every sum.

    Input:  <split, rows>, text or packed
    Output: <product FIRST, [high, low]>
                E'E D for n columns of E from column FIRST on, shape (n, K); E'E D
                = high + low
            where E'T is wanted:
            <sum LABEL, [high, low]>    sums of the rows of E, see mr_gram
            <sum ones, [high, low]>     E'1, shape (m,), where --grid gives an
                origin of targets: they are centred by it

    With --folds, products and sums are of the rows that are not held out. The file
    of D says whether E'T is wanted too. For E'T alone D has no column.

    Map:     add E_b'(E_b D) and E_b'T_b of some rows of a block to the sums of the
             task, write them at its end.
    Reduce:  add the pairs of a key.

    All sums are exact on a grid (--grid): their order does not change a bit.
    Source: Rudi et al., FALKON: an optimal large scale kernel method, 2017.
    """

    REQUIRED = 'layer', 'grid', 'vectors'
    INPUT_FILES = {
        '--vectors': 'npz: the vectors D',
        '--folds': 'JSON: the rows that are held out (default: none)',
    }

    def map_begin(self) -> None:
        """Load the layer and the vectors."""
        super().map_begin()
        self.folds = None
        if self.options.folds is not None:
            self.folds = Folds(**read_json(self.options.folds))
        header, arrays = load_arrays(self.options.vectors)
        targets = None
        if header['targets']:
            targets = TargetSums(self.grid_steps, self.plan.form.numeric_labels, self.plan.form.labels_separator)
        self.sums = PassSums(self.layer, arrays['vectors'], self.grid_steps, targets)

    def map_block(self, block: Block, row_key: list[int]) -> None:
        """Add the rows of a block, but for those that are held out, to the sums."""
        demand_width(block.X, self.layer.n_features)
        if self.folds is not None:
            block, (_, edge, _) = self.folds.split(block)
            block = take_rows(block, slice(edge, None))
        self.sums.add(block, row_weights(block, self.class_weights))

    def map_end(self) -> Iterator[tuple[str, object]]:
        """Emit the sums, nothing when there was no row."""
        product, targets = self.sums.product, self.sums.targets
        if targets is not None:
            for name, sums in sorted(targets.sums.items()):
                yield make_key('sum', name), list(sums)
        if product.n_rows:
            for first, part in cut_columns(*product.D.shape):
                yield make_key('product', first), [product.high[part], product.low[part]]


def cut_columns(m: int, k: int) -> Iterator[tuple[int, slice]]:
    """Yield (first column, slice) of the parts of a product (m, k), each small enough for a record; none if k is 0."""
    step = max(1, RECORD_BYTES // (16 * max(k, 1)))
    for first in range(0, m if k else 0, step):
        yield first, slice(first, first + step)


def read_product(pairs: Iterable[tuple[str, Any]], shape: tuple[int, int]) -> Floats:
    """Read the output pairs: E'E D, of this shape. Raises AccountingError when a part is missing."""
    product, expected = np.empty(shape), dict(cut_columns(*shape))
    for key, (high, low) in pairs:
        kind, coordinates = split_key(key)
        if kind == 'product':
            product[expected.pop(int(coordinates[0]))] = high + low
    if expected:
        raise AccountingError(f'expected every part of a product once, {len(expected)} are missing')
    return product


def read_targets(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Read the output pairs: the sums that E'T follows from, by label."""
    return {split_key(key)[1][0]: pair for key, pair in pairs if split_key(key)[0] == 'sum'}


if __name__ == '__main__':
    MRPass.run()
