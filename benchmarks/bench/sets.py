"""Race machines against their peers on every data set that there is: the same rows, the same settings.

In processor seconds on one thread, on standardised features.
"""
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from benchmarks.bench.context import FULL, NORMAL, QUICK, Bench
from benchmarks.public_sets import list_sets, read_set
from benchmarks.timing import judge_ratio, measure_in_turn, processor_seconds, times_faster
from benchmarks.verdict import FASTER, Aim, Claim, is_steady
from mr_elm.features.landmarks import hash_rows
from mr_elm.typing import Floats, Labels

ROWS = {QUICK: 1_000, NORMAL: 10_000, FULL: None}  # of a set, at most
LEAST = 0.25  # seconds of each of two runs
SHORT, SPARE = 5e-3, 1e-3  # seconds: what takes a peer no longer than SHORT may take us SPARE longer
FEW = ('iris', 'wine', 'magic', 'covtype-20k')


@dataclass(frozen=True)
class Result:
    """Hold what one set gave. pairs : setting -> (our processor seconds, those of the peer), two runs each."""

    name: str
    n_rows: int
    n_features: int
    n_classes: int
    pairs: dict[str, list[list[float]]]

    @property
    def shape(self) -> str:
        """Return rows, features and classes in words."""
        return f'{self.n_rows:,} x {self.n_features}, {self.n_classes} classes'


def standardise(name: str, n_rows: int | None, classes: tuple | None = None) -> tuple[Floats, Labels]:
    """Return (X, y) of some rows of a set, or of its rows of some classes, features of mean 0 and deviation 1."""
    X, y = read_set(name, classes)
    rows = np.argsort(hash_rows(X, 0), kind='stable')[:n_rows]
    X, y = X[rows].toarray(), y[rows]
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1), y


def race(settings: Callable, bench: Bench, action: str = 'fit') -> Iterator[Result]:
    """Measure fits, or predictions of the rows fitted, of both sides on every set, in turn.

    settings : n_features -> name -> (our estimator, a peer). action : fit or predict.
    """
    for estimators in settings(8).values():
        warm_up(estimators)
    for name in (name for name in list_sets() if bench.size != QUICK or name in FEW):
        X, y = standardise(name, ROWS[bench.size])
        pairs = {setting: measure_pair(estimators, X, y, action)
                 for setting, estimators in settings(X.shape[1]).items()}
        print(f'{name}: {describe_pairs(pairs)}', file=sys.stderr, flush=True)
        yield Result(name, len(y), X.shape[1], len(np.unique(y)), pairs)


def measure_pair(estimators: Iterable, X: Floats, y: Labels, action: str) -> list[list[float]]:
    """Return the processor seconds of both sides, two runs each."""
    made = [estimator.fit(X, y).predict if action == 'predict' else partial(estimator.fit, y=y)
            for estimator in estimators]
    return measure_in_turn([partial(run, X) for run in made], 2, partial(processor_seconds, least=LEAST))


def warm_up(estimators: Iterable) -> None:
    """Fit both sides once uncounted, on generated rows of two and of three classes: the first fit loads code."""
    X = np.random.default_rng(0).standard_normal((1500, 8))
    for estimator in estimators:
        for bounds in ([0.0], [-0.5, 0.5]):
            estimator.fit(X, np.digitize(X[:, 0] * X[:, 1], bounds))


def describe_pairs(pairs: dict[str, list[list[float]]]) -> str:
    """Say how many times faster we are at each setting."""
    return ', '.join(f'{setting}: {times_faster(*pair):.2f}'.removeprefix(': ') for setting, pair in pairs.items())


def judge_set(result: Result, title: str, peer: str) -> Claim:
    """Return the Claim that we are faster than a peer on one set, in the geometric mean over the settings."""
    note = describe_pairs(result.pairs) if len(result.pairs) > 1 else ''
    return judge_mean(f'{title} on {result.name}, {result.shape}, times faster than {peer}',
                      list(result.pairs.values()), FASTER, note, f'{title} : {peer}')


def judge_sets(results: list[Result], what: str, aim: Aim) -> list[Claim]:
    """Return the Claim of the geometric mean over all settings of some sets; none without sets."""
    if not results:
        return []
    pairs = [pair for result in results for pair in result.pairs.values()]
    least = min(results, key=lambda result: mean_ratio(result.pairs.values()))
    unsteady = sum(not is_steady(pair) for pair in pairs)
    smallest = f'{mean_ratio(least.pairs.values()):.2f} on {least.name}'
    return [judge_mean(what, pairs, aim, f'{len(results)} sets, smallest value {smallest}; {unsteady} of {len(pairs)} '
                       'comparisons unsteady')]


def judge_slowest(results: list[Result], title: str, peer: str, count: int = 5) -> list[Claim]:
    """Return the Claims that we are faster than a peer at the settings, of all sets, where we are slowest beside it.

    What is short may take a little longer.
    """
    cells = [(times_faster(*pair), f'on {one.name}, {one.shape}, {setting}', pair)
             for one in results for setting, pair in one.pairs.items() if not is_short(*pair)]
    return [judge_ratio(f'{title}, slowest {number}: {where}, times faster than {peer}', mine, theirs, FASTER)
            for number, (_, where, (mine, theirs)) in enumerate(sorted(cells)[:count], 1)]


def is_short(ours: list[float], theirs: list[float]) -> bool:
    """Tell whether runs are so short that the difference does not count."""
    return min(theirs) < SHORT and min(ours) <= min(theirs) + SPARE


def judge_mean(name: str, pairs: list, aim: Aim, note: str, group: str = '') -> Claim:
    """Return the Claim of the geometric mean of how many times faster ours are.

    pairs : (our runs, a peer's) for each setting. The runs of the Claim are the means over the settings, run by run.
    """
    runs = [[geometric_mean(run) for run in zip(*side, strict=True)] for side in zip(*pairs, strict=True)]
    return Claim(name, mean_ratio(pairs), aim, runs, note, group)


def mean_ratio(pairs: Iterable) -> float:
    """Return the geometric mean over settings of how many times faster ours are."""
    return geometric_mean([times_faster(*pair) for pair in pairs])


def geometric_mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean."""
    ratios = list(ratios)
    return prod(ratio ** (1 / len(ratios)) for ratio in ratios)
