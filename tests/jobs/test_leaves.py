"""Leaves of trees as nodes of pesvm: ridge regression on fixed nodes, for any splits, with rows that come and leave."""

import numpy as np
import pytest
from reference.by_hand import run_to_the_last
from reference.files import LOCAL

from mr_elm.estimators import ESVMClassifier, ESVMRegressor, to_estimator
from mr_elm.machines import joint, sample
from mr_elm.model.file import read_model
from mr_elm.solvers.ridge import BIAS_RIDGE, JITTER
from mr_elm.sums.gram import expand

N, D = 300, 4
LEAVES = ('--leaves', '96')
MAPS = {
    'leaves': (),
    'leaves+nystrom': ('--hidden', '40'),
    'leaves+sigmoid': ('--hidden', '40'),
    'leaves+relu': ('--hidden', '40', '--weight-scale', '2'),
    'leaves+identity': (),
}
EVERY = pytest.mark.parametrize('map', MAPS)


@pytest.fixture
def table(rng):
    """Draw rows of three classes, steps of one column and a smooth function of others."""
    X = rng.uniform(-2, 2, size=(N, D))
    return X, (X[:, 0] > 0.7) * 1 + (np.sin(3 * X[:, 1]) + X[:, 2] > 0) * 1


@pytest.fixture
def targets(table):
    X = table[0]
    return 1000 + np.where(X[:, 0] > 0.3, 2.0, 0.0) + np.sin(3 * X[:, 1])


@pytest.fixture
def run(elm, tmp_path):
    """Run a command that writes a model: its path."""

    def run(*words):
        run.count += 1
        path = tmp_path / f'm{run.count}.npz'
        done = elm(*words, '--model', path, '-q')
        assert (done.status, done.err) == (0, ''), done.err
        return path

    run.count = 0
    return run


@pytest.fixture
def train(run):
    """Train pesvm on leaves: the path of the model."""

    def train(rows, map, *words):
        return run('train', 'pesvm', rows, '--map', map, *LEAVES, *MAPS[map], *words)

    return train


@pytest.fixture
def pack(elm, write, csv_of, tmp_path):
    """Pack rows into blocks of 40."""

    def pack(labels, X, name='rows', *words):
        path = write(f'{name}.csv', csv_of(labels, X))
        assert elm('pack', path, '-o', tmp_path / name, '--block-rows', 40, '-q', *words).status == 0
        return tmp_path / name

    return pack


def demand_same_bits(model_of, one, other):
    (_, arrays), (_, others) = model_of(one), model_of(other)
    assert list(arrays) == list(others)
    assert [name for name in arrays if arrays[name].tobytes() != others[name].tobytes()] == []


def solve_densely(model, X, T, weights=None, center=False):
    """Return the decision values of the ridge regression of a model's nodes, written down again."""
    layer, given = model.layer, model.header.parameters
    E, m = expand(layer, X), layer.n_leaves
    w = np.ones(len(X)) if weights is None else weights
    mean = np.average(T, axis=0, weights=w) if center else 0.0
    P = np.diag(np.r_[np.full(m, given['leaf_ridge']), np.ones(len(layer.biases)), 0.0])
    if given['map'] == 'leaves+nystrom':
        K = np.exp(-((layer.weights[:, None] - layer.weights) ** 2).sum(axis=2) / layer.biases[0])
        P[m:-1, m:-1] = K + JITTER * np.eye(len(K))
    P /= given['nu']
    P[-1, -1] = BIAS_RIDGE
    return E @ np.linalg.solve(P + E.T @ (w[:, None] * E), E.T @ (w[:, None] * (T - mean))) + mean


@EVERY
def test_it_is_ridge_regression_on_leaves_and_nodes(train, dense, table, map):
    X, labels = table
    model = read_model(train(dense, map, '--nu', 3, '--leaf-ridge', 20))
    T = 2.0 * (labels[:, None] == [0, 1, 2]) - 1
    assert np.allclose(model.decision_function(X), solve_densely(model, X, T), atol=1e-7)
    assert model.header.parameters['map'] == map and model.layer.n_leaves <= 96
    assert model.header.parameters['n_hidden'] == model.layer.n_leaves + len(model.layer.biases)
    assert (model.predict(X) == labels).mean() > 0.9


@EVERY
def test_a_regression_is_one_too(train, write, csv_of, table, targets, map):
    X, _ = table
    model = read_model(train(write('t.csv', csv_of(targets.tolist(), X)), map, '--task', 'regression', '--nu', 3))
    wanted = solve_densely(model, X, targets[:, None], center=True)
    assert np.allclose(model.decision_function(X), wanted, atol=1e-7)
    assert np.corrcoef(wanted[:, 0], targets)[0, 1] ** 2 > 0.8


def test_rows_have_weights(train, write, table, targets, rng):
    X, w = table[0], rng.uniform(0.1, 3, N)
    lines = [
        ','.join(map(repr, [t, each, *row]))
        for t, each, row in zip(targets.tolist(), w.tolist(), X.tolist(), strict=True)
    ]
    model = read_model(
        train(write('w.csv', '\n'.join(lines) + '\n'), 'leaves+nystrom', '--task', 'regression', '--weight-column', 1)
    )
    wanted = solve_densely(model, X, targets[:, None], w, center=True)
    assert np.allclose(model.decision_function(X), wanted, atol=1e-7)


@EVERY
@pytest.mark.parametrize('words', [('--solver', 'passes', '--tolerance', '1e-11')])
def test_passes_solve_the_same_equation(train, dense, table, map, words):
    one, other = (read_model(train(dense, map, '--nu', 3, *more)).decision_function(table[0]) for more in ((), words))
    assert np.allclose(one, other, atol=1e-7)


@pytest.mark.parametrize('options', [('3',), ('2', *LOCAL)], ids=' '.join)
@pytest.mark.parametrize('map', ['leaves', 'leaves+nystrom'])
def test_splits_and_runners_do_not_show(train, pack, table, model_of, maps, map, options, monkeypatch):
    monkeypatch.setattr(sample, 'SAMPLE_ROWS', 200)
    rows, (n, *runner) = pack(table[1], table[0]), options
    demand_same_bits(model_of, train(rows, map), train(rows, map, *maps(n), *runner))


def test_stages_run_by_hand_make_the_same_bits(elm, train, pack, table, model_of, tmp_path, monkeypatch):
    rows = pack(table[1], table[0])
    monkeypatch.chdir(tmp_path)
    words = ('pesvm', rows, '--map', 'leaves', *LEAVES)
    last = run_to_the_last(elm('train', *words, '--model', 'hand.npz', '--script').out)
    assert elm(*last).status == 0
    demand_same_bits(model_of, tmp_path / 'hand.npz', train(rows, 'leaves'))


@EVERY
def test_rows_that_come_and_leave_give_the_old_bits_back(run, train, pack, table, model_of, map):
    X, labels = table
    first, later = pack(labels[:200], X[:200], 'first'), pack(labels[200:], X[200:], 'later')
    model = train(first, map)
    grown = run('update', model, later)
    T = 2.0 * (labels[:, None] == [0, 1, 2]) - 1
    found = read_model(grown)
    assert np.allclose(found.decision_function(X), solve_densely(found, X, T), atol=1e-7)
    demand_same_bits(model_of, run('forget', grown, later), model)


def test_models_of_the_same_leaves_merge(elm, run, train, pack, table, model_of, tmp_path):
    X, labels = table
    first, later = pack(labels[:200], X[:200], 'first'), pack(labels[200:], X[200:], 'later')
    model = train(first, 'leaves+nystrom', '--leaf-ridge', 30)
    other = run('train', 'pesvm', later, '--like', model)
    assert read_model(other).header.parameters['leaf_ridge'] == 30
    demand_same_bits(model_of, run('merge', model, other), run('update', model, later))
    apart = train(later, 'leaves+nystrom')
    assert elm('merge', model, apart, '--model', tmp_path / 'no.npz').status == 1


def test_a_table_with_text_and_missing_values(elm, train, write, rng):
    x, colours = rng.normal(size=N), rng.choice(['red', 'green'], N)
    lines = [
        f'{"yes" if (c == "red") ^ (v > 0) else "no"},{"" if i % 11 == 0 else f"{v:.3f}"},{c}'
        for i, (v, c) in enumerate(zip(x, colours, strict=True))
    ]
    path = write('t.csv', '\n'.join(['label,x,colour', *lines]) + '\n')
    model = train(path, 'leaves', '--encode', 'auto')
    assert float(elm('evaluate', model, path, '-q').out.split()[1]) > 0.9


@pytest.mark.parametrize('kind', ['targets', 'labels'])
def test_several_targets_and_labels(train, write, table, targets, kind):
    X = table[0]
    if kind == 'targets':
        T, words = np.column_stack([targets, X[:, 0] * X[:, 1]]), ('--task', 'regression', '--targets', '0,1')
        lines = [','.join(map(repr, [*t, *row])) for t, row in zip(T.tolist(), X.tolist(), strict=True)]
    else:
        T, words = np.column_stack([X[:, 0] > 0.7, X[:, 1] * X[:, 2] > 0]) * 1.0, ('--labels-separator', ';')
        lines = [
            ';'.join(name for name, has in zip('ab', t, strict=True) if has) + ',' + ','.join(map(repr, row))
            for t, row in zip(T, X.tolist(), strict=True)
        ]
    model = read_model(train(write('t.csv', '\n'.join(lines) + '\n'), 'leaves+nystrom', *words))
    wanted = solve_densely(model, X, T, center=kind == 'targets')
    assert np.allclose(model.decision_function(X), wanted, atol=1e-6)


def test_sparse_rows(elm, train, write, libsvm_of, rng):
    X = rng.normal(size=(N, 30)) * (rng.random((N, 30)) < 0.2)
    path = write('rows.libsvm', libsvm_of(np.where(X[:, :5].sum(axis=1) > 0.3, '+1', '-1'), X))
    model = train(path, 'leaves+nystrom')
    assert float(elm('evaluate', model, path, '-q').out.split()[1]) > 0.85


@EVERY
@pytest.mark.parametrize('task', ['classification', 'regression'])
def test_the_estimator_is_the_command(train, write, csv_of, table, targets, map, task, monkeypatch):
    monkeypatch.setattr(sample, 'SAMPLE_ROWS', 200)
    X, labels = table
    y, kind = (labels, ESVMClassifier) if task == 'classification' else (targets, ESVMRegressor)
    n_hidden = {'n_hidden': 40} if '--hidden' in MAPS[map] else {}
    scale = {'weight_scale': 2} if map == 'leaves+relu' else {}
    model = read_model(train(write('t.csv', csv_of(y.tolist(), X)), map, '--task', task, '--seed', 5))
    fitted = kind(map=map, leaves=96, seed=5, **n_hidden, **scale).fit(X, y)
    wanted = model.decision_function(X)
    assert np.allclose(fitted.to_model().decision_function(X), wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())


def test_the_machine_of_auto_can_be_asked_for_by_hand(run, pack, table, model_of, monkeypatch):
    monkeypatch.setattr('mr_elm.machines.auto.COMPARED_ROWS', 100)
    monkeypatch.setattr('mr_elm.machines.auto.EXACT_ROWS', 0)
    monkeypatch.setattr('mr_elm.machines.auto.SIZES', ((np.inf, 8, 60),))
    monkeypatch.setattr(joint, 'list_metrics', lambda rows, max_full: [])
    monkeypatch.setattr(joint, 'SECOND_MACHINE_RATIO', np.inf)
    rows = pack(table[1], table[0])
    chosen = run('train', 'auto', rows)
    given = read_model(chosen).header.parameters
    words = [
        word
        for name in ('kernel', 'weight_scale', 'nu', 'leaf_ridge')
        if name in given
        for word in (f'--{name.replace("_", "-")}', given[name])
    ]
    by_hand = run(
        'train', 'pesvm', rows, '--map', 'leaves+nystrom', '--leaves', 256, '--hidden', 60, '--no-sums', *words
    )
    demand_same_bits(model_of, chosen, by_hand)


@EVERY
def test_a_model_becomes_an_estimator_and_is_fitted_again(train, dense, table, map):
    model = read_model(train(dense, map), sums=True)
    estimator = to_estimator(model)
    assert (estimator.predict(table[0]) == model.predict(table[0])).all()
    assert np.allclose(
        estimator.fit(*table).model_.decision_function(table[0]), model.decision_function(table[0]), atol=1e-7
    )


def test_leaf_ridge_weighs_leaves_and_nu_weighs_all(train, dense):
    def size(*words):
        model = read_model(train(dense, 'leaves+sigmoid', *words))
        B, m = model.arrays['output_weights'][:-1], model.layer.n_leaves
        return (B[:m] ** 2).sum(), (B[m:] ** 2).sum()

    plain = size()
    assert size('--leaf-ridge', 1e6)[0] < 1e-3 * plain[0]
    assert all(small < large for small, large in zip(size('--nu', 0.01), plain, strict=True))


@pytest.mark.parametrize(
    'words',
    [
        ('--map', 'leaves', '--hidden', 20),
        ('--map', 'sigmoid', '--leaves', 64),
        ('--leaf-ridge', 3),
        ('--map', 'leaves', '--metric', 'diagonal'),
        ('--map', 'leaves', '--kernel', 'laplacian'),
        ('--map', 'leaves+leaves'),
    ],
)
def test_options_that_contradict_each_other_are_wrong_usage(elm, dense, tmp_path, words):
    assert elm('train', 'pesvm', dense, *words, '--model', tmp_path / 'm').status == 2


def test_elm_has_no_leaves(elm, dense, tmp_path):
    assert elm('train', 'elm', dense, '--map', 'leaves', '--model', tmp_path / 'm').status == 2


def test_a_metric_is_of_the_nodes_beside_the_leaves(train, dense, table):
    model = read_model(train(dense, 'leaves+sigmoid', '--metric', 'diagonal'))
    assert model.layer.metric is not None and model.layer.n_leaves
    assert (model.predict(table[0]) == table[1]).mean() > 0.9


def test_other_ridges_count_when_rows_come(table):
    X, labels = table
    model = ESVMClassifier(map='leaves', leaves=96).fit(X[:200], labels[:200])
    model.set_params(nu=7, leaf_ridge=3).partial_fit(X[200:], labels[200:])
    assert np.allclose(
        model.model_.decision_function(X),
        solve_densely(model.model_, X, 2.0 * (labels[:, None] == [0, 1, 2]) - 1),
        atol=1e-8,
    )
    assert model.model_.header.parameters['leaf_ridge'] == 3


def test_rows_whose_labels_the_trees_have_seen_are_not_held_out(elm, write, csv_of, rng, tmp_path):
    """Labels are noise, and yet leaves know them: what is computed of these rows would be too good without a word."""
    rows = write('noise.csv', csv_of(rng.integers(2, size=80), rng.normal(size=(80, 3))))
    for flag, words in ('--probabilities', ()), ('--intervals', ('--task', 'regression')):
        said = elm('train', 'pesvm', rows, '--map', 'leaves', *words, flag, '--model', tmp_path / f'{flag}.npz').err
        assert f'{flag}: the trees have seen the labels of these rows' in said
    for map, is_said in ('leaves', True), ('nystrom', False):
        model = tmp_path / f'{map}.npz'
        assert 'have seen' not in elm('train', 'pesvm', rows, '--map', map, '--model', model).err
        assert ('have seen' in elm('evaluate', model, rows, '--leave-one-out').err) == is_said
