"""Machines trained in reducers solve the dual: same model for any splits, parts close the gap over all rows."""

import json

import numpy as np
import pytest
from reference.files import LOCAL

from mr_elm.machines.gathering import GatheredRows, gather
from mr_elm.streaming.mr_check import keep_worst

N, D, C, SIGMA = 240, 3, 5.0, 1.5
GAUSSIAN = ('--sigma', SIGMA, '--C', C)


@pytest.fixture
def table(rng):
    """Draw rows of three classes that overlap: (X, labels)."""
    X = rng.normal(size=(N, D)) * [1, 30, 0.1] + [0, 100, 0]
    noise = rng.normal(size=(2, N)) * 0.4
    return X, (X[:, 0] + noise[0] > 0.3) * 1 + (X[:, 2] * 10 + noise[1] > 0) * 1


@pytest.fixture
def fit(elm, tmp_path, model_of):
    """Train, quietly unless something is to be said: (header, arrays), and the path as `fit.path`."""

    def train(path, *options, method='sparse-elm', said=''):
        train.path = tmp_path / f'dual-{len(list(tmp_path.iterdir()))}.npz'
        done = elm('train', method, path, '--model', train.path, '-q', *options)
        assert (done.status, done.out) == (0, '') and (said in done.err if said else done.err == '')
        return model_of(train.path)

    return train


def gaussian(A, B, sigma=SIGMA):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / (2 * sigma**2))


def scaled(X, arrays):
    return (X - arrays['feature_offset']) * arrays['feature_scale']


def primal_and_dual(model, X, labels, weights=1.0):
    """Return the primal and the dual objective of each machine, by numpy alone."""
    header, arrays = model
    names, K = np.array(header['classes'], float), len(header['classes'])
    Z, S, A = scaled(X, arrays), arrays['support_vectors'], arrays['dual_coef']
    f, omega = gaussian(Z, S) @ A, gaussian(S, S)
    pairs = [(i, j) for i in range(K) for j in range(i + 1, K)]
    upper, values = C * np.broadcast_to(weights, len(X)), []
    for p, (i, j) in enumerate(pairs):
        t = np.where(labels == names[j], 1, np.where(labels == names[i], -1, 0))
        norm = A[:, p] @ omega @ A[:, p]
        loss = (upper * np.maximum(0, 1 - t * f[:, p]))[t != 0].sum()
        values.append((norm / 2 + loss, np.abs(A[:, p]).sum() - norm / 2))
    return np.array(values).T


@pytest.mark.parametrize('method', ['sparse-elm', 'oelm'])
def test_every_pair_reaches_its_optimum_and_says_so(fit, dense, table, method):
    header, arrays = fit(dense, *GAUSSIAN, '--eps', 1e-6, method=method)
    primal, objective = primal_and_dual((header, arrays), *table)
    assert arrays['dual_coef'].shape[1] == 3 and (np.abs(arrays['dual_coef']) <= C).all()
    assert np.abs(primal - objective).max() < 1e-4
    certificates = header['parameters']['certificates']
    assert certificates['objective'] == pytest.approx(-objective, rel=1e-9)
    assert max(certificates['violation']) <= 1e-6 and max(certificates['gap']) < 1e-4


def test_packed_rows_give_the_same_bits_for_any_splits(fit, packed, maps):
    one = fit(packed, *GAUSSIAN)[1]
    for options in (maps(3), (*LOCAL, *maps(2))):
        other = fit(packed, *GAUSSIAN, *options)[1]
        assert [name for name in one if one[name].tobytes() != other[name].tobytes()] == []


def test_text_gives_the_same_predictions(fit, elm, dense, packed, tmp_path):
    for name, path in (('text', dense), ('packed', packed)):
        fit(path, *GAUSSIAN, '--eps', 1e-6)
        assert elm('predict', fit.path, dense, '-o', tmp_path / name, '--scores', '-q').status == 0
    text, pack = (np.loadtxt(tmp_path / name) for name in ('text', 'packed'))
    assert (text[:, 0] == pack[:, 0]).all() and np.abs(text - pack).max() < 1e-8


def test_the_command_line_predicts_by_a_vote_of_the_pairs(fit, elm, dense, table, tmp_path):
    header, arrays = fit(dense, *GAUSSIAN)
    elm('predict', fit.path, dense, '-o', tmp_path / 'out', '-q')
    f = gaussian(scaled(table[0], arrays), arrays['support_vectors']) @ arrays['dual_coef']
    votes = np.zeros((N, 3))
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        votes[np.arange(N), np.where(f[:, p] > 0, j, i)] += 1
    clear = (votes == 2).any(axis=1)
    assert clear.sum() > 0.9 * N
    assert (np.loadtxt(tmp_path / 'out')[clear] == votes.argmax(axis=1)[clear]).all()
    accuracy = json.loads(elm('evaluate', fit.path, dense, '--json', '-q').out)['accuracy']
    assert accuracy == pytest.approx((np.loadtxt(tmp_path / 'out') == table[1]).mean())


def test_one_class_against_all_is_a_machine_over_all_rows(fit, dense, table):
    header, arrays = fit(dense, *GAUSSIAN, '--multiclass', 'one-vs-all', '--eps', 1e-6)
    X, labels = table
    for k in range(3):
        two = np.where(labels == k, 1, 0)
        alone = {**header, 'classes': ['0', '1']}, {**arrays, 'dual_coef': arrays['dual_coef'][:, [k]]}
        primal, objective = primal_and_dual(alone, X, two)
        assert primal[0] - objective[0] < 1e-4


@pytest.mark.parametrize('partitions', [2, 5])
def test_parts_reach_the_optimum_of_all_rows(fit, packed, table, maps, partitions):
    whole = fit(packed, *GAUSSIAN, '--eps', 1e-6)
    header, arrays = fit(packed, *GAUSSIAN, '--partitions', partitions, '--gap', 1e-5, '--eps', 1e-4)
    primal, objective = primal_and_dual((header, arrays), *table)
    assert ((primal - objective) <= 1.01e-5 * objective).all()
    assert header['parameters']['certificates']['gap'] == pytest.approx(primal - objective, abs=1e-6)
    assert objective == pytest.approx(primal_and_dual(whole, *table)[1], rel=2e-5)
    again = fit(packed, *GAUSSIAN, '--partitions', partitions, '--gap', 1e-5, '--eps', 1e-4, *maps(3))[1]
    assert [name for name in arrays if arrays[name].tobytes() != again[name].tobytes()] == []


def test_a_working_set_that_outgrows_the_memory_is_refused(elm, dense, tmp_path):
    options = (*GAUSSIAN, '--partitions', 5, '--gap', 1e-5, '--eps', 1e-4, '--memory', 0.024)
    done = elm('train', 'sparse-elm', dense, *options, '--model', tmp_path / 'm.npz')
    assert done.status == 1 and 'support vectors' in done.err and 'raise --memory or lower C' in done.err


@pytest.mark.parametrize('options', [(), ('--partitions', 3, '--gap', 1e-5)])
def test_explicit_nodes_keep_their_output_weights(fit, dense, table, options):
    header, arrays = fit(dense, '--kernel', 'sigmoid', '--hidden', 15, '--C', C, '--eps', 1e-5, *options)
    Z = scaled(table[0], arrays) @ arrays['hidden_weights'].T + arrays['hidden_biases']
    f, beta = 1 / (1 + np.exp(-Z)) @ arrays['output_weights'][:-1], arrays['output_weights'][:-1]
    assert (arrays['output_weights'][-1] == 0).all()
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        t = np.where(table[1] == j, 1, np.where(table[1] == i, -1, 0))
        primal = beta[:, p] @ beta[:, p] / 2 + C * np.maximum(0, 1 - t * f[:, p])[t != 0].sum()
        assert primal == pytest.approx(-header['parameters']['certificates']['objective'][p], rel=1e-4)


def test_a_row_of_weight_two_is_two_rows(fit, write, csv_of, table):
    X, labels = table
    weights = np.where(X[:, 0] > 0, 2.0, 1.0)
    once = write('weighted.csv', csv_of(labels, np.c_[X, weights]))
    twice = write('twice.csv', csv_of(*(np.r_[part, part[weights == 2]] for part in (labels, X))))
    scale = ('--scale', 'none', '--sigma', 20, '--C', C, '--eps', 1e-6)
    one, two = fit(once, '--weight-column', 4, *scale), fit(twice, *scale)
    objectives = [model[0]['parameters']['certificates']['objective'] for model in (one, two)]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-7)


def test_balanced_classes_weigh_the_same(fit, dense, table):
    header, arrays = fit(dense, *GAUSSIAN, '--class-weight', 'balanced', '--eps', 1e-6)
    weights = N / (3 * np.bincount(table[1]))[table[1]]
    primal, objective = primal_and_dual((header, arrays), *table, weights)
    assert np.abs(primal - objective).max() < 1e-4


def test_sparse_rows_are_the_dense_ones(fit, elm, write, libsvm_of, dense, table, tmp_path):
    sparse = write('rows.libsvm', libsvm_of(table[1], table[0]))
    for name, path in (('dense', dense), ('sparse', sparse)):
        fit(path, *GAUSSIAN, '--eps', 1e-6)
        elm('predict', fit.path, sparse if name == 'sparse' else dense, '-o', tmp_path / name, '--scores', '-q')
    one, other = (np.loadtxt(tmp_path / name) for name in ('dense', 'sparse'))
    assert np.abs(one - other).max() < 1e-5


def test_rows_too_many_for_the_memory_are_refused_with_a_way_on(fit, elm, dense, tmp_path):
    options = ('train', 'sparse-elm', dense, *GAUSSIAN, '--memory', 0.01, '--model', tmp_path / 'm.npz', '-q')
    status, _, said = elm(*options)
    assert status == 1 and 'at most 69 fit' in said and '--partitions' in said and not (tmp_path / 'm.npz').exists()


def test_a_solver_that_is_stopped_warns_of_the_classes_and_the_gap(fit, dense):
    fit(dense, *GAUSSIAN, '--rule', 'paper', '--max-iter', 3, said='classes 0 and 1: stopped after 3 iterations')


@pytest.mark.parametrize(
    'options, said',
    [
        (('--C', 0), '--C'),
        (('--sigma', -1), '--sigma'),
        (('--kernel', 'linear', '--sigma', 1), '--sigma'),
        (('--eps', 'nan'), '--eps'),
        (('--partitions', 0), '--partitions'),
        (('--rule', 'oelm'), '--rule'),
    ],
)
def test_wrong_parameters_are_wrong_usage(elm, dense, tmp_path, options, said):
    done = elm('train', 'sparse-elm', dense, '--model', tmp_path / 'm.npz', *options)
    assert done.status == 2 and said in done.err


def test_one_class_is_refused(elm, write, tmp_path):
    path = write('one.csv', '1,2,3\n' * 9)
    status, _, said = elm('train', 'sparse-elm', path, '--model', tmp_path / 'm.npz', '-q')
    assert status == 1 and 'at least two classes' in said


def test_rows_come_together_in_input_order_however_they_arrive(rng):
    places = np.array([[file, start, i] for file in range(2) for start in (0, 70) for i in range(5)])
    rows = GatheredRows(places, np.arange(20.0), np.ones(20), rng.normal(size=(20, 2)))
    chosen = [rng.permutation(20)[:11]]
    chosen.append(np.setdiff1d(np.arange(20), chosen[0]))
    pieces = [piece for part in chosen for piece, _ in rows.take(part).cut()]
    assert (gather(pieces).numbers == rows.numbers).all()


def test_the_worst_rows_of_parts_are_the_worst_of_all(rng):
    margins = rng.integers(0, 5, 40).astype(float)
    places = np.c_[np.zeros((40, 2), int), np.arange(40)]
    rows = GatheredRows(places, np.arange(40.0), np.ones(40), rng.normal(size=(40, 2)))
    merged = None
    for part in (slice(0, 25), slice(25, 40)):
        merged = keep_worst(merged, margins[part], rows.take(part), 7)
    assert merged[1].numbers.tolist() == keep_worst(None, margins, rows, 7)[1].numbers.tolist()
