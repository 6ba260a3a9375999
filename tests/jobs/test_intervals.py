"""--intervals: bounds that hold the share of targets that was asked for, wider where rows are unlike the training."""

import json

import numpy as np
import pytest
from reference.files import LOCAL

from mr_elm.scores.intervals import find_quantile, measure_coverage, sort_sizes

N, D = 300, 3


@pytest.fixture
def table(rng):
    """Draw rows with a noisy target: (X, targets)."""
    X = rng.normal(size=(N, D))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)


@pytest.fixture
def train(elm, dense, tmp_path):
    """Train a regression quietly with intervals: the path of the model."""

    def run(method, *words, rows=dense):
        done = elm(
            'train',
            method,
            rows,
            *words,
            '--task',
            'regression',
            '--intervals',
            '--model',
            tmp_path / 'm.npz',
            '-q',
            '--overwrite',
        )
        assert done == (0, '', '')
        return tmp_path / 'm.npz'

    return run


@pytest.fixture
def say(elm, tmp_path):
    """Predict quietly: the numbers of each line."""

    def run(model, rows, *words):
        done = elm('predict', model, rows, '-o', tmp_path / 'said', '-q', '--overwrite', *words)
        assert done.status == 0, done.err
        return np.array([line.split('\t') for line in (tmp_path / 'said').read_text().splitlines()], float)

    return run


def expand(arrays, X, bias):
    Z = (X - arrays['feature_offset']) * arrays['feature_scale'] @ arrays['hidden_weights'].T + arrays['hidden_biases']
    E = 1 / (1 + np.exp(-Z))
    return np.c_[E, -np.ones(len(X))] if bias else E


@pytest.mark.parametrize('method, nu', [('pesvm', '--nu'), ('elm', '--C')])
def test_bounds_are_quantiles_of_brute_force_that_follow_the_leverage(
    method, nu, train, say, dense, table, model_of, maps
):
    X, y = table
    model = train(method, '--hidden', 15, nu, 5, *maps(3))
    E = expand(model_of(model)[1], X, method == 'pesvm')
    sizes = []
    for i in range(N):
        rest = np.arange(N) != i
        A = E[rest].T @ E[rest] + np.eye(E.shape[1]) / 5
        mean = y[rest].mean()
        error = y[i] - mean - E[i] @ np.linalg.solve(A, E[rest].T @ (y[rest] - mean))
        sizes.append(abs(error) / np.sqrt(1 + E[i] @ np.linalg.solve(A, E[i])))
    q = np.sort(sizes)[int(np.ceil(0.8 * (N + 1))) - 1]
    h = np.einsum('ij,ji->i', E, np.linalg.solve(E.T @ E + np.eye(E.shape[1]) / 5, E.T))
    for where in (maps(2), LOCAL):
        said = say(model, dense, '--interval', 0.8, '--leverage', *where)
        half = q * np.sqrt(1 + h)
        assert np.allclose(said[:, 1:], np.c_[said[:, 0] - half, said[:, 0] + half, h], atol=1e-7)


@pytest.mark.parametrize(
    'words', [('pesvm', '--hidden', 60, '--nu', 100), ('mr-kelm', '--sigma', 2, '--C', 10)], ids=['pesvm', 'mr-kelm']
)
def test_bounds_hold_about_the_share_of_new_targets_that_was_asked_for(words, train, say, write, csv_of, rng):
    X = rng.normal(size=(4000, D))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=4000)
    model = train(*words)
    said = say(model, write('new.csv', csv_of(y.tolist(), X)), '--interval', 0.9)
    assert 0.86 < np.mean((said[:, 1] <= y) & (y <= said[:, 2])) < 0.94
    assert np.allclose(said[:, 1:].mean(axis=1), said[:, 0])


@pytest.mark.parametrize('words', [('pesvm', '--hidden', 9, '--no-sums'), ('mr-kelm', '--target', 'log')])
def test_an_evaluation_says_which_share_of_the_targets_is_in_bounds_of_one_width(
    words, elm, train, write, csv_of, table, say, rng, maps
):
    X, y = table
    y, w = np.exp(y), rng.uniform(0.3, 3, N)
    model = train(*words, rows=write('rows.csv', csv_of(y.tolist(), X)))
    far = write('far.csv', csv_of((2 * y).tolist(), X))
    weighted = write('weighted.csv', csv_of((2 * y).tolist(), np.c_[w, X]))
    low, high = say(model, far, '--interval', 0.9)[:, 1:].T
    inside = (low <= 2 * y) & (2 * y <= high)
    assert 0.05 < inside.mean() < 0.85
    for rows, more, wanted in ((far, maps(3), inside.mean()), (weighted, ('--weight-column', 1), w @ inside / w.sum())):
        done = elm('evaluate', model, rows, '--json', '-q', *more)
        assert json.loads(done.out)['coverage_90'] == pytest.approx(wanted, rel=1e-9)
    assert '\ncoverage_90 ' in elm('evaluate', model, far, '-q').out


def test_rows_too_few_for_bounds_of_90_per_cent_have_no_coverage(elm, train, dense, write):
    model = train('pesvm', '--hidden', 2, rows=write('few.csv', '1,2\n2,3\n4,5\n3,1\n'))
    assert 'coverage' not in elm('evaluate', model, write('more.csv', '1,2\n3,4\n'), '-q').out


def test_rows_far_from_the_training_have_a_larger_leverage(elm, trained, write, csv_of, table, say):
    X, y = table
    trained(write('classes.csv', csv_of((y > 0) * 1, X)), n_hidden=60)
    far = X + np.array([6.0, -6, 6])
    near, away = (
        say(trained.path, write(f'{k}.csv', csv_of([0] * N, rows)), '--leverage')[:, 1]
        for k, rows in enumerate((X, far))
    )
    assert (near > 0).all() and np.median(away) > 3 * np.median(near)


def test_weights_of_rows_count_in_the_quantiles():
    errors, weights = np.array([3.0, -1, 2]), np.array([1.0, 2, 1])
    sizes = sort_sizes(errors, weights)
    assert sizes.tolist() == [1, 2, 3] and find_quantile(sizes, 0.75) == 3
    assert sort_sizes(errors, np.array([1.0, 8, 1])).tolist() == [1, 1, 3]


def test_an_update_keeps_the_intervals_or_computes_them_anew(elm, train, write, csv_of, table, tmp_path, model_of):
    X, y = table
    first, rest = (
        write(f'{k}.csv', csv_of(y[part].tolist(), X[part])) for k, part in enumerate((slice(0, 200), slice(200, N)))
    )
    model = train('pesvm', '--hidden', 15, rows=first)
    old = model_of(model)[1]['interval_residuals']
    done = elm('update', model, rest, '--model', tmp_path / 'kept.npz')
    assert done.status == 0 and 'intervals: kept from before' in done.err
    assert np.array_equal(model_of(tmp_path / 'kept.npz')[1]['interval_residuals'], old)
    assert (
        elm(
            'update', model, rest, '--calibrate', first, '--calibrate', rest, '--model', tmp_path / 'new.npz', '-q'
        ).status
        == 0
    )
    assert len(old) == 200 and len(model_of(tmp_path / 'new.npz')[1]['interval_residuals']) == N


@pytest.mark.parametrize(
    'words, what',
    [
        (['--interval', '0.9'], '--interval: expected a model that was trained with --intervals'),
        (['--leverage'], 'expected a model of pesvm or elm, mr-kelm keeps no sums'),
    ],
)
def test_a_model_that_does_not_know_says_so(elm, dense, tmp_path, words, what):
    elm('train', 'mr-kelm', dense, '--task', 'regression', '--model', tmp_path / 'm.npz', '-q')
    done = elm('predict', tmp_path / 'm.npz', dense, *words, '-o', tmp_path / 'said')
    assert done.status == 1 and what in done.err


def test_a_coverage_beyond_the_rows_is_refused(elm, train, dense, tmp_path):
    for coverage in ('0.999', '1', '0'):
        done = elm('predict', train('pesvm', '--hidden', 9), dense, '--interval', coverage, '-o', tmp_path / 'said')
        assert done.status == 1 and 'expected a coverage above 0 and at most 0.9967' in done.err


def test_intervals_of_classes_are_wrong_usage(elm, dense, tmp_path):
    done = elm('train', 'pesvm', dense, '--intervals', '--model', tmp_path / 'm.npz')
    assert done.status == 2 and '--intervals: expected --task regression' in done.err


def test_a_figure_shows_the_coverage_of_intervals():
    errors, later = np.random.default_rng(0).normal(size=(2, 500))
    sizes = np.sort(np.abs(errors))
    shares, found = measure_coverage(sizes, later)
    for k in (0, 249, 449, 499):
        assert find_quantile(sizes, shares[k]) == sizes[k]
        assert found[k] == np.mean(np.abs(later) <= sizes[k])
    np.testing.assert_allclose(found, shares, atol=0.1)
