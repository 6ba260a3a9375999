"""Hash the rows of a data set with a key: the entries of a ledger, sorted by the shuffle."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from mr_elm.rows.blocks import Block
from mr_elm.rows.labels import merge_labels
from mr_elm.rows.ledger import Entries, count_hashes, hash_rows, read_key
from mr_elm.rows.wire import make_key, split_key
from mr_elm.store import read_json
from mr_elm.streaming.stage import MRRows, Pair, RowKey

MOST_ENTRIES = 200_000  # of a line, which then takes 6.4 MB


class MRLedger(MRRows):
    """Hash each row: HMAC-SHA-256 of label, weight and non-zero features, 16 bytes.

    Input:  <split, rows>, text or packed
    Output: <hashes BUCKET PIECE, [hashes, counts]>
                n distinct hashes in increasing order, shape (n, 2): the 16 bytes
                of a hash stand where two float64 numbers would; and how many rows
                have each, shape (n,). The hashes of a bucket are larger than those
                of the buckets before it, so the pieces in the order of their keys
                are sorted

    Map:    hash the rows of each block, and write the hashes of many rows.
    Reduce: sort the hashes of a bucket, and add up the counts of equal ones.

    Features are hashed as they are once text is encoded, before they are scaled.
    """

    REQUIRED = ('ledger_key',)
    INPUT_FILES = {
        '--ledger-key': 'the 32 bytes of the key',
        '--class-names': 'JSON: the classes; a label that is the same number as one of them is '
        'hashed as this class (default: labels are hashed as they are written)',
    }

    def configure_args(self) -> None:
        """Add how many buckets there are."""
        super().configure_args()
        self.add_passthru_arg(
            '--buckets',
            type=int,
            default=1,
            metavar='N',
            help='into how many keys the hashes go, up to 65536 (default: %(default)s)',
        )

    def map_begin(self) -> None:
        """Load the key."""
        self.key = read_key(self.options.ledger_key)
        names = self.options.class_names
        self.write_label = merge_labels([] if names is None else read_json(names), self.plan.form.labels_separator)
        self.waiting: list[np.ndarray] = []

    def map_block(self, block: Block, row_key: RowKey) -> Iterator[Pair]:
        """Hash a block."""
        self.waiting.append(hash_rows(block, self.key, self.write_label))
        if sum(map(len, self.waiting)) >= MOST_ENTRIES:
            yield from self.map_end()

    def map_end(self) -> Iterator[Pair]:
        """Emit the hashes that have gathered, by buckets."""
        if not self.waiting:
            return
        hashes, counts = count_hashes(np.concatenate(self.waiting))
        self.waiting = []
        buckets = hashes.view('>u2').reshape(-1, 8)[:, 0].astype(np.int64) * self.options.buckets >> 16
        starts = np.flatnonzero(np.diff(buckets, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(hashes)], strict=True):
            for piece in cut_entries(hashes[start:stop], counts[start:stop]):
                yield make_key('hashes', int(buckets[start])), piece

    def reducer(self, key: str, values: Iterable[Any]) -> Iterator[Pair]:
        """Sort the hashes of a bucket; pass on what else there is."""
        kind, coordinates = split_key(key)
        if kind != 'hashes':
            yield from super().reducer(key, values)
            return
        parts = list(map(read_entries, values))
        entries = count_hashes(*map(np.concatenate, zip(*parts, strict=True)))
        for number, piece in enumerate(cut_entries(*entries)):
            yield make_key(kind, int(coordinates[0]), number), piece


def cut_entries(hashes: np.ndarray, counts: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Yield entries in pieces, as they travel."""
    for start in range(0, len(hashes), MOST_ENTRIES):
        part = np.ascontiguousarray(hashes[start : start + MOST_ENTRIES])
        yield [part.view('<f8').reshape(-1, 2), counts[start : start + MOST_ENTRIES]]


def read_entries(arrays: list[np.ndarray]) -> Entries:
    """Undo `cut_entries` for a piece."""
    return np.ascontiguousarray(arrays[0], '<f8').view('S16')[:, 0], arrays[1]


if __name__ == '__main__':
    MRLedger.run()
