"""Ledgers are multisets of hashes in files: they add, subtract and compare as Counters do, piece by piece."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mr_elm.errors import DataFormatError
from mr_elm.rows import ledger
from mr_elm.rows.ledger import Ledger, change_ledger, compare_ledgers, count_hashes, count_missing

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


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9))))
def test_hashes_are_counted_as_a_counter_counts_them(rows):
    hashes = np.array([name_of(row) for row, _ in rows], 'S16')
    total = Counter()
    for row, count in rows:
        total[name_of(row).rstrip(b'\0')] += count
    for counts, expected in (None, Counter(hashes.tolist())), (np.array([count for _, count in rows]), total):
        distinct, found = count_hashes(hashes, counts)
        assert distinct.tolist() == sorted(expected) and dict(zip(distinct.tolist(), found, strict=True)) == expected


def test_ledgers_are_compared_in_pieces_however_many_rows_they_have(folder):
    many = Counter(dict.fromkeys(range(250), 1))
    one, other = write(folder / 'one', many), write(folder / 'other', many)
    pieces = [len(hashes) for hashes, *_ in compare_ledgers(one, other)]
    assert sum(pieces) == 250 and max(pieces) < 4 * ledger.PIECE_ENTRIES


def test_a_ledger_is_read_back_and_another_file_or_a_part_of_one_is_refused(folder):
    written = write(folder / 'whole', {1: 2, 2: 1})
    path = folder / 'whole'
    assert Ledger.read(str(path)) == written and Ledger.read(str(path), 'mine').name == 'mine'
    for content, expected in (
        (path.read_bytes()[:-1], 'a ledger of 2 entries, the file is cut short'),
        (path.read_bytes()[:40], 'a ledger of mr-elm of version 1, found another file'),
        (b'x' * 200, 'a ledger of mr-elm of version 1, found another file'),
    ):
        (folder / 'part').write_bytes(content)
        with pytest.raises(DataFormatError, match=f'^mine: expected {expected}'):
            Ledger.read(str(folder / 'part'), 'mine')
