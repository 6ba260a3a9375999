"""The kernel ELM: three solvers, one solution; leave-one-out in closed form; the errata of the paper."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from mr_elm.errors import ConvergenceWarning
from mr_elm.features.kernel_tiles import compute_kernel, compute_lower_triangle, make_kernel_product
from mr_elm.features.kernels import KERNELS, make_kernel
from mr_elm.parallel import using_threads
from mr_elm.solvers import kelm, nystrom
from mr_elm.solvers.kelm import U, V, multiply_entries, solve_cg
from mr_elm.solvers.nystrom import choose_landmarks, precondition_well
from mr_elm.solvers.passes import PassLimits

N, D, K, C, SIGMA = 700, 6, 3, 50.0, 2.5
GAUSSIAN = make_kernel('gaussian', sigma=SIGMA)


@pytest.fixture(scope='module')
def rows():
    """Draw rows and targets: (Z, T)."""
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((N, D))
    codes = (Z[:, 0] > 0.3).astype(int) + (Z[:, 1] * Z[:, 2] > 0)
    return Z, np.where(codes[:, None] == np.arange(K), 1.0, -1.0)


def by_scikit(Z, T, weights=None):
    ridge = KernelRidge(alpha=1 / C, kernel='rbf', gamma=1 / (2 * SIGMA**2))
    return ridge.fit(Z, T, sample_weight=weights)


def precondition(Z, C, rank, scale=None, kernel=GAUSSIAN, **how):
    return nystrom.precondition(Z, kernel, C, rank, scale, **how)


def by_cg(Z, T, weights=None, tolerance=1e-8, rank=200, **how):
    s, right = kelm.weigh(None, T, weights)
    multiply, scale = make_kernel_product(Z, GAUSSIAN), 1.0 if s is None else s[:, None]
    M = precondition(Z, C, rank, s)
    limits = PassLimits(tolerance, **how)
    solution, passes, residual = solve_cg(lambda X: scale * multiply(scale * X), right, C, M, limits)
    return kelm.unweigh(solution, s), passes, residual


@pytest.mark.parametrize('weighted', [False, True])
def test_all_solvers_give_the_predictions_of_kernel_ridge(rows, weighted):
    Z, T = rows
    weights = np.random.default_rng(1).integers(1, 4, N).astype(float) if weighted else None
    expected = by_scikit(Z, T, weights).predict(Z)
    omega = compute_lower_triangle(Z, GAUSSIAN)
    s, right = kelm.weigh(omega, T, weights)
    found = [kelm.solve_cholesky(omega.copy(), right, C), kelm.decompose(omega.copy()).solve(right, C)]
    found = [kelm.unweigh(solution, s) for solution in found] + [by_cg(Z, T, weights)[0]]
    for solution in found:
        assert np.abs(rbf_kernel(Z, gamma=1 / (2 * SIGMA**2)) @ solution.dual_coef - expected).max() < 1e-6


@pytest.mark.parametrize('name', KERNELS)
@pytest.mark.parametrize('layout', [np.asarray, sp.csr_matrix])
def test_tiles_triangles_and_products_are_those_of_the_kernel(rows, name, layout):
    Z, kernel = layout(rows[0]), make_kernel(name, D)
    whole = compute_kernel(Z, Z, kernel)
    assert np.allclose(compute_kernel(Z[:50], Z, kernel), whole[:50], rtol=1e-12, atol=1e-12)
    triangle = compute_lower_triangle(Z, kernel)
    assert np.allclose(np.tril(triangle), np.tril(whole), rtol=1e-12, atol=1e-12)
    if kernel.kind.of_distance:
        assert (triangle.diagonal() == 1).all()
    X = np.random.default_rng(0).standard_normal((N, 2))
    assert np.allclose(make_kernel_product(Z, kernel)(X), whole @ X, rtol=1e-10, atol=1e-10 * np.abs(whole).max())


@pytest.mark.parametrize('name', ['gaussian', 'laplacian'])
@pytest.mark.parametrize('n', [40, N])  # compiled code computes tiles of many rows
def test_the_diagonal_of_a_triangle_is_1_however_large_rows_are(rows, name, n):
    triangle = compute_lower_triangle(rows[0][:n] + 1e6, make_kernel(name, sigma=0.1))
    assert (triangle.diagonal() == 1).all()


def test_kernels_are_those_of_scikit_learn(rows):
    Z = rows[0]
    assert np.abs(compute_kernel(Z, Z, GAUSSIAN) - rbf_kernel(Z, gamma=1 / (2 * SIGMA**2))).max() < 1e-13
    cubic = compute_kernel(Z, Z, make_kernel('polynomial', degree=3))
    assert np.allclose(cubic, polynomial_kernel(Z, degree=3, gamma=1, coef0=1), rtol=1e-12)


@pytest.mark.parametrize('weighted', [False, True])
def test_leave_one_out_is_what_brute_force_finds(rows, weighted):
    Z, T = rows[0][:40], rows[1][:40]
    weights = np.arange(1.0, 41) if weighted else np.ones(40)
    left_out = np.empty_like(T)
    for i in range(40):
        rest = np.arange(40) != i
        machine = by_scikit(Z[rest], T[rest], weights[rest])
        left_out[i] = T[i] - machine.predict(Z[[i]])[0]
    omega = compute_lower_triangle(Z, GAUSSIAN)
    s, right = kelm.weigh(omega, T, weights)
    for solution in (
        kelm.decompose(omega.copy()).solve(right, C, leave_one_out=True),
        kelm.solve_cholesky(omega, right, C, leave_one_out=True),
    ):
        assert np.allclose(kelm.unweigh(solution, s).residuals, left_out, atol=1e-9)


def test_one_decomposition_serves_every_C(rows):
    Z, T = rows
    whole = kelm.decompose(compute_lower_triangle(Z, GAUSSIAN))
    for strength in (0.1, 10, 1000):
        expected = kelm.solve_cholesky(compute_lower_triangle(Z, GAUSSIAN), T, strength).dual_coef
        assert np.allclose(whole.solve(T, strength).dual_coef, expected, rtol=1e-7, atol=1e-7)


def test_printed_equation_6_is_wrong_and_equation_5_is_right(rows):
    """I/C + Omega = U S V'; the paper prints w = V S U'T, its own eq. 5 gives w = V S^-1 U'T."""
    Z, T = rows
    system = rbf_kernel(Z, gamma=1 / (2 * SIGMA**2)) + np.eye(N) / C
    left, S, right = np.linalg.svd(system)
    printed, corrected = (right.T * S) @ (left.T @ T), (right.T / S) @ (left.T @ T)
    assert np.abs(system @ corrected - T).max() < 1e-9 < 1 < np.abs(system @ printed - T).max()


def test_algorithm_2_needs_its_corrections(rows):
    """Line 11 prints Z[i] T[i] for both: V needs Z[i] / S[i], and U rows of U'."""
    Z, T = rows[0][:30], rows[1][:30]
    system = rbf_kernel(Z, gamma=1 / (2 * SIGMA**2)) + np.eye(30) / C
    left, S, right = np.linalg.svd(system)
    sums = {}
    for matrix, table in ((U, left.T), (V, right.T)):
        for row, values in enumerate(table):
            for key, value in multiply_entries(matrix, row, values, S, T):
                sums[key] = sums.get(key, 0) + value
    UT = np.array([[sums[U, row, k] for k in range(K)] for row in range(30)])
    VS = np.array([[sums[V, row, i] for i in range(30)] for row in range(30)])
    expected = np.linalg.solve(system, T)
    assert np.abs(VS @ UT - expected).max() < 1e-9
    printed_u = left @ T  # rows of U under the key (U, row)
    printed_v = right.T * T[:, 0]
    for wrong in (VS @ printed_u, printed_v @ UT):
        assert np.abs(wrong - expected).max() > 0.1


def test_passes_are_few(rows):
    Z, T = rows
    M = precondition_well(Z, GAUSSIAN, C, N, first=100)
    exact = np.linalg.eigvalsh(rbf_kernel(Z, gamma=1 / (2 * SIGMA**2)))
    d_eff = (exact / (exact + 1 / C)).sum()
    assert M.rank >= 2 * d_eff and M.effective_dimension == pytest.approx(d_eff, rel=0.2)
    _, passes, residual = by_cg(Z, T, tolerance=1e-6, rank=M.rank)
    assert residual <= 1e-6 and passes <= 15


@pytest.mark.parametrize('C', [0.1, 1e4])
def test_the_preconditioner_inverts_its_matrix_with_the_same_bits_in_any_number_of_threads(rows, C):
    Z, T = rows
    with using_threads(1):
        found = precondition(Z, C, 300)
    with using_threads(2):
        applied = precondition(Z, C, 300).apply(T)
    B = found.B.T
    M = B @ B.T + np.eye(N) / C
    assert np.allclose(found.apply(M @ T), T, atol=1e-8)
    omega = rbf_kernel(Z, gamma=1 / (2 * SIGMA**2))
    assert np.linalg.eigvalsh(omega - B @ B.T).min() > -1e-9  # Nystrom never takes more than there is
    with using_threads(1):
        assert np.array_equal(found.apply(T), applied)


def test_rows_far_from_the_origin_have_a_preconditioner_all_the_same(rows):
    Z = rows[0][:, :2] + 15  # rounding of |u|^2 + |v|^2 - 2 u.v makes the kernel of many landmarks indefinite
    for rank in (100, 400, N):
        assert precondition(Z, 1e4, rank, kernel=make_kernel('gaussian', sigma=0.3)).effective_dimension > 0


def test_rows_of_weight_0_are_no_landmarks(rows):
    scale = (np.arange(N) < 50) * 2.0
    found = precondition(rows[0], 1e4, 100, scale)
    assert found.rank == 50
    omega = scale[:, None] * rbf_kernel(rows[0], gamma=1 / (2 * SIGMA**2)) * scale
    assert np.allclose(found.B.T @ found.B, omega, atol=1e-6)


@pytest.mark.parametrize('most', [40, 90])
def test_the_rank_stays_within_its_bound(rows, most):
    assert precondition_well(rows[0], GAUSSIAN, C, most, first=50).rank == most


def test_targets_that_depend_on_each_other_and_rows_twice_are_no_trouble(rows):
    Z, T = np.concatenate([rows[0], rows[0][:100]]), np.concatenate([rows[1], rows[1][:100]])
    T = np.column_stack([T, T[:, 0], np.zeros(len(T))])
    solution, _, residual = by_cg(Z, T)
    assert residual <= 1e-8
    expected = kelm.solve_cholesky(compute_lower_triangle(Z, GAUSSIAN), T, C).dual_coef
    values = compute_kernel(Z, Z, GAUSSIAN)
    assert np.abs(values @ (solution.dual_coef - expected)).max() < 1e-6


def test_too_few_passes_are_warned_of(rows):
    with pytest.warns(ConvergenceWarning, match='stopped after 3 passes'):
        by_cg(*rows, rank=5, max_passes=3)


def test_landmarks_depend_neither_on_the_order_nor_on_the_last_digit(rows):
    Z = rows[0]
    order = np.random.default_rng(0).permutation(N)
    assert (Z[order][choose_landmarks(Z[order], 9)] == Z[choose_landmarks(Z, 9)]).all()
    assert (choose_landmarks(Z * (1 + 1e-15), 9) == choose_landmarks(Z, 9)).all()


def test_a_kernel_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match='no Cholesky factor'):
        kelm.solve_cholesky(np.diag([1.0, -5.0]), np.ones((2, 1)), 1.0)


@pytest.mark.parametrize('strength', [0, -1, np.nan, np.inf])
def test_a_bad_C_is_refused(strength):
    with pytest.raises(ValueError, match='C: expected a finite number above 0'):
        kelm.solve_cholesky(np.eye(2), np.ones((2, 1)), strength)
