"""PESVM trained through the jobs is the closed form on its own nodes, the same for any splits and runner."""

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference.files import LOCAL
from scipy.sparse import csr_matrix

N, D = 600, 5
MAPS = ('sigmoid', 'tanh', 'sine', 'rff', 'relu', 'hardlimit', 'rbf', 'multiquadric', 'nystrom')
LAPLACIAN = '--map', 'nystrom', '--kernel', 'laplacian'
PRODUCT = '--map', 'nystrom', '--kernel', 'product-laplacian'


# The closed form, by numpy alone


def distances(Z, A):
    return ((Z[:, None, :] - A[None, :, :]) ** 2).sum(axis=2)


PROJECTIONS = {
    'sigmoid': lambda U: 1 / (1 + np.exp(-U)),
    'tanh': np.tanh,
    'sine': np.sin,
    'rff': np.cos,
    'relu': lambda U: np.where(U > 0, U, 0),
    'hardlimit': lambda U: np.where(U >= 0, 1.0, 0.0),
    'identity': lambda U: U,
}
KERNELS = {
    None: lambda Z, A, sigma: np.exp(-distances(Z, A) / (2 * sigma**2)),
    'laplacian': lambda Z, A, sigma: np.exp(-np.sqrt(distances(Z, A)) / sigma),
    'product-laplacian': lambda Z, A, sigma: np.exp(-np.abs(Z[:, None, :] - A) / sigma).prod(axis=2),
}


def landmarks_of(arrays, n_features):
    """Return the landmarks of a model, (L, d), also where it stores them as CSR rows."""
    if 'landmarks' in arrays:
        return arrays['landmarks']
    parts = tuple(arrays[f'landmarks_{part}'] for part in ('data', 'indices', 'indptr'))
    return csr_matrix(parts, shape=(len(parts[2]) - 1, n_features)).toarray()


def expansion(header, arrays, X):
    """Compute E = [Phi(X), -e] from what the model file holds."""
    Z, kind = (X - arrays['feature_offset']) * arrays['feature_scale'], header['parameters']['map']
    if kind in PROJECTIONS:
        Phi = PROJECTIONS[kind](Z @ arrays['hidden_weights'].T + arrays['hidden_biases'])
    elif kind == 'nystrom':
        landmarks, given = landmarks_of(arrays, Z.shape[1]), header['parameters']
        Phi = KERNELS[given.get('kernel')](Z, landmarks, given['sigma'])
    elif kind == 'rbf':
        Phi = np.exp(-distances(Z, arrays['hidden_weights']) / arrays['hidden_biases'])
    else:
        Phi = np.sqrt(distances(Z, arrays['hidden_weights']) + arrays['hidden_biases'] ** 2)
    return np.c_[Phi, -np.ones(len(X))]


def coded(header, labels):
    """Code labels as +-1: a column a class, or one for two classes, where the last is positive."""
    if header['task'] == 'regression':
        return np.asarray(labels, float)[:, None]
    T = np.where(np.asarray(labels).astype(str)[:, None] == np.array(header['classes']), 1.0, -1.0)
    return T[:, 1:] if T.shape[1] == 2 else T


def check_closed_form(model, X, labels, weights=1.0, tolerance=1e-8):
    header, arrays = model
    E, T = expansion(header, arrays, X), coded(header, labels)
    W = np.broadcast_to(weights, len(X))[:, None]
    mean = (W * T).sum(axis=0) / W.sum() if header['task'] == 'regression' else 0.0
    A = E.T @ (W * E) + np.eye(E.shape[1]) / header['parameters']['nu']
    wanted = mean + E @ np.linalg.solve(A, E.T @ (W * (T - mean)))
    found = E @ arrays['output_weights']
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max()
    assert header['n_rows_used'] == len(X)


@pytest.fixture
def table(rng):
    """Draw rows of three classes: (X, labels)."""
    X = rng.normal(size=(N, D)) * [1, 50, 0.02, 1, 1] + [0, 300, 0, -1, 4]
    return X, (X[:, 0] > 0.4) * 1 + (X[:, 3] > -0.5)


@pytest.mark.parametrize('kind', MAPS)
def test_dense_rows_of_several_classes(trained, dense, table, kind, maps):
    check_closed_form(trained(dense, '--map', kind, '--nu', 3, '--weight-scale', 0.7, *maps(2)), *table)


@pytest.mark.parametrize('words, sigma', [(LAPLACIAN, np.sqrt(D) / 0.7), (PRODUCT, D / 0.7)])
def test_landmarks_with_a_laplacian_kernel(trained, dense, table, maps, words, sigma):
    header, arrays = model = trained(dense, *words, '--nu', 3, '--weight-scale', 0.7, *maps(2))
    assert header['parameters']['kernel'] == words[-1] and 'landmarks' in arrays
    assert header['parameters']['sigma'] == pytest.approx(sigma)
    check_closed_form(model, *table)


def test_the_linear_machine_has_a_node_for_each_feature(elm, dense, table, tmp_path, model_of, maps):
    path = tmp_path / 'm.npz'
    assert elm('train', 'pesvm', dense, '--map', 'identity', '--nu', 3, '--model', path, '-q', *maps(2)).err == ''
    header, arrays = model_of(path)
    assert header['parameters']['n_hidden'] == D and np.array_equal(arrays['hidden_weights'], np.eye(D))
    check_closed_form((header, arrays), *table)


@pytest.mark.parametrize('kind', MAPS)
def test_sparse_rows_of_two_classes(trained, write, libsvm_of, rng, kind, maps):
    X = rng.normal(size=(N, 8)) * (rng.random((N, 8)) < 0.15)
    X[:, 4] = 0
    X[N - 1, 7] = 2.5
    labels = np.where(X.sum(axis=1) > 0.1, '+1', '-1')
    path = write('rows.libsvm', libsvm_of(labels, X))
    model = trained(path, '--map', kind, '--scale', 'none' if kind == 'relu' else 'standard', *maps(3))
    assert model[0]['classes'] == ['-1', '+1']
    check_closed_form(model, X, labels)


@pytest.mark.parametrize('s', [0.5, 2.0])
def test_landmarks_have_the_width_of_the_weight_scale(elm, trained, dense, table, tmp_path, s):
    X, labels = table
    header, arrays = trained(dense, '--map', 'nystrom', '--nu', 3, '--weight-scale', s)
    Z, sigma = (X - X.mean(axis=0)) / X.std(axis=0), np.sqrt(D) / s
    assert header['parameters']['sigma'] == pytest.approx(sigma, rel=1e-14)
    assert distances(arrays['landmarks'], Z).min(axis=1).max() < 1e-20
    E = np.c_[np.exp(-distances(Z, arrays['landmarks']) / (2 * sigma**2)), -np.ones(N)]
    wanted = E @ np.linalg.solve(E.T @ E + np.eye(21) / 3, E.T @ coded(header, labels))
    assert elm('predict', trained.path, dense, '--scores', '-o', tmp_path / 'said', '-q').status == 0
    assert np.allclose(np.loadtxt(tmp_path / 'said')[:, 1:], wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize('scale', ['standard', 'minmax', 'none'])
def test_scaling_comes_from_all_rows(trained, dense, table, scale, maps):
    X = table[0]
    header, arrays = model = trained(dense, '--scale', scale, *maps(4))
    offset, width = {
        'standard': (X.mean(axis=0), X.std(axis=0)),
        'none': (np.zeros(D), np.ones(D)),
        'minmax': ((X.max(axis=0) + X.min(axis=0)) / 2, (X.max(axis=0) - X.min(axis=0)) / 2),
    }[scale]
    assert np.allclose(arrays['feature_offset'], offset, rtol=1e-11, atol=1e-12)
    assert np.allclose(arrays['feature_scale'], 1 / width, rtol=1e-10)
    check_closed_form(model, *table)


def test_rows_packed_as_float32_are_learned_as_they_were_kept(elm, trained, dense, table, tmp_path):
    X, labels = table
    elm('pack', dense, '-o', tmp_path / 'small', '--dtype', 'float32', '--block-rows', 70, '-q')
    check_closed_form(trained(tmp_path / 'small'), X.astype('float32').astype(float), labels)


def test_sparse_rows_packed_in_blocks_of_several_widths(elm, trained, write, libsvm_of, rng, tmp_path, maps):
    X = np.zeros((120, 6))
    X[np.arange(120), np.arange(120) // 20] = rng.normal(size=120)
    labels = rng.integers(0, 2, 120)
    path = write('rows.libsvm', libsvm_of(labels, X))
    elm('pack', path, '-o', tmp_path / 'sparse', '--block-rows', 10, '-q')
    check_closed_form(trained(tmp_path / 'sparse', *maps(3)), X, labels)


def test_targets_of_a_regression(trained, write, csv_of, table, maps):
    X, _ = table
    y = 1000 + 30 * X[:, 0] + X[:, 1]
    model = trained(write('rows.csv', csv_of(y.tolist(), X)), '--task', 'regression', '--nu', 100, *maps(3))
    assert model[0]['classes'] == []
    check_closed_form(model, X, y)


@pytest.mark.parametrize('task', ['classification', 'regression'])
def test_weights_of_rows(trained, write, csv_of, table, rng, task, maps):
    X, labels = table
    weights = rng.uniform(0.1, 30, N)
    path = write('rows.csv', csv_of(labels, np.c_[X[:, :2], weights, X[:, 2:]]))
    check_closed_form(trained(path, '--weight-column', 3, '--task', task, *maps(3)), X, labels, weights)


@pytest.mark.parametrize('k', [32, 33, 60])
@pytest.mark.parametrize('weighted', [False, True], ids=['plain', 'weighted'])
def test_few_and_many_classes(trained, write, csv_of, table, rng, k, weighted, maps):
    X, labels = table[0], rng.permutation(np.arange(N) % k)
    weights = rng.uniform(0.1, 30, N) if weighted else np.ones(N)
    columns = ('--weight-column', 1) if weighted else ()
    model = trained(write('rows.csv', csv_of(labels, np.c_[weights, X] if weighted else X)), *columns, *maps(2))
    E = expansion(*model, X)
    assert np.allclose(model[1]['class_sums'], [weights[labels == c] @ E[labels == c] for c in range(k)], atol=1e-9)
    assert model[1]['counts'].tolist() == np.bincount(labels).tolist()
    check_closed_form(model, X, labels, weights)


@pytest.mark.parametrize('options', [(), ('--scale', 'none'), ('--class-weight', 'balanced')])
def test_whole_weights_are_repeated_rows(trained, write, csv_of, table, rng, options):
    X, labels = table
    times = rng.integers(1, 4, N)
    again = np.repeat(np.arange(N), times)
    weighted = trained(write('w.csv', csv_of(labels, np.c_[times, X])), '--weight-column', 1, *options)
    repeated = trained(write('r.csv', csv_of(labels[again], X[again])), *options)
    E = expansion(*weighted, X)
    assert np.allclose(E @ weighted[1]['output_weights'], E @ repeated[1]['output_weights'], rtol=0, atol=1e-8)


def test_balanced_classes_weigh_the_same(trained, dense, table, maps):
    X, labels = table
    weights = (N / (3 * np.bincount(labels)))[labels]
    check_closed_form(trained(dense, '--class-weight', 'balanced', *maps(2)), X, labels, weights)


@pytest.mark.parametrize('column', ['-1', '5', 'what'])
def test_the_label_may_stand_anywhere_and_have_a_name(trained, write, table, column, maps):
    X, labels = table
    text = 'a,b,c,d,e,what\n' + ''.join(
        ','.join([*map(repr, row), f'"class, {label}"']) + '\n' for row, label in zip(X.tolist(), labels, strict=True)
    )
    model = trained(write('rows.csv', text), '--label-column', column, *maps(3))
    check_closed_form(model, X, [f'class, {label}' for label in labels])


def test_constant_and_empty_features_are_harmless(trained, write, csv_of, table):
    X = np.c_[np.full(N, 7.25), table[0], np.zeros(N)]
    for scale in ('standard', 'minmax'):
        model = trained(write('rows.csv', csv_of(table[1], X)), '--scale', scale)
        check_closed_form(model, X, table[1])
        assert all(np.isfinite(array).all() for array in model[1].values())


def test_the_sums_in_the_model_are_those_of_the_rows(trained, dense, table, maps):
    X, labels = table
    header, arrays = trained(dense, *maps(3))
    E = expansion(header, arrays, X)
    upper = np.triu_indices(E.shape[1])
    assert np.allclose(arrays['gram'], (E.T @ E)[upper], rtol=1e-11)
    assert (np.abs(arrays['gram_low']) <= np.spacing(np.abs(arrays['gram']))).all()
    assert np.allclose(arrays['class_sums'], [E[labels == k].sum(axis=0) for k in range(3)], rtol=1e-10, atol=1e-10)
    assert arrays['counts'].tolist() == np.bincount(labels).tolist()


# A sum of exact_sum.py stays exact for 2^38 rows where no row adds more than 2^66 steps of its grid.
@pytest.mark.parametrize('task, t', [('classification', 1), ('regression', 1000)])
def test_the_grids_of_a_model_are_those_of_its_largest_rows(trained, write, csv_of, table, task, t):
    X, weights = table[0], np.where(np.arange(N) == 7, 900.0, 1.0)
    labels = table[1] if task == 'classification' else np.where(X[:, 0] > 0, 1.0, -1000.0)
    header, _ = trained(write('rows.csv', csv_of(labels, np.c_[weights, X])), '--task', task, '--weight-column', 1)
    largest, grid = 900 * np.array([1, t, t * t]), 2.0**66 * np.array(header['parameters']['grid'])
    assert (largest <= grid).all() and (grid < 2 * largest).all()  # sigmoid nodes are at most 1


def test_grids_follow_the_weights_of_classes(trained, write, csv_of, table):
    path = write('rows.csv', csv_of((np.arange(N) < 6) * 1, table[0]))
    header, _ = trained(path, '--class-weight', 'balanced')
    assert 50 <= 2.0**66 * header['parameters']['grid'][0] < 100  # the weight of the rare class is 600 / (2 * 6)


# The same model everywhere


def assert_same_bits(one, other):
    assert one[0] == other[0]
    assert one[1].keys() == other[1].keys()
    for name, array in one[1].items():
        assert array.dtype == other[1][name].dtype and array.tobytes() == other[1][name].tobytes(), name


@pytest.mark.parametrize(
    'options',
    [(), ('--map', 'relu', '--class-weight', 'balanced'), ('--map', 'nystrom'), LAPLACIAN, PRODUCT],
    ids=['sigmoid', 'relu', 'nystrom', 'laplacian', 'product'],
)
def test_packed_rows_give_the_same_bits_for_any_splits(trained, packed, options, maps):
    whole = trained(packed, *options)
    for n in (2, 7):
        assert_same_bits(whole, trained(packed, *options, *maps(n)))


@pytest.mark.parametrize('kind', ['sigmoid', 'nystrom'])
def test_packed_rows_give_the_same_bits_on_all_cores(trained, packed, kind):
    assert_same_bits(trained(packed, '--map', kind), trained(packed, '--map', kind, '-r', 'local', '--num-cores', '2'))


def test_packed_targets_and_weights_give_the_same_bits_for_any_splits(
    elm, trained, write, csv_of, table, tmp_path, maps
):
    path = write('y.csv', csv_of((table[0] @ np.ones(D)).tolist(), np.c_[np.arange(1, N + 1) / 7, table[0]]))
    elm('pack', path, '-o', tmp_path / 'y', '--weight-column', 1, '--task', 'regression', '--block-rows', 33, '-q')
    whole = trained(tmp_path / 'y', '--task', 'regression')
    assert_same_bits(whole, trained(tmp_path / 'y', '--task', 'regression', *maps(5)))


def test_two_trainings_give_the_same_bits(trained, dense):
    assert_same_bits(trained(dense), trained(dense))


@pytest.mark.parametrize('options', [('2',), ('7',), ('3', *LOCAL)], ids=' '.join)
def test_text_gives_the_same_predictions_for_any_splits_and_runner(trained, dense, table, options, maps):
    n, *runner = options
    whole, split = trained(dense, '--nu', 10), trained(dense, '--nu', 10, *maps(n), *runner)
    E, F = expansion(*whole, table[0]), expansion(*split, table[0])
    assert np.abs(E @ whole[1]['output_weights'] - F @ split[1]['output_weights']).max() < 1e-8
    assert whole[0]['classes'] == split[0]['classes'] and whole[0]['n_rows_used'] == split[0]['n_rows_used']


@pytest.mark.parametrize('n', [2, 7])
def test_landmarks_are_the_same_rows_for_any_splits(trained, dense, table, n, maps):
    one, other = (
        trained(dense, '--map', 'nystrom', '--scale', 'none', '--nu', 1e4, *maps(k))[1]['landmarks'] for k in (1, n)
    )
    assert np.array_equal(one, other)
    assert {tuple(row) for row in one.tolist()} < {tuple(row) for row in table[0].tolist()}


def test_one_file_or_many_compressed_ones_make_no_difference(trained, dense, table, write, maps):
    lines = dense.read_bytes().splitlines(keepends=True)
    write('parts/part-0', b''.join(lines[:100]))
    write('parts/part-1', b'')
    write('parts/part-2.gz', gzip.compress(b''.join(lines[100:250])) + gzip.compress(b''.join(lines[250:400])))
    write('parts/part-3', b''.join(lines[400:]).rstrip())
    write('parts/_SUCCESS', b'')
    parts = trained(dense.parent / 'parts', *maps(3))
    assert parts[0]['n_rows_used'] == N
    E, F = expansion(*trained(dense), table[0]), expansion(*parts, table[0])
    assert np.abs(E - F).max() < 1e-10


# Rows that cannot be used


@pytest.mark.parametrize('n', [1, 4])
def test_skipped_rows_leave_the_model_of_the_others_and_a_list(trained, dense, write, model_of, n, maps):
    good = dense.read_text().splitlines()
    bad = {
        3: ('1,2', 'wrong width'),
        250: ('1,a,2,3,4,5', 'not a number'),
        251: (',1,2,3,4,5', 'missing label'),
        700: ('2,1,2,inf,4,5', 'nan or infinite'),
    }
    lines = list(good)
    for i, (text, _) in sorted(bad.items()):
        lines.insert(min(i, len(lines)), text)
    places = {lines.index(text) + 1: (text, reason) for text, reason in bad.values()}
    path = write('bad.csv', '\n'.join(lines) + '\n')
    header, arrays = trained(path, '--bad-rows', 'skip', *maps(n))
    rejected = (trained.path.parent / f'{trained.path.name}.rejected').read_text().splitlines()
    clean = trained(dense)
    assert [
        (row.split('\t')[0], int(row.split('\t')[1]), row.split('\t')[2].partition(':')[0], row.split('\t')[3])
        for row in rejected
    ] == [(str(path), line, places[line][1], places[line][0]) for line in sorted(places)]
    assert (header['n_rows_used'], header['n_rows_rejected']) == (N, 4)
    assert header['history'][0]['rows_rejected'] == {reason: 1 for _, reason in bad.values()}
    assert np.allclose(arrays['output_weights'], clean[1]['output_weights'], rtol=1e-6, atol=1e-9)


# Memory


MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_rows(elm, write, rng, tmp_path):
    peaks, sizes, text = [], [], ''.join(f'{x > 0:d},{x:.4f},{x * x:.4f},{-x:.4f},1\n' for x in rng.normal(size=20_000))
    for times in (12, 30):  # both are longer than what one task reads at a time
        packed = tmp_path / f'p{times}'
        assert elm('pack', write(f'{times}.csv', text * times), '-o', packed, '-q').status == 0
        command = [
            Path(sys.executable).with_name('mr-elm'),
            'train',
            'pesvm',
            packed,
            '--hidden',
            '50',
            '--model',
            tmp_path / f'{times}.npz',
            '-q',
        ]
        done = subprocess.run([sys.executable, '-c', MEASURE, *command], capture_output=True, text=True, check=True)
        peaks.append(1024 * int(done.stdout))
        sizes.append(sum(path.stat().st_size for path in packed.iterdir()))
    assert peaks[1] - peaks[0] < (sizes[1] - sizes[0]) / 3


def test_the_unified_elm_is_the_ridge_regression_without_a_bias(elm, dense, table, model_of, tmp_path):
    done = elm('train', 'elm', dense, '--hidden', 12, '--C', 30, '--model', tmp_path / 'elm.npz', '-q')
    assert done == (0, '', '')
    header, arrays = model_of(tmp_path / 'elm.npz')
    E, T = expansion({'parameters': {'map': 'sigmoid'}}, arrays, table[0]), coded(header, table[1])
    H = E[:, :-1]
    wanted = H @ np.linalg.solve(H.T @ H + np.eye(12) / 30, H.T @ T)
    assert np.abs(E @ arrays['output_weights'] - wanted).max() < 1e-8
    assert (header['method'], header['parameters']['C']) == ('elm', 30) and (arrays['output_weights'][-1] == 0).all()


@pytest.mark.parametrize('runner', [(), LOCAL], ids=['inline', 'local'])
def test_rows_that_are_parsed_once_give_the_model_of_rows_that_are_parsed_in_each_pass(
    runner, trained, dense, monkeypatch
):
    once = trained(dense, *runner)[1]
    monkeypatch.setattr('mr_elm.engines.local.ROOM_FACTOR', np.inf)
    twice = trained(dense, *runner)[1]
    assert set(once) == set(twice)
    assert all(np.array_equal(once[name], twice[name]) for name in once)
