"""Draw how reliable the probabilities of pesvm are on half of a public set, which the training has not seen.

    python -m benchmarks.reliability OUT.png [SET]
"""
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file

from benchmarks.public_sets import read_set
from mr_elm.cli import main as run

SET = 'magic'
OPTIONS = ['--map', 'nystrom', '--hidden', '500', '--nu', '100', '--probabilities']


def main(out: str, name: str = SET) -> None:
    """Train on one half of a set, draw the figure of the other one, and print its scores."""
    X, y = read_set(name)
    order = np.random.default_rng(0).permutation(len(y))
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        train, test, model = (str(Path(folder, name)) for name in ('train.libsvm', 'test.libsvm', 'model.npz'))
        for path, rows in zip((train, test), np.array_split(order, 2), strict=True):
            dump_svmlight_file(X[rows], y[rows], path, zero_based=False)
        run(['train', 'pesvm', train, *OPTIONS, '--model', model, '--quiet'])
        run(['evaluate', model, test, '--figure', out, '--overwrite', '--quiet'])


if __name__ == '__main__':
    main(*sys.argv[1:])
