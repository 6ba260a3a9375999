"""Time two ways of doing the same thing in turn, and judge their ratio."""
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ONE_THREAD = dict.fromkeys(('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'), '1')
STEADY = 0.10  # a reference that moves more than this says nothing


@dataclass
class Row:
    """Report one claim: a value, what it must be, and whether it held.

    value : a ratio or a share; limit : the claim; at_most : its direction.
    """

    name: str
    value: float
    limit: float
    at_most: bool
    note: str

    @property
    def verdict(self):
        """Say met, missed or not measurable."""
        if self.note.startswith('not measurable'):
            return 'not measurable'
        return 'met' if (self.value <= self.limit) == self.at_most or self.value == self.limit else 'missed'

    @property
    def claim(self):
        """Write the claim."""
        return f'{"at most" if self.at_most else "at least"} {self.limit:g}'


def wall(action, *args):
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    action(*args)
    return time.perf_counter() - start


def in_turn(actions, repeats=3):
    """Run the actions one after another, several times over: a list of seconds for each."""
    times = [[] for _ in actions]
    for _ in range(repeats):
        for seconds, action in zip(times, actions, strict=True):
            seconds.append(wall(action))
    return times


def compare(name, ours, reference, limit, at_most=True, repeats=3):
    """Time `ours` and `reference` in turn; the value is ours / reference, or reference / ours for an at-least claim."""
    reference()  # once uncounted: the first run pays for pages and files that later ones find
    mine, theirs = in_turn([ours, reference], repeats)
    ratio = min(mine) / min(theirs) if at_most else min(theirs) / min(mine)
    moved = max(theirs) / min(theirs) - 1
    note = f'{min(mine):.2f} s against {min(theirs):.2f} s, which moved by {moved:.0%}'
    return Row(name, ratio, limit, at_most, note if moved <= STEADY else f'not measurable: {note}')


def mr_elm(*args):
    """Run the command line on one BLAS thread; returns what it said on standard error. Raises RuntimeError."""
    done = subprocess.run([str(Path(sys.executable).parent / 'mr-elm'), *map(str, args)], text=True,
                          capture_output=True, env={**os.environ, **ONE_THREAD})
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
    command = [sys.executable, '-c', code, str(Path(sys.executable).parent / 'mr-elm'), *map(str, args)]
    done = subprocess.run(command, check=True, text=True, capture_output=True, env={**os.environ, **ONE_THREAD})
    return int(done.stdout) * 1024


def table(rows):
    """Lay rows out as Markdown."""
    lines = ['| what | measured | claim | verdict | seconds |', '|---|---|---|---|---|']
    return '\n'.join(lines + [f'| {row.name} | {row.value:.2f} | {row.claim} | {row.verdict} | {row.note} |'
                              for row in rows])


def save(rows, path):
    """Write rows as JSON."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps([{**asdict(row), 'verdict': row.verdict} for row in rows], indent=1) + '\n')
