"""Attack for a while: the properties with fresh seeds, and trainings on all cores whose tasks are killed.

    python tests/properties/soak.py MINUTES [SEED]

Every failure is printed with the command that repeats it. The exit status is 1 when there was one.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
PROGRAM = Path(sys.executable).with_name('mr-elm')
SPAN = 2.0  # seconds within which a task is killed: as long as a small training runs
COMMANDS = (
    ('train', 'pesvm', '--hidden', '50'),
    ('train', 'sparse-elm', '--partitions', '2'),
    ('train', 'mr-kelm', '--solver', 'cg', '--rank', '50'),
    ('pack',),
)


def attack_properties(seed):
    """Run the properties once with a seed; returns what repeats a failure, or None."""
    words = [sys.executable, '-m', 'pytest', '-q', str(HERE), '--hypothesis-profile=soak', f'--hypothesis-seed={seed}']
    done = subprocess.run(words, capture_output=True, text=True, cwd=HERE.parents[1])
    if done.returncode == 0:
        return None
    print(done.stdout[-5000:])
    return ' '.join(words)


def attack_tasks(seed):
    """Kill a task of a command of `-r local`; returns what went wrong, or None when nothing bad was left."""
    choose = random.Random(seed)
    command, delay = choose.choice(COMMANDS), choose.uniform(0.2, SPAN)
    with tempfile.TemporaryDirectory(prefix='soak-') as folder:
        rows = write_rows(Path(folder), seed)
        temporary = Path(folder) / 'tmp'
        temporary.mkdir()
        quiet = run(command, rows, Path(folder) / 'quiet', temporary, None)
        status, out, killed = run(command, rows, Path(folder) / 'killed', temporary, delay)
        left = sorted(path.name for path in temporary.iterdir())
        fault = judge(quiet, (status, out), killed, left)
    again = f'python tests/properties/soak.py 0 {seed}'
    return None if fault is None else f'{" ".join(command)}, a task killed after {delay:.2f} s: {fault}; {again}'


def judge(quiet, found, killed, left):
    """Return what is wrong with a command whose task was killed, or None."""
    status, out = found
    if quiet[0] != 0:
        return 'the command fails without a killed task too'
    if left:
        return f'temporary files are left: {left}'
    if status == 0:
        return None if same(quiet[1], out) else 'it ends with 0 but makes another model'
    if not killed:
        return f'it fails with {status} though no task was killed'
    return 'it fails and leaves an output' if out.exists() else None


def same(one, other):
    """Tell whether two outputs hold the same arrays, or the same rows."""
    if one.is_dir():
        return import_module('pandas').read_parquet(one).equals(import_module('pandas').read_parquet(other))
    with np.load(one, allow_pickle=False) as a, np.load(other, allow_pickle=False) as b:
        return set(a.files) == set(b.files) and all(
            a[name].tobytes() == b[name].tobytes() for name in a.files if name != 'header'
        )


def write_rows(folder, seed):
    """Write 600 rows of two classes."""
    X = np.random.default_rng(seed).standard_normal((600, 5))
    path = folder / 'rows.csv'
    np.savetxt(path, np.column_stack([X[:, 0] * X[:, 1] > 0, X]), delimiter=',', fmt='%.6g')
    return path


def run(command, rows, out, temporary, delay):
    """Run a command; after a delay one of its tasks is killed: (status, output, whether one was)."""
    target = ['-o', out] if command[0] == 'pack' else ['--model', out]
    words = [PROGRAM, *command, rows, *target, '-r', 'local', '--num-cores', '2', '-q']
    process = subprocess.Popen(
        list(map(str, words)),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, 'TMPDIR': str(temporary)},
    )
    killed = delay is not None and kill_a_task(process, delay)
    return process.wait(), out, killed


def kill_a_task(process, delay):
    """Kill a task of a running command after a delay, as soon as there is one; returns whether there was."""
    time.sleep(delay)
    while process.poll() is None:
        for pid in children_of(process.pid):
            if b'--step-num' in arguments_of(pid):
                os.kill(pid, signal.SIGKILL)
                return True
        time.sleep(0.005)
    return False


def children_of(pid):
    """Yield the ids of all processes below one."""
    for entry in Path('/proc').glob('[0-9]*/stat'):
        try:
            parent = int(entry.read_text().rpartition(')')[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            child = int(entry.parent.name)
            yield from children_of(child)
            yield child


def arguments_of(pid):
    """Return the command line of a process, empty when it is gone."""
    try:
        return Path(f'/proc/{pid}/cmdline').read_bytes()
    except OSError:
        return b''


def main(minutes, seed=None):
    """Attack until the time is over; returns the exit status."""
    end = time.monotonic() + 60 * float(minutes)
    seed, failures, n_rounds = int(seed) if seed else random.SystemRandom().randrange(2**32), [], 0
    while not n_rounds or time.monotonic() < end:
        found = [attack_tasks(seed + number) for number in range(5)] + [attack_properties(seed)]
        failures += filter(None, found)
        n_rounds += 1
        print(f'seed {seed}: {sum(text is not None for text in found)} failures', flush=True)
        seed = random.SystemRandom().randrange(2**32)
    print('\n'.join(failures) or f'{n_rounds} rounds, no failure')
    return int(bool(failures))


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
