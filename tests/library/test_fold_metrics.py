"""The metric that tests a fold of a search is learned from rows of the other folds only."""

import numpy as np
import pytest

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes
from mr_elm.machines.choose import learn_fold_metrics
from mr_elm.machines.grid_task import Folds
from mr_elm.machines.metric import fit_nodes, learn_metric
from mr_elm.machines.sample import SampleRows
from mr_elm.scores.selection import FOLD, fold_numbers

FOLDS = Folds(3, 3, 1.0, 4, None, None)


@pytest.fixture
def rows(rng):
    """Draw rows whose label depends on two of six features."""
    X = rng.normal(size=(240, 6))
    return SampleRows.of(X, (X[:, 0] * X[:, 1] > 0) * 1, 2)


@pytest.fixture
def layer():
    """Draw nodes for these rows."""
    return HiddenLayer('sigmoid', *draw_nodes('sigmoid', 60, 6, weight_scale=3.0), np.zeros(6), np.ones(6))


@pytest.mark.parametrize('kind', ['diagonal', 'full'])
def test_rows_of_the_tested_fold_shape_nothing(layer, rows, kind):
    numbers = fold_numbers(rows.X, 3, FOLDS.seed + FOLD)
    found = learn_fold_metrics(layer, rows, kind, FOLDS)
    assert any(each.metric is not None for each in found)
    for fold, learned in enumerate(found):
        tested = numbers == fold
        mirrored = SampleRows(rows.X, np.where(tested[:, None], -rows.T, rows.T), 2)
        for other in (mirrored, rows.take(~tested)):
            again = learn_fold_metrics(layer, other, kind, FOLDS)[fold]
            assert np.array_equal(again.metric, learned.metric) and again.judged == learned.judged


def test_rows_of_other_folds_shape_it(layer, rows):
    changed = SampleRows(rows.X, np.sign(rows.X[:, 2:3] * rows.X[:, 3:4]), 2)
    one, other = (learn_fold_metrics(layer, each, 'diagonal', FOLDS) for each in (rows, changed))
    assert not any(np.array_equal(a.metric, b.metric) for a, b in zip(one, other, strict=True))


def test_the_nu_of_several_is_that_of_the_least_error_of_rows_left_out(layer, rows):
    from mr_elm.sums.gram import expand

    E, nus = expand(layer, rows.X), (1e-3, 1.0, 1e3)

    def leave_out(nu):
        errors = []
        for i in range(len(rows)):
            rest = np.arange(len(rows)) != i
            errors.append((E[i] @ fit_nodes(layer, rows.take(rest), nu) - rows.T[i]) ** 2)
        return np.mean(errors)

    best = min(nus, key=leave_out)
    assert np.allclose(fit_nodes(layer, rows, nus), fit_nodes(layer, rows, best), rtol=1e-6, atol=1e-9)


def test_too_few_rows_teach_no_metric(layer, rows):
    assert learn_metric(layer, rows.take(np.arange(1)), (1.0, 10.0), 'diagonal').metric is None
