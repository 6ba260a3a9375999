"""Turn the chunks of a split into blocks of rows, with every line accounted for."""

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm.errors import RowError
from mr_elm.rows.blocks import Block, RowReader, find_errors, read_good_rows
from mr_elm.rows.encoding import Encoding, encode_table
from mr_elm.rows.kinds import Kind, find_kind
from mr_elm.rows.options import RowOptions
from mr_elm.rows.text import find_line_ends, split_lines

MAX_TEXT = 32 << 20  # bytes of text that make a block even if its rows are few
MARKS = re.compile(rb'(?m)^(\xef\xbb\xbf)+')  # byte order marks of UTF-8


class LineReader(RowReader):
    """Read the lines of one split."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.kind = find_kind(self.form.kind)
        if self.encoding is not None and self.form.table:
            self.form = replace(self.form, numbers=self.encoding.find_numbers(self.form))

    def blocks(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        """Yield a Block for every `block_rows` lines that hold a usable row, the short last one included."""
        for text in group_lines(self._read_rows(chunks), self.block_rows):
            first = self.counts.lines
            block = self._parse(text)
            self.counts.records += self.counts.lines - first
            if self.stop and self.rejected:
                return
            if block is not None:
                self.counts.used += len(block)
                yield block

    def _read_rows(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield chunks with plain line ends, without the header and blank lines above it, which may fill splits."""
        start = self.counts.start
        awaits_header = self.form.header and (start == 0 or start < self.form.blank_bytes)
        for chunk in map(clean_chunk, chunks):
            while awaits_header and chunk:
                line, _, chunk = chunk.partition(b'\n')
                self.counts.lines += 1
                self.counts.records += 1
                if line.decode('latin-1').strip():
                    self.counts.headers += 1
                    awaits_header = False
                else:
                    self.counts.blank += 1
            yield chunk

    def _parse(self, text: bytes) -> Block | None:
        """Parse lines at once where all are rows that can be used, else one by one."""
        try:
            block = parse_rows(text, self.kind, self.form, self.encoding)
        except ValueError:
            if self.form.numbers:
                self.form = replace(self.form, numbers=())  # one is written otherwise, or the row is bad
                return self._parse(text)
            return self._sort_out(split_lines(text))
        self.row_lines = range(self.counts.lines, self.counts.lines + len(block))
        self.counts.lines += len(block)
        return block

    def _sort_out(self, lines: list[str]) -> Block | None:
        """Parse the lines that are rows, and reject those that cannot be used."""
        first = self.counts.lines
        self.counts.lines += len(lines)
        rows = [i for i, line in enumerate(lines) if self._is_row(line)]
        if not rows:
            return None
        block, errors = parse_or_reject([lines[i] for i in rows], self.kind, self.form, self.encoding)
        self.reject([first + i for i in rows], errors, lambda k: lines[rows[k]])
        return block

    def _is_row(self, line: str) -> bool:
        if not line or line.isspace():
            self.counts.blank += 1
        elif self.kind.comment and line.lstrip().startswith(self.kind.comment):
            self.counts.comments += 1
        else:
            return True
        return False


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
        ends = np.flatnonzero(find_line_ends(text)) + 1
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


def parse_rows(text: bytes, kind: Kind, form: RowOptions, encoding: Encoding | None = None) -> Block:
    """Parse whole lines. Raises ValueError when any is no row, or cannot be used."""
    if b'\0' in text:
        raise RowError('binary data', 'the line holds bytes of zero')
    block = kind.parse(text, form)
    if find_errors(block, form):
        raise ValueError('rows that cannot be used')
    return encode_table(block, encoding)


def parse_or_reject(
    lines: list[str], kind: Kind, form: RowOptions, encoding: Encoding | None = None
) -> tuple[Block | None, dict[int, RowError]]:
    """Parse lines that are rows; returns (Block or None, position of a bad one -> RowError)."""

    def parse(rows: Sequence[int]) -> Block:
        text = ''.join(f'{lines[row]}\n' for row in rows)
        return parse_rows(text.encode('latin-1'), kind, form, encoding)

    block, raised = read_good_rows(len(lines), parse)
    errors = {}
    for row, error in raised.items():
        if not isinstance(error, RowError) or not form.table and '\0' not in lines[row]:
            error = kind.diagnose(lines[row], form)
        errors[row] = error
    return block, errors
