"""`train auto` chooses machines by a sample and trains them by all rows: the same model for any splits and runner."""

import json

import numpy as np
import pytest
from reference.commands import succeed
from reference.files import LOCAL

from mr_elm.drivers import auto as driver
from mr_elm.estimators import AutoClassifier, AutoRegressor
from mr_elm.machines import auto, sample
from mr_elm.machines.auto import Budget, choose_exact, choose_machines
from mr_elm.machines.press import LeaveOneOut
from mr_elm.model.file import make_model, read_model
from mr_elm.rows.blocks import Block
from mr_elm.solvers.ridge import find_penalty
from mr_elm.sums.gram import expand

N = 160


@pytest.fixture
def exact(monkeypatch):
    """Let 160 rows be too many for a comparison, and few enough for an exact machine."""
    monkeypatch.setattr(auto, 'COMPARED_ROWS', 50)
    monkeypatch.setattr(auto, 'SIZES', ((np.inf, 8, 60),))


@pytest.fixture
def many(monkeypatch, exact):
    """Let 160 rows be many, of which a sample of about 110 chooses."""
    monkeypatch.setattr(auto, 'EXACT_ROWS', 0)
    monkeypatch.setattr(sample, 'SAMPLE_ROWS', 110)
    monkeypatch.setattr(sample, 'MERGED_ROWS', 50)


@pytest.fixture
def three_classes(rng):
    """Draw rows of three classes: (X, labels)."""
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] > 0.3) * 1 + (X[:, 1] * X[:, 2] > 0) * 1


@pytest.fixture
def trained(elm, tmp_path):
    """Train quietly: the path of the model."""

    def run(path, *options, name='m.npz'):
        done = elm('train', 'auto', path, '--model', tmp_path / name, '--overwrite', '-q', *options)
        assert (done.status, done.out, done.err) == (0, '', '')
        return tmp_path / name

    run.path = tmp_path / 'm.npz'
    return run


@pytest.fixture
def steps(write, csv_of, rng):
    """Write rows whose label is a step of one column and a smooth function of others."""
    X = rng.uniform(-2, 2, size=(N, 4))
    labels = ((X[:, 0] > 0.7) ^ (np.sin(3 * X[:, 1]) + X[:, 2] > 0)).astype(int)
    return write('steps.csv', csv_of(labels, X)), X, labels


def demand_same_bits(model_of, one, other):
    """Demand models of the same machines and bits; a condition is an estimate, a peak tells of the past."""
    (header, arrays), (wanted, others) = model_of(one), model_of(other)
    members, same = (
        [
            {name: value for name, value in member.items() if name not in ('condition', 'peak')}
            for member in each.get('members', [each['parameters']])
        ]
        for each in (header, wanted)
    )
    assert members == same and list(arrays) == list(others)
    assert [name for name in arrays if arrays[name].tobytes() != others[name].tobytes()] == []


@pytest.mark.parametrize('size', ['few', 'many'])
def test_splits_and_runners_do_not_show(trained, packed_classes, model_of, maps, size, request):
    if size == 'many':
        request.getfixturevalue('many')
    model = trained(packed_classes)
    for where in (maps(3), (*maps(2), *LOCAL)):
        demand_same_bits(model_of, model, trained(packed_classes, *where, name='again.npz'))


def test_machines_whose_sums_take_a_pass_each_are_the_same(
    elm, trained, many, packed_classes, model_of, tmp_path, monkeypatch
):
    monkeypatch.setattr('mr_elm.machines.joint.SECOND_MACHINE_RATIO', 0.0)
    together = trained(packed_classes)
    monkeypatch.setattr(driver, 'TASK_SUMS', 1)
    lines = elm('train', 'auto', packed_classes, '--model', tmp_path / 'again.npz').err.splitlines()
    demand_same_bits(model_of, together, tmp_path / 'again.npz')
    assert sum(line.startswith('folds: ') for line in lines) == len(read_model(together).members) == 2


def test_few_rows_compare_kernels_random_nodes_and_leaves(elm, write, csv_of, rng, tmp_path):
    X = rng.normal(size=(300, 3))
    path = write('rows.csv', csv_of((X[:, 0] > 0.3) * 1 + (X[:, 1] * X[:, 2] > 0) * 1, X))
    lines = elm('train', 'auto', path, '--model', tmp_path / 'm.npz').err.splitlines()
    compared = [line for line in lines if line.startswith('--map ')]
    assert len(compared) == 6 and all('of 300 rows held out are right' in line for line in compared)
    assert sum(line.startswith('--map leaves+nystrom') for line in compared) == 1
    kept = [line for line in compared if 'left out' not in line]
    machines = f'averages {len(kept)} machines' if len(kept) > 1 else 'is one machine'
    assert sum(f'the model {machines}' in line for line in lines) == 1


def test_the_errors_of_a_regression_do_not_depend_on_the_unit_of_the_target(elm, write, csv_of, rng, tmp_path):
    X = rng.normal(size=(120, 2))
    lines = []
    for factor in (1, 1024):
        rows = write('rows.csv', csv_of(factor * (X[:, 0] + 0.3 * X[:, 1] ** 2), X))
        done = elm('train', 'auto', rows, '--task', 'regression', '--model', tmp_path / 'm.npz', '--overwrite')
        lines.append([line for line in done.err.splitlines() if 'squared error' in line])
        assert done.status == 0 and all(', relative squared error ' in line for line in lines[-1][:-1])
    assert lines[0] == lines[1] and 'the model: relative squared error ' in lines[0][-1]


def test_few_rows_with_steps_take_leaves(trained, write, csv_of, rng):
    X = rng.uniform(-2, 2, size=(N, 8))
    labels = ((X[:, 0] > 0.5) & (X[:, 1] < 0.3)) | (X[:, 2] > 1.2)
    model = read_model(trained(write('steps.csv', csv_of(labels * 1, X)), '--keep-sums'))
    joint_machine = next(member for member in model.members if member.layer.n_leaves)
    assert joint_machine.header.parameters['leaves'] == 320 and len(joint_machine.layer.biases) == N
    assert (AutoClassifier(probabilities=False).fit(X, labels * 1).model_.predict(X) == model.predict(X)).all()


def test_many_rows_make_leaves_and_landmarks_and_every_decision_has_a_line(elm, many, steps, tmp_path, model_of):
    path, X, labels = steps
    done = elm('train', 'auto', path, '--model', tmp_path / 'm.npz')
    for text in ('choosing by ', 'held out', 'trees and ', 'twice the size has ', 'trees and 60 landmarks, mu '):
        assert text in done.err
    header = model_of(tmp_path / 'm.npz')[0]
    assert 'leaves' in header['requires'] and header['method'] == 'auto'
    for member in read_model(tmp_path / 'm.npz').members:
        assert member.header.parameters['map'] == 'leaves+nystrom' and member.layer.forest.n_trees == 8
        assert len(member.layer.biases) == 60 and member.layer.n_hidden == 60 + member.layer.n_leaves


def test_up_to_5000_rows_an_exact_machine_has_every_row_as_a_landmark(trained, steps, exact):
    *joint, exact = read_model(trained(steps[0])).members
    assert joint and exact.layer.forest is None and len(exact.layer.biases) == N
    assert exact.header.parameters['map'] == 'nystrom'


def test_rows_held_out_see_the_average_of_two_joint_machines_and_an_exact_one(steps, exact, monkeypatch):
    monkeypatch.setattr('mr_elm.machines.joint.SECOND_MACHINE_RATIO', 0.0)
    exacts, choices = [], []

    def keep(*words):
        choices.append(choose_machines(*words))
        return choices[-1]

    monkeypatch.setattr(auto, 'choose_exact', lambda *words: exacts.append(choose_exact(*words)) or exacts[0])
    monkeypatch.setattr('mr_elm.estimators.auto.choose_machines', keep)
    _, X, labels = steps
    for keep_sums in (False, True):
        AutoClassifier(keep_sums=keep_sums).fit(X, labels)
    (three, two), ((_, of_exact),) = choices, exacts
    assert len(three.members) == 3 and np.allclose(three.values, (2 * two.values + of_exact) / 3)


def test_an_exact_machine_solves_its_equations(trained, write, csv_of, rng, exact):
    X = rng.uniform(-2, 2, size=(N, 2))
    t = 1000 + np.sin(2 * X[:, 0]) + X[:, 1]
    exact = read_model(trained(write('t.csv', csv_of(t.tolist(), X)), '--task', 'regression')).members[-1]
    values, alpha = exact.decision_function(X)[:, 0], exact.arrays['output_weights'][:-1, 0]
    order = np.argmin(((exact.arrays['landmarks'][:, None] - exact.layer.place_rows(X)) ** 2).sum(axis=2), axis=1)
    assert np.allclose(t[order] - values[order], alpha / exact.header.parameters['nu'], atol=1e-6)


@pytest.mark.parametrize('size', ['few', 'many', 'exact'])
def test_new_rows_are_labelled_right_and_the_estimator_makes_the_same_model(
    elm, trained, write, csv_of, steps, rng, size, request
):
    if size != 'few':
        request.getfixturevalue(size)
    path, X, labels = steps
    new = rng.uniform(-2, 2, size=(300, 4))
    rows = write('new.csv', csv_of(((new[:, 0] > 0.7) ^ (np.sin(3 * new[:, 1]) + new[:, 2] > 0)).astype(int), new))
    assert json.loads(elm('evaluate', trained(path), rows, '--json').out)['accuracy'] > 0.75
    model, estimator = read_model(trained.path), AutoClassifier(probabilities=False).fit(X, labels)
    assert len(model.members) == len(estimator.model_.members)
    assert (model.classes[1] == '1') and (model.predict(X) == estimator.predict(X)).mean() > 0.99
    assert np.allclose(model.decision_function(X), estimator.model_.decision_function(X), atol=1e-4)
    again, shares = make_model(model.header, model.arrays), estimator.feature_importances_
    assert (model.decision_function(X) == again.decision_function(X)).all()
    assert shares.shape == (4,) and shares.sum() == pytest.approx(1) and shares.argmin() == 3


def test_the_estimator_of_a_regression_makes_the_same_model(trained, many, write, csv_of, rng):
    X = rng.uniform(-2, 2, size=(N, 3))
    t = 1e5 + np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    path = write('t.csv', csv_of(t.tolist(), X))
    model, estimator = read_model(trained(path, '--task', 'regression')), AutoRegressor().fit(X, t)
    assert np.allclose(model.decision_function(X)[:, 0], estimator.predict(X), rtol=0, atol=1e-3)


@pytest.mark.parametrize('size', ['few', 'many', 'exact'])
def test_with_its_sums_the_model_lives(
    elm, trained, packed_classes, three_classes, write, csv_of, tmp_path, model_of, size, request
):
    """Rows that come and leave are none of the landmarks, which cannot be forgotten."""
    if size != 'few':
        request.getfixturevalue(size)
    model, (X, labels) = trained(packed_classes, '--keep-sums'), three_classes
    more = write('more.csv', csv_of(labels, 0.9 * X))
    for command, old, new in (('update', model, 'more.npz'), ('forget', tmp_path / 'more.npz', 'once.npz')):
        succeed(elm(command, old, more, '--model', tmp_path / new, '-q'))
    demand_same_bits(model_of, model, tmp_path / 'once.npz')
    refused = elm('forget', tmp_path / 'more.npz', packed_classes, '--model', tmp_path / 'refused.npz', '-q')
    assert refused.status == 1 and 'landmarks' in refused.err and not (tmp_path / 'refused.npz').exists()


def test_an_estimator_calibrates_as_the_command(elm, trained, write, csv_of, steps, tmp_path):
    _, X, labels = steps
    first, later = slice(0, 110), slice(110, None)
    paths = [write(f'{part.start}.csv', csv_of(labels[part], X[part])) for part in (first, later)]
    model = trained(paths[0], '--keep-sums', '--probabilities')
    given = (part for path in paths for part in ('--calibrate', path))
    succeed(elm('update', model, paths[1], *given, '--model', tmp_path / 'u.npz', '-q'))
    ours = AutoClassifier(keep_sums=True).fit(X[first], labels[first]).partial_fit(X[later], labels[later])
    before = ours.model_.arrays['calibration']
    found = ours.calibrate(X, labels).model_.arrays['calibration']
    assert np.allclose(found, read_model(tmp_path / 'u.npz').arrays['calibration'], rtol=1e-3)
    assert not np.allclose(found, before, rtol=1e-2)


def test_leave_one_out_is_the_machine_of_all_other_rows(many, steps):
    _, X, labels = steps
    member = AutoClassifier(keep_sums=True).fit(X, labels).model_.members[0]
    found = LeaveOneOut.of(member).score(Block(X, ('0', '1'), labels), None).decisions
    E, T = expand(member.layer, X), 2.0 * labels - 1
    system = E.T @ E
    find_penalty(member.header.parameters, member.layer).add_to(system)
    for i in (0, 1, 50):
        B = np.linalg.solve(system - np.outer(E[i], E[i]), E.T @ T - E[i] * T[i])
        assert found[i, 0] == pytest.approx(E[i] @ B, abs=1e-6)


@pytest.mark.parametrize('exact_rows', [0, 5000])
def test_without_its_sums_the_model_is_small_and_refuses_rows(
    elm, trained, many, packed_classes, tmp_path, exact_rows, monkeypatch
):
    monkeypatch.setattr(auto, 'EXACT_ROWS', exact_rows)
    monkeypatch.setattr(sample, 'SAMPLE_ROWS', 1000)
    model = trained(packed_classes)
    done = elm('update', model, packed_classes, '--model', tmp_path / 'u.npz', '-q')
    assert done.status == 1 and 'sums' in done.err and model.stat().st_size < 200_000


def test_an_estimator_learns_and_forgets(many, steps):
    _, X, labels = steps
    model = AutoClassifier(keep_sums=True, probabilities=False).fit(X[:100], labels[:100])
    before = model.model_.decision_function(X)
    model.partial_fit(X[100:], labels[100:])
    changed = model.model_.decision_function(X)
    assert not np.allclose(changed, before, atol=1e-6)
    assert (model.forget(X[100:], labels[100:]).model_.decision_function(X) == before).all()
    other = np.where(np.arange(len(X)) < 100, labels, 7)
    model.partial_fit(X[100:], other[100:])
    assert model.classes_.tolist() == [0, 1, 7] and 7 in model.predict(X[100:])
    assert (model.forget(X[100:], other[100:]).model_.decision_function(X) == before).all()
    with pytest.raises(AttributeError, match='has no attribute'):
        AutoClassifier().fit(X, labels).partial_fit(X, labels)


def test_no_bit_depends_on_threads(steps, many, monkeypatch):
    monkeypatch.setattr(auto, 'EXACT_ROWS', 5000)
    monkeypatch.setattr(sample, 'SAMPLE_ROWS', 1000)
    _, X, labels = steps
    decisions = [AutoClassifier(n_jobs=n).fit(X, labels).model_.decision_function(X) for n in (None, 1, 2)]
    assert (decisions[0] == decisions[1]).all() and (decisions[0] == decisions[2]).all()


@pytest.mark.parametrize('n', [1, 2, 20])
def test_few_rows_of_each_class_are_enough(elm, trained, write, csv_of, rng, n):
    X = np.r_[rng.normal(size=(n, 2)) - 2, rng.normal(size=(n, 2)) + 2]
    path = write('few.csv', csv_of(np.repeat([0, 1], n), X))
    assert json.loads(elm('evaluate', trained(path), path, '--json').out)['accuracy'] == 1


def test_rows_that_are_all_alike_are_enough(elm, write, tmp_path):
    path = write('alike.csv', '0,1,2\n1,1,2\n' * 3)
    done = elm('train', 'auto', path, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 0


def test_many_rows_that_are_all_alike_are_enough_too(elm, write, tmp_path, many):
    path = write('alike.csv', '0,1,2\n1,1,2\n' * 150)
    done = elm('train', 'auto', path, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 0


@pytest.mark.parametrize('size', ['few', 'many'])
def test_sparse_rows_and_weights_of_classes(elm, trained, write, libsvm_of, rng, size, request):
    if size == 'many':
        request.getfixturevalue('many')
    X = rng.normal(size=(120, 30)) * (rng.random((120, 30)) < 0.2)
    path = write('rows.libsvm', libsvm_of(np.where(X[:, :5].sum(axis=1) > 0.5, '+1', '-1'), X))
    found = json.loads(elm('evaluate', trained(path, '--class-weight', 'balanced'), path, '--json').out)
    assert found['accuracy'] > 0.7


def scales_of(model):
    """Return how each machine of a model scales its rows."""
    return {member.header.parameters['scale'] for member in getattr(model, 'members', [model])}


@pytest.mark.parametrize('size', ['few', 'many'])
def test_words_of_documents_are_taken_as_they_are(trained, write, libsvm_of, rng, size, request):
    """A word in a single document would weigh most if all words had the same variance."""
    if size == 'many':
        request.getfixturevalue('many')
    topics = rng.integers(2, size=N)
    frequencies = 1 / np.arange(3, 1003)
    words = rng.choice(1000, size=(N, 40), p=frequencies / frequencies.sum())
    of_topic = rng.random((N, 40)) < 0.1
    X = np.zeros((N, 1000))
    np.add.at(X, (np.arange(N)[:, None], np.where(of_topic, 10 * topics[:, None] + words % 10, words)), 1.0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert scales_of(read_model(trained(write('documents.libsvm', libsvm_of(topics, X))))) == {'none'}


@pytest.mark.parametrize('n_copies', [1, 20])
def test_few_different_sparse_rows_are_enough(trained, write, n_copies):
    path = write('few.libsvm', '1 1:3 4:1\n-1 1:3\n' * n_copies)
    assert scales_of(read_model(trained(path))) == {'standard'}


def test_sparse_features_of_different_units_are_scaled(trained, write, libsvm_of, rng):
    X = rng.normal(size=(N, 30)) * (rng.random((N, 30)) < 0.3)
    path = write(
        'units.libsvm', libsvm_of((X[:, :5].sum(axis=1) > 0).astype(int), X * np.where(np.arange(30) < 5, 1e-3, 1.0))
    )
    assert scales_of(read_model(trained(path))) == {'standard'}


@pytest.mark.parametrize('size', ['few', 'many'])
def test_a_regression_with_intervals_that_hold(elm, trained, write, csv_of, rng, size, request, tmp_path):
    if size == 'many':
        request.getfixturevalue('many')
    X = rng.uniform(-2, 2, size=(2 * N, 3))
    t = np.sin(3 * X[:, 0]) + 7 + 0.1 * rng.normal(size=2 * N)
    model = trained(write('y.csv', csv_of(t[:N].tolist(), X[:N])), '--task', 'regression', '--intervals')
    path = write('new.csv', csv_of(t[N:].tolist(), X[N:]))
    assert json.loads(elm('evaluate', model, path, '--json').out)['r2'] > 0.9
    elm('predict', model, path, '--interval', '0.8', '-o', tmp_path / 'out', '-q')
    low, high = np.loadtxt(tmp_path / 'out')[:, 1:].T
    assert 0.68 < ((low <= t[N:]) & (t[N:] <= high)).mean() < 0.92


@pytest.mark.parametrize('size', ['few', 'many'])
def test_the_average_has_probabilities_that_fit_rows_it_has_not_seen(
    elm, trained, packed_classes, write, csv_of, rng, size, request
):
    if size == 'many':
        request.getfixturevalue('many')
    X = rng.normal(size=(N, 3))
    path = write('new.csv', csv_of((X[:, 0] > 0.3) * 1 + (X[:, 1] * X[:, 2] > 0) * 1, X))
    model = read_model(trained(packed_classes, '--probabilities'))
    assert model.header.calibration['scored'] == ('held-out' if size == 'many' else 'leave-one-out')
    found = json.loads(elm('evaluate', trained.path, path, '--json').out)
    assert found['log_loss'] < 0.6 * np.log(3)


def test_a_class_of_few_rows_has_its_share_of_the_probability(many, rng):
    X = rng.normal(size=(300, 3))
    labels = np.where(X[:, 0] > 0, 'a', 'b')
    labels[:1] = 'rare'
    P = AutoClassifier().fit(X, labels).predict_proba(X)
    assert P[:, 2].mean() < 0.05 and np.allclose(P.sum(axis=1), 1)


@pytest.mark.parametrize('size', ['few', 'many'])
def test_a_target_that_is_constant_is_predicted(elm, write, csv_of, rng, tmp_path, size, request):
    if size == 'many':
        request.getfixturevalue('many')
    path = write('five.csv', csv_of([5.0] * N, rng.normal(size=(N, 2))))
    assert elm('train', 'auto', path, '--task', 'regression', '--model', tmp_path / 'm.npz', '-q').status == 0
    elm('predict', tmp_path / 'm.npz', path, '-o', tmp_path / 'out', '-q')
    assert np.allclose(np.loadtxt(tmp_path / 'out'), 5, atol=1e-6)


def test_columns_of_text_and_missing_values(elm, trained, write, many, rng):
    X = rng.normal(size=(N, 2))
    lines = [
        f'{"yes" if (c == "red") ^ (x > 0) else "no"},{"" if i % 11 == 0 else f"{x:.3f}"},{c}'
        for i, (x, c) in enumerate(zip(X[:, 0], rng.choice(['red', 'green'], N), strict=True))
    ]
    path = write('table.csv', '\n'.join(['label,x,colour', *lines]) + '\n')
    assert json.loads(elm('evaluate', trained(path, '--encode', 'auto'), path, '--json').out)['accuracy'] > 0.85


def test_a_budget_of_nodes_is_kept(trained, packed_classes, exact):
    """An exact machine would have as many as there are rows."""
    for budget in (40, 150):
        members = read_model(trained(packed_classes, '--budget', budget)).members
        assert all(member.layer.n_hidden <= budget for member in members)


def test_a_budget_of_few_rows_is_kept(trained, packed_classes):
    assert all(member.layer.n_hidden <= 60 for member in read_model(trained(packed_classes, '--budget', 60)).members)


def test_the_machines_of_few_rows_grow_to_as_many_nodes_as_there_are_rows(elm, packed_classes, tmp_path, monkeypatch):
    monkeypatch.setattr(auto, 'COMPARED_NODES', 60)
    done = elm('train', 'auto', packed_classes, '--model', tmp_path / 'm.npz', '--budget', 2 * N)
    assert done.status == 0 and f'choosing width and nu again for {N} hidden nodes' in done.err


def test_seconds_are_turned_into_a_size_by_a_formula():
    assert Budget().choose_size(0.99, 10**4) == (64, 500) and Budget().choose_size(0.5, 10**4) == (112, 2000)
    assert Budget().choose_size(0.5, 10**6) == (64, 500)  # no size of a million rows fits: the smallest stands
    trees, landmarks = Budget(seconds=600).choose_size(0.5, 10**4)
    assert trees > 112 and landmarks > 2000
    trees, landmarks = Budget(nodes=300).choose_size(0.5, 10**4)
    assert 32 * trees + landmarks <= 300


@pytest.mark.parametrize(
    'options', [('--nu', 3), ('--kernel', 'laplacian'), ('--budget', '0'), ('--budget', '5m'), ('--map', 'nystrom')]
)
def test_what_it_chooses_is_wrong_usage(elm, packed_classes, options, tmp_path):
    assert elm('train', 'auto', packed_classes, *options, '--model', tmp_path / 'm.npz').status == 2


def test_pesvm_has_no_option_auto(elm, packed_classes, tmp_path):
    assert elm('train', 'pesvm', packed_classes, '--auto', '--model', tmp_path / 'm.npz').status == 2
