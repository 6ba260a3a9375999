"""Measure SphereSVM's rules against LIBSVM, which is scikit-learn's SVC, and against each other.

In processor seconds on one thread, standardised features, gamma 1/d, 10,000 rows of each set that a folder of
MR_ELM_DATA has. The L2 machine has about twice the support vectors of SVC's L1 machine.
"""
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench.context import NORMAL, QUICK, Bench
from benchmarks.bench.dual import ROWS, judge_mean, make_svc, standardise
from benchmarks.public_sets import find_or_warn
from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.scaling.timing import measure_processor, times_faster
from mr_elm.scaling.verdict import COUNTED, Claim, at_least, at_most
from mr_elm.solvers.box.box_qp import Settings
from mr_elm.solvers.sphere.sphere_svm import SphereProblem, solve_sphere
from mr_elm.typing import Floats

SETS = {'cod-rna': ('cod-rna', None), 'a9a': ('a9a', None), 'w8a': ('w8a', None), 'shuttle': ('shuttle', (1, 4)),
        'magic': ('magic', None), 'covtype': ('covtype-20k', (1, 2))}
FEW = ('magic', 'covtype')
COSTS = (1, 10, 100)
PAPER = (1e-3, 1e-4, 1e-5)  # eps of Algorithm 1
STEPS = 50_000              # of it, at most
CONVERGED = 1e-6            # gap of the labels that both are held against


def train_sphere(X: Floats, y: Floats, C: float, rule: str = 'exact', settings: Settings | None = None) -> Any:
    """Train SphereSVM."""
    problem = SphereProblem(kernel_rows(X, make_kernel('gaussian', gamma=1 / X.shape[1])), y, C)
    return solve_sphere(problem, rule, settings or Settings())


def measure_beside_svc(name: str, X: Floats, y: Floats, bench: Bench) -> tuple[list, list[float]]:
    """Return ((our processor seconds, SVC's), kernel rows over support vectors) for every C, as two lists."""
    pairs, evaluations = [], []
    for C in COSTS:
        made: list = []
        ours, theirs = bench.runs(f'SphereSVM on {name} {len(y)} {C}',
                                  lambda made=made, C=C: made.append(train_sphere(X, y, C)),
                                  partial(make_svc(1 / X.shape[1], C).fit, X, y))
        found = made[-1] if made else train_sphere(X, y, C)
        pairs.append((ours, theirs))
        evaluations.append(found.n_kernel_rows / np.count_nonzero(found.alpha))
        print(f'{name} C {C}: SVC {min(theirs):.3f} s, ours {min(ours):.3f} s, {times_faster(ours, theirs):.2f} x, '
              f'{np.count_nonzero(found.alpha)} support vectors, gap {found.violation:.1e}',
              file=sys.stderr, flush=True)
    return pairs, evaluations


def compare_on_set(name: str, X: Floats, y: Floats, C: float = 1) -> Claim:
    """Claim that exact is faster than the paper's rule, at the first eps where it errs no more than exact.

    An error is a label that is not the one of the nearest point itself. Where no eps errs so little the value is None.
    """
    labels = train_sphere(X, y, C, settings=Settings(eps=CONVERGED)).decision > 0
    notes, reached = [], False
    for eps in PAPER:
        (ours, theirs), (exact, found) = fit_both(X, y, C, Settings(eps=eps, max_iter=STEPS))
        errors, wrong = (int(np.sum((result.decision > 0) != labels)) for result in (exact, found))
        notes.append(f'eps {eps:g}: {min(theirs):.3f} s, gap {found.gap / found.objective:.2g}, {wrong} wrong')
        if reached := wrong <= errors:
            break
    return Claim(f'exact on {name} at C {C}, times faster than Algorithm 1 to labels as good',
                 times_faster(ours, theirs) if reached else None, at_least(5.0), [ours, theirs],
                 f'exact {min(ours):.3f} s, gap {exact.violation:.1g}, {errors} wrong, the kernel values of its '
                 f'proof alone {time_proof(X, exact):.3f} s; paper {"; ".join(notes)}')


def fit_both(X: Floats, y: Floats, C: float, settings: Settings) -> tuple[list[list[float]], tuple]:
    """Train by the exact rule and by Algorithm 1 in turn: (processor seconds, the last Result) of both."""
    made: dict = {}
    runs = measure_processor([lambda: made.update(exact=train_sphere(X, y, C)),
                              lambda: made.update(paper=train_sphere(X, y, C, 'paper', settings))])
    return runs, (made['exact'], made['paper'])


def time_proof(X: Floats, exact: Any) -> float:
    """Return the processor seconds of the kernel values by which a Result of the exact rule is proved."""
    rows, support = kernel_rows(X, make_kernel('gaussian', gamma=1 / X.shape[1])), np.flatnonzero(exact.alpha)
    runs, = measure_processor([partial(rows.weighted_sum, support, exact.alpha[support])])
    return min(runs)


def prepare_sets(bench: Bench, n_rows: int | None) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield (name, X, y) of so many rows of every set that is there; y is -1 or 1."""
    for name in bench.pick(FEW, SETS):
        if find_or_warn(SETS[name][0]):
            X, y = standardise(name, n_rows, SETS)
            y = np.where(y == y.max(), 1.0, -1.0)
            train_sphere(X[:2500], y[:2500], 1)  # once uncounted: loads compiled code
            train_sphere(X[:500], y[:500], 1, 'paper')
            yield name, X, y


def compare_with_svc(bench: Bench) -> list[Claim]:
    """Compare fits with SVC's at every C: a row a set, and the claims over all of them."""
    rows, everything, values = [], [], []
    for name, X, y in prepare_sets(bench, ROWS[bench.size]):
        pairs, evaluations = measure_beside_svc(name, X, y, bench)
        everything += pairs
        values += evaluations
        note = ', '.join(f'C {C}: {times_faster(*pair):.2f}' for C, pair in zip(COSTS, pairs, strict=True))
        rows.append(judge_mean(f'SphereSVM on {name}, {len(y):,} x {X.shape[1]}, to a gap of 0.001, times faster '
                               'than SVC', pairs, 1.0, note))
    if not everything:
        return rows
    least = f'{len(everything)} settings, the least {min(times_faster(*pair) for pair in everything):.2f}'
    return [*rows, judge_mean('SphereSVM, the same over all sets, geometric mean', everything, 1.5, least),
            Claim('SphereSVM, most kernel values over N x support vectors', max(values), at_most(1.3), COUNTED,
                  f'the least {min(values):.2f}')]


def compare_with_paper(bench: Bench) -> list[Claim]:
    """Compare the exact rule with Algorithm 1: a row a set."""
    return [compare_on_set(*each) for each in prepare_sets(bench, bench.pick(ROWS[QUICK], ROWS[NORMAL]))]


PARTS = {'svc': compare_with_svc, 'paper': compare_with_paper}
