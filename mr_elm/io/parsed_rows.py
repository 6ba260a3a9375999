"""Keep the rows of a split in a file of this machine when they are parsed: later passes need not parse them again.

The file holds the blocks, each as a line of JSON and the bytes of its arrays (see `packed`). Its last line is JSON too:
the counts of the split and its rejected rows.
"""
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import IO

from mr_elm.errors import DataFormatError
from mr_elm.io.blocks import Block, widen
from mr_elm.io.lines import LineReader, RejectedRow
from mr_elm.io.packed import describe_block, join_parts, read_parts
from mr_elm.io.store import replace_file


class ParsedRows:
    """Read the rows of a split as its LineReader does; the second time from the file `path`.

    counts, rejected : those of the reader. count : called with the bytes of text that each kept block stands for.
    """

    def __init__(self, reader: LineReader, path: str, count: Callable[[int], object]) -> None:
        self.reader, self.path, self.count = reader, path, count
        self.counts, self.rejected = reader.counts, reader.rejected
        self.n_bytes = 0

    def blocks(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        """Yield the blocks of the split. chunks : its text, which stays unread where its rows are kept."""
        if not os.path.exists(self.path):
            yield from self._keep(chunks)
            return
        with open(self.path, 'rb') as stream:
            yield from self._read(stream)

    def _keep(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        rejected: dict[int, dict] = {}  # the caller may empty the list of the reader, or not
        with replace_file(self.path) as stream:
            for block in self.reader.blocks(self._measure(chunks)):
                rejected |= self._describe_rejected()
                header = {**describe_block(block), 'bytes': self.n_bytes}
                self.n_bytes = 0
                stream.write(json.dumps(header).encode() + b'\n')
                stream.write(join_parts(block, header))
                yield block
            rejected |= self._describe_rejected()
            end = {'bytes': self.n_bytes, 'counts': self.counts.to_json(), 'rejected': list(rejected.values())}
            stream.write(json.dumps(end).encode() + b'\n')

    def _describe_rejected(self) -> dict[int, dict]:
        return {row.ordinal: vars(row) for row in self.rejected}

    def _measure(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.n_bytes += len(chunk)
            yield chunk

    def _read(self, stream: IO[bytes]) -> Iterator[Block]:
        while line := stream.readline():
            header = json.loads(line)
            self.count(header['bytes'])
            if 'counts' in header:
                self._close(header)
                return
            block = read_parts(stream, header)
            self.counts.used += len(block)
            yield replace(block, X=widen(block.X, self.reader.form.n_features or 0))
        raise DataFormatError(f'{self.path}: expected the end of the parsed rows, the file was changed')

    def _close(self, end: dict) -> None:
        """Take over the counts of the split, except the rows used: these were counted as they were read."""
        kept = {**end['counts'], 'used': self.counts.used, 'rejected': Counter(end['counts']['rejected'])}
        vars(self.counts).update(kept)
        self.rejected.extend(RejectedRow(**row) for row in end['rejected'])
