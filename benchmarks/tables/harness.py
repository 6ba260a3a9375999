"""Train and test methods on sets over trials, keep every trial at once, and go on where a run was stopped."""
import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from benchmarks.public.sets import DATA_SETS, download
from benchmarks.public_sets import find_set, is_there, read_bundled, read_set
from benchmarks.tables.clock import Clock
from benchmarks.tables.results import Results, Table, summarise_all
from benchmarks.tables.sizes import count_support, measure_model
from benchmarks.tables.split import N_GENES, permute_parts, prepare, sample
from benchmarks.tables.tuning import N_FOLDS, TimeIsUp, Tuning
from mr_elm.arithmetic import one_thread
from mr_elm.scores.selection import GRIDS
from mr_elm.typing import Floats, Labels

TRIALS = 20  # of each set and method
TUNED_ON = 1000  # rows to train on, when parameters are chosen
MEMORY = int(0.8 * os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))  # bytes
# how parameters are chosen and seconds counted, for the reader of a table
CHOSEN_ONCE = (f'The parameters of a method are chosen in the first trial of a set, by {N_FOLDS}-fold cross-validation '
               f'on at most {TUNED_ON:,} rows of the training half. All trials of the set use these parameters.')
SECONDS = 'Seconds are processor seconds of one thread, for one trial'
COMPLAINTS = (ConvergenceWarning, UserWarning, FutureWarning, RuntimeWarning)


@dataclass(frozen=True)
class Comparison:
    """Say what is compared, and how.

    sets : names. split : (y, trial) -> (training rows, testing rows). methods : (n_features, n_classes) -> name ->
    (estimator, grid). tuned_each : choose parameters anew in each trial, not once a set. genes : sets of which
    N_GENES features count. absent : what could not be compared, and why. notes : the protocol, for the reader. claims :
    what is claimed of mean accuracies, such as AsGood. tuned_on : at most so many rows of the training part are
    used to choose parameters, None for all. sections : (title, methods) of tables laid out as in a paper. dense :
    methods that hold a matrix of training rows by training rows. published : set -> its first rows, that it trains on.
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
    tuned_on: int | None = TUNED_ON
    sections: tuple = ()
    dense: tuple = ()
    published: dict = field(default_factory=dict)

    def split_set(self, name: str, y: Labels, trial: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of a set to train on and to test on in a trial."""
        if name in self.published:
            return permute_parts(len(y), self.published[name], trial)
        return self.split(y, trial)


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
    end = time.process_time()
    return {'train_accuracy': machine.score(X, y), 'accuracy': accuracy, 'train_seconds': middle - start,
            'test_seconds': end - middle, 'model_bytes': measure_model(machine), 'n_support': count_support(machine)}


@dataclass
class Run:
    """Hold what a run keeps: trials, candidates, time, and what is left out, and why."""

    results: Results
    tuning: Tuning
    clock: Clock
    left_out: list[str]


def measure_set(comparison: Comparison, name: str, n_trials: int, run: Run) -> None:
    """Measure all trials of a set, all methods of one after another; one that fails is named in `left_out`."""
    if run.clock.is_over:  # a large set takes long to read
        return
    X, y = read_set(name)
    X, genes, clock = X.toarray(), name in comparison.genes, run.clock
    methods = comparison.methods(N_GENES if genes else X.shape[1], len(np.unique(y)))
    for trial in range(n_trials):
        waiting = [method for method in methods if trial not in run.results.trials(name, method)]
        if clock.is_over or not waiting:
            continue
        try:
            data = prepare(X, y, comparison.split_set(name, y, trial), genes)
            if any(grid for _, grid in methods.values()):
                demand_folds(data[1])
        except ValueError as error:  # also for a class of one row, which has no halves
            run.left_out.append(f'{name}: {error}'.splitlines()[0])
            clock.waiting[name] = 0
            return
        for method in waiting:
            place = {'set': name, 'method': method, 'trial': trial}
            try:
                run.results.add({**place, **run_trial(comparison, methods[method], place, data, run)})
            except TimeIsUp:
                break
            except (ValueError, MemoryError, np.linalg.LinAlgError) as error:
                run.left_out.append(f'{method} on {name}: {error}'.splitlines()[0])
                del methods[method]
                clock.waiting[name] -= len(set(range(n_trials)) - run.results.trials(name, method))
                continue
            clock.waiting[name] -= 1
        clock.tell(f'{name}, trial {trial + 1}')


def run_trial(comparison: Comparison, method: tuple[Any, dict], place: dict, data: tuple, run: Run) -> dict:
    """Choose parameters on the training rows of a trial unless they are known, train on them, and test."""
    if run.clock.is_over:
        raise TimeIsUp
    X, y = data[:2]
    if place['method'] in comparison.dense:
        demand_memory(len(y))
    estimator = seed(method[0], place['trial'])
    known = None if comparison.tuned_each else run.results.parameters(place['set'], place['method'])
    known = known or (run.tuning.choose(place, estimator, method[1], *sample(X, y, comparison.tuned_on))
                      if method[1] else {})
    return {'rows': len(y), 'n_features': X.shape[1], 'n_classes': len(np.unique(y)),
            **measure(estimator.set_params(**known), *data), 'parameters': json.dumps(known)}


def demand_folds(y: Labels) -> None:
    """Raise ValueError where no class has enough rows for a cross-validation."""
    most = np.unique(y, return_counts=True)[1].max()
    if most < N_FOLDS:
        raise ValueError(f'no class has more than {most} training rows, a {N_FOLDS}-fold cross-validation needs '
                         f'{N_FOLDS}')


def demand_memory(n_rows: int) -> None:
    """Raise MemoryError where this machine cannot hold a kernel matrix of so many rows and its factor."""
    needed = 2 * 8 * n_rows**2
    if needed > MEMORY:
        raise MemoryError(f'expected {needed / 1e9:.1f} GB of memory for {n_rows:,} rows, found {MEMORY / 1e9:.1f} GB')


@contextmanager
def quiet() -> Iterator[None]:
    """Run on one thread, without warnings of machines that stop early."""
    with one_thread(), warnings.catch_warnings():
        for complaint in COMPLAINTS:
            warnings.simplefilter('ignore', complaint)
        yield


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
    """Measure what is not there yet of a table, within some minutes, and write OUT.md, OUT.json and OUT.trials.csv.

    OUT.candidates.csv has the cross-validated accuracy of every candidate.
    """
    names = names or comparison.sets
    lacks = {name: reason for name in names if (reason := find_lack(name, name in comparison.genes))}
    here = [name for name in names if name not in lacks]
    left_out = [*comparison.absent, *lacks.values()]
    for text in left_out:  # before hours are spent
        print(f'left out: {text}', file=sys.stderr, flush=True)
    results = Results(Path(out).with_suffix('.trials.csv'))
    clock = Clock({name: count_waiting(comparison, name, n_trials, results) for name in here}, minutes)
    tuning = Tuning(Path(out).with_suffix('.candidates.csv'), lambda: clock.is_over)
    with quiet():
        load_code(comparison)
        for name in here:
            measure_set(comparison, name, n_trials, Run(results, tuning, clock, left_out))
    if clock.n_left:
        unfinished = ', '.join(name for name, n in clock.waiting.items() if n)
        left_out.append(f'{clock.n_left:,} trials have not run yet, on the sets {unfinished}: run the same command '
                        'again to measure them')
    rows = summarise_all(results, here, comparison.methods(2, 2))
    return Table(rows, comparison.notes, left_out, list(comparison.claims), results.sessions.known,
                 list(comparison.sections)).write(Path(out))


def find_lack(name: str, genes: bool = False) -> str:
    """Say what a set lacks to be measured, and how it can be had; '' where nothing is missing."""
    if not is_there(name):
        way = f'`python -m benchmarks.public {name}` brings it' if name in DATA_SETS else 'no origin of it is known'
        return f'{name} is in no folder of MR_ELM_DATA; {way}'
    if genes and not find_spec('sklego'):
        return f"{name} needs scikit-lego, which is not installed (pip install 'mr_elm[bench]')"
    return ''


def download_sets(names: Sequence[str], folder: str) -> None:
    """Download the sets that are not there into a folder, from now on one of MR_ELM_DATA; name those that fail."""
    os.environ['MR_ELM_DATA'] = ':'.join([*filter(None, [os.environ.get('MR_ELM_DATA')]), folder])
    for name in names:
        if name in DATA_SETS and not is_there(name):
            try:
                print(f'downloaded {download(name, folder)}', file=sys.stderr, flush=True)
            except (OSError, ValueError) as error:
                print(f'not downloaded: {error}', file=sys.stderr, flush=True)


def sort_by_size(names: list[str]) -> tuple[str, ...]:
    """Order sets by the size of their files, so that a run which is stopped has whole sets."""
    return tuple(sorted(names, key=lambda name: path.stat().st_size if (path := find_set(name)) else 0))


def make_parser(description: str | None, trials: int) -> argparse.ArgumentParser:
    """Return the parser of a command that compares machines; TRIALS and SETS of the environment are its defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out', metavar='OUT.md')
    parser.add_argument('sets', metavar='SET', nargs='*', default=os.environ.get('SETS', '').split())
    parser.add_argument('--trials', type=int, default=os.environ.get('TRIALS') or trials, help='of each set and method')
    parser.add_argument('--download', metavar='DIR', help='download public sets that no folder has into this one')
    return parser


def main(comparison: Comparison, description: str | None, paper: Comparison | None = None) -> None:
    """Read the command line (and MINUTES of the environment), measure, and print the table.

    paper : what `--grid paper` compares; None where there is no such option.
    """
    parser = make_parser(description, comparison.trials)
    parser.add_argument('--minutes', type=float, default=os.environ.get('MINUTES') or None,
                        help='start no training after so many')
    if paper:
        parser.add_argument('--grid', choices=GRIDS, default=GRIDS[0], help='candidates of all parameters')
    given = parser.parse_intermixed_args()
    chosen = paper if paper and given.grid == 'paper' else comparison
    if given.download:
        download_sets(given.sets or chosen.sets, given.download)
    print(run(chosen, given.out, given.sets, given.trials, given.minutes))
