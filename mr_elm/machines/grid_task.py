"""Describe a search over hidden nodes to its tasks: one file with the layers, the folds and what scores them."""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mr_elm.features.hidden import HiddenLayer
from mr_elm.io.blocks import take_rows
from mr_elm.io.store import load_arrays, save_arrays
from mr_elm.scores.selection import fold_numbers, sampled
from mr_elm.sums.gram import GridSteps

SAMPLE, FOLD = 1, 3  # what a row's hash decides, each with a key of its own


@dataclass(frozen=True)
class FoldProblem:
    """Know the candidate layers, which rows are looked at, and which fold each is in.

    header : layers (the map of each), grids, n_folds, tested (folds to be held out, the first ones), share (of the
        rows), seed, class_weights (label -> weight, or None), index (label -> class number, or None).
    arrays : feature_offset, feature_scale; weights-J and biases-J of layer J; for scoring scores-J-F, (m, K' P), the
        output weights of P candidates on layer J that have not seen fold F, side by side.
    """

    header: dict
    arrays: dict

    @classmethod
    def of(cls, layers, header):
        """Describe layers of the same scaling."""
        arrays = {'feature_offset': layers[0].offset, 'feature_scale': layers[0].scale}
        for number, layer in enumerate(layers):
            arrays |= {f'weights-{number}': layer.weights, f'biases-{number}': layer.biases}
        return cls({**header, 'layers': [layer.kind for layer in layers]}, arrays)

    @cached_property
    def layers(self):
        """Return the HiddenLayers."""
        scaling = self.arrays['feature_offset'], self.arrays['feature_scale']
        return [HiddenLayer(kind, self.arrays[f'weights-{number}'], self.arrays[f'biases-{number}'], *scaling)
                for number, kind in enumerate(self.header['layers'])]

    @property
    def grids(self):
        """Return the GridSteps of each layer's sums."""
        return [GridSteps(*steps) for steps in self.header['grids']]

    @property
    def n_parts(self):
        """Count the parts of the rows: the folds to be held out, and all others as one."""
        return min(self.header['tested'] + 1, self.header['n_folds'])

    def sampled(self, block):
        """Return the rows of a block that are in the sample."""
        share = self.header['share']
        return block if share == 1 else take_rows(block, sampled(block.X, share, self.header['seed'] + SAMPLE))

    def parts(self, block):
        """Return the rows of a block ordered by their part, and where each part begins: (block, edges)."""
        folds = fold_numbers(block.X, self.header['n_folds'], self.header['seed'] + FOLD)
        part = np.minimum(folds, self.header['tested'])
        order = np.argsort(part, kind='stable')
        return take_rows(block, order), np.searchsorted(part[order], np.arange(self.n_parts + 1))

    def scores(self, layer, fold):
        """Return the output weights of all candidates on a layer without a fold, side by side, or None."""
        return self.arrays.get(f'scores-{layer}-{fold}')

    def save(self, path):
        """Write the file."""
        save_arrays(path, self.header, self.arrays)


def load_problem(path):
    """Read what `FoldProblem.save` wrote."""
    return FoldProblem(*load_arrays(path))
