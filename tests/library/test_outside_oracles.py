"""Answers of other programs to what other tests compare with formulas of ours; tests/oracles.md lists them all."""

import csv
import io

import duckdb
import numpy as np
import polars
import pytest
from reference import dual as twin
from reference import sphere
from sklearn.calibration import calibration_curve
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC, OneClassSVM
from threadpoolctl import threadpool_limits

from mr_elm.cli import main
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.model.file import read_model
from mr_elm.scores.probability_scores import ProbabilityScores
from mr_elm.solvers.box import BoxQP, Settings
from mr_elm.solvers.choose_solver import RULES, solve_dual
from mr_elm.solvers.sphere import SphereProblem, solve_sphere
from mr_elm.solvers.trees import Bins, TreeOptions, grow_forest

N = 200


@pytest.fixture
def noisy(rng):
    """Draw rows of two classes that overlap: (X, targets of +1 and -1)."""
    X = rng.standard_normal((N, 4))
    return X, np.where(X[:, 0] * X[:, 1] + 0.7 * rng.standard_normal(N) > 0, 1.0, -1.0)


@pytest.mark.parametrize('C', [0.1, 10, 1000])
def test_a_sphere_is_the_nearest_point_that_libsvm_finds(noisy, C):
    X, y = noisy
    K = twin.gaussian(X, X, 0.4)
    B = sphere.ball_kernel(K, y, C)
    # min a'Ba over the simplex: its upper bounds of 1 are no bounds
    oracle = OneClassSVM(kernel='precomputed', nu=1 / N, tol=1e-10).fit(B)
    a = np.zeros(N)
    a[oracle.support_] = oracle.dual_coef_[0] / oracle.dual_coef_.sum()
    found = solve_sphere(
        SphereProblem(kernel_rows(X, make_kernel('gaussian', gamma=0.4)), y, C), 'exact', Settings(1e-7)
    )
    assert found.objective == pytest.approx(a @ B @ a, rel=1e-6)
    expected = (K + 1) @ (a * y) / (a @ B @ a)
    np.testing.assert_allclose(found.decision, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize('rule', RULES)
def test_the_dual_of_a_kernel_is_that_of_liblinear_on_its_factor(noisy, rule):
    X, t = noisy
    K, C = twin.gaussian(X, X, 0.5), 1.0
    factor = np.linalg.cholesky(K + 1e-10 * np.eye(N))
    oracle = LinearSVC(loss='hinge', fit_intercept=False, C=C, tol=1e-8, max_iter=1_000_000, random_state=0)
    expected = factor @ oracle.fit(factor, t).coef_[0]
    found = solve_dual(BoxQP(kernel_rows(X, make_kernel('gaussian', gamma=0.5)), t, C), rule, Settings(1e-7))
    np.testing.assert_allclose(K @ (found.alpha * t), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize('n_leaves', [2, 12])
def test_trees_are_those_of_scikit_learn(rng, n_leaves):
    X = rng.integers(0, 30, (600, 4)).astype(float)
    target = np.sin(X[:, 0]) + X[:, 1] * (X[:, 2] > 11) / 9 + 0.1 * rng.standard_normal(600)
    oracle = HistGradientBoostingRegressor(
        learning_rate=0.1, max_iter=4, max_leaf_nodes=n_leaves, min_samples_leaf=15, l2_regularization=1.0
    )
    with threadpool_limits(1):
        expected = np.array(list(oracle.fit(X, target).staged_predict(X))) - target.mean()
    options = TreeOptions(4, n_leaves, rate=0.1, fewest=15)
    leaves = grow_forest(Bins.of(X), (target - target.mean())[:, None], None, options).find_leaves(X)
    steps = np.diff(np.vstack([np.zeros(600), expected]), axis=0)  # what each tree adds: one number for each leaf
    for tree, of_tree in enumerate(steps):
        pairs = {
            (leaf, round(value, 9)) for leaf, value in zip(leaves[:, tree].tolist(), of_tree.tolist(), strict=True)
        }
        assert len(pairs) == len({leaf for leaf, _ in pairs}) == len({value for _, value in pairs}) == n_leaves


def test_random_fourier_features_are_those_of_scikit_learn(rng):
    X, n_hidden = rng.standard_normal((40, 5)), 16
    oracle = RBFSampler(gamma=0.3, n_components=n_hidden, random_state=0).fit(X)
    layer = HiddenLayer('rff', oracle.random_weights_.T, oracle.random_offset_, np.zeros(5), np.ones(5))
    expected = oracle.transform(X) / np.sqrt(2 / n_hidden)
    np.testing.assert_allclose(layer.evaluate(X, np.empty((40, n_hidden))), expected, rtol=1e-9, atol=1e-9)


def test_product_laplacian_landmarks_are_the_laplacian_kernel_of_scikit_learn(rng):
    X = rng.standard_normal((40, 5))
    layer = HiddenLayer('product-laplacian', X[:9], np.full(9, 1.7), np.zeros(5), np.ones(5))
    found = layer.evaluate(X, np.empty((40, 9)))
    np.testing.assert_allclose(found, laplacian_kernel(X, X[:9], gamma=1 / 1.7), rtol=1e-12)


@pytest.mark.parametrize('nu', [0.1, 1, 1000])
def test_a_linear_machine_on_an_encoded_table_is_ridge_regression_of_scikit_learn(tmp_path, rng, nu):
    colours, sizes = rng.choice(['red', 'green', 'blue'], N), rng.normal(5, 2, N)
    target = 3 * sizes + (colours == 'red') * 7 + rng.normal(size=N)
    rows = ''.join(f'{t!r},{c},{s!r}\n' for t, c, s in zip(target.tolist(), colours, sizes.tolist(), strict=True))
    (tmp_path / 'rows.csv').write_text('target,colour,size\n' + rows)
    words = f'train pesvm {tmp_path}/rows.csv --model {tmp_path}/m.npz --task regression --encode auto --map identity'
    assert main([*words.split(), '--nu', str(nu), '-q']) == 0
    # the bias is penalised, the mean of the targets is not; indicators are not scaled; `other` is 0 in all rows
    X = np.column_stack([OneHotEncoder(sparse_output=False).fit_transform(colours[:, None]), np.zeros(N)])
    X = np.column_stack([X, (sizes - sizes.mean()) / sizes.std(), -np.ones(N)])
    oracle = Ridge(alpha=1 / nu, fit_intercept=False, tol=1e-12).fit(X, target - target.mean())
    weights = read_model(tmp_path / 'm.npz').arrays['output_weights'][:, 0]
    weights[-1] += target.mean()  # of which the mean of the targets is taken away
    np.testing.assert_allclose(weights, oracle.coef_, rtol=1e-8, atol=1e-9)


TABLE = [[1, 0.5, -2.25], [0, 1e-3, 3.0], [1, 7.0, 1e5], [0, 0.125, -1e-7]] * 3
DIALECTS = {  # how Python's csv writes the table, and what stands around it
    'plain': ({}, '', 'utf-8'),
    'header': ({}, 'y,a,b\n', 'utf-8'),
    'semicolons': ({'delimiter': ';'}, 'y;a;b\n', 'utf-8'),
    'tabs': ({'delimiter': '\t'}, '', 'utf-8'),
    'bars': ({'delimiter': '|'}, 'y|a|b\n', 'utf-8'),
    'quotes': ({'quoting': csv.QUOTE_ALL}, '"y","a","b"\n', 'utf-8'),
    'ends of Windows': ({'lineterminator': '\r\n'}, 'y,a,b\r\n', 'utf-8'),
    'byte order mark': ({}, 'y,a,b\n', 'utf-8-sig'),
    'quote in a name': ({}, 'y,"a ""quoted""",b\n', 'utf-8'),
}


@pytest.mark.parametrize('dialect', DIALECTS)
def test_tables_are_read_as_duckdb_and_polars_read_them(tmp_path, dialect):
    options, header, charset = DIALECTS[dialect]
    stream = io.StringIO(header)
    stream.seek(0, io.SEEK_END)
    csv.writer(stream, **{'lineterminator': '\n', **options}).writerows(TABLE)
    path, pack = tmp_path / 'rows.csv', tmp_path / 'pack'
    path.write_bytes(stream.getvalue().encode(charset))
    assert main(['pack', str(path), '-o', str(pack), '-q']) == 0
    files = f"read_parquet('{pack}/*.parquet')"
    found = duckdb.sql(f'select cast(label as double), x[1], x[2] from {files}').fetchall()
    read = f"read_csv('{path}', header={bool(header)})"
    assert found == [tuple(map(float, row)) for row in duckdb.sql(f'select * from {read}').fetchall()]
    separator = options.get('delimiter', ',')
    frame = polars.read_csv(path, separator=separator, has_header=bool(header), schema_overrides=[polars.Float64] * 3)
    assert found == frame.rows() == [tuple(map(float, row)) for row in TABLE]


def test_the_calibration_error_is_that_of_the_reliability_curve_of_scikit_learn(rng):
    P, numbers = rng.dirichlet([1, 1, 1], N), rng.integers(0, 3, N)
    top, right = P.max(axis=1), P.argmax(axis=1) == numbers
    shares, means = calibration_curve(right, top, n_bins=15)
    rows = np.histogram(top, np.linspace(0, 1, 16))[0]
    expected = rows[rows > 0] @ np.abs(shares - means) / N
    assert ProbabilityScores.of(P, numbers, np.ones(N)).scores()['calibration_error'] == pytest.approx(expected)
