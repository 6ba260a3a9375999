"""Measure the tests of rooms: change their code in small ways, one at a time, and list the changes that pass all tests.

    python tests/mutants.py ROOM... [--sample N] [--seed S]

The tests of a room are the files of tests/library and tests/properties that import from it. Each room has a copy of the
checkout in build/mutants, with what was found so far: a run that was stopped goes on. Delete it to begin anew.
mutmut forks a process for each change from one that has imported everything: a change takes a tenth of a second here,
and seconds by cosmic-ray, which starts pytest for each. It leaves out functions that numba compiles.
mutmut collects the tests twice in a process. pytest then escapes what `ids=` gives once more, and finds no test of that
name: such ids hold only printable ASCII.
tests/survivors.txt gives the reasons of changes that may pass, tests/mutants.json the last score of each room.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / 'build/mutants'
SCORES = ROOT / 'tests/mutants.json'
MUTMUT = Path(sys.executable).with_name('mutmut')
ROOMS = ('sums', 'solvers', 'features', 'scores', 'model', 'rows')
COPIED = ('mr_elm', 'tests', 'docs', 'benchmarks', 'data', 'README.md', 'setup.cfg')
CONFIGURATION = """[tool.mutmut]
source_paths = ["mr_elm"]
also_copy = ["docs", "benchmarks", "data", "README.md"]
only_mutate = ["mr_elm/{room}*"]
pytest_add_cli_args_test_selection = {tests}
"""
NOTICED = ('killed', 'timeout', 'caught by type check', 'segfault')


def find_tests(room):
    """List the files of the tests of a room, or of a module such as scores/threshold."""
    name = room.replace('/', '.')
    files = [
        path for folder in ('library', 'properties') for path in sorted((ROOT / 'tests' / folder).glob('test_*.py'))
    ]
    return [str(path.relative_to(ROOT)) for path in files if re.search(rf'from mr_elm\.{name}\b', path.read_text())]


def prepare(room):
    """Copy the checkout, and let mutmut write all changes of a room; returns the folder."""
    folder = BUILD / room.replace('/', '-')
    if not folder.exists():
        half = folder.with_suffix('.tmp')
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        for name in COPIED:
            copy = shutil.copy if (ROOT / name).is_file() else shutil.copytree
            copy(ROOT / name, half / name)
        (half / 'pyproject.toml').write_text(CONFIGURATION.format(room=room, tests=find_tests(room)))
        half.rename(folder)
    run(folder, 'run', 'none')  # changes are written, and the tests that reach each function are found
    return folder


def run(folder, *words):
    """Run mutmut in a folder; returns what it prints."""
    done = subprocess.run([MUTMUT, *words], cwd=folder, text=True, capture_output=True)
    if done.returncode and 'nothing matches' not in done.stderr + done.stdout:
        sys.exit(done.stdout[-3000:] + done.stderr[-3000:])
    return done.stdout


def list_mutants(folder):
    """Return the state of each change: name -> killed, survived, no tests or not checked."""
    lines = [line.strip().rpartition(': ') for line in run(folder, 'results', '--all', 'true').splitlines()]
    return {name: state for name, _, state in lines if '__mutmut_' in name}


def read_reasons():
    """Return why a changed line may survive: the new line -> reason."""
    lines = (ROOT / 'tests/survivors.txt').read_text().splitlines()
    return dict(line.split(' ## ', 1) for line in lines if ' ## ' in line)


def drop_check(line):
    """Return a line without the `strict=` of its zip: no test notices a change of it, because lengths do agree."""
    return re.sub(r', (strict=\w+)?\)', ')', line)


def report(room, folder, names):
    """Print the score of a room, and its survivors; returns (noticed, all) of those without a reason to survive."""
    states = {name: state for name, state in list_mutants(folder).items() if name in names}
    counts, reasons = Counter(states.values()), read_reasons()
    for name, state in states.items():
        if state in NOTICED or state == 'not checked':
            continue
        lines = [line for line in run(folder, 'show', name).splitlines() if re.match(r'[-+] ', line)]
        old, new = (' '.join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in '-+')
        if new in reasons or drop_check(new) == drop_check(old):
            counts[state] -= 1
            counts['excused'] += 1
            continue
        print(f'{state}: {name}', *lines, sep='\n  ')
    noticed = sum(counts[state] for state in NOTICED)
    total = len(states) - counts['excused'] - counts['not checked']
    print(f'{room}: {noticed} of {total} noticed, {noticed / max(total, 1):.1%}; {dict(counts)}', flush=True)
    return noticed, total


def record(room, noticed, total):
    """Keep the score of a room with the commit whose code was changed."""
    scores = json.loads(SCORES.read_text()) if SCORES.exists() else {}
    commit = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], cwd=ROOT, text=True, capture_output=True)
    scores[room] = {'noticed': noticed, 'tried': total, 'commit': commit.stdout.strip()}
    SCORES.write_text(json.dumps(scores, indent=1, sort_keys=True) + '\n')


def main():
    """Run the changes that are asked for, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('rooms', nargs='*', default=ROOMS, metavar='ROOM')
    parser.add_argument('--sample', type=int, help='so many changes of all rooms together (default: all)')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--jobs', type=int, default=2)
    options = parser.parse_args()
    folders = {room: prepare(room) for room in options.rooms}
    names = [(room, name) for room, folder in folders.items() for name in sorted(list_mutants(folder))]
    if options.sample is not None and options.sample < len(names):
        names = random.Random(options.seed).sample(names, options.sample)
    scores = []
    for room, folder in folders.items():
        chosen = {name for of_room, name in names if of_room == room}
        if chosen:
            run(folder, 'run', '--max-children', str(options.jobs), *sorted(chosen))
            scores.append(report(room, folder, chosen))
            record(room, *scores[-1])
    noticed, total = (sum(numbers) for numbers in zip(*scores, strict=True))
    print(f'all: {noticed} of {total} noticed, {noticed / max(total, 1):.1%}')


if __name__ == '__main__':
    main()
