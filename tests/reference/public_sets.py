"""Find the public data sets that tests read: in the folders of MR_ELM_DATA, then in ../shared/data."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.sets import list_folders

BESIDE = Path(__file__).parents[3] / 'shared' / 'data'  # beside the checkout
CURE = 'name folders that have them in MR_ELM_DATA; `python -m benchmarks fetch --help` shows those that it can fetch'
MISSING = re.compile('missing data set: ([^;]+)')


def demand_set(name):
    """Return the path of NAME.libsvm, plain or compressed; a test without it is skipped.

    Where the variable MR_ELM_REQUIRE_DATA is set, the test fails instead.
    """
    found = [path for folder in (*list_folders(), BESIDE) for path in sorted(folder.glob(f'{name}.libsvm*'))]
    if not found:
        stop = pytest.fail if os.environ.get('MR_ELM_REQUIRE_DATA') else pytest.skip
        stop(f'missing data set: {name}; {CURE}')
    return found[0]


def count_skips(reasons):
    """Return a line for each reason to skip tests, and one for all data sets: how many tests, and why."""
    sets = Counter(found[1] for reason in reasons if (found := MISSING.match(reason)))
    others = Counter(reason for reason in reasons if not MISSING.match(reason))
    if sets:
        names = ', '.join(f'{name} ({count})' for name, count in sorted(sets.items()))
        others[f'missing data sets: {names}; {CURE}'] = sets.total()
    return [f'{count:4}  {reason}' for reason, count in others.items()]
