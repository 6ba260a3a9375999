"""MR-KELM: three solvers and three ways to the kernel matrix give one machine, for any splits."""

import json
import re

import numpy as np
import pytest
from reference.files import LOCAL
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from mr_elm.engines.local import Inline, Local
from mr_elm.engines.replay import noun_of
from mr_elm.rows.blocks import Block
from mr_elm.rows.inputs import plan_blocks
from mr_elm.streaming.mr_kernel import MRKernel

N, D, C, SIGMA = 60, 4, 20.0, 1.7
GAUSSIAN = ('--sigma', SIGMA, '--C', C)
SOLVERS = {'cholesky': (), 'svd': (), 'cg': ('--rank', 30)}


@pytest.fixture
def table(rng):
    """Draw rows of three classes: (X, labels)."""
    X = rng.normal(size=(N, D)) * [1, 30, 0.1, 2] + [0, 100, 0, 5]
    return X, (X[:, 0] > 0.3) * 1 + (X[:, 2] * 10 > 0) * 1


@pytest.fixture
def fit(elm, tmp_path, model_of, monkeypatch):
    """Train, quietly: (header, arrays), the path as `fit.path`, jobs as `fit.stages`."""
    run_job = Inline.run_job

    def note(engine, job_class, *arguments):
        train.stages.append(noun_of(job_class))
        return run_job(engine, job_class, *arguments)

    monkeypatch.setattr(Local, 'run_job', note)

    def train(path, *options):
        train.stages = []
        train.path = tmp_path / f'kelm-{len(list(tmp_path.iterdir()))}.npz'
        done = elm('train', 'mr-kelm', path, '--model', train.path, '-q', *options)
        assert (done.status, done.out.partition('leave-one-out')[0]) == (0, ''), done.err
        assert done.err == ''
        return model_of(train.path)

    train.stages = []
    return train


def scaled(X, arrays):
    return (X - arrays['feature_offset']) * arrays['feature_scale']


def values(model, X, kernel=None):
    """Compute decision values from the arrays of a model."""
    arrays = model[1]
    kernel = kernel or (lambda A, B: rbf_kernel(A, B, gamma=1 / (2 * SIGMA**2)))
    return kernel(scaled(X, arrays), arrays['support_vectors']) @ arrays['dual_coef'] + arrays['intercept']


def signs(labels):
    return np.where(labels[:, None] == np.unique(labels), 1.0, -1.0)


def ridge(Z, T, weights=None):
    return KernelRidge(alpha=1 / C, kernel='rbf', gamma=1 / (2 * SIGMA**2)).fit(Z, T, weights)


def demand_same_bits(one, other):
    assert [name for name in one if one[name].tobytes() != other[name].tobytes()] == []


@pytest.mark.parametrize('solver', SOLVERS)
def test_every_solver_is_kernel_ridge_for_any_splits(fit, packed, table, maps, solver):
    X, labels = table
    options = (*GAUSSIAN, '--solver', solver, *SOLVERS[solver])
    header, arrays = model = fit(packed, *options)
    Z = scaled(X, arrays)
    assert np.abs(values(model, X) - ridge(Z, signs(labels)).predict(Z)).max() < 1e-6
    assert header['parameters']['solver'] == solver and header['n_rows_used'] == N
    demand_same_bits(arrays, fit(packed, *options, *maps(3))[1])


def test_local_tasks_give_the_same_bits(fit, packed, maps):
    one, other = (fit(packed, *GAUSSIAN, *more)[1] for more in ((), (*LOCAL, *maps(2))))
    demand_same_bits(one, other)


@pytest.mark.parametrize(
    'kernel, options, oracle',
    [
        ('gaussian', ('--sigma', SIGMA), None),
        ('laplacian', ('--sigma', 2), lambda A, B: np.exp(-np.linalg.norm(A[:, None] - B[None], axis=2) / 2)),
        ('polynomial', ('--degree', 2), lambda A, B: polynomial_kernel(A, B, degree=2, gamma=1, coef0=1)),
        ('linear', (), linear_kernel),
    ],
)
def test_entries_and_rows_give_the_same_machine_of_every_kernel(fit, packed, table, kernel, options, oracle):
    models = [fit(packed, '--kernel', kernel, *options, '--C', C, '--emit', emit) for emit in ('rows', 'entries')]
    found = [values(model, table[0], oracle) for model in models]
    assert max(np.abs(one - found[0]).max() for one in found[1:]) < 1e-9
    Z, T = scaled(table[0], models[0][1]), signs(table[1])
    omega = (oracle or (lambda A, B: rbf_kernel(A, B, gamma=1 / (2 * SIGMA**2))))(Z, Z)
    assert np.abs(omega @ np.linalg.solve(omega + np.eye(N) / C, T) - found[0]).max() < 1e-8


def test_algorithm_2_entry_by_entry_gives_the_same_machine(fit, packed, table):
    printed = fit(packed, *GAUSSIAN, '--solver', 'svd', '--emit', 'entries')
    assert printed[0]['parameters']['emit'] == 'entries'
    assert np.abs(values(printed, table[0]) - values(fit(packed, *GAUSSIAN), table[0])).max() < 1e-9


def test_columns_may_be_dealt_out_in_any_way(fit, packed, maps):
    one, other = (fit(packed, *GAUSSIAN, '--emit', 'entries', *more)[1] for more in ((), maps(4)))
    demand_same_bits(one, other)


def test_lost_columns_are_noticed(elm, packed, tmp_path, monkeypatch):
    monkeypatch.setattr('mr_elm.streaming.mr_columns.MRColumns.solve', lambda self, rows, first: iter(()))
    done = elm('train', 'mr-kelm', packed, *GAUSSIAN, '--emit', 'entries', '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and f'expected {D} rows, found 0' in done.err


def test_rows_beyond_the_memory_of_the_driver_are_refused(elm, write, csv_of, rng, tmp_path):
    rows = write('wide.csv', csv_of(rng.integers(0, 2, N).tolist(), rng.normal(size=(N, 400))))
    done = elm('train', 'mr-kelm', rows, '--memory', 0.1, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and 'expected rows of at most --memory 0.1 MB, found more' in done.err


def test_the_paper_stage_emits_what_it_says(by_hand, read_pairs, write, tmp_path, rng):
    """(i, j), j <= i, once for each column; then (i, j) and (j, i), the diagonal once and exactly 1."""
    X = rng.normal(size=(7, 3))
    path = tmp_path / 'columns'
    plan = plan_blocks(str(path), [Block(np.ascontiguousarray(X.T))])
    kernel = write('kernel.json', json.dumps(['gaussian', {'sigma': SIGMA}]))
    options = ('--kernel', kernel)
    mapped = by_hand(MRKernel, plan, path.read_bytes(), *options, file=path)
    entries = [pair for pair in read_pairs(mapped) if pair[0] == 'entry']
    assert len(entries) == 3 * 7 * 8 // 2 and all(int(i) >= int(j) for _, (i, j), _ in entries)
    reduced = by_hand(MRKernel, plan, b'\n'.join(sorted(mapped)) + b'\n', *options, task='reducer')
    found = {tuple(map(int, place)): float(value[0]) for kind, place, value in read_pairs(reduced) if kind == 'entry'}
    assert len(found) == 49 == len([pair for pair in read_pairs(reduced) if pair[0] == 'entry'])
    omega = rbf_kernel(X, gamma=1 / (2 * SIGMA**2))
    assert max(abs(value - omega[place]) for place, value in found.items()) < 1e-12
    assert all(found[i, i] == 1 and found[i, j] == found[j, i] for i in range(7) for j in range(7))


def test_text_sparse_and_packed_rows_give_the_same_predictions(
    fit, elm, dense, packed, write, libsvm_of, table, tmp_path
):
    sparse = write('rows.libsvm', libsvm_of(table[1], table[0]))
    for name, path in (('text', dense), ('packed', packed), ('sparse', sparse)):
        fit(path, *GAUSSIAN)
        rows = sparse if name == 'sparse' else dense
        assert elm('predict', fit.path, rows, '-o', tmp_path / name, '--scores', '-q').status == 0
    text, pack, sparse = (np.loadtxt(tmp_path / name) for name in ('text', 'packed', 'sparse'))
    assert max(np.abs(text - pack).max(), np.abs(text - sparse).max()) < 1e-8


def keep_sparse(monkeypatch):
    """Let sparse rows stay so, however few and full they are."""
    for name, value in (('DENSE_BYTES', 0), ('DENSE_SHARE', 1.0), ('MIN_DENSE_SHARE', 1.0)):
        monkeypatch.setattr(f'mr_elm.sparse.{name}', value)


def test_rows_that_stay_sparse_are_the_dense_ones(fit, write, libsvm_of, table, monkeypatch):
    sparse = write('rows.libsvm', libsvm_of(table[1], table[0]))
    one = values(fit(sparse, *GAUSSIAN), table[0])
    keep_sparse(monkeypatch)
    for options in (
        *(('--solver', solver, *more) for solver, more in SOLVERS.items()),
        ('--emit', 'entries'),
    ):
        header, arrays = fit(sparse, *GAUSSIAN, *options)
        assert (arrays['feature_offset'] == 0).all()
        assert np.abs(values((header, arrays), table[0]) - one).max() < 1e-6


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_row_of_weight_two_is_two_rows(fit, write, csv_of, table, solver):
    X, labels = table
    weights = np.where(X[:, 0] > 0, 2.0, 1.0)
    once = write('weighted.csv', csv_of(labels, np.c_[X, weights]))
    twice = write('twice.csv', csv_of(*(np.r_[part, part[weights == 2]] for part in (labels, X))))
    scale = ('--scale', 'none', '--sigma', 50**0.5, '--C', C, '--solver', solver, *SOLVERS[solver])
    one, two = fit(once, '--weight-column', D + 1, *scale), fit(twice, *scale)
    kernel = lambda A, B: rbf_kernel(A, B, gamma=0.01)  # noqa: E731
    assert np.abs(values(one, X, kernel) - values(two, X, kernel)).max() < 1e-6


@pytest.mark.parametrize('solver', SOLVERS)
def test_targets_may_be_numbers(fit, elm, write, csv_of, table, solver):
    X = table[0]
    y = np.sin(X[:, 0]) + X[:, 3]
    rows = write('numbers.csv', csv_of(y.tolist(), X))
    model = fit(rows, '--task', 'regression', *GAUSSIAN, '--solver', solver, *SOLVERS[solver])
    Z = scaled(X, model[1])
    assert np.abs(values(model, X)[:, 0] - y.mean() - ridge(Z, y - y.mean()).predict(Z)).max() < 1e-6


def test_leave_one_out_is_told(fit, dense, table, model_of):
    X, labels = table
    told = [
        fit(dense, *GAUSSIAN, '--solver', solver, '--leave-one-out')[0]['parameters']['leave_one_out']
        for solver in ('cholesky', 'svd')
    ]
    Z = scaled(X, fit(dense, *GAUSSIAN)[1])
    found = [ridge(np.delete(Z, i, 0), np.delete(signs(labels), i, 0)).predict(Z[[i]]).argmax() for i in range(N)]
    assert told[0] == told[1] == {'accuracy': pytest.approx((found == labels).mean())}


def test_leave_one_out_is_printed_with_quiet_too(elm, dense, tmp_path):
    done = elm('train', 'mr-kelm', dense, *GAUSSIAN, '--leave-one-out', '-q', '--model', tmp_path / 'm.npz')
    assert re.fullmatch(r'leave-one-out: accuracy [01]\S*\n', done.out) and not done.err


def test_progress_says_what_to_expect(elm, packed, tmp_path):
    done = elm('train', 'mr-kelm', packed, *GAUSSIAN, '--solver', 'cg', '--rank', 30, '--model', tmp_path / 'cg.npz')
    assert 'effective dimension about' in done.err
    left = r'about \d+ (?:s|min) left$'
    assert re.search(rf'^cg: pass 1 of at most 200, relative residual \S+, {left}', done.err, re.MULTILINE)
    done = elm('train', 'mr-kelm', packed, *GAUSSIAN, '--emit', 'entries', '--model', tmp_path / 'entries.npz')
    assert f'about {D * N * (N + 1) // 2:,} records' in done.err


def test_cg_is_taken_where_the_kernel_matrix_does_not_fit(fit, packed):
    assert fit(packed, *GAUSSIAN)[0]['parameters']['solver'] == 'cholesky'
    assert fit(packed, *GAUSSIAN, '--memory', 0.025)[0]['parameters']['solver'] == 'cg'


@pytest.mark.parametrize('solver, most', [('cholesky', 55), ('svd', 31)])
def test_rows_too_many_for_a_solver_are_refused_with_a_way_on(elm, packed, tmp_path, solver, most):
    done = elm(
        'train',
        'mr-kelm',
        packed,
        *GAUSSIAN,
        '--solver',
        solver,
        '--memory',
        0.025,
        '--model',
        tmp_path / 'm.npz',
        '-q',
    )
    assert done.status == 1 and f'at most {most} fit' in done.err and '--solver cg' in done.err
    assert not (tmp_path / 'm.npz').exists()


def test_a_shuffle_beyond_the_disk_is_refused(elm, packed, tmp_path, monkeypatch):
    monkeypatch.setattr('mr_elm.drivers.kelm_stages.ENTRY_BYTES', 10**15)
    done = elm('train', 'mr-kelm', packed, *GAUSSIAN, '--emit', 'entries', '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and '--emit entries shuffles' in done.err and '--emit rows' in done.err


def test_a_matrix_with_a_hole_is_no_model(elm, packed, tmp_path, monkeypatch):
    monkeypatch.setattr('mr_elm.drivers.kelm_stages.place_tile', lambda *_: 0)
    done = elm('train', 'mr-kelm', packed, *GAUSSIAN, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and 'entries of the kernel matrix, found' in done.err


@pytest.mark.parametrize(
    'options, said',
    [
        (('--C', 0), '--C'),
        (('--sigma', -1), '--sigma'),
        (('--sigma', 0), '--sigma'),
        (('--kernel', 'linear', '--sigma', 1), '--sigma'),
        (('--kernel', 'sigmoid'), '--kernel'),
        (('--solver', 'cg', '--leave-one-out'), '--leave-one-out'),
        (('--rank', 5), '--rank'),
        (('--solver', 'cg', '--emit', 'entries'), '--emit'),
        (('--solver', 'svd', '--rank', 9), '--rank'),
        (('--tolerance', 0), '--tolerance'),
        (('--task', 'regression', '--class-weight', 'balanced'), '--class-weight'),
    ],
)
def test_wrong_parameters_are_wrong_usage(elm, dense, tmp_path, options, said):
    done = elm('train', 'mr-kelm', dense, '--model', tmp_path / 'm.npz', *options)
    assert done.status == 2 and said in done.err


def test_rows_that_lie_twice_are_fine_and_bad_ones_are_named(fit, elm, write, dense, tmp_path):
    text = dense.read_text()
    fit(write('twice.csv', text + text), *GAUSSIAN, '--C', 1e6)
    bad = write('bad.csv', text + '1,2,nan,4,5\n')
    done = elm('train', 'mr-kelm', bad, *GAUSSIAN, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and f'{bad}, line {N + 1}' in done.err
