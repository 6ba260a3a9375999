"""Draw where each method puts the boundary of two tangled classes in the plane.

    python -m benchmarks.boundaries OUT.png
"""
import sys
from typing import Any

import numpy as np
from PIL import Image

from mr_elm.estimators import (
    ELMClassifier,
    ESVMClassifier,
    KernelELMClassifier,
    OELMClassifier,
    SparseELMClassifier,
    SphereSVMClassifier,
)
from mr_elm.figures.figure import open_figure
from mr_elm.typing import Floats

EDGE = 4  # of the square that rows are drawn from
WIDTH = 1
SHADES = (-1.5, -1, -0.5, 0, 0.5, 1, 1.5)
COLOURS = 64  # of the picture: with few of them the file is small
METHODS: dict[str, Any] = {
    'pesvm: 200 sigmoid nodes': ESVMClassifier(n_hidden=200, weight_scale=2, nu=1e4, scale='none'),
    'elm: 200 rbf nodes': ELMClassifier('rbf', n_hidden=200, C=1e6, scale='none'),
    'sparse-elm: hinge loss': SparseELMClassifier(sigma=WIDTH, C=10, scale='none'),
    'oelm: the same machine': OELMClassifier(sigma=WIDTH, C=10, scale='none'),
    'sphere-svm: squared hinge loss, a bias': SphereSVMClassifier(sigma=WIDTH, C=10, scale='none'),
    'mr-kelm: least squares': KernelELMClassifier(sigma=WIDTH, C=10, scale='none'),
}


def main(path: str) -> None:
    """Draw the figure and print a line a method."""
    X, y = draw_islands(400, seed=0)
    X_test, y_test = draw_islands(4000, seed=1)
    fitted = {title: estimator.fit(X, y) for title, estimator in METHODS.items()}
    for title, estimator in fitted.items():
        print(f'{title:40} accuracy {estimator.score(X_test, y_test):.4f}{describe_kept(estimator)}')
    draw(fitted, X, y, (X_test, y_test), path)


def draw_islands(n_rows: int, seed: int) -> tuple[Floats, np.ndarray]:
    """Draw rows uniform in a square but for the seam between two classes, like the set fourclass: islands in a sea.

    Returns (X, y), y of -1 and 1.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(-EDGE, EDGE, (3 * n_rows, 2))
    a, b = X.T / EDGE
    height = np.sin(4.5 * a + b) * np.cos(4 * b - a) + 0.3 * a
    kept_rows = np.flatnonzero(np.abs(height) > 0.05)[:n_rows]
    return X[kept_rows], np.where(height[kept_rows] > 0, 1, -1)


def describe_kept(estimator: Any) -> str:
    """Say how many rows the machine keeps, where it keeps rows."""
    vectors = estimator.model_.arrays.get('support_vectors')
    return '' if vectors is None else f', {len(vectors)} support vectors'


def draw(fitted: dict, X: Floats, y: np.ndarray, test: tuple, path: str) -> None:
    """Draw the decision values of every estimator over the plane, boundary and margin, rows and support vectors."""
    with open_figure(path, rows=2, columns=3, dpi=100, figsize=(12, 8.2), sharex=True, sharey=True) as (_, panels):
        for axes, (title, estimator) in zip(panels.flat, fitted.items(), strict=True):
            draw_panel(axes, estimator, X, y)
            axes.set_title(f'{title}\n{estimator.score(*test):.1%} right{describe_kept(estimator)}', fontsize=10)
    with Image.open(path) as picture:
        picture.quantize(COLOURS).save(path, optimize=True)


def draw_panel(axes: Any, estimator: Any, X: Floats, y: np.ndarray) -> None:
    """Draw one estimator."""
    across = np.linspace(-EDGE, EDGE, 150)
    grid = np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2)
    values = estimator.decision_function(grid).reshape(len(across), -1)
    axes.contourf(across, across, np.clip(values, -1.5, 1.5), levels=SHADES, cmap='Blues', alpha=0.55)
    axes.contour(across, across, values, levels=[-1, 0, 1], colors='k', linestyles=['--', '-', '--'],
                 linewidths=[0.7, 1.6, 0.7])
    vectors = estimator.model_.arrays.get('support_vectors', np.empty((0, 2)))
    if len(vectors) < len(X):  # a ring around every row says nothing
        axes.plot(*vectors.T, 'o', markersize=8, markerfacecolor='none', markeredgecolor='#d1495b', markeredgewidth=1)
    for label, mark, color in ((-1, 'o', 'white'), (1, '^', 'black')):
        axes.plot(*X[y == label].T, mark, color=color, markersize=3.5, markeredgecolor='black', markeredgewidth=0.5)
    axes.set_aspect('equal')


if __name__ == '__main__':
    main(sys.argv[1] if len(sys.argv) > 1 else 'boundaries.png')
