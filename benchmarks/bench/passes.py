"""Measure trainings by passes against those by a Gram, on many landmarks, and against their arithmetic.

Seconds are those of the processor. A Gram of all rows would take too long: its seconds follow from two trainings
on an eighth and on a quarter of the rows, because they grow with the rows alone.
"""
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.linalg.blas import ssyrk
from scipy.linalg.lapack import spotrf

from benchmarks.bench.context import Bench
from benchmarks.timing import measure_in_turn, processor_seconds, run_mr_elm, show_seconds
from benchmarks.verdict import COUNTED, Claim, at_most
from mr_elm.arithmetic import one_thread
from mr_elm.data.generators import generate, write_rows
from mr_elm.models import read_model
from mr_elm.typing import Floats

D = 50
NUS = 1, 100
SHARE, MOST_PASSES = 0.33, 15  # of the seconds of a Gram; passes to a residual of 1e-4
ROWS_AT_ONCE = 1024


def train(rows: Path, n_hidden: int, solver: str, nu: float) -> None:
    """Train on packed rows; the model stands beside them."""
    run_mr_elm('train', 'pesvm', rows, '--map', 'nystrom', '--hidden', n_hidden, '--nu', nu, '--solver', solver, '-r',
               'local', '--num-cores', 2, '--model', rows.with_suffix('.npz'), '--overwrite')


def pack(bench: Bench, n: int) -> Path:
    """Return a packed folder of n rows of `ringnorm`."""
    csv = bench.folder / f'ringnorm-{n}.csv'
    write_rows(generate('ringnorm', n, D, 1), csv)
    run_mr_elm('pack', csv, '-o', csv.with_suffix('.packed'))
    return csv.with_suffix('.packed')


def compare_solvers(bench: Bench) -> list[Claim]:
    """Compare the seconds of passes with those of a Gram, and count the passes, for a small and a large nu."""
    n, n_hidden = bench.pick((8000, 500), (200_000, 8000))
    sizes = n // 8, n // 4, n
    packs, claims = [pack(bench, size) for size in sizes], []
    for nu in bench.pick(NUS[:1], NUS):
        actions: list[Callable] = [partial(train, rows, n_hidden, 'gram', nu) for rows in packs[:2]]
        actions.append(partial(train, packs[2], n_hidden, 'passes', nu))
        few, more, passes = map(min, measure_in_turn(actions, 1, processor_seconds))
        gram = few + (more - few) * (sizes[2] - sizes[0]) / (sizes[1] - sizes[0])
        name = f'{n_hidden:,} landmarks by passes on {n:,} x {D} ringnorm at nu {nu:g}'
        found = read_model(packs[2].with_suffix('.npz')).header.parameters
        claims += [Claim(f'{name}, processor seconds divided by those of a Gram', passes / gram, at_most(SHARE),
                         COUNTED, f'{show_seconds(passes)} against {show_seconds(gram)}, which follow '
                         f'from {show_seconds(few)} for {sizes[0]:,} and {show_seconds(more)} for {sizes[1]:,} rows'),
                   Claim(f'{name}, passes', found['passes'], at_most(MOST_PASSES), COUNTED,
                         f'relative residual {found["residual"]:.1e}')]
    return claims


def compare_arithmetic(bench: Bench) -> list[Claim]:
    """Compare the seconds of a training by passes with those of its arithmetic, done by a script."""
    n, n_hidden = bench.pick((8000, 4096), (200_000, 20_000))
    rows = pack(bench, n)
    ours = processor_seconds(partial(train, rows, n_hidden, 'passes', 1))
    found = read_model(rows.with_suffix('.npz')).header.parameters
    X = np.random.default_rng(1).standard_normal((n, D))
    with one_thread():
        bare = processor_seconds(partial(compute_bare, X, n_hidden, found['precondition_rows'], found['passes']))
    return [Claim(f'{n_hidden:,} landmarks by passes on {n:,} x {D} ringnorm, processor seconds divided by those of '
                  'their arithmetic', ours / bare, at_most(1.5), COUNTED,
                  f'{show_seconds(ours)} against {show_seconds(bare)}; {found["passes"]} passes')]


def compute_bare(X: Floats, n_landmarks: int, n_sample: int, n_passes: int) -> None:
    """Do the arithmetic of a training as a script does: E_s'E_s of a sample, its factor, and E'(E v) of all rows.

    All is of float32 but the last pass, which finds the residual in float64.
    """
    rows, landmarks = prepare(X, X[:n_landmarks])
    single, single_landmarks = rows.astype(np.float32), landmarks.astype(np.float32)
    M = np.eye(n_landmarks, dtype=np.float32, order='F')
    for start in range(0, n_sample, ROWS_AT_ONCE):
        E = expand_bare(single[start:min(start + ROWS_AT_ONCE, n_sample)], single_landmarks)
        M = ssyrk(1.0, E.T, beta=1.0, c=M, overwrite_c=1)
    spotrf(M, overwrite_a=1)
    for Z, A in [(single, single_landmarks)] * (n_passes - 1) + [(rows, landmarks)]:
        v = np.ones((n_landmarks, 1), Z.dtype)
        for start in range(0, len(Z), ROWS_AT_ONCE):
            E = expand_bare(Z[start:start + ROWS_AT_ONCE], A)
            E.T @ (E @ v)


def prepare(X: Floats, landmarks: Floats) -> tuple[Floats, Floats]:
    """Return rows (n, d + 2) and landmarks (d + 2, L) whose product is -|x - a|^2 / d."""
    squares, norms = (np.einsum('ij,ij->i', each, each) / D for each in (X, landmarks))
    return (np.column_stack([X, -squares, np.ones(len(X))]),
            np.vstack([2 / D * landmarks.T, np.ones(len(landmarks)), -norms]))


def expand_bare(Z: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return the Gaussian kernel of rows and landmarks of `prepare`, (n, L), of their type."""
    E = Z @ A
    return np.exp(E, out=E)


PARTS = {'landmarks': compare_solvers, 'arithmetic': compare_arithmetic}
