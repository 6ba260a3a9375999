"""What folds' sums say of a grid is what brute-force cross-validation says."""

import numpy as np
import pytest

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes
from mr_elm.solvers.folds import FoldGrid, total_of
from mr_elm.solvers.ridge import TrainingRows
from mr_elm.sums.gram import expand
from mr_elm.sums.statistics import Classes, LabelTable
from tests.reference.esvm import fit_esvm

N, D, L, FOLDS = 300, 3, 20, 4
NUS, SIZES = (0.01, 1.0, 100.0), (1, 7, L)
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, D))
fold_of = RNG.integers(0, FOLDS, N)
CODES = (X[:, 0] > 0).astype(int) + (X[:, 1] * X[:, 2] > 0)
WEIGHTS = RNG.uniform(0.5, 3, N)


def layer(n_hidden=L):
    return HiddenLayer('sigmoid', *draw_nodes('sigmoid', n_hidden, D, 1), np.zeros(D), np.ones(D))


def problem(task):
    """Return (codes or targets, T (N, K), Classes or None)."""
    if task == 'regression':
        return X[:, 0] * 5 + 2, (X[:, 0] * 5 + 2)[:, None], None
    codes = np.minimum(CODES, task - 1)
    T = np.where(codes[:, None] == np.arange(task), 1.0, -1.0)
    return codes, T[:, 1:] if task == 2 else T, Classes.of(LabelTable({str(k): [1, [0, 0, k]] for k in range(task)}))


def sums_of_folds(task, weights):
    y, _, classes = problem(task)
    return [
        fit_esvm(layer(), TrainingRows(X[rows], y[rows], classes, None if weights is None else weights[rows]))[0]
        for rows in (fold_of == f for f in range(FOLDS))
    ]


def brute_force(task, weights, nu, n_hidden, fold):
    """Train on the rows of other folds by numpy's least squares; return (weights B, squared error)."""
    T, W = problem(task)[1], np.ones(N) if weights is None else weights
    E = expand(layer(n_hidden), X)
    rest, held = fold_of != fold, fold_of == fold
    root = np.sqrt(W[rest])[:, None]
    stacked = np.vstack([root * E[rest], np.eye(E.shape[1]) / np.sqrt(nu)])
    B = np.linalg.lstsq(stacked, np.vstack([root * T[rest], np.zeros((E.shape[1], T.shape[1]))]), rcond=None)[0]
    return B, (W[held, None] * (E[held] @ B - T[held]) ** 2).sum()


@pytest.mark.parametrize('task', [2, 3, 'regression'])
@pytest.mark.parametrize('weights', [None, WEIGHTS], ids=['plain', 'weighted'])
def test_errors_are_those_of_brute_force(task, weights):
    grid = FoldGrid(sums_of_folds(task, weights), task == 'regression')
    cells = grid.score(NUS, SIZES)
    assert len(cells) == len(NUS) * len(SIZES) * FOLDS and all(cell.trusted for cell in cells)
    for cell in cells:
        B, error = brute_force(task, weights, cell.nu, cell.n_hidden, cell.fold)
        assert np.isclose(cell.error, error, rtol=1e-8)
        (found,) = grid.weights(cell.fold, [(cell.nu, cell.n_hidden)])
        held = expand(layer(cell.n_hidden), X[fold_of == cell.fold])
        assert np.allclose(held @ found, held @ B, rtol=0, atol=1e-8 * np.abs(B).max())


def test_the_total_is_that_of_all_rows():
    y, _, classes = problem(3)
    whole = fit_esvm(layer(), TrainingRows(X, y, classes))[0]
    total = total_of(sums_of_folds(3, None))
    assert np.allclose(total.gram, whole.gram) and total.counts.tolist() == whole.counts.tolist()


def test_a_nu_that_drowns_in_rounding_is_not_trusted():
    cells = FoldGrid(sums_of_folds(3, None), False).score((1.0, 1e12), (L,))
    assert [cell.trusted for cell in cells if cell.fold == 0] == [True, False]


@pytest.mark.parametrize('n_hidden', [1, 7, L])
def test_a_cell_is_trusted_while_the_ridge_is_above_the_rounding_errors_of_its_sums(n_hidden):
    """The ridge is 1/nu, the errors about 1000 u |E'E|, u = 2^-53, where |E'E| is at most the trace of E'E."""
    grid, E = FoldGrid(sums_of_folds(3, None), False), expand(layer(n_hidden), X)
    for fold in range(FOLDS):
        limit = 1 / (1000 * 2.0**-53 * (E[fold_of != fold] ** 2).sum())
        cells = grid.score((0.99 * limit, 1.01 * limit), (n_hidden,))
        assert [cell.trusted for cell in cells if cell.fold == fold] == [True, False]
