"""Know rows by keyed hashes, and keep those of a training in a sorted file, its ledger: whether a row was ever in.

A ledger is a header, entries in the order of the hashes, and receipts of what was done, a line of JSON each. It is
read and merged piece by piece, however many rows it has. An entry is 16 bytes of a hash and how many rows have it. The
root of a ledger is the SHA-256 of header and entries.
"""

import hashlib
import hmac
import os
import secrets
import stat
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import DataFormatError, one_line
from mr_elm.rows.blocks import Block, fill_weights

MAGIC = b'mrledger\x01\0\0\0'  # of version 1
HEADER = struct.Struct('<12s16sQQ')  # magic, check of the key, entries, rows
ENTRY = np.dtype([('hash', 'S16'), ('count', '<u4')])
MAX_COUNT = 2**32 - 1  # of an entry
FEATURE = np.dtype([('index', '<i8'), ('value', '<f8')])
KEY_BYTES = 32
PIECE_ENTRIES = 1 << 16  # entries that are read together
Entries = tuple[np.ndarray, np.ndarray]  # hashes (n,) of type S16, in increasing order, each once; counts (n,) float64


def hash_rows(block: Block, key: bytes, write_label: Callable[[str], str]) -> np.ndarray:
    """Return the hash of each row of a block, (n,) of type S16: HMAC-SHA-256 of label, weight and features, 16 bytes.

    Features of 0 do not count, so sparse rows and dense ones agree. write_label : returns one text for all texts of a
    label that mean the same.
    """
    if block.targets is None:
        names = [b'=' + write_label(name).encode() for name in block.names]
        labels = [names[code] for code in block.codes]
    else:
        targets = np.reshape(block.targets, (len(block), -1)).astype('<f8') + 0.0  # -0.0 is 0.0
        labels = [b'#' + row.tobytes() for row in targets]
    hashes = []
    for label, weight, features in zip(
        labels, fill_weights(block.weights, len(block)).tolist(), list_features(block.X), strict=True
    ):
        row = struct.pack('<Q', len(label)) + label + struct.pack('<d', weight) + features.tobytes()
        hashes.append(hmac.digest(key, row, 'sha256')[:16])
    return np.frombuffer(b''.join(hashes), 'S16')


def list_features(X: Any) -> list[np.ndarray]:
    """List index and value of the features of each row that are not 0."""
    X = sp.csr_matrix(X, copy=True)
    X.sum_duplicates()  # which sorts too
    X.eliminate_zeros()
    features = np.empty(X.nnz, FEATURE)
    features['index'], features['value'] = X.indices, X.data
    return np.split(features, X.indptr[1:-1])


def count_hashes(hashes: np.ndarray, counts: np.ndarray | None = None) -> Entries:
    """Sort hashes, and add up the counts of equal ones, which are 1 unless others are given."""
    distinct, numbers = np.unique(hashes, return_inverse=True)
    return distinct, np.bincount(numbers, counts, len(distinct)).astype(float)


def make_key_file(path: str) -> None:
    """Write a new random key that only its owner can read, unless there is one."""
    if not os.path.exists(path):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'wb') as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))


def demand_key(path: str) -> None:
    """Raise FileNotFoundError where there is no key."""
    if not os.path.exists(path):
        raise FileNotFoundError(
            f'{path}: expected the key of the ledger, found no such file: bring it back from a backup, without it the '
            'ledger proves nothing'
        )


def read_key(path: str) -> bytes:
    """Read a key. Raises FileNotFoundError when it is not there."""
    demand_key(path)
    key = Path(path).read_bytes()
    if len(key) != KEY_BYTES:
        raise DataFormatError(f'{path}: expected the {KEY_BYTES} bytes of the key of a ledger, found {len(key)} bytes')
    return key


def demand_private(path: str) -> None:
    """Raise PermissionError where others than the owner can read a key, FileNotFoundError where there is none."""
    demand_key(path)
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if mode & 0o077:
        raise PermissionError(f'{path}: expected a key that only its owner can read (chmod 600), found mode {mode:o}')


def check_of_key(key: bytes) -> bytes:
    """Return what tells one key from another without giving it away."""
    return hmac.digest(key, b'mr_elm ledger', 'sha256')[:16]


@dataclass(frozen=True)
class Ledger:
    """Give access to a ledger file.

    path : of the file. name : what messages call it. key_check : see `check_of_key`. n_entries : how many entries.
    n_rows : how many rows these count.
    """

    path: str
    name: str
    key_check: bytes
    n_entries: int
    n_rows: int
    __repr__ = one_line

    @classmethod
    def read(cls, path: str, name: str | None = None) -> 'Ledger':
        """Read the header of a ledger. Raises DataFormatError when it is another file."""
        name = name or path
        with open(path, 'rb') as stream:
            header = stream.read(HEADER.size)
        if len(header) < HEADER.size or not header.startswith(MAGIC):
            raise DataFormatError(f'{name}: expected a ledger of mr-elm of version 1, found another file')
        ledger = cls(path, name, *HEADER.unpack(header)[1:])
        if ledger.size > os.path.getsize(path):
            raise DataFormatError(f'{name}: expected a ledger of {ledger.n_entries:,} entries, the file is cut short')
        return ledger

    @classmethod
    def write(cls, path: str, key_check: bytes, pieces: Iterable[Entries]) -> 'Ledger':
        """Write a ledger without receipts. pieces : all entries in order of the hashes; counts of 0 are left out."""
        n_entries = n_rows = 0
        with open(path, 'wb') as stream:
            stream.write(bytes(HEADER.size))
            for hashes, counts in pieces:
                if counts.max(initial=0) > MAX_COUNT:
                    raise DataFormatError(f'{path}: expected at most {MAX_COUNT:,} equal rows, found more')
                entries = np.empty(np.count_nonzero(counts > 0), ENTRY)
                entries['hash'], entries['count'] = hashes[counts > 0], counts[counts > 0]
                stream.write(entries.tobytes())
                n_entries += len(entries)
                n_rows += int(counts.sum())
            stream.seek(0)
            stream.write(HEADER.pack(MAGIC, key_check, n_entries, n_rows))
        return cls(path, path, key_check, n_entries, n_rows)

    @property
    def size(self) -> int:
        """Return the bytes of header and entries."""
        return HEADER.size + self.n_entries * ENTRY.itemsize

    @cached_property
    def root(self) -> str:
        """Return the SHA-256 of header and entries."""
        return hashlib.sha256(np.memmap(self.path, 'u1', 'r', shape=self.size)).hexdigest()  # type: ignore[arg-type]

    @property
    def entries(self) -> np.ndarray:
        """Return the entries, (n_entries,) of type ENTRY, of which memory holds what is looked at."""
        return np.memmap(self.path, ENTRY, 'r', HEADER.size, self.n_entries)

    @property
    def receipts(self) -> list[bytes]:
        """Return the lines of the receipts, without their ends, the oldest first."""
        with open(self.path, 'rb') as stream:
            stream.seek(self.size)
            *lines, rest = stream.read().split(b'\n')
        if rest:
            raise DataFormatError(f'{self.name}: expected whole receipts, the last one is cut short')
        return lines


def compare_ledgers(one: Ledger, other: Ledger) -> Iterator[list[np.ndarray]]:
    """Walk through two ledgers together: yield hashes in increasing order, and the counts of each in both.

    A step takes a range of hashes, which are as good as evenly distributed.
    """
    ledgers = one.entries, other.entries
    n_steps = 1 + max(map(len, ledgers)) // PIECE_ENTRIES
    edges = np.array([(k * 256**16 // n_steps).to_bytes(16, 'big') for k in range(n_steps)], 'S16')
    cuts = [np.append(np.searchsorted(entries['hash'], edges), len(entries)) for entries in ledgers]
    for k in range(n_steps):
        ours, theirs = (entries[cut[k] : cut[k + 1]] for entries, cut in zip(ledgers, cuts, strict=True))
        hashes = np.union1d(ours['hash'], theirs['hash'])
        yield [
            hashes,
            *(
                np.bincount(np.searchsorted(hashes, some['hash']), some['count'], len(hashes))
                for some in (ours, theirs)
            ),
        ]


def count_missing(one: Ledger, other: Ledger) -> tuple[int, int]:
    """Return how many rows only the first of two ledgers has, and how many only the other."""
    only_one = only_other = 0.0
    for _, ours, theirs in compare_ledgers(one, other):
        only_one += np.maximum(ours - theirs, 0).sum()
        only_other += np.maximum(theirs - ours, 0).sum()
    return int(only_one), int(only_other)


def change_ledger(path: str, ledger: Ledger, rows: Ledger, sign: int) -> Ledger:
    """Write the ledger of more rows, or with sign -1 of fewer ones, all of which must be there."""
    pieces = ((hashes, ours + sign * theirs) for hashes, ours, theirs in compare_ledgers(ledger, rows))
    return Ledger.write(path, ledger.key_check, pieces)
