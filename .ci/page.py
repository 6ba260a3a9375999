"""Write build/ci.md: what `.ci/run` ran, how long it took, and how many changes of code the tests notice.

It reads what `.ci/run` has left in build/ci, and tests/mutants.json. What is missing is left out.
"""

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / 'build/ci'
N_SLOWEST = 20


def write_table(head, rows):
    """Return the lines of a table; the first column is text, the others are numbers."""
    lines = [head, ['---', *['---:'] * (len(head) - 1)], *rows]
    return ['| ' + ' | '.join(str(value).replace('|', '\\|') for value in line) + ' |' for line in lines]


def list_steps():
    """List (name, seconds, status) of each step that has ended."""
    if not (BUILD / 'steps').exists():
        return []
    return [line.split() for line in (BUILD / 'steps').read_text().splitlines()]


def describe_steps(steps):
    """Describe how long each step took, and the sum."""
    rows = [(name, seconds, 'passed' if status == '0' else f'failed ({status})') for name, seconds, status in steps]
    rows.append(('sum (the contract checks run beside test-hadoop)', sum(int(seconds) for _, seconds, _ in steps), ''))
    return ['## Steps', '', *write_table(('step', 'seconds', 'result'), rows), '']


def describe_tests(path):
    """Describe the tests of a step: their number by outcome, the seconds of each folder, and the slowest ones."""
    seconds, folders, outcomes = [], {}, dict.fromkeys(('passed', 'failed', 'skipped'), 0)
    for case in ElementTree.parse(path).iter('testcase'):
        kinds = {child.tag for child in case}
        outcome = 'failed' if kinds & {'failure', 'error'} else 'skipped' if 'skipped' in kinds else 'passed'
        outcomes[outcome] += 1
        spent, module = float(case.get('time', 0)), case.get('classname', '')
        seconds.append((spent, f'`{module}::{case.get("name")}`'))
        folder = '.'.join(module.split('.')[:2])
        folders[folder] = folders.get(folder, 0) + spent
    slowest = [(name, f'{spent:.1f}') for spent, name in sorted(seconds, reverse=True)[:N_SLOWEST]]
    sums = [(name, f'{spent:.0f}') for name, spent in sorted(folders.items(), key=lambda item: -item[1])]
    return [
        f'## Tests of `make {path.stem}`',
        '',
        ', '.join(f'{number} {outcome}' for outcome, number in outcomes.items()) + '.',
        '',
        *write_table(('folder', 'seconds of all processes'), sums),
        '',
        *write_table(('slowest tests', 'seconds'), slowest),
        '',
    ]


def describe_mutants(path):
    """Describe how many changes of each room the last sample tried, and how many of them its tests noticed."""
    rows = [
        (room, score['noticed'], score['tried'], f'{score["noticed"] / score["tried"]:.1%}', score['commit'])
        for room, score in json.loads(path.read_text()).items()
    ]
    head = 'room', 'noticed', 'tried', 'share', 'commit'
    return ['## Changes of code that its tests notice', '', *write_table(head, rows), '']


def main():
    """Write the page."""
    commit = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], cwd=ROOT, capture_output=True, text=True)
    lines = [f'# What `.ci/run` found at {commit.stdout.strip() or "an unknown commit"}', '']
    steps = list_steps()
    lines += describe_steps(steps)
    for path in [BUILD / f'{name}.xml' for name, _, _ in steps]:
        if path.exists():
            lines += describe_tests(path)
    if (ROOT / 'tests/mutants.json').exists():
        lines += describe_mutants(ROOT / 'tests/mutants.json')
    (ROOT / 'build/ci.md').write_text('\n'.join(lines), encoding='utf-8')


if __name__ == '__main__':
    main()
