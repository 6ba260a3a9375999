"""A regression by the command line does not depend on where zero is: labels a + b t give predictions a + b f."""

import json

import numpy as np
import pytest
from reference.by_hand import run_to_the_last
from sklearn.kernel_ridge import KernelRidge

N = 180
PLACES = [(1e6, 1e-3), (-2005, 5)]  # a, b of labels a + b t
SMALL = ('--hidden', 30)
PASSES = ('--hidden', 10, '--solver', 'passes', '--tolerance', 1e-10)
TRAININGS = {
    'pesvm': ('pesvm', *SMALL, '--nu', 10),
    'linear': ('pesvm', '--map', 'identity'),
    'landmarks': ('pesvm', *SMALL, '--map', 'nystrom', '--kernel', 'laplacian'),
    'elm': ('elm', *SMALL),
    'linear elm': ('elm', '--map', 'identity'),
    'intervals': ('pesvm', *SMALL, '--intervals'),
    'passes': ('pesvm', *PASSES),
    'elm by passes': ('elm', *PASSES),
    'landmarks by passes': ('pesvm', *PASSES, '--map', 'nystrom', '--intervals'),
    'metric': ('pesvm', *SMALL, '--metric', 'full'),
    'auto': ('auto', '--budget', 40, '--intervals'),
    'kernel': ('mr-kelm', '--C', 100),
    'kernel of ones': ('mr-kelm', '--kernel', 'polynomial', '--leave-one-out'),
    'decomposed': ('mr-kelm', '--solver', 'svd', '--intervals'),
    'cg': ('mr-kelm', '--solver', 'cg', '--C', 10, '--intervals'),
    'entries': ('mr-kelm', '--emit', 'entries', '--solver', 'svd'),
}
TUNINGS = {
    'pesvm': ('pesvm', '--nu', '0.1,1,10', '--hidden', '10,30', '--intervals'),
    'kernel': ('mr-kelm', '--sigma', '1,2', '--C', '1,100'),
}


def few(name, n=N):
    return 25 if name == 'entries' else n


@pytest.fixture(scope='module')
def table():
    """Draw rows: X, targets, weights."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (N, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N) + 0.2, rng.uniform(0.2, 3, N)


@pytest.fixture
def run(elm):
    """Run a command, which must succeed: what it prints."""

    def succeed(*words):
        done = elm(*words)
        assert done.status == 0, done.err
        return done.out

    return succeed


@pytest.fixture
def rows_of(write, csv_of):
    """Write labels and features, with a column of weights if there are some: the path."""

    def make(y, X, weights=None):
        make.count += 1
        return write(f'{make.count}.csv', csv_of(y.tolist(), X if weights is None else np.c_[X, weights]))

    make.count = 0
    return make


@pytest.fixture
def predict(run):
    """Predict: an array of all numbers of the lines."""

    def make(model, path, *words):
        return np.loadtxt(run('predict', model, path, '-o', '-', '-q', *words).splitlines(), ndmin=2)

    return make


def compare(found, plain, a, b):
    np.testing.assert_allclose(found, a + b * plain, rtol=0, atol=1e-7 * b + 4 * np.spacing(abs(a)))


@pytest.mark.parametrize('name', TRAININGS)
def test_labels_of_a_plus_b_t_give_a_plus_b_f(name, table, rows_of, run, predict, tmp_path, model_of):
    X, t, w = (part[: few(name)] for part in table)
    words = (*TRAININGS[name], '--task', 'regression', '--weight-column', 4, '-q')
    said = ('--interval', 0.8) if '--intervals' in words else ()
    path, model = rows_of(t, X, w), tmp_path / 'plain.npz'
    run('train', *words, path, '--model', model)
    plain = predict(model, path, *said)
    assert ((t - plain[:, 0]) ** 2).mean() < t.var()
    for a, b in PLACES:
        far = rows_of(a + b * t, X, w)
        run('train', *words, far, '--model', model, '--overwrite')
        compare(predict(model, far, *said), plain, a, b)
        scores = json.loads(run('evaluate', model, far, '--json', '-q'))
        assert scores['rmse'] == pytest.approx(b * np.sqrt(np.average((t - plain[:, 0]) ** 2, weights=w)), rel=1e-4)
        if name == 'kernel of ones':
            found = model_of(model)[0]['parameters']['leave_one_out']['rmse']
            assert found < b * t.std()


@pytest.mark.parametrize('name', TUNINGS)
def test_a_search_finds_the_same_wherever_the_labels_are(name, table, rows_of, run, predict, tmp_path):
    X, t, _ = table
    words, model = (*TUNINGS[name], '--task', 'regression', '-q', '--overwrite'), tmp_path / 'm.npz'
    path = rows_of(t, X)
    plain, f = json.loads(run('tune', *words, path, '--model', model)), predict(model, path)
    for a, b in PLACES:
        far = rows_of(a + b * t, X)
        found = json.loads(run('tune', *words, far, '--model', model))
        for score, power in ('error', 2), ('deviation', 2), ('rmse', 1):
            assert found.pop(score, 0) == pytest.approx(b**power * plain.get(score, 0), rel=1e-4)
        assert found == {key: value for key, value in plain.items() if key in found}
        compare(predict(model, far), f, a, b)


@pytest.mark.parametrize('method', ['pesvm', 'elm'])
def test_update_forget_and_merge_are_a_training_on_the_rows_that_are_left(
    method, table, rows_of, run, predict, tmp_path, model_of
):
    X, t, w = table
    a, b = 1e6, 1e-3
    y = a + b * (t + np.repeat([0, 30, -9], N // 3))
    parts = [slice(start, start + N // 3) for start in range(0, N, N // 3)]
    first, second, third = (rows_of(y[part], X[part], w[part]) for part in parts)
    words = ('--task', 'regression', '--weight-column', 4, '--scale', 'none', '--weights', 'uniform', *SMALL, '-q')
    one, two, grown, both, left = (tmp_path / f'{name}.npz' for name in ('one', 'two', 'grown', 'both', 'left'))
    run('train', method, first, *words, '--model', one)
    run('update', one, second, '--model', grown, '-q')
    run('train', method, third, '--like', one, '--weight-column', 4, '--model', two, '-q')
    run('merge', grown, two, '--model', both, '-q')
    run('forget', both, first, '--model', left, '-q')
    origins = [model_of(path)[0]['parameters']['origin'] for path in (one, two, grown, both, left)]
    assert origins == [[pytest.approx(np.average(y[parts[0]], weights=w[parts[0]]), rel=1e-15)]] * 5
    run('train', method, rows_of(y[60:], X[60:], w[60:]), *words, '--model', one, '--overwrite')
    everything = rows_of(y, X, w)
    found = predict(left, everything), predict(one, everything)
    np.testing.assert_allclose(*found, rtol=0, atol=1e-7 * b + 4 * np.spacing(a))
    run('train', method, third, *words, '--model', two, '--overwrite')  # another origin
    run('merge', grown, two, '--model', both, '--overwrite', '-q')
    run('forget', both, first, '--model', left, '--overwrite', '-q')
    np.testing.assert_allclose(predict(left, everything), found[1], rtol=0, atol=1e-7 * b + 4 * np.spacing(a))


def test_a_packed_row_that_comes_and_leaves_gives_the_old_bits_back(table, rows_of, run, tmp_path, model_of):
    X, t, _ = table
    for name, part in (('old', slice(100)), ('new', slice(100, None))):
        run('pack', rows_of(1e6 + t[part], X[part]), '-o', tmp_path / name, '--task', 'regression', '-q')
    one, two, back = (tmp_path / f'{name}.npz' for name in ('one', 'two', 'back'))
    run('train', 'pesvm', tmp_path / 'old', '--task', 'regression', *SMALL, '--model', one, '-q')
    run('update', one, tmp_path / 'new', '--model', two, '-q')
    run('forget', two, tmp_path / 'new', '--model', back, '-q')
    old, new = model_of(one)[1], model_of(back)[1]
    assert all(old[name].tobytes() == new[name].tobytes() for name in old)


def test_a_training_by_passes_begins_where_a_model_ended(table, rows_of, elm, tmp_path, model_of):
    X, t, _ = table
    path, words = rows_of(1e6 + t, X), ('--solver', 'passes', '--tolerance', 1e-6)
    first, second = tmp_path / '1.npz', tmp_path / '2.npz'
    assert elm('train', 'pesvm', path, '--task', 'regression', *PASSES, '--model', first, '-q').status == 0
    assert elm('train', 'pesvm', path, '--like', first, *words, '--model', second, '-q').status == 0
    assert model_of(second)[0]['parameters']['passes'] == 1  # which measures the residual


@pytest.mark.parametrize('method', ['pesvm', 'elm', 'mr-kelm'])
def test_the_letter_of_the_papers_penalises_the_mean(method, table, rows_of, run, predict, tmp_path, model_of):
    X, t, _ = table
    path, model = rows_of(t + 50, X), tmp_path / 'm.npz'
    words = ('--sigma', 1.5) if method == 'mr-kelm' else SMALL
    run(
        'train',
        method,
        path,
        '--task',
        'regression',
        '--no-center',
        '--scale',
        'none',
        *words,
        '--C' if method != ('pesvm') else '--nu',
        4,
        '--model',
        model,
        '-q',
    )
    header, arrays = model_of(model)
    if method == 'mr-kelm':
        wanted = KernelRidge(alpha=1 / 4, kernel='rbf', gamma=1 / 4.5).fit(X, t + 50).predict(X)
        assert arrays['intercept'].tolist() == [0]
    else:
        E = 1 / (1 + np.exp(-X @ arrays['hidden_weights'].T - arrays['hidden_biases']))
        E = np.c_[E, -np.ones(N)] if method == 'pesvm' else E
        wanted = E @ np.linalg.solve(E.T @ E + np.eye(E.shape[1]) / 4, E.T @ (t + 50))
        assert 'origin' not in header['parameters']
    np.testing.assert_allclose(predict(model, path)[:, 0], wanted, rtol=0, atol=1e-7)
    assert header['parameters']['center'] is False


@pytest.mark.parametrize(
    'words',
    [
        ('train', 'pesvm', '--no-center'),
        ('train', 'elm', '--no-center'),
        ('train', 'mr-kelm', '--no-center'),
        ('tune', 'pesvm', '--no-center'),
        ('train', 'sparse-elm', '--no-center'),
    ],
    ids=' '.join,
)
def test_no_center_is_of_regressions(words, elm, rows, tmp_path):
    done = elm(*words[:2], rows, *words[2:], '--model', tmp_path / 'm.npz')
    assert done.status == 2 and '--no-center' in done.err and not (tmp_path / 'm.npz').exists()


@pytest.mark.parametrize(
    'words',
    [('pesvm', *SMALL), ('elm', *SMALL, '--map', 'nystrom', '--solver', 'passes', '--tolerance', 0.01)],
    ids=lambda words: words[0],
)
def test_a_script_makes_the_same_model(words, table, rows_of, run, tmp_path, monkeypatch, model_of):
    X, t, _ = table
    run('pack', rows_of(2005 + 5 * t, X), '-o', tmp_path / 'packed', '--task', 'regression', '-q')
    monkeypatch.chdir(tmp_path)
    words = ('train', *words, 'packed', '--task', 'regression', '--model')
    run(*words, 'one.npz', '-q')
    run(*run_to_the_last(run(*words, 'two.npz', '--script')))
    (one, first), (two, second) = map(model_of, ('one.npz', 'two.npz'))
    assert one['parameters'] == two['parameters'] and set(first) == set(second)
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)
