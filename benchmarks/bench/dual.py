"""Measure the dual's solvers against LIBSVM, which is scikit-learn's SVC, and against each other.

In processor seconds on one thread, at the same eps, on standardised features. Data sets are looked for in the folders
that MR_ELM_DATA names; those that are not there are left out. At full size (all rows, all settings: hours) what was
measured is kept in seconds.json and not measured again, so that a stopped run goes on.
"""
import sys
from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.bench.context import FULL, NORMAL, QUICK, Bench
from benchmarks.public_sets import find_or_warn, read_set
from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.machines.dual import BoxMachine
from mr_elm.machines.pairs import ClassScheme, LabelledKernel, cross_validate
from mr_elm.scaling.timing import judge_ratio, measure_processor, times_faster
from mr_elm.scaling.verdict import COUNTED, Claim, at_least, at_most
from mr_elm.scores.selection import PAPER, fold_numbers
from mr_elm.solvers.box.box_qp import BoxQP, Settings
from mr_elm.solvers.box.path import ready_rows
from mr_elm.solvers.rules import solve_dual
from mr_elm.solvers.shared.workspace import Workspace
from mr_elm.typing import Floats, Labels

ROWS = {QUICK: 3_000, NORMAL: 10_000, FULL: None}  # of a set
# name -> set, classes; gamma is a multiple of 1/d
SETS = {
    'covtype': ('covtype-20k', (1, 2)), 'usps': ('usps', None), 'w8a': ('w8a', None), 'a9a': ('a9a', None),
    'spambase': ('spambase', None), 'cod-rna': ('cod-rna', None), 'magic': ('magic', None),
    'shuttle': ('shuttle', None), 'letter-pair': ('letter', (15, 17)), 'letter': ('letter', None),
}
FEW = ('covtype', 'cod-rna')
SOME = ((0.3, 1), (1, 10), (3, 100), (1, 1000))
ALL = tuple((scale, C) for scale in (0.3, 1, 3) for C in (1, 10, 100, 1000))
WIDE = 50  # features


def standardise(name: str, n_rows: int | None, sets: dict = SETS) -> tuple[Floats, Labels]:
    """Return (X, y) of some rows of a set, one of `sets`, features of mean 0 and deviation 1."""
    X, y = read_set(*sets[name])
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    X, y = X[rows].toarray(), y[rows]
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1), y


def make_svc(gamma: float, C: float) -> Any:
    """Return LIBSVM."""
    from sklearn.svm import SVC
    return SVC(gamma=gamma, C=C, cache_size=1000)


def make_sparse_elm(gamma: float, C: float) -> Any:
    """Return ours."""
    from mr_elm.estimators import SparseELMClassifier
    return SparseELMClassifier(gamma=gamma, C=float(C))


def compare_subsets(bench: Bench) -> list[Claim]:
    """Compare fits at every setting: rows a set, and the claims over all of them."""
    rows: list[Claim] = []
    runs: dict[bool, list] = {True: [], False: []}
    for name in bench.pick(FEW, SETS):
        if not find_or_warn(SETS[name][0]):
            continue
        X, y = standardise(name, ROWS[bench.size])
        found = measure_fits(name, X, y, bench)
        runs[X.shape[1] >= WIDE] += found.values()
        note = ', '.join(f'gamma {scale:g}/d C {C}: {times_faster(*pair):.2f}' for (scale, C), pair in found.items())
        rows.append(judge_mean(f'fit on {name}, {len(y):,} x {X.shape[1]}, times faster than SVC, geometric mean',
                               list(found.values()), 1.0, note))
    for wide, claim in ((True, 3.0), (False, 1.5)):
        if runs[wide]:
            slowest = min(runs[wide], key=lambda pair: times_faster(*pair))
            least = f'{len(runs[wide])} settings, the least {times_faster(*slowest):.2f}'
            sets = f'sets of {"at least" if wide else "less than"} {WIDE} features'
            rows.append(judge_mean(f'the same over all {sets}', runs[wide], claim, least))
            rows.append(judge_ratio(f'the least of all settings, {sets}', slowest[0], slowest[1], at_least(1.0)))
    return rows


def judge_mean(name: str, pairs: list, limit: float, note: str) -> Claim:
    """Return the Claim of the geometric mean of how many times faster ours are.

    pairs : (our runs, a peer's) for each setting. The runs of the Claim are the means over the settings, run by run.
    """
    runs = [[geometric_mean(run) for run in zip(*side, strict=True)] for side in zip(*pairs, strict=True)]
    return Claim(name, geometric_mean(times_faster(*pair) for pair in pairs), at_least(limit), runs, note)


def measure_fits(name: str, X: Floats, y: Labels, bench: Bench) -> dict[tuple, tuple]:
    """Return (scale, C) -> our processor seconds and SVC's, a list each."""
    found, d = {}, X.shape[1]
    for C in (1, 1000):
        make_sparse_elm(1 / d, C).fit(X[:2000], y[:2000])  # once uncounted: loads compiled code
    for scale, C in bench.pick(SOME[:2], SOME, ALL):
        key = f'{name} {len(y)} {scale:g} {C}'
        ours, theirs = bench.runs(f'fit on {key}', partial(make_sparse_elm(scale / d, C).fit, X, y),
                                  partial(make_svc(scale / d, C).fit, X, y))
        found[scale, C] = ours, theirs
        print(f'{key}: SVC {min(theirs):.3f} s, ours {min(ours):.3f} s, {times_faster(ours, theirs):.2f} x',
              file=sys.stderr, flush=True)
    return found


def geometric_mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(list(ratios)))))


def compare_adult(bench: Bench) -> list[Claim]:
    """Compare fit and prediction on a9a, first 32,561 rows for training, gamma 1/123, C 1."""
    if bench.size == QUICK or not find_or_warn('a9a'):
        return []
    X, y = read_set('a9a')
    train, test = X[:32_561], X[32_561:]
    make_sparse_elm(1 / 123, 1).fit(X[:3000], y[:3000]).predict(test[:100])  # once uncounted: loads compiled code
    models = ours, _ = make_sparse_elm(1 / 123, 1), make_svc(1 / 123, 1)
    fits = measure_processor([partial(model.fit, train, y[:32_561]) for model in models])
    predictions = measure_processor([partial(model.predict, test) for model in models])
    result = ours.results_[0]
    note = (f'{len(ours.support_):,} support vectors, {result.n_kernel_rows:,} kernel rows, gap {result.gap:.2g} at '
            f'{result.objective:.4f}')
    return [judge_ratio('fit on a9a, 32,561 x 123, times faster than SVC', fits[0], fits[1], at_least(5.0), note),
            judge_ratio('predict 16,281 rows of a9a, times faster than SVC', predictions[0], predictions[1],
                        at_least(10.0))]


def compare_grid(bench: Bench) -> list[Claim]:
    """Compare the paper's grid, 5 folds, on rows of covtype with SVC, by a random tenth of its fits."""
    if not find_or_warn('covtype-20k'):
        return []
    n_rows = bench.pick(1_000, 5_000)
    X, y = standardise('covtype', n_rows)
    codes, folds = (y == y.max()).astype(int), fold_numbers(X, 5, 0)
    fits = list(product(PAPER, PAPER, range(5)))
    chosen = np.random.default_rng(0).permutation(len(fits))[:len(fits) // 10]

    def theirs() -> None:
        for number in chosen:
            sigma, C, fold = fits[number]
            held = folds == fold
            machine = make_svc(0.5 / sigma**2, C).fit(X[~held], y[~held])
            machine.score(X[held], y[held])

    def ours() -> None:
        space = Workspace()
        for sigma in PAPER:
            source = ready_rows(kernel_rows(X, make_kernel('gaussian', sigma=sigma)), space=space)
            kernel = LabelledKernel(source, codes, np.ones(len(X)))
            list(cross_validate(kernel, ClassScheme(2), BoxMachine(1.0, 'block', Settings()), PAPER, folds, range(5)))

    make_sparse_elm(1, 1).fit(X[:2000], y[:2000])  # once uncounted: loads compiled code
    mine, some = measure_processor([ours, theirs])
    whole = [seconds * len(fits) / len(chosen) for seconds in some]
    return [judge_ratio(f'14 x 14 grid, 5 folds, {n_rows:,} rows of covtype, times faster than SVC', mine, whole,
                        at_least(30.0), f'by {len(chosen)} of {len(fits)} fits')]


def compare_active_sets(bench: Bench) -> list[Claim]:
    """Compare the iterations of oelm and bas."""
    rows = []
    for name in filter(find_or_warn, ('australian', 'diabetes', 'ionosphere', 'svmguide1')):
        X, y = read_set(name)
        kernel = make_kernel('gaussian', gamma=1 / X.shape[1])
        source, t = kernel_rows(scale_to_box(X.toarray()), kernel), np.where(y == y.max(), 1.0, -1.0)
        for C in (1, 10, 100):
            proposed, basic = (solve_dual(BoxQP(source, t, C), rule) for rule in ('oelm', 'bas'))
            note = (f'{proposed.n_iter} against {basic.n_iter} iterations, {proposed.seconds:.2f} s against '
                    f'{basic.seconds:.2f} s')
            rows.append(Claim(f'oelm on {name} at C {C}, iterations over those of bas', proposed.n_iter / basic.n_iter,
                              at_most(0.1), COUNTED, note))
    return rows


def scale_to_box(X: Floats) -> Floats:
    """Scale features to [-1, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.where(high > low, 2 * (X - low) / np.where(high > low, high - low, 1) - 1, 0)


PARTS = {'a9a': compare_adult, 'subsets': compare_subsets, 'grid': compare_grid, 'active-sets': compare_active_sets}
