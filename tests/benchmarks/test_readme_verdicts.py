"""Verdicts of the README: those that the rule of the code gives the values, aims and movements beside them."""
import re

import pytest
from reference.manual import README

from mr_elm.scaling.verdict import COUNTED, Aim, judge


def claims():
    """Yield (name, row) for every line of a table with a column of verdicts; row : head -> cell."""
    for table in re.findall(r'(?:^\|.*\n)+', README, flags=re.MULTILINE):
        heads, _, *rows = ([cell.strip() for cell in line.split('|')[1:-1]] for line in table.splitlines())
        if 'verdict' in heads:
            yield from ((row[0], dict(zip(heads, row, strict=True))) for row in rows)


def aim_of(text):
    """Read an aim, such as `at most 1.25`."""
    direction, limit = re.fullmatch(r'at (most|least) (\S+)', text).groups()
    return Aim(float(limit), direction == 'most')


def runs_of(measured, note):
    """Return runs that move as a row says: by least and largest in brackets, by a percentage, or not at all."""
    if spread := re.search(r'\(([\d.]+), ([\d.]+)\)', measured):
        return [[float(end) for end in spread.groups()]]
    if moved := re.search(r'moved by (more than )?(\d+) ?%', note):
        return [[1.0, 1 + int(moved[2]) / 100 + (0.01 if moved[1] else 0)]]
    return COUNTED


@pytest.mark.parametrize('row', [pytest.param(row, id=name) for name, row in claims()])
def test_the_verdict_is_that_of_the_rule(row):
    measured, note = row['measured'], list(row.values())[-1]
    value = None if measured == 'not reached' else float(measured.split()[0])
    expected = judge(value, aim_of(row.get('target') or row['claim']), runs_of(measured, note))
    assert row['verdict'].strip('*').startswith(expected)
