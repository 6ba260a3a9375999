"""Time two ways of doing the same thing, in turn, and compare them."""
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

from benchmarks.verdict import Aim, Claim

LEAST = 0.1  # processor seconds of a run: the clock and the machine decide what is shorter
ONE_THREAD = dict.fromkeys(('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'), '1')


def wall_seconds(action: Callable, least: float = 0.0) -> float:
    """Return the seconds that a call takes. least : see `mean_seconds`."""
    return mean_seconds(action, least, time.perf_counter)


def processor_seconds(action: Callable, least: float = LEAST) -> float:
    """Return the processor seconds that a call takes: user and system, of this process and those that it starts.

    least : see `mean_seconds`.
    """
    return mean_seconds(action, least, read_processor_clock)


def mean_seconds(action: Callable, least: float, clock: Callable[[], float]) -> float:
    """Call an action until a clock has gone on by so many seconds at least; returns the mean of a call."""
    start, calls, spent = clock(), 0, 0.0
    while not calls or spent < least:
        action()
        calls += 1
        spent = clock() - start
    return spent / calls


def read_processor_clock() -> float:
    """Return the processor seconds of this process so far, and of those that it has started and waited for."""
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measure_in_turn(actions: Sequence[Any], repeats: int = 3, measure: Callable = wall_seconds) -> list[list[float]]:
    """Measure the actions one after another, several times over: a list of numbers for each.

    measure : action -> number, such as `wall_seconds` or `processor_seconds`.
    """
    runs: list[list[float]] = [[] for _ in actions]
    for _ in range(repeats):
        for numbers, action in zip(runs, actions, strict=True):
            numbers.append(measure(action))
    return runs


def measure_processor(actions: Sequence[Callable]) -> list[list[float]]:
    """Measure the processor seconds of the actions twice, in turn: a list of two numbers for each."""
    return measure_in_turn(actions, 2, processor_seconds)


def compare(name: str, ours: Callable, reference: Callable, aim: Aim) -> Claim:
    """Run `ours` and `reference` once uncounted, then thrice in turn: the Claim of the ratio of processor seconds."""
    for action in (ours, reference):
        action()  # the first run pays for pages, files and compiled code that later ones find
    mine, theirs = measure_in_turn([ours, reference], measure=processor_seconds)
    return judge_ratio(name, mine, theirs, aim)


def judge_ratio(name: str, ours: list[float], reference: list[float], aim: Aim, note: str = '',
                group: str = '') -> Claim:
    """Divide the least of our runs by the least of the reference's; the inverse for at-least aims.

    ours, reference : seconds of the runs, made in turn. note : more to say beside the seconds. group : as of a Claim.
    """
    mine, theirs = min(ours), min(reference)
    seconds = f'{show_seconds(mine)} against {show_seconds(theirs)}'
    return Claim(name, mine / theirs if aim.at_most else times_faster(ours, reference), aim, [ours, reference],
                 f'{seconds}; {note}' if note else seconds, group)


def show_seconds(seconds: float) -> str:
    """Write seconds with two decimals, or milliseconds."""
    return f'{seconds:.2f} s' if seconds >= 0.9995 else f'{1000 * seconds:.3g} ms'


def times_faster(ours: list[float], reference: list[float]) -> float:
    """Return how many times faster our least run is than the least of the reference."""
    return min(reference) / min(ours)


def make_command(args: Sequence[object]) -> list[str]:
    """Return the words of a command line of mr-elm."""
    return [str(Path(sys.executable).parent / 'mr-elm'), *map(str, args)]


def run_mr_elm(*args: object) -> str:
    """Run the command line on one BLAS thread; returns what it said on standard error. Raises RuntimeError."""
    done = subprocess.run(make_command(args), text=True, capture_output=True, env={**os.environ, **ONE_THREAD})
    if done.returncode:
        raise RuntimeError(f'mr-elm {" ".join(map(str, args))}: {done.stderr}')
    return done.stderr


def read_stage_seconds(said: str, stage: str) -> float:
    """Read the seconds of a stage from what the command line said."""
    return float(re.findall(rf'^{stage}: .* in ([\d.]+) s', said, re.MULTILINE)[0])


def measure_peak_memory(*args: object) -> int:
    """Run the command line and return its largest resident set in bytes."""
    code = ('import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); '
            'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)')
    command = [sys.executable, '-c', code, *make_command(args)]
    done = subprocess.run(command, check=True, text=True, capture_output=True, env={**os.environ, **ONE_THREAD})
    return int(done.stdout) * 1024

