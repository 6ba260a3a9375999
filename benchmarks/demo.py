"""Train PESVM on two real data sets through the local runner, score it on held-out rows, draw a figure.

python -m benchmarks.demo FOLDER
"""

import os
import sys
import time
from typing import cast

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from benchmarks.clocks import run_mr_elm
from mr_elm.figures.figure import open_figure
from mr_elm.model.file import read_model
from mr_elm.model.models import HiddenNodeModel
from mr_elm.solvers.increment import sums_of
from mr_elm.solvers.ridge import finish, leading_sums
from mr_elm.typing import Floats

N_HIDDEN = 1000
SIZES = (10, 20, 50, 100, 200, 300, 500, 700, 1000)
DATA = {'digits': load_digits, 'breast-cancer': load_breast_cancer}


def main(folder: str) -> None:
    """Run the demonstration; files go to `folder`."""
    os.makedirs(folder, exist_ok=True)
    curves = {}
    print(f'{"data set":15} {"rows":>6} {"features":>9} {"classes":>8} {"accuracy":>9} {"seconds":>8}')
    for name, load in DATA.items():
        rows, test = write_rows(name, load(return_X_y=True), folder)
        path = os.path.join(folder, f'{name}.npz')
        start = time.perf_counter()
        words = '--hidden', N_HIDDEN, '--nu', 0.1, '-r', 'local', '--model', path, '--overwrite'
        run_mr_elm('train', 'pesvm', rows, *words)
        seconds = time.perf_counter() - start
        model = cast(HiddenNodeModel, read_model(path, sums=True))
        print(
            f'{name:15} {model.header.n_rows_used:6} {model.n_features:9} {len(model.classes):8} '
            f'{measure_accuracy(model, *test):9.4f} {seconds:8.1f}',
            flush=True,
        )
        curves[name] = [measure_accuracy(cut_model(model, size), *test) for size in SIZES]
    figure = os.path.join(folder, 'accuracy.png')
    draw(curves, figure)
    print(f'\naccuracy on held-out rows against hidden nodes, all from one Gram a data set: {figure}')


def write_rows(name: str, data: tuple, folder: str) -> tuple[str, tuple]:
    """Write the training rows as csv; returns (path, (X, y) of the test rows)."""
    X, X_test, y, y_test = train_test_split(*data, test_size=0.3, stratify=data[1], random_state=0)
    path = os.path.join(folder, f'{name}.csv')
    np.savetxt(path, np.column_stack([y, X]), delimiter=',', fmt=['%d'] + ['%.8g'] * X.shape[1])
    return path, (X_test, y_test)


def cut_model(model: HiddenNodeModel, n_hidden: int) -> HiddenNodeModel:
    """Return the model of the first n_hidden nodes, from the sums that the whole model keeps."""
    sums = leading_sums(sums_of(model.sums or {}), n_hidden)
    solution = finish(sums, model.header.parameters['nu'], model.numeric)
    nodes = {name: model.arrays[name][:n_hidden] for name in ('hidden_weights', 'hidden_biases')}
    return HiddenNodeModel(model.header, {**model.arrays, **nodes, 'output_weights': solution.output_weights})


def measure_accuracy(model: HiddenNodeModel, X: Floats, y: np.ndarray) -> float:
    """Return the share of rows that a model labels right."""
    return float(np.mean(np.array(model.classes, dtype=float)[model.predict(X)] == y))


def draw(curves: dict[str, list[float]], path: str) -> None:
    """Draw accuracy against the number of hidden nodes."""
    with open_figure(path, figsize=(7, 4.2)) as (_, axes):
        for name, values in curves.items():
            axes.plot(SIZES, values, marker='o', label=name)
        axes.set(
            xscale='log',
            xlabel='hidden nodes',
            ylabel='accuracy on held-out rows',
            title='PESVM: one Gram serves every number of hidden nodes',
        )
        axes.set_xticks(SIZES, [str(size) for size in SIZES], minor=False)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(loc='lower right')


if __name__ == '__main__':
    main(sys.argv[1] if len(sys.argv) > 1 else 'demo')
