"""--probabilities without sums or a kernel matrix: the rows of one fold judge a machine that has not seen them."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mr_elm.drivers import calibrate, kelm
from mr_elm.model.file import read_model
from mr_elm.scores import selection
from mr_elm.scores.calibration import fit_calibration
from mr_elm.scores.selection import fold_numbers

N = 200
PASSES = 'pesvm', '--hidden', 15, '--nu', 5, '--solver', 'passes', '--tolerance', '1e-10'
CG = 'mr-kelm', '--sigma', 2, '--C', 5, '--solver', 'cg', '--tolerance', '1e-12'
BOTH = pytest.mark.parametrize('words', [PASSES, CG], ids=['passes', 'cg'])


def find_fold(X, words, seed=0):
    """Tell which rows are held out, without scaling."""
    key = selection.FOLD if words is PASSES else selection.MACHINE_FOLD
    return fold_numbers(X if words is PASSES else np.round(X, 6), 5, seed + key) == 0


def predict_without(held, X, T, weights, words, arrays):
    """Solve on the rows that are not held out by numpy alone: the decision values of the others."""
    rest, w = ~held, weights[~held]
    if words is CG:
        omega = np.exp(-cdist(X, X, 'sqeuclidean') / (2 * 2**2))
        return omega[np.ix_(held, rest)] @ np.linalg.solve(np.diag(1 / (5 * w)) + omega[np.ix_(rest, rest)], T[rest])
    Z = X @ arrays['hidden_weights'].T + arrays['hidden_biases']
    E = np.c_[1 / (1 + np.exp(-Z)), -np.ones(len(X))]
    A = (E[rest].T * w) @ E[rest] + np.eye(E.shape[1]) / 5
    return E[held] @ np.linalg.solve(A, (E[rest].T * w) @ T[rest])


@pytest.fixture
def table(rng):
    """Draw rows of three classes that overlap: (X, labels, weights)."""
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] + rng.normal(size=N) > 0.3) * 1 + (X[:, 1] > 0.2), rng.uniform(0.5, 3, N)


@pytest.fixture
def rows(table, write, csv_of):
    """Write the table: the path."""
    X, labels, weights = table
    return write('rows.csv', csv_of(labels, np.c_[weights, X]))


@pytest.fixture
def train(elm, rows, tmp_path):
    """Train quietly: the path of the model."""

    def run(words, *others, path=rows, name='m.npz'):
        done = elm('train', words[0], path, *words[1:], *others, '--model', tmp_path / name, '-q', '--overwrite')
        assert done == (0, '', '')
        return tmp_path / name

    return run


@BOTH
@pytest.mark.parametrize('seed', [0, 3])
def test_probabilities_fit_the_rows_of_the_fold_that_the_machine_has_not_seen(
    words, seed, train, table, model_of, monkeypatch
):
    (X, labels, weights), scored = table, []
    for module, name in ((calibrate, 'score_rows'), (kelm, 'score_fold')):
        score = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, score=score: scored.append(score(*given)) or scored[-1])
    model = train(words, '--weight-column', 1, '--scale', 'none', '--probabilities', '--seed', seed)
    header, arrays = model_of(model)
    held, T = find_fold(X, words, seed), np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    wanted, (found,) = predict_without(held, X, T, weights, words, arrays), scored
    assert np.array_equal(found.numbers, labels[held]) and np.allclose(found.weights, weights[held])
    assert np.allclose(found.decisions, wanted, atol=1e-6)
    assert np.allclose(arrays['calibration'], fit_calibration(wanted, labels[held], weights[held]), atol=1e-5)
    assert header['calibration'] == {'scored': 'folds', 'rows': held.sum(), 'rows_of_training': N}


@BOTH
def test_the_machine_is_that_of_all_rows(words, train, table):
    sure, plain = (read_model(train(words, '--weight-column', 1, *others)) for others in (['--probabilities'], []))
    assert np.allclose(sure.decision_function(table[0]), plain.decision_function(table[0]), atol=1e-7)


@BOTH
@pytest.mark.parametrize('inside', [True, False], ids=['inside', 'outside'])
def test_a_fold_without_a_class_is_explained(words, inside, elm, write, csv_of, tmp_path, rng):
    """Equal rows are in one fold: the rows of one class are all held out, or none of them is."""
    X = rng.normal(size=(60, 3)).round(3)
    row = next(row for row in rng.normal(size=(99, 3)).round(3) if find_fold(row[None], words)[0] == inside)
    path = write('rare.csv', csv_of([0, 1] * 30 + [2] * 9, np.r_[X, np.tile(row, (9, 1))]))
    done = elm(
        'train', words[0], path, *words[1:], '--scale', 'none', '--probabilities', '--model', tmp_path / 'm.npz', '-q'
    )
    where = 'outside the fold that is held out' if inside else 'rows that were scored'
    assert (done.status, len(done.err.splitlines())) == (1, 1) and where in done.err and "class '2'" in done.err
    assert not (tmp_path / 'm.npz').exists()


@BOTH
def test_noisy_labels_are_predicted_better_than_by_a_softmax_of_the_scores(words, elm, train, write, csv_of, rng):
    X = rng.normal(size=(1500, 3))
    labels = np.where(rng.random(1500) < 0.2, rng.integers(0, 3, 1500), X.argmax(axis=1))
    seen, unseen = (
        write(f'{k}.csv', csv_of(labels[part], X[part])) for k, part in enumerate((slice(500), slice(500, None)))
    )
    model = train(words, '--probabilities', path=seen)
    found = json.loads(elm('evaluate', model, unseen, '--json', '-q').out)
    scores = read_model(model).decision_function(X[500:])
    P = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found['log_loss'] < -np.log(P[np.arange(1000), labels[500:]]).mean() - 0.02


@BOTH
def test_intervals_hold_the_share_of_targets_that_was_asked_for(words, elm, train, write, csv_of, rng, tmp_path):
    X = rng.normal(size=(2000, 3))
    targets = X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=2000)
    seen, unseen = (
        write(f'{k}.csv', csv_of(targets[part].tolist(), X[part]))
        for k, part in enumerate((slice(1000), slice(1000, None)))
    )
    model = train(words, '--task', 'regression', '--intervals', path=seen)
    assert elm('predict', model, unseen, '--interval', 0.8, '-o', tmp_path / 'said', '-q').status == 0
    value, lower, upper = np.loadtxt(tmp_path / 'said').T
    assert 0.72 < ((lower <= targets[1000:]) & (targets[1000:] <= upper)).mean() < 0.88
    assert np.allclose(upper - value, value - lower) and np.ptp(upper - lower) < 1e-9
