"""Compute the kernel matrix from columns of the data, entry by entry: Algorithm 1 of Zhao et al., 2015."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from mr_elm.features.kernels import Kernel
from mr_elm.rows.blocks import Block
from mr_elm.rows.wire import make_key, split_key
from mr_elm.store import read_json
from mr_elm.streaming.stage import MRRows

ENTRY_BYTES = 57  # of one entry on the wire


class MRKernel(MRRows):
    """Compute the kernel matrix from the columns of the data: Algorithm 1.

    Input:  <split, columns>: packed blocks whose rows are columns of the scaled
            data, a feature each; X_i is the number of row i in a column
    Output: <entry I J, [value]>
                the kernel value of rows I and J, shape (); all I and J

    Map:    the share of each column in the squared distance, (X_i - X_j)^2, or in
            the inner product, X_i X_j, of rows i and j <= i.
    Reduce: add the shares, apply the kernel, exp(-sum / (2 sigma^2)); entries are
            written as (i, j) and as (j, i).

    Source: Zhao et al., Kernelized extreme learning machine in distributed
    environment, 2015, Algorithm 1; other kernels are ours. The paper writes the
    diagonal twice, we write it once.
    """

    REQUIRED = ('kernel',)
    INPUT_FILES = {'--kernel': 'JSON: [name of the kernel, its parameters]'}

    def map_begin(self) -> None:
        """Load the kernel."""
        self.kernel = Kernel(*read_json(self.options.kernel))

    def map_block(self, block: Block, row_key: Sequence[int]) -> Iterator[tuple[str, object]]:
        """Yield the shares of each column. Source: Algorithm 1, lines 3 to 8."""
        for X in block.X:
            for i in range(len(X)):
                for j in range(i + 1):
                    if self.kernel.kind.of_distance:
                        share = (X[i] - X[j]) ** 2
                    else:
                        share = X[i] * X[j]
                    yield make_key('entry', i, j), [share]

    def reducer_init(self) -> None:
        """Load the kernel."""
        self.map_begin()

    def reducer(self, key: str, values: Iterable) -> Iterator[tuple[str, object]]:
        """Yield an entry and its mirror image. Source: Algorithm 1, lines 10 to 15."""
        kind, coordinates = split_key(key)
        if kind != 'entry':
            yield from super().reducer(key, values)
            return
        i, j = map(int, coordinates)
        total = np.array([math.fsum(float(value) for (value,) in values)])
        self.kernel.kind.transform(total, self.kernel.factor)
        yield make_key('entry', i, j), [total[0]]
        if i != j:
            yield make_key('entry', j, i), [total[0]]


if __name__ == '__main__':
    MRKernel.run()
