"""Measure SphereSVM's rules against LIBSVM, which is scikit-learn's SVC, and against each other.

In processor seconds on one thread, on standardised features, gamma 1/d. The L2 machine has about twice the support
vectors of SVC's L1 machine.
"""
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench.context import Bench
from benchmarks.bench.dual import make_svc
from benchmarks.bench.sets import judge_set, judge_sets, judge_slowest, race, standardise
from benchmarks.public_sets import find_or_warn
from benchmarks.timing import measure_processor, times_faster
from benchmarks.verdict import COUNTED, Claim, at_least, at_most
from mr_elm.estimators import SphereSVMClassifier
from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.solvers.box.box_qp import Settings
from mr_elm.solvers.sphere.sphere_svm import SphereProblem, solve_sphere
from mr_elm.typing import Floats

SETS = {'cod-rna': None, 'a9a': None, 'w8a': None, 'shuttle': (1, 4), 'magic': None, 'covtype-20k': (1, 2)}
COSTS = (1, 10, 100)
PAPER = (1e-3, 1e-4, 1e-5)  # eps of Algorithm 1
STEPS = 50_000              # of it, at most
CONVERGED = 1e-6            # gap of the labels that both are held against


def train_sphere(X: Floats, y: Floats, C: float, rule: str = 'exact', settings: Settings | None = None) -> Any:
    """Train SphereSVM."""
    problem = SphereProblem(kernel_rows(X, make_kernel('gaussian', gamma=1 / X.shape[1])), y, C)
    return solve_sphere(problem, rule, settings or Settings())


def compare_on_set(name: str, X: Floats, y: Floats, C: float = 1) -> Claim:
    """Claim that exact is faster than the paper's rule, at the first eps where it errs no more than exact.

    An error is a label that is not the one of the nearest point itself. Where no eps errs so little the value is
    None: the reference is not reached.
    """
    labels = train_sphere(X, y, C, settings=Settings(eps=CONVERGED)).decision > 0
    notes, reached = [], False
    for eps in PAPER:
        (ours, theirs), (exact, found) = fit_both(X, y, C, Settings(eps=eps, max_iter=STEPS))
        errors, wrong = (int(np.sum((result.decision > 0) != labels)) for result in (exact, found))
        notes.append(f'Algorithm 1, eps {eps:g}: {min(theirs):.3f} s, gap {found.gap / found.objective:.2g}, '
                     f'{wrong:,} wrong')
        if reached := wrong <= errors:
            break
    return Claim(f'exact on {name} at C {C}, times faster than Algorithm 1',
                 times_faster(ours, theirs) if reached else None, at_least(5.0), [ours, theirs],
                 f'exact: {min(ours):.3f} s, gap {exact.violation:.1g}, {errors:,} wrong (kernel values of its proof '
                 f'alone: {time_proof(X, exact):.3f} s); {"; ".join(notes)}')


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


def prepare_sets(bench: Bench) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield (name, X, y) of some rows of every set of SETS that is there; y is -1 or 1."""
    for name, classes in SETS.items():
        if find_or_warn(name):
            X, y = standardise(name, bench.pick(1_000, 10_000), classes)
            y = np.where(y == y.max(), 1.0, -1.0)
            for rule in ('exact', 'paper'):
                train_sphere(X[:500], y[:500], 1, rule)  # once uncounted: loads compiled code
            yield name, X, y


def make_pairs(n_features: int) -> dict[str, tuple]:
    """Return setting -> (our estimator, SVC)."""
    return {f'C {C}': (SphereSVMClassifier(gamma=1 / n_features, C=float(C), scale='none'),
                        make_svc(1 / n_features, C))
            for C in COSTS}


def compare_with_svc(bench: Bench) -> list[Claim]:
    """Compare fits with SVC's on every set at every C: a row a set, and the claims over all of them."""
    results = list(race(make_pairs, bench))
    several = [one for one in results if one.n_classes > 2]
    return [*judge_sets(results, 'SphereSVM on all sets, times faster than SVC, geometric mean', at_least(1.5)),
            *judge_sets(several, 'SphereSVM on all sets of several classes, times faster than SVC, geometric mean',
                        at_least(1.7)),
            *judge_slowest(results, 'SphereSVM', 'SVC'),
            *(judge_set(result, 'SphereSVM', 'SVC') for result in results)]


def count_kernel_values(bench: Bench) -> list[Claim]:
    """Compare the kernel values that exact computes with those of all rows and support vectors."""
    shares = [found.n_kernel_rows / np.count_nonzero(found.alpha) for _, X, y in prepare_sets(bench) for C in COSTS
              for found in [train_sphere(X, y, C)]]
    return [Claim('kernel values of SphereSVM divided by N x support vectors', max(shares), at_most(1.3), COUNTED,
                  f'smallest quotient {min(shares):.2f}')] if shares else []


def compare_with_paper(bench: Bench) -> list[Claim]:
    """Compare the exact rule with Algorithm 1: a row a set."""
    return [compare_on_set(*each) for each in prepare_sets(bench)]


PARTS = {'svc': compare_with_svc, 'kernel-values': count_kernel_values, 'paper': compare_with_paper}
