"""Turn the chunks of a split into blocks of rows, with every line accounted for."""

import re
from codecs import BOM_UTF8
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from mr_elm.errors import RowError
from mr_elm.rows.blocks import Block, RowReader
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.text import LINE_END, split_lines

MAX_TEXT = 32 << 20  # bytes of text that make a block even if its rows are few
MARKS = re.compile(rb'(?m)^(\xef\xbb\xbf)+')  # byte order marks of UTF-8


class LineReader(RowReader):
    """Read the lines of one split."""

    def read(self, chunks: Iterable[bytes]) -> Iterator[Block | None]:
        """Yield the usable rows of every `block_rows` lines, the last ones included, which may be fewer."""
        parse = find_kind(self.form.kind).parse
        if self.encoding is not None and self.form.table:
            self.form = replace(self.form, numbers=self.encoding.find_numbers(self.form))
        for text in group_lines(self._skip_header(chunks), self.block_rows):
            try:
                if b'\0' in text:
                    raise ValueError('binary data')
                rows = parse(text, self.form)
            except ValueError:  # some are no rows, or cannot be read
                yield self.sort_out(split_lines(text))
            else:
                lines = cache(partial(split_lines, text))
                yield self.judge(self.count_lines(len(rows)), rows, {}, partial(take_line, lines))

    def _skip_header(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield chunks with plain line ends, without the header and blank lines above it, which may fill splits."""
        start = self.counts.start
        awaits_header = self.form.header and (start == 0 or start < self.form.blank_bytes)
        for chunk in map(clean_chunk, chunks):
            while awaits_header and chunk:
                line, _, chunk = chunk.partition(b'\n')
                self.count_lines(1)
                if line.decode('latin-1').strip():
                    self.counts.headers += 1
                    awaits_header = False
                else:
                    self.counts.blank += 1
            yield chunk

    def sort_out(self, lines: list[str]) -> Block | None:
        """Return the rows among some lines that can be used, encoded, and account for all others."""
        self.form = replace(self.form, numbers=())  # one is written otherwise, or the row is bad
        kind, rows = find_kind(self.form.kind), dict[int, str]()
        for number, line in zip(self.count_lines(len(lines)), lines, strict=True):
            if not line or line.isspace():
                self.counts.blank += 1
            elif kind.comment and line.lstrip().startswith(kind.comment):
                self.counts.comments += 1
            else:
                rows[number] = line
        texts, binary = list(rows.values()), RowError('binary data', 'the line holds bytes of zero')
        errors = {k: binary for k, line in enumerate(texts) if '\0' in line}
        try:
            block = self._read_others(texts, errors)
        except ValueError:
            bad = {k: error for k, line in enumerate(texts) if (error := kind.diagnose(line, self.form))}
            errors = bad | errors
            block = self._read_others(texts, errors)
        return self.judge(list(rows), block, errors, texts.__getitem__)

    def _read_others(self, lines: Sequence[str], errors: Container[int]) -> Block | None:
        """Read all lines but those at the positions of errors; None where there are none."""
        text = ''.join(f'{line}\n' for k, line in enumerate(lines) if k not in errors)
        if not text:
            return None
        return find_kind(self.form.kind).parse(text.encode('latin-1'), self.form)


def take_line(split: Any, number: int) -> str:
    """Return a line, counted from 0. split : function that returns all lines, and cuts them once."""
    return split()[number]


def clean_chunk(chunk: bytes) -> bytes:
    """Return whole lines with plain line ends, without byte order marks: joined files have them within."""
    if chunk and not chunk.endswith(b'\n'):
        chunk += b'\n'
    if b'\r' in chunk:
        chunk = chunk.replace(b'\r\n', b'\n')
    if not chunk.isascii() and BOM_UTF8 in chunk:  # asked in this order: most chunks are of ASCII
        return MARKS.sub(b'', chunk)
    return chunk


def group_lines(chunks: Iterable[bytes], block_rows: int) -> Iterator[bytes]:
    """Cut chunks of whole lines into pieces of at most block_rows lines, or MAX_TEXT of long ones."""
    waiting: list[memoryview] = []
    missing = block_rows  # lines until the next piece is whole
    for chunk in chunks:
        text, start = memoryview(chunk), 0  # whose slices are no copies
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == LINE_END) + 1
        for end in ends[missing - 1 :: block_rows].tolist():
            yield b''.join([*waiting, text[start:end]])
            waiting, start = [], end
        missing = (missing - len(ends) - 1) % block_rows + 1
        waiting.append(text[start:])
        if sum(map(len, waiting)) >= MAX_TEXT:
            yield b''.join(waiting)
            waiting, missing = [], block_rows
    if any(waiting):
        yield b''.join(waiting)


def split_chunk(chunk: bytes) -> list[str]:
    """Decode a chunk byte for byte and split it at its line ends."""
    return split_lines(clean_chunk(chunk))
