"""Ledgers are multisets of hashes in files: they add, subtract and compare as Counters do, piece by piece."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mr_elm.rows import ledger
from mr_elm.rows.ledger import Ledger, change_ledger, count_missing

CHECK = bytes(16)
ROWS = st.dictionaries(st.integers(0, 60), st.integers(1, 9))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Read few entries at a time."""
    monkeypatch.setattr(ledger, 'PIECE_ENTRIES', 8)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('ledgers')


def name_of(row):
    """Return a hash, of which some end in zeros."""
    return hashlib.sha256(bytes([row])).digest()[: 16 - row % 3] + bytes(row % 3)


def write(path, rows):
    """Write the ledger of a Counter of rows."""
    names = sorted((name_of(row), count) for row, count in rows.items())
    hashes = np.frombuffer(b''.join(name for name, _ in names), 'S16')
    return Ledger.write(str(path), CHECK, [(hashes, np.array([count for _, count in names], float))])


def read(found):
    """Read the rows of a ledger."""
    rows = Counter()
    for name, count in found.entries.tolist():
        rows[name.ljust(16, b'\0')] += count
    return rows


@settings(deadline=None)
@given(ROWS, ROWS)
def test_ledgers_add_subtract_and_compare_as_counters(folder, one, other):
    a, b = write(folder / 'a', one), write(folder / 'b', other)
    one, other = (Counter({name_of(row): count for row, count in rows.items()}) for rows in (one, other))
    assert (read(a), a.n_rows) == (one, one.total())
    assert count_missing(a, b) == ((one - other).total(), (other - one).total())
    both = change_ledger(str(folder / 'both'), a, b, 1)
    assert read(both) == one + other
    back = change_ledger(str(folder / 'back'), both, b, -1)
    assert read(back) == one and back.root == a.root
    assert (a.root == b.root) == (one == other)
