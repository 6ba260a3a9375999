"""Choose a sample of labelled rows by a keyed hash of row, label and weight: labels travel as columns before features.

A label that is text travels as a whole number, a hash of it; whoever knows the classes finds them again.
"""

import hashlib

import numpy as np

from mr_elm import sparse as sp
from mr_elm.features.landmarks import Landmarks
from mr_elm.rows.blocks import Block, fill_weights
from mr_elm.typing import Floats, Rows

N_BEFORE = 2  # columns before the features


def number_label(name: str) -> float:
    """Return a whole number for a label: of 48 bits, so that float64 holds it."""
    digest = hashlib.blake2b(name.encode('utf-8', 'surrogateescape'), digest_size=6).digest()
    return float(int.from_bytes(digest, 'big') + 1)


def join_labels(block: Block, numeric: bool) -> Rows:
    """Put label and weight of each row before its features: (n, d + 2). numeric : whether labels are targets."""
    if numeric:
        numbers = block.targets
    else:
        numbers = np.array([number_label(name) for name in block.names])[block.codes]
    before = np.column_stack([numbers, fill_weights(block.weights, len(block))])
    if sp.issparse(block.X):
        return sp.hstack([before, block.X], format='csr')
    return np.hstack([before, block.X])


def part_labels(rows: Rows) -> tuple[Rows, Floats, Floats]:
    """Undo `join_labels`: (X, numbers (n,), weights (n,))."""
    before = rows[:, :N_BEFORE]
    if sp.issparse(before):
        before = before.toarray()
    return rows[:, N_BEFORE:], before[:, 0], before[:, 1]


def make_sample(n_rows: int, seed: int, rows: Rows) -> Landmarks:
    """Return the Landmarks that keep a sample of n_rows rows like `rows`, fewer where these are wide and dense."""
    if sp.issparse(rows):
        fitting = n_rows
    else:
        fitting = max(1, (64 << 20) // (8 * rows.shape[1]))  # 64 MB: of wide rows there are fewer
    return Landmarks(min(n_rows, fitting), seed)
