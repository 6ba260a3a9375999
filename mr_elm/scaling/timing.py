"""Time two ways of doing the same thing in turn, alike, and compare them."""
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from mr_elm.scaling.verdict import Row

ONE_THREAD = dict.fromkeys(('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'), '1')


def wall(action):
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def processor_seconds(action):
    """Return the processor seconds of this process that a call takes."""
    start = time.process_time()
    action()
    return time.process_time() - start


def in_turn(actions, repeats=3, measure=wall):
    """Measure the actions one after another, several times over: a list of numbers for each.

    measure : action -> number, such as `wall` or `processor_seconds`.
    """
    runs = [[] for _ in actions]
    for _ in range(repeats):
        for numbers, action in zip(runs, actions, strict=True):
            numbers.append(measure(action))
    return runs


def processor_runs(actions):
    """Measure the processor seconds of the actions twice, in turn: a list of two numbers for each."""
    return in_turn(actions, 2, processor_seconds)


def compare(name, ours, reference, aim):
    """Run `ours` and `reference` once uncounted, then time them in turn: the Row of their ratio."""
    for action in (ours, reference):
        action()  # the first run pays for pages, files and compiled code that later ones find
    return ratio_row(name, *in_turn([ours, reference]), aim)


def ratio_row(name, ours, reference, aim, note=''):
    """Return the Row that divides the least of our runs by the least of the reference's; the inverse for at-least aims.

    ours, reference : seconds of the runs, made in turn. note : more to say beside the seconds.
    """
    mine, theirs = min(ours), min(reference)
    seconds = f'{mine:.2f} s against {theirs:.2f} s'
    return Row(name, mine / theirs if aim.at_most else times_faster(ours, reference), aim, [ours, reference],
               f'{seconds}; {note}' if note else seconds)


def times_faster(ours, reference):
    """Return how many times faster our least run is than the least of the reference."""
    return min(reference) / min(ours)


def command_of(args):
    """Return the words of a command line of mr-elm."""
    return [str(Path(sys.executable).parent / 'mr-elm'), *map(str, args)]


def mr_elm(*args):
    """Run the command line on one BLAS thread; returns what it said on standard error. Raises RuntimeError."""
    done = subprocess.run(command_of(args), text=True, capture_output=True, env={**os.environ, **ONE_THREAD})
    if done.returncode:
        raise RuntimeError(f'mr-elm {" ".join(map(str, args))}: {done.stderr}')
    return done.stderr


def stage_seconds(said, stage):
    """Read the seconds of a stage from what the command line said."""
    return float(re.search(rf'^{stage}: .* in ([\d.]+) s', said, re.MULTILINE).group(1))


def peak_memory(*args):
    """Run the command line and return its largest resident set in bytes."""
    code = ('import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); '
            'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)')
    command = [sys.executable, '-c', code, *command_of(args)]
    done = subprocess.run(command, check=True, text=True, capture_output=True, env={**os.environ, **ONE_THREAD})
    return int(done.stdout) * 1024


class Seconds:
    """Keep measured seconds in a JSON file, so that each is measured once."""

    def __init__(self, path):
        self.path = Path(path)
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}

    def of(self, key, action):
        """Return the processor seconds of `action`, from the file when it has them."""
        if key not in self.known:
            self.known[key] = processor_seconds(action)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.known, indent=1) + '\n')
        return self.known[key]
