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
LONG = 4  # seconds, beyond which a measurement is not repeated
STEADY = 0.10  # a reference that moves more than this says nothing
VERDICTS = MET, MISSED, UNKNOWN = ('met', 'missed', 'not measurable')


@dataclass
class Row:
    """Report one claim: a value, what it must be, and whether it held.

    value : a ratio or a share; limit : the target; at_most : its direction; note : the seconds behind it.
    """

    name: str
    value: float
    limit: float
    at_most: bool
    note: str

    @property
    def verdict(self):
        """Say met, missed or not measurable."""
        if self.note.startswith(UNKNOWN):
            return UNKNOWN
        held = self.value <= self.limit if self.at_most else self.value >= self.limit
        return MET if held else MISSED

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


def compare(name, ours, reference, limit, at_most=True, repeats=3, warm=True):
    """Time `ours` and `reference` in turn; the value is ours / reference, or reference / ours for an at-least claim."""
    if warm:
        reference()  # once uncounted: the first run pays for pages and files that later ones find
    mine, theirs = in_turn([ours, reference], repeats)
    ratio = min(mine) / min(theirs) if at_most else min(theirs) / min(mine)
    moved = max(theirs) / min(theirs) - 1
    note = f'{min(mine):.2f} s against {min(theirs):.2f} s, which moved by {moved:.0%}'
    return Row(name, ratio, limit, at_most, note if moved <= STEADY else f'{UNKNOWN}: {note}')


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


def record(row):
    """Return a Row as a dictionary, its claim and verdict in words."""
    return {**asdict(row), 'claim': row.claim, 'verdict': row.verdict}


def table(rows):
    """Lay rows out as Markdown: dictionaries of `record`."""
    lines = ['| what | measured | target | verdict | seconds and more |', '|---|---:|---|---|---|']
    return '\n'.join(lines + [f'| {row["name"]} | {row["value"]:.2f} | {row["claim"]} | {shown(row["verdict"])} '
                              f'| {row["note"].removeprefix(UNKNOWN + ": ")} |' for row in rows])


def shown(verdict):
    """Write a verdict, in bold when a target is missed."""
    return f'**{verdict}**' if verdict == MISSED else verdict


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


def least_seconds(actions):
    """Run the actions in turn, and once more where that is soon done: the least processor seconds of each."""
    first = [processor_seconds(action) for action in actions]
    if sum(first) > LONG:
        return first
    return [min(seconds, processor_seconds(action)) for seconds, action in zip(first, actions, strict=True)]


def processor_seconds(action):
    """Return the processor seconds of this process that a call takes."""
    start = time.process_time()
    action()
    return time.process_time() - start
