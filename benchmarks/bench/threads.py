"""Measure how much faster estimators fit and predict with two threads than with one: seconds on two free cores."""
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.bench.context import Bench
from benchmarks.timing import judge_ratio, measure_in_turn, wall_seconds
from benchmarks.verdict import Claim, at_least
from mr_elm.estimators import ESVMClassifier, KernelELMClassifier, SparseELMClassifier, SphereSVMClassifier
from mr_elm.typing import Floats, Labels

D, N_CLASSES = 30, 8
RUNS, SECONDS = 8, 0.5  # of each side: the pace of a machine changes from one second to the next


def make_rows(n: int) -> tuple[Floats, Labels]:
    """Return n rows of normal numbers, which overlapping classes shift in one feature each."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, N_CLASSES, n)
    X = generator.standard_normal((n, D))
    X[np.arange(n), y] += 2
    return X, y


def compare_fits(bench: Bench) -> list[Claim]:
    """Fit with one thread and with two."""
    cases = {'the Gram of PESVM, 1,000 nodes': (ESVMClassifier(n_hidden=1000), bench.pick(20_000, 100_000)),
             'the kernel ELM': (KernelELMClassifier(), bench.pick(1000, 6000)),
             'the pairs of sparse ELM': (SparseELMClassifier(C=10), bench.pick(1000, 10_000)),
             'the classes of sparse ELM against all others': (
                 SparseELMClassifier(C=10, multiclass='one-vs-all'), bench.pick(1000, 5000)),
             'the pairs of SphereSVM': (SphereSVMClassifier(C=10), bench.pick(1000, 10_000))}
    return [compare(f'{name}, {n:,} rows', estimator, partial(call_fit, *make_rows(n)))
            for name, (estimator, n) in cases.items()]


def call_fit(X: Floats, y: Labels, estimator: Any) -> None:
    """Fit an estimator."""
    estimator.fit(X, y)


def compare_predictions(bench: Bench) -> list[Claim]:
    """Predict with one thread and with two."""
    X, y = make_rows(bench.pick(20_000, 100_000))
    estimators = ESVMClassifier(n_hidden=1000), KernelELMClassifier(), SparseELMClassifier(C=10)
    return [compare(f'predictions of {type(estimator).__name__}, {len(X):,} rows', estimator.fit(X[:4000], y[:4000]),
                    lambda fitted: fitted.decision_function(X)) for estimator in estimators]


def compare(name: str, estimator: Any, work: Callable[[Any], object]) -> Claim:
    """Time the work of an estimator with one thread and with two, in turn."""
    one, two = (estimator.set_params(n_jobs=1), copy_fitted(estimator).set_params(n_jobs=2))
    work(one)
    ours, reference = measure_in_turn([partial(work, two), partial(work, one)], RUNS,
                                      partial(wall_seconds, least=SECONDS))
    return judge_ratio(f'{name}, times faster with two threads', ours, reference, at_least(1.7),
                       f'{os.cpu_count()} cores')


def copy_fitted(estimator: Any) -> Any:
    """Return an estimator with the same parameters and the same fitted attributes."""
    other = clone(estimator)
    vars(other).update(vars(estimator))
    return other


PARTS = {'fit': compare_fits, 'predict': compare_predictions}
