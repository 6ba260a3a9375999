"""Race two sides of a claim: the same rows, one after the other, equally often; keep every run; judge by one rule.

A Race measures and an Aim judges. A Case of a race is one data set at one setting; its two sides are functions of the
number of the trial. A side that returns a function is scored by it after the clock has stopped.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from statistics import fmean, geometric_mean
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.clocks import read_processor_clock, time_call
from benchmarks.machine import MOST_BUSY, Load, demand_clean, describe, wait_until_quiet
from mr_elm.arithmetic import one_thread

QUICK, NORMAL = SIZES = ('quick', 'normal')
TRIALS = {QUICK: 1, NORMAL: 3}  # of every case and side
LEAST_SECONDS = {QUICK: 0.0, NORMAL: 0.1}  # of a timed run: what is shorter runs several times
STEADY = 0.10  # the largest share by which the value of one trial may exceed that of another
EVEN = 1.10  # who is faster by a smaller factor is neither faster nor slower
MET, IS_EVEN, MISSED, UNSTEADY, UNKNOWN = VERDICTS = ('met', 'even', 'missed', 'unsteady', 'not yet measured')
PROCESSOR, WALL, COUNTED = UNITS = ('processor seconds', 'seconds by the clock', 'a number that each side returns')
FASTER, SHARE, POINTS = KINDS = ('times faster', 'ours / theirs', 'points above')
TIME_IS_UP = 'no time was left'

Side = Callable[[int], Any]


@dataclass(frozen=True)
class Pair:
    """Hold both sides of a case, ready to run, and the rows that they get.

    ours, theirs : function of the number of the trial.
    """

    ours: Side
    theirs: Side
    n_rows: int = 0
    n_features: int = 0
    n_classes: int = 0


@dataclass(frozen=True)
class Case:
    """Name a case. prepare : function that reads its rows and returns its Pair."""

    name: str
    prepare: Callable[[], Pair]
    setting: str = ''


@dataclass(frozen=True)
class Aim:
    """Say which value of a race is good enough.

    kind : FASTER (their time divided by ours, at least `wanted`), SHARE (our number divided by theirs, at most
    `wanted`), both geometric means over the cases, or POINTS (our score less theirs, of 100, at least `wanted`), the
    mean; what a COUNTED race counts are the scores. setting : the only one that counts, all if empty. text : what is
    claimed, for the page.
    """

    kind: str
    wanted: float
    text: str
    setting: str = ''

    def select(self, rows: list[dict]) -> list[dict]:
        """Return the rows that count."""
        return [row for row in rows if self.setting in ('', row['setting'])]

    def value(self, rows: list[dict], trial: int | None = None) -> float | None:
        """Return the value over some rows, or that of one trial; None without rows."""
        values = [self.value_of(row, trial) for row in self.select(rows)]
        if not values:
            return None
        return fmean(values) if self.kind == POINTS else geometric_mean(values)

    def value_of(self, row: dict, trial: int | None = None) -> float:
        """Return the value of one row: of the least times, of the mean scores, or of one trial."""
        if self.kind == POINTS:
            pairs = zip(row['our_scores'] or row['ours'], row['their_scores'] or row['theirs'], strict=True)
            scores = [100 * (mine - peer) for mine, peer in pairs]
            return fmean(scores) if trial is None else scores[trial]
        if trial is None:
            mine, peer = min(row['ours']), min(row['theirs'])
        else:
            mine, peer = row['ours'][trial], row['theirs'][trial]
        return peer / mine if self.kind == FASTER else mine / peer

    def movement(self, rows: list[dict]) -> float:
        """Return by which share the value of one trial exceeds that of another, at most; 0 for points."""
        rows = self.select(rows)
        if self.kind == POINTS or not rows:
            return 0.0
        values = [self.value(rows, trial) or 0.0 for trial in range(min(len(row['ours']) for row in rows))]
        return max(values) / min(values) - 1

    def verdict(self, rows: list[dict]) -> str:
        """Return one of VERDICTS."""
        value = self.value(rows)
        if value is None:
            return UNKNOWN
        is_even = self.kind == FASTER and self.wanted == 1 and abs(log(value)) <= log(EVEN)
        is_good = value <= self.wanted if self.kind == SHARE else value >= self.wanted
        if not is_good and not is_even:
            return MISSED
        if self.movement(rows) > STEADY or max(row['others'] for row in self.select(rows)) > MOST_BUSY:
            return UNSTEADY
        return IS_EVEN if is_even else MET


@dataclass(frozen=True)
class Race:
    """Describe a race, and what is claimed of it.

    name : of the file of its rows. ours, theirs : both sides in words, with the solver that runs. what : what both do,
    a sentence. cases : function of a Bench that lists the Cases. minutes : no case begins that is not likely to end
    within so many. warm : whether both sides run once uncounted before the trials, which loads files and compiled code.
    """

    name: str
    ours: str
    theirs: str
    what: str
    cases: Callable[['Bench'], Iterator[Case]]
    aims: tuple[Aim, ...]
    minutes: float
    unit: str = PROCESSOR
    warm: bool = True


@dataclass
class Results:
    """Keep what was measured in a JSON file, written anew after each case: a stopped run goes on.

    machine : of `describe`. left_out : case -> reason. rows : what was measured, a dictionary a case.
    """

    path: Path
    machine: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    rows: list[dict] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> 'Results':
        """Read a file; one that is not there is empty."""
        return cls(path, **json.loads(path.read_text())) if path.exists() else cls(path)

    @classmethod
    def resume(cls, path: Path) -> 'Results':
        """Read a file to go on with, or begin anew where it is of another commit or machine."""
        machine, known = describe(), cls.read(path)
        same = all(known.machine.get(key) == machine[key] for key in ('commit', 'processor', 'cores'))
        return cls(path, machine, {}, known.rows if same else [])

    def has(self, **place: Any) -> bool:
        """Tell whether there is a row of this place."""
        return any(all(row.get(key) == value for key, value in place.items()) for row in self.rows)

    def add(self, row: dict) -> None:
        """Keep a row."""
        self.rows.append(row)
        self.write()

    def write(self) -> None:
        """Write the file, a line a row."""
        head = json.dumps({'machine': self.machine, 'left_out': self.left_out}, indent=1)[:-2]
        rows = ',\n'.join(f'  {json.dumps(row)}' for row in self.rows)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(f'{head},\n "rows": [\n{rows}\n ]\n}}\n')


class Bench:
    """Hold what the cases of a run share: the size asked for, and a folder that is removed at the end."""

    def __init__(self, size: str, folder: str) -> None:
        self.size, self.folder = size, Path(folder)

    def pick(self, quick: Any, normal: Any) -> Any:
        """Return what the size asked for calls for."""
        return quick if self.size == QUICK else normal


def run_race(race: Race, bench: Bench, results: Results) -> None:
    """Measure the cases of a race that are not there yet, and name those that are left out."""
    end, last = time.monotonic() + 60 * race.minutes, 0.0
    for case in race.cases(bench):
        place = {'set': case.name, 'setting': case.setting}
        if results.has(**place):
            continue
        label = f'{case.name} {case.setting}'.strip()
        start = time.monotonic()
        if start + last > end:  # sets grow: the next case takes about as long as the last one, or longer
            results.left_out[label] = TIME_IS_UP
            continue
        try:
            row = run_case(race, case.prepare(), bench.size)
        except (OSError, ImportError, ValueError, MemoryError) as error:  # such as a set or a peer that is not here
            results.left_out[label] = str(error).splitlines()[0]
            continue
        last = time.monotonic() - start
        results.add({**place, **row})
        aim = race.aims[0]
        print(f'{race.name}: {label}, {aim.value_of(row):.2f} {aim.kind}', file=sys.stderr, flush=True)
    results.write()


def run_case(race: Race, pair: Pair, size: str) -> dict:
    """Run both sides TRIALS times in turn; returns the row."""
    sides = {'ours': pair.ours, 'theirs': pair.theirs}
    row: dict[str, Any] = {
        'rows': pair.n_rows,
        'features': pair.n_features,
        'classes': pair.n_classes,
        'ours': [],
        'theirs': [],
        'our_scores': [],
        'their_scores': [],
    }
    if race.warm and size != QUICK:
        for side in sides.values():
            side(0)
    load, clock = Load(), read_processor_clock()
    for trial in range(TRIALS[size]):
        for name, side in sides.items():
            number, score = run_side(race.unit, side, trial, LEAST_SECONDS[size])
            row[name].append(number)
            if score is not None:
                row['our_scores' if name == 'ours' else 'their_scores'].append(score)
    row['others'] = round(load.share_of_others(read_processor_clock() - clock), 2)
    return row


def run_side(unit: str, side: Side, trial: int, least: float) -> tuple[float, float | None]:
    """Run a side once: (its number, its score or None)."""
    if unit == COUNTED:
        return float(side(trial)), None
    clock = read_processor_clock if unit == PROCESSOR else time.perf_counter
    seconds, score = time_call(lambda: side(trial), clock, least)
    return float(f'{seconds:.4g}'), float(score()) if callable(score) else None


def run_all(races: list[Race], folder: Path, size: str) -> None:
    """Measure races into a folder; those of a normal size on a clean commit and a quiet machine only."""
    with TemporaryDirectory(prefix='mr_elm-bench-') as scratch, one_thread(), warnings.catch_warnings():
        warnings.simplefilter('ignore')  # of machines that stop early
        bench = Bench(size, scratch)
        for race in races:
            if size != QUICK:
                demand_clean()
                wait_until_quiet()
            run_race(race, bench, Results.resume(folder / f'{race.name}.json'))
