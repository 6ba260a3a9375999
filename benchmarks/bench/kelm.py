"""Measure the kernel ELM against bare arithmetic, against its paper's stages, and against scikit-learn.

In processor seconds, one BLAS thread a process. Data are generated: rows of normal numbers, ten classes.
"""
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.bench.context import Bench
from benchmarks.timing import judge_ratio, measure_in_turn, measure_processor, processor_seconds, run_mr_elm
from benchmarks.verdict import COUNTED, FASTER, Claim, at_least, at_most
from mr_elm.drivers.kelm_data import gather_data
from mr_elm.drivers.kelm_stages import fill_by_columns, make_product, write_kernel
from mr_elm.engines import make_engine
from mr_elm.engines.base import Engine
from mr_elm.estimators import KernelELMClassifier
from mr_elm.features.kernel_tiles import compute_lower_triangle
from mr_elm.features.kernels import make_kernel, row_squares
from mr_elm.json_file import write_json
from mr_elm.machines.options import KELMOptions
from mr_elm.rows.inputs import plan_blocks, plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.solvers.kernel.kelm import decompose, solve_cholesky
from mr_elm.solvers.shared.multiclass import class_targets
from mr_elm.streaming.mr_kernel import MRKernel, cut_columns
from mr_elm.typing import Floats

D, CLASSES = 50, 10
PAIR_FEATURES = 20
EMITS = ('tiles', 'entries')
SHARE = 10  # the bare pass takes 1/SHARE of the rows: the rest take as long


def draw(n: int, d: int = D) -> tuple[Floats, np.ndarray]:
    """Draw rows and class numbers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.digitize(np.abs(X[:, :4]).sum(axis=1), np.linspace(1.5, 5, CLASSES - 1))


def compute_matrix(X: Floats, sigma: float) -> Floats:
    """Compute the Gaussian kernel matrix as a short script does."""
    squares = row_squares(X)
    K = X @ X.T
    K *= -2
    K += squares
    K += squares[:, None]
    np.maximum(K, 0, out=K)
    K *= -1 / (2 * sigma**2)
    np.exp(K, out=K)
    return K


def fit_bare(X: Floats, T: Floats, C: float = 1.0) -> Floats:
    """Fit as a short script does."""
    K = compute_matrix(X, X.shape[1]**0.5)
    K[np.diag_indices_from(K)] += 1 / C
    return cho_solve(cho_factor(K, lower=True, overwrite_a=True, check_finite=False), T)


def write_csv(path: Path, X: Floats, codes: np.ndarray) -> Path:
    """Write rows as csv."""
    np.savetxt(path, np.column_stack([codes, X]), delimiter=',', fmt=['%d'] + ['%.9g'] * X.shape[1])
    return path


def compare_fits(bench: Bench) -> list[Claim]:
    """Compare fits by Cholesky with the bare script, the command line and scikit-learn."""
    from sklearn.kernel_ridge import KernelRidge
    n = bench.pick(3_000, 10_000)
    X, codes = draw(n)
    T, sigma = class_targets(codes, CLASSES), D**0.5
    path, model = write_csv(bench.folder / 'rows.csv', X, codes), bench.folder / 'm.npz'
    fits = [lambda rows: KernelELMClassifier(sigma=sigma, scale='none').fit(X[rows], codes[rows]),
            lambda rows: fit_bare(X[rows], T[rows]),
            lambda rows: KernelRidge(alpha=1.0, kernel='rbf', gamma=1 / (2 * D)).fit(X[rows], T[rows])]
    for fit in fits:
        fit(slice(1000))  # once uncounted: loads compiled code
    ours, bare, ridge, command = measure_in_turn(
        [*(partial(fit, slice(n)) for fit in fits),
         partial(run_mr_elm, 'train', 'mr-kelm', path, '--model', model, '--overwrite')], 2, processor_seconds)
    return [judge_ratio(f'fit by cholesky, {n:,} x {D}, {CLASSES} classes, against the bare script', ours, bare,
                        at_most(1.3)),
            judge_ratio('the same by mr-elm train -r inline, from csv', command, bare, at_most(2.0)),
            judge_ratio("the same fit, times faster than scikit-learn's KernelRidge", ours, ridge, FASTER)]


def compare_decompositions(bench: Bench) -> list[Claim]:
    """Compare Cholesky with the paper's SVD and with the eigenvectors that stand for it here."""
    n = bench.pick(1_000, 3_000)
    X, codes = draw(n)
    T, omega = class_targets(codes, CLASSES), compute_lower_triangle(X, make_kernel('gaussian', D))
    system = np.tril(omega) + np.tril(omega, -1).T + np.eye(n)
    np.linalg.svd(system[:500, :500])  # all three once uncounted, on few rows
    solve_cholesky(omega[:500, :500].copy(), T[:500], 1.0)
    decompose(omega[:500, :500].copy()).solve(T[:500], 1.0)
    ours, eigen, svd = measure_processor([lambda: solve_cholesky(omega.copy(), T, 1.0),
                                          lambda: decompose(omega.copy()).solve(T, 1.0), lambda: np.linalg.svd(system)])
    return [judge_ratio(f'cholesky at {n:,} rows, times faster than the SVD of I/C + Omega', ours, svd,
                        at_least(20.0)),
            judge_ratio('eigenvectors (used by --solver svd), times faster than the SVD', eigen, svd, FASTER)]


@contextmanager
def gather_rows(path: Path, engine: Engine, **options: Any) -> Iterator[Any]:
    """Bring rows to this process as training does; the context's value is a KernelData."""
    plan = plan_inputs([str(path)], RowOptions())
    with gather_data(plan, KELMOptions(**options), engine) as data:
        yield data


def compare_emissions(bench: Bench) -> list[Claim]:
    """Compare Algorithm 1 in tiles with the same entry by entry."""
    n, engine = bench.pick(200, 1_000), make_engine()
    path = write_csv(bench.folder / 'pairs.csv', *draw(n, PAIR_FEATURES))
    with gather_rows(path, engine) as data:
        (tile_bytes, tile_records), (entry_bytes, entry_records) = (measure_map(data, emit) for emit in EMITS)
        tiles, entries = measure_in_turn([partial(fill_by_columns, data, emit, np.empty((n, n))) for emit in EMITS], 2,
                                         processor_seconds)
    name = f'Algorithm 1 in tiles, {n:,} x {PAIR_FEATURES}, against entry by entry'
    return [judge_ratio(f'{name}: times faster', tiles, entries, at_least(50.0)),
            Claim('the same: times fewer bytes shuffled', entry_bytes / tile_bytes, at_least(15.0), COUNTED,
                  f'{tile_bytes / 1e6:,.1f} MB against {entry_bytes / 1e6:,.1f} MB'),
            Claim('the same: times fewer records shuffled', entry_records / tile_records, at_least(1000.0), COUNTED,
                  f'{tile_records:,} against {entry_records:,}')]


def measure_map(data: Any, emit: str) -> tuple[int, int]:
    """Return the bytes and the records that one map task of Algorithm 1 emits."""
    plan = plan_blocks(data.path('columns'), cut_columns(data.rows.X))
    job = MRKernel(args=['--mapper', '--step-num=0', '--planned-splits', '--emit', emit,
                         '--kernel', write_kernel(data),
                         '--plan', write_json(os.path.join(data.folder, 'plan.json'), plan.to_json())])
    job.sandbox(stdin=io.BytesIO(f'[[0, 0, {plan.size}]]\n'.encode()))
    job.run_mapper()
    written = job.stdout.getvalue()
    return len(written), written.count(b'\n')


def compare_pass(bench: Bench) -> list[Claim]:
    """Compare a pass of conjugate gradients on all cores with its bare arithmetic on one."""
    n, folder = bench.pick(10_000, 100_000), bench.folder
    X, codes = draw(n)
    path, engine = folder / 'many.packed', make_engine('local')
    run_mr_elm('pack', write_csv(folder / 'many.csv', X, codes), '-o', path)
    V = np.random.default_rng(1).standard_normal((n, CLASSES))
    with gather_rows(path, engine) as data:
        multiply = make_product(data)
        ours, shares = measure_in_turn([partial(multiply, V), partial(multiply_bare, data.rows.X, V, n // SHARE)], 2,
                                       processor_seconds)
    return [judge_ratio(f'a pass of cg with -r local, {n:,} x {D}, {CLASSES} vectors, against GEMM, exp, GEMM',
                        ours, [SHARE * seconds for seconds in shares], at_most(1.5), 'processor seconds')]


def multiply_bare(X: Floats, V: Floats, n_rows: int) -> None:
    """Multiply some rows of the kernel matrix with vectors, tile by tile, as a short script does."""
    squares, factor = row_squares(X), -1 / (2 * D)
    for start in range(0, n_rows, 512):
        for left in range(0, len(X), 2048):
            K = X[start:start + 512] @ X[left:left + 2048].T
            K *= -2
            K += squares[left:left + 2048]
            K += squares[start:start + 512, None]
            K *= factor
            np.exp(K, out=K)
            K @ V[left:left + 2048]


PARTS = {'fit': compare_fits, 'decompositions': compare_decompositions, 'emissions': compare_emissions,
         'pass': compare_pass}
