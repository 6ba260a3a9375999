"""Turn the chunks of a split into blocks of rows, with every line accounted for."""
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm.errors import RowError
from mr_elm.rows.blocks import Block, RowReader, read_or_reject
from mr_elm.rows.encoding import Encoding, encode_table
from mr_elm.rows.kinds import Kind, find_kind
from mr_elm.rows.options import RowOptions
from mr_elm.rows.text import find_line_ends

MAX_TEXT = 32 << 20  # bytes of text that make a block even if its rows are few
BYTE_ORDER_MARK = '\xef\xbb\xbf'  # UTF-8's, as Latin-1 reads it


class LineReader(RowReader):
    """Read the lines of one split."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.kind = find_kind(self.form.kind)
        if self.encoding is not None and self.form.table:
            self.form = replace(self.form, numbers=self.encoding.find_numbers(self.form))

    def blocks(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        """Yield a Block for every `block_rows` lines that hold a usable row, the short last one included."""
        for text in group_lines(chunks, self.block_rows, self.counts.start == 0, self._may_hold_header):
            block = self._parse_plain(text)
            if block is None:
                block = self._parse(split_lines(text))
            if self.stop and self.rejected:
                return
            if block is not None:
                self.counts.used += len(block)
                yield block

    def _parse_plain(self, text: bytes) -> Block | None:
        """Parse lines that are all plain rows, perhaps below a header, at once; None where any may be none."""
        header = self._may_hold_header and not self.counts.headers
        first_line, _, rows = text.partition(b'\n') if header else (b'', b'', text)
        if header and (not rows or not first_line.decode('latin-1').strip()):
            return None
        try:
            plain = self.kind.parse_text(rows, self.form)
            block = None if plain is None else encode_table(plain, self.encoding)
        except ValueError:
            if not self.form.numbers:
                return None
            self.form = replace(self.form, numbers=())  # one is written otherwise, or the row is bad
            return self._parse_plain(text)
        if block is not None:
            self.counts.headers += header
            self.counts.lines += len(block) + header
            self.row_lines = range(self.counts.lines - len(block), self.counts.lines)
            self.counts.records += len(block) + header
        return block

    def _parse(self, lines: list[str]) -> Block | None:
        first = self.counts.lines
        self.counts.lines += len(lines)
        self.counts.records += len(lines)
        rows = self._find_rows(lines)
        if not rows:
            return None
        kept = lines if len(rows) == len(lines) else [lines[i] for i in rows]
        block, errors = parse_or_reject(kept, self.kind, self.form, self.encoding)
        for k, error in errors:
            self.reject(first + rows[k], error, lines[rows[k]])
        if self.stop and errors:
            del self.rejected[1:]
        self.row_lines = range(first, first + len(lines))
        if block is not None and len(block) < len(lines):
            bad = {k for k, _ in errors}
            self.row_lines = [first + row for k, row in enumerate(rows) if k not in bad]
        return block

    def _find_rows(self, lines: list[str]) -> Sequence[int]:
        """Return the positions of lines that are rows, and count the others."""
        awaits_header = self._may_hold_header and not self.counts.headers
        if not awaits_header and not self.kind.comment and all(lines) and not any(map(str.isspace, lines)):
            return range(len(lines))
        return [i for i, line in enumerate(lines) if self._is_row(line)]

    @property
    def _may_hold_header(self) -> bool:
        """Tell whether the first line that is not blank is the header: blank lines above it may fill whole splits."""
        start = self.counts.start
        return bool(self.form.header) and (start == 0 or start < self.form.blank_bytes)

    def _is_row(self, line: str) -> bool:
        if not line or line.isspace():
            self.counts.blank += 1
        elif self._may_hold_header and not self.counts.headers:
            self.counts.headers += 1
        elif self.kind.comment and line.lstrip().startswith(self.kind.comment):
            self.counts.comments += 1
        else:
            return True
        return False


def group_lines(chunks: Iterable[bytes], block_rows: int, first: bool, header: bool = False) -> Iterator[bytes]:
    """Cut chunks of whole lines into pieces of at most block_rows lines, or MAX_TEXT of long ones.

    first : whether the chunks begin where the file does. header : whether the first piece has a line more, so that its
    rows are those of a file without a header. Lines of the pieces end with a plain line end.
    """
    waiting: list[memoryview] = []
    missing = block_rows + header  # lines until the next piece is whole
    for chunk in chunks:
        text, start = memoryview(clean_chunk(chunk, first)), 0  # whose slices are no copies
        first = False
        ends = np.flatnonzero(find_line_ends(text)) + 1
        for end in ends[missing - 1::block_rows].tolist():
            yield b''.join([*waiting, text[start:end]])
            waiting, start = [], end
        missing = (missing - len(ends) - 1) % block_rows + 1
        waiting.append(text[start:])
        if sum(map(len, waiting)) >= MAX_TEXT:
            yield b''.join(waiting)
            waiting, missing = [], block_rows
    if any(waiting):
        yield b''.join(waiting)


def clean_chunk(chunk: bytes, first: bool) -> bytes:
    """Return whole lines with plain line ends; a byte order mark at the very start is dropped."""
    if chunk and not chunk.endswith(b'\n'):
        chunk += b'\n'
    if b'\r' in chunk:
        chunk = chunk.replace(b'\r\n', b'\n')
    return chunk.removeprefix(BYTE_ORDER_MARK.encode('latin-1')) if first else chunk


def split_chunk(chunk: bytes, first: bool = False) -> list[str]:
    """Decode a chunk byte for byte and split it at its line ends; a byte order mark at the very start is dropped."""
    return split_lines(clean_chunk(chunk, first))


def split_lines(text: bytes) -> list[str]:
    """Decode whole lines with plain line ends byte for byte, and split them."""
    return text.decode('latin-1').split('\n')[:-1]


def parse_or_reject(lines: list[str], kind: Kind, form: RowOptions,
                    encoding: Encoding | None = None) -> tuple[Block | None, list[tuple[int, RowError]]]:
    """Parse lines: (Block or None, list of (position, RowError)); see `read_or_reject`."""
    def parse(rows: Sequence[int]) -> Block:
        some = lines if len(rows) == len(lines) else [lines[row] for row in rows]
        if '\0' in ''.join(some):
            raise ValueError('binary data')
        return encode_table(kind.parse(some, form), encoding)

    def explain(row: int, error: Exception) -> RowError:
        return error if form.table and isinstance(error, RowError) else kind.diagnose(lines[row], form)

    return read_or_reject(len(lines), parse, (ValueError, IndexError), explain)

