"""SphereSVM trained in reducers: same model for any splits, parts close the gap over all rows, parameters are tuned."""

import json

import numpy as np
import pytest
from reference import sphere
from reference.files import LOCAL

N, C, SIGMA = 240, 5.0, 1.5
GAUSSIAN = ('--sigma', SIGMA, '--C', C)


@pytest.fixture
def table(rng):
    """Draw rows of three classes that overlap: (X, labels)."""
    X = rng.normal(size=(N, 3)) * [1, 30, 0.1] + [0, 100, 0]
    noise = rng.normal(size=(2, N)) * 0.4
    return X, (X[:, 0] + noise[0] > 0.3) * 1 + (X[:, 2] * 10 + noise[1] > 0) * 1


@pytest.fixture
def fit(elm, tmp_path, model_of):
    """Train quietly: (header, arrays), and the path as `fit.path`."""

    def train(path, *options):
        fit_number = len(list(tmp_path.iterdir()))
        train.path = tmp_path / f'sphere-{fit_number}.npz'
        done = elm('train', 'sphere-svm', path, '--model', train.path, '-q', *options)
        assert (done.status, done.out, done.err) == (0, '', '')
        return model_of(train.path)

    return train


def shortfalls(arrays, X, labels):
    """Return 1 - min c.x~_i / |c|^2 of each machine over all its rows, by numpy alone."""
    Z, S = (X - arrays['feature_offset']) * arrays['feature_scale'], arrays['support_vectors']
    values = []
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.flatnonzero(np.isin(labels, (i, j)))
        y = np.where(labels[rows] == j, 1.0, -1.0)
        K = np.exp(-((Z[rows, None] - Z[None, rows]) ** 2).sum(axis=2) / (2 * SIGMA**2))
        held = arrays['dual_coef'][:, p] != 0
        near = ((Z[rows, None] - S[None, held]) ** 2).sum(axis=2).argmin(axis=0)
        b = np.zeros(len(rows))
        b[near] = np.abs(arrays['dual_coef'][held, p])
        assert np.allclose(arrays['intercept'][p], (b * y).sum())
        values.append(sphere.shortfall(sphere.ball_kernel(K, y, C), b / b.sum()))
    return np.array(values)


def test_every_pair_reaches_its_gap_and_says_so(fit, dense, table):
    header, arrays = fit(dense, *GAUSSIAN, '--eps', 1e-4)
    short = shortfalls(arrays, *table)
    assert arrays['dual_coef'].shape[1] == 3 and short.max() <= 1e-4
    certificates = header['parameters']['certificates']
    assert certificates['violation'] == pytest.approx(short, abs=1e-9)
    assert np.divide(certificates['gap'], certificates['objective']) == pytest.approx(short, abs=1e-9)


def test_packed_rows_give_the_same_bits_for_any_splits(fit, packed, maps):
    for rule, ways in (('exact', (maps(3), (*LOCAL, *maps(2)))), ('paper', (maps(3),))):
        one = fit(packed, *GAUSSIAN, '--rule', rule)[1]
        for options in ways:
            other = fit(packed, *GAUSSIAN, '--rule', rule, *options)[1]
            assert [name for name in one if one[name].tobytes() != other[name].tobytes()] == []


def test_parts_close_the_gap_over_all_rows(fit, packed, table, maps):
    options = (*GAUSSIAN, '--partitions', 4, '--gap', 1e-5, '--eps', 1e-4)
    header, arrays = fit(packed, *options)
    assert shortfalls(arrays, *table).max() <= 1.01e-5
    certificates = header['parameters']['certificates']
    assert (np.divide(certificates['gap'], certificates['objective']) <= 1e-5).all()
    whole = fit(packed, *GAUSSIAN, '--eps', 1e-6)[0]['parameters']['certificates']
    assert certificates['objective'] == pytest.approx(whole['objective'], rel=3e-5)
    again = fit(packed, *options, *maps(3))[1]
    assert [name for name in arrays if arrays[name].tobytes() != again[name].tobytes()] == []


def test_predictions_are_those_of_the_model_and_sparse_rows_are_the_dense_ones(
    fit, elm, write, libsvm_of, dense, table, tmp_path
):
    sparse = write('rows.libsvm', libsvm_of(table[1], table[0]))
    for options in (GAUSSIAN, ('--kernel', 'polynomial', '--normalise')):
        for name, path in (('dense', dense), ('sparse', sparse)):
            arrays = fit(path, *options, '--eps', 1e-6, *(() if options == GAUSSIAN else ('--scale', 'none')))[1]
            elm('predict', fit.path, path, '-o', tmp_path / name, '--scores', '--overwrite', '-q')
        one, other = (np.loadtxt(tmp_path / name) for name in ('dense', 'sparse'))
        assert np.abs(one - other).max() < 1e-4
    U, S = (np.c_[np.ones(len(A)), A] for A in (table[0], arrays['support_vectors']))
    cosine = U @ S.T / np.sqrt(np.outer((U**2).sum(axis=1), (S**2).sum(axis=1)))
    assert np.allclose(other[:, 1:], cosine**3 @ arrays['dual_coef'] + arrays['intercept'], rtol=0, atol=1e-6)


def test_cross_validation_chooses_C_and_sigma(elm, dense, maps):
    words = ('tune', 'sphere-svm', dense, '--sigma', '1,3', '--C', '0.5,5', '--folds', 3, '-q')
    one, other = elm(*words), elm(*words, *maps(3))
    assert (one.status, one.err) == (0, '') and other.out == one.out
    best = json.loads(one.out)
    assert best['sigma'] in (1, 3) and best['C'] in (0.5, 5)


def test_subsets_and_attempts_are_those_of_algorithm_1_and_recorded(fit, dense):
    found = [
        fit(dense, *GAUSSIAN, '--rule', 'paper', *words)[0]['parameters']
        for words in ((), ('--subset', 240, '--attempts', 1), ('--subset', 3, '--attempts', 50))
    ]
    assert [(given['subset'], given['attempts']) for given in found] == [(59, 20), (240, 1), (3, 50)]
    assert len({tuple(given['certificates']['n_iter']) for given in found}) == 3
    assert 'subset' not in fit(dense, *GAUSSIAN)[0]['parameters']


def test_the_best_by_algorithm_1_is_trained_by_it(elm, dense, tmp_path, model_of):
    path = tmp_path / 'best.npz'
    words = ('--sigma', '1,3', '--C', 5, '--folds', 3, '--rule', 'paper', '--subset', 9, '--eps', 1e-2)
    done = elm('tune', 'sphere-svm', dense, *words, '--model', path, '-q')
    assert (done.status, json.loads(done.out)['solver']) == (0, 'paper')
    assert [model_of(path)[0]['parameters'][name] for name in ('solver', 'subset', 'attempts')] == ['paper', 9, 20]


@pytest.mark.parametrize(
    'options, said',
    [
        (('--kernel', 'linear'), 'add --normalise'),
        (('--kernel', 'sigmoid'), '--kernel'),
        (('--C', 0), '--C'),
        (('--rule', 'paper', '--partitions', 2), '--rule exact'),
        (('--subset', 9), '--rule paper'),
        (('--attempts', 9, '--rule', 'exact'), '--rule paper'),
        (('--subset', 0, '--rule', 'paper'), '--subset'),
        (('--rule', 'block'), '--rule'),
    ],
)
def test_wrong_parameters_are_wrong_usage(elm, dense, tmp_path, options, said):
    done = elm('train', 'sphere-svm', dense, '--model', tmp_path / 'm.npz', *options)
    assert done.status == 2 and said in done.err
