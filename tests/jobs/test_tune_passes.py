"""Tuning by passes: a path of nu without a Gram, judged on the rows of one fold, the same for any splits."""

import numpy as np
import pytest
from reference.files import LOCAL

from mr_elm.scores.selection import FOLD, fold_numbers

PATH = (
    '--map',
    'sigmoid',
    '--weight-scale',
    '1',
    '--hidden',
    '20',
    '--nu',
    '10,0.1,1',
    '--folds',
    3,
    '--solver',
    'passes',
    '--tolerance',
    '1e-10',
)


@pytest.fixture
def tune(tune_with):
    """Tune these nodes."""
    return tune_with(PATH)


def fit_without_a_fold(m, X, T, nu, seed=0):
    """Solve on the rows of two folds by numpy alone, on the nodes of a model: (decision values, held out) of a fold."""
    Z = (X - m['feature_offset']) * m['feature_scale'] @ m['hidden_weights'].T + m['hidden_biases']
    E, held = np.c_[1 / (1 + np.exp(-Z)), -np.ones(len(X))], fold_numbers(X, 3, seed + FOLD) == 0
    A = E[~held].T @ E[~held] + np.eye(E.shape[1]) / nu
    return E[held] @ np.linalg.solve(A, E[~held].T @ T[~held]), held


@pytest.mark.parametrize('seed', [0, 3])
def test_scores_are_those_of_rows_held_out(tune, packed_classes, three_classes, model_of, seed):
    best, table = tune(packed_classes, '--seed', seed)
    X, labels = three_classes
    T = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    assert [float(row['nu']) for row in table] == [0.1, 1, 10]
    for row in table:
        F, held = fit_without_a_fold(model_of(tune.model)[1], X, T, float(row['nu']), seed)
        assert np.isclose(float(row['error']), ((F - T[held]) ** 2).mean(), rtol=1e-7)
        assert float(row['accuracy']) == (F.argmax(axis=1) == labels[held]).mean()
    assert best['accuracy'] == max(float(row['accuracy']) for row in table)


def test_the_model_is_that_of_a_training_on_all_rows(elm, tune, packed_classes, tmp_path, model_of):
    best, _ = tune(packed_classes)
    elm('train', 'pesvm', packed_classes, '--hidden', 20, '--nu', best['nu'], '--model', tmp_path / 'g.npz', '-q')
    (header, arrays), wanted = model_of(tune.model), model_of(tmp_path / 'g.npz')[1]
    assert np.allclose(arrays['output_weights'], wanted['output_weights'], atol=1e-6)
    assert header['parameters']['solver'] == 'passes' and header['parameters']['nu'] == best['nu']


def test_splits_and_runners_do_not_show(tune, packed_classes, model_of, maps):
    found = []
    for options in ((), maps('3'), LOCAL):
        table = tune(packed_classes, '--nu', '0.1,1', '--tolerance', '0.01', *options)
        arrays = model_of(tune.model)[1]
        found.append((table, {name: value.tobytes() for name, value in arrays.items()}))
    assert found[0] == found[1] == found[2]


def test_a_regression_on_a_sample_is_chosen_by_its_error(tune, write, csv_of, three_classes, model_of):
    X, _ = three_classes
    numbers = write('y.csv', csv_of((3 * X[:, 0] + 50).tolist(), X))
    best, table = tune(numbers, '--task', 'regression', '--sample', 200)
    assert best['accuracy'] is None and best['error'] == min(float(row['error']) for row in table)
    assert model_of(tune.model)[0]['n_rows_used'] == len(X)


def test_the_path_ends_when_two_larger_nu_are_worse(tune, write, csv_of, rng):
    """Labels are noise, which a large nu fits."""
    noise = write('noise.csv', csv_of(rng.normal(size=200).tolist(), rng.normal(size=(200, 3))))
    best, table = tune(noise, '--task', 'regression', '--nu', '1e-4,1e-3,1,1e2,1e4,1e6', '--hidden', 80)
    assert float(table[-3]['nu']) == best['nu'] < 1e4


def test_a_preconditioner_that_does_not_fit_is_refused(elm, packed_classes):
    done = elm('tune', 'pesvm', packed_classes, *PATH, '--hidden', 1000, '--memory', 1, '-q')
    assert done.status == 1 and '--memory' in done.err
