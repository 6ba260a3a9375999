"""Train and test methods on sets over trials, keep every trial at once, and go on where a run was stopped."""
import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.preprocessing import MinMaxScaler

from benchmarks.public_sets import find_set, is_there, read_bundled, read_set
from benchmarks.tables.results import Results, Table, summarise_all
from benchmarks.tables.sizes import count_support, measure_model
from mr_elm.arithmetic import one_thread
from mr_elm.data.registry import DATA_SETS
from mr_elm.typing import Floats, Labels

TRIALS = 20  # of each set and method
MOST = 4000  # rows to train on
TUNED_ON = 1000  # of them, when parameters are chosen
N_GENES = 60  # features that are kept of a set of genes
# what `split_halves` does, and how parameters are chosen and seconds counted, for the reader of a table
OF_HALVES = (f'Each trial is another stratified half of the rows for training (at most {MOST:,}), the other half for '
             'testing (at most twice as many); attributes are scaled to [-1, 1] on the training half.')
CHOSEN_ONCE = (f'chosen once a set and method, by 5-fold cross-validation on {TUNED_ON:,} rows of the first training '
               'half')
SECONDS = 'Seconds are processor seconds of one thread, for one trial'
COMPLAINTS = (ConvergenceWarning, UserWarning, FutureWarning, RuntimeWarning)


@dataclass(frozen=True)
class Comparison:
    """Say what is compared, and how.

    sets : names. split : (y, trial) -> (training rows, testing rows). methods : (n_features, n_classes) -> name ->
    (estimator, grid). tuned_each : choose parameters anew in each trial, not once a set. genes : sets of which
    N_GENES features count. absent : what could not be compared, and why. notes : the protocol, for the reader. claims :
    what is claimed of mean accuracies, such as AsGood.
    """

    sets: tuple
    split: Callable
    methods: Callable
    notes: str
    trials: int = TRIALS
    tuned_each: bool = False
    genes: tuple = ()
    absent: tuple = ()
    claims: tuple = ()


def split_halves(y: Labels, trial: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a trial's training half, at most MOST, and of its testing half, at most twice as many."""
    splitter = StratifiedShuffleSplit(1, train_size=min(MOST, len(y) // 2), test_size=min(2 * MOST, len(y) // 2),
                                      random_state=trial)
    return next(splitter.split(y, y))


def prepare(X: Floats, y: Labels, rows: tuple, genes: bool) -> tuple:
    """Return (X_train, y_train, X_test, y_test) of a trial, scaled to [-1, 1] on the training rows."""
    train, test = rows
    X_train, X_test = X[train], X[test]
    if genes:
        from sklego.feature_selection import MaximumRelevanceMinimumRedundancy
        selection = MaximumRelevanceMinimumRedundancy(k=N_GENES).fit(X_train, y[train])
        X_train, X_test = selection.transform(X_train), selection.transform(X_test)
    scaler = MinMaxScaler((-1, 1)).fit(X_train)
    return scaler.transform(X_train), y[train], scaler.transform(X_test), y[test]


def tune(estimator: Any, grid: dict, X: Floats, y: Labels) -> dict:
    """Return the parameters of the best cross-validated accuracy, on at most TUNED_ON rows."""
    rows = np.random.default_rng(0).permutation(len(y))[:TUNED_ON]
    return GridSearchCV(estimator, grid, cv=5, error_score='raise').fit(X[rows], y[rows]).best_params_


def seed(estimator: Any, trial: int) -> Any:
    """Return a fresh estimator whose random choices follow the trial."""
    machine = clone(estimator)
    names = [name for name in machine.get_params() if name.rpartition('__')[2] in ('seed', 'random_state')]
    return machine.set_params(**dict.fromkeys(names, trial))


def measure(machine: Any, X: Floats, y: Labels, X_test: Floats, y_test: Labels) -> dict:
    """Train and test once: what is measured, in processor seconds and bytes."""
    start = time.process_time()
    machine.fit(X, y)
    middle = time.process_time()
    accuracy = machine.score(X_test, y_test)
    return {'accuracy': accuracy, 'train_seconds': middle - start, 'test_seconds': time.process_time() - middle,
            'model_bytes': measure_model(machine), 'n_support': count_support(machine)}


class Clock:
    """Tell how much of a run is done and when it will end; know when its time is up.

    waiting : set -> trials to measure.
    """

    def __init__(self, waiting: dict[str, int], minutes: float | None) -> None:
        self.waiting, self.start = dict(waiting), time.monotonic()
        self.work = {name: estimate_work(name) for name in waiting}
        self.total, self.whole = self.n_left, self.work_left
        self.end = self.start + 60 * minutes if minutes else float('inf')

    @property
    def is_over(self) -> bool:
        """Say whether no more trials may begin."""
        return time.monotonic() > self.end

    @property
    def n_left(self) -> int:
        """Count the trials to go."""
        return sum(self.waiting.values())

    @property
    def work_left(self) -> int:
        """Return what the trials to go take, by `estimate_work`."""
        return sum(n * self.work[name] for name, n in self.waiting.items())

    def tell(self, what: str) -> None:
        """Say on standard error what was done, of how much, and the time left."""
        done = max(self.whole - self.work_left, 1)
        left = (time.monotonic() - self.start) / done * self.work_left
        print(f'{what}; {self.total - self.n_left} of {self.total} trials, about {left / 60:.0f} min left',
              file=sys.stderr, flush=True)


def estimate_work(name: str) -> int:
    """Guess what a trial on a set takes: a little, and more with its bytes, but rows beyond MOST are not taken."""
    path = find_set(name)
    size = path.stat().st_size * (4 if path.suffix == '.gz' else 1) if path else 0
    return 50_000 + min(size, 2_000_000)


def measure_set(comparison: Comparison, name: str, n_trials: int, results: Results, clock: Clock,
                left_out: list[str]) -> None:
    """Measure all trials of a set, all methods of one after another; one that fails is named in `left_out`."""
    X, y = read_set(name)
    X, genes = X.toarray(), name in comparison.genes
    methods = comparison.methods(N_GENES if genes else X.shape[1], len(np.unique(y)))
    for trial in range(n_trials):
        waiting = [method for method in methods if trial not in results.trials(name, method)]
        if clock.is_over or not waiting:
            continue
        try:
            data = prepare(X, y, comparison.split(y, trial), genes)
        except ValueError as error:  # a class of one row has no halves
            left_out.append(f'{name}: {error}'.splitlines()[0])
            clock.waiting[name] = 0
            return
        for method in waiting:
            if clock.is_over:
                break
            try:
                known = None if comparison.tuned_each else results.parameters(name, method)
                found = run_trial(methods[method], trial, data, known)
            except (ValueError, MemoryError, np.linalg.LinAlgError) as error:
                left_out.append(f'{method} on {name}: {error}'.splitlines()[0])
                del methods[method]
                clock.waiting[name] -= len(set(range(n_trials)) - results.trials(name, method))
                continue
            results.add({'set': name, 'method': method, 'trial': trial, 'rows': len(data[1]),
                         'n_features': data[0].shape[1], 'n_classes': len(np.unique(y)), **found})
            clock.waiting[name] -= 1
        clock.tell(f'{name}, trial {trial + 1}')


def run_trial(method: tuple[Any, dict], trial: int, data: tuple, known: dict | None) -> dict:
    """Choose parameters on the training rows of a trial unless they are known, train on them, and test."""
    estimator = seed(method[0], trial)
    known = known or tune(estimator, method[1], *data[:2])
    return {**measure(estimator.set_params(**known), *data), 'parameters': json.dumps(known)}


def load_code(comparison: Comparison) -> None:
    """Train each method once uncounted: the first time loads compiled code."""
    X, y = read_bundled('iris')
    for estimator, _ in comparison.methods(X.shape[1], 3).values():
        clone(estimator).fit(X.toarray(), y)
        clone(estimator).fit(X.toarray()[:100], y[:100])


def count_waiting(comparison: Comparison, name: str, n_trials: int, results: Results) -> int:
    """Count the trials of a set that are still to be measured."""
    return sum(len(set(range(n_trials)) - results.trials(name, method)) for method in comparison.methods(2, 2))


def run(comparison: Comparison, out: str, names: Sequence[str] = (), n_trials: int = TRIALS,
        minutes: float | None = None) -> str:
    """Measure what is not there yet of a table, within some minutes, and write OUT.md, OUT.json and OUT.trials.csv."""
    names = names or comparison.sets
    here = [name for name in names if is_there(name)]
    left_out = [*comparison.absent, *(describe_absence(name) for name in names if name not in here)]
    for text in left_out:  # before hours are spent
        print(f'left out: {text}', file=sys.stderr, flush=True)
    results = Results(Path(out).with_suffix('.trials.csv'))
    clock = Clock({name: count_waiting(comparison, name, n_trials, results) for name in here}, minutes)
    with one_thread(), warnings.catch_warnings():
        for complaint in COMPLAINTS:
            warnings.simplefilter('ignore', complaint)
        load_code(comparison)
        for name in here:
            measure_set(comparison, name, n_trials, results, clock, left_out)
    if clock.n_left:
        left_out.append(f'{clock.n_left} trials are left: run the same command again to continue')
    rows = summarise_all(results, here, comparison.methods(2, 2))
    return Table(rows, comparison.notes, left_out, list(comparison.claims), results.sessions.known).write(Path(out))


def describe_absence(name: str) -> str:
    """Say that a set is not there, and how it can be had."""
    way = f'`mr-elm download {name}` brings it' if name in DATA_SETS else 'no origin of it is known'
    return f'{name} is in no folder of MR_ELM_DATA; {way}'


def sort_by_size(names: list[str]) -> tuple[str, ...]:
    """Order sets by the size of their files, so that a run which is stopped has whole sets."""
    return tuple(sorted(names, key=lambda name: path.stat().st_size if (path := find_set(name)) else 0))


def main(comparison: Comparison, description: str | None) -> None:
    """Read the command line (or TRIALS, MINUTES and SETS of the environment), measure, and print the table."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out', metavar='OUT.md')
    parser.add_argument('sets', metavar='SET', nargs='*', default=os.environ.get('SETS', '').split())
    parser.add_argument('--trials', type=int, default=os.environ.get('TRIALS') or comparison.trials,
                        help='of each set and method')
    parser.add_argument('--minutes', type=float, default=os.environ.get('MINUTES') or None,
                        help='start no trial after so many')
    given = parser.parse_intermixed_args()
    print(run(comparison, given.out, given.sets, given.trials, given.minutes))
