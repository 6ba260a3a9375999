"""Attack for a while: the properties with fresh seeds, and trainings on all cores whose tasks are killed.

    PYTHONPATH=tests python tests/properties/soak.py MINUTES [SEED]

Every failure is printed with the command that repeats it. The exit status is 1 when there was one.
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from reference.faults import Command, kill

HERE = Path(__file__).parent
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
    command = random.Random(seed).choice(COMMANDS)
    out = 'pack' if command[0] == 'pack' else 'm.npz'
    with tempfile.TemporaryDirectory(prefix='soak-') as folder:
        words = [*command, write_rows(Path(folder), seed)]
        try:
            with Command(Path(folder), words, out=out) as quiet:
                assert quiet.judge(quiet.out)[0] == 0, 'the command fails without a killed task too'
            with Command(Path(folder), words, out=out) as attacked:
                n_killed = attacked.strike(kill, seed, seconds=SPAN)
                assert attacked.judge(quiet.out)[0] == 0 or n_killed, 'it fails though no task was killed'
        except AssertionError as fault:
            again = f'PYTHONPATH=tests python tests/properties/soak.py 0 {seed}'
            return f'{" ".join(command)}, a task killed: {fault}; {again}'
    return None


def write_rows(folder, seed):
    """Write 600 rows of two classes."""
    X = np.random.default_rng(seed).standard_normal((600, 5))
    path = folder / 'rows.csv'
    np.savetxt(path, np.column_stack([X[:, 0] * X[:, 1] > 0, X]), delimiter=',', fmt='%.6g')
    return path


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
