"""Look at the first lines of a file and decide how to read all of them."""
from collections.abc import Iterable
from dataclasses import replace

from mr_elm.errors import DataFormatError
from mr_elm.rows.foreign import name_binary, name_text
from mr_elm.rows.kinds import find_kind, guess_kind
from mr_elm.rows.lines import BYTE_ORDER_MARK, split_chunk
from mr_elm.rows.options import RowOptions
from mr_elm.rows.split_lines import CHUNK

LINES = 200
ENOUGH = 3  # lines, once as many bytes as one chunk have been read


def take_first_lines(chunks: Iterable[bytes], limit: int = LINES) -> tuple[list[str], int]:
    """Take the first lines that are not blank from chunks of whole lines: (lines, bytes of the blank lines above).

    They are `limit`, or fewer where lines are long.
    """
    lines: list[str] = []
    size = blank_bytes = 0
    for i, chunk in enumerate(chunks):
        if not lines:
            blank_bytes += count_blank(chunk, i == 0)
        lines += [line for line in split_chunk(chunk, i == 0) if line.strip()]
        size += len(chunk)
        if len(lines) >= limit or size >= CHUNK and len(lines) >= ENOUGH:
            break
    return lines[:limit], blank_bytes


def count_blank(chunk: bytes, first: bool) -> int:
    """Count the bytes of the blank lines at the start of a chunk; a byte order mark at the very start is none."""
    text = chunk.decode('latin-1')
    mark = BYTE_ORDER_MARK if first and text.startswith(BYTE_ORDER_MARK) else ''
    begin = len(text) - len(text[len(mark):].lstrip())
    return text.rfind('\n', 0, begin) + 1


def sniff(lines: list[str], path: str, options: RowOptions, blank_bytes: int = 0) -> RowOptions:
    """Decide the RowOptions of a file.

    lines : its first lines, without blank ones. blank_bytes : of the blank lines above them.
    options : RowOptions of the command line.
    Raises DataFormatError when the lines are no rows at all.
    """
    binary = ['\0' in line for line in lines]
    foreign = name_binary(lines[0].encode('latin-1'))
    if foreign or binary[0] or sum(binary) > len(lines) // 2:
        raise DataFormatError(f'{path}: expected rows of text, found {foreign or "binary data"}')
    if options.kind == 'auto' and (foreign := name_text(lines)):
        raise DataFormatError(f'{path}: expected rows, found {foreign}')
    lines = [line for line, is_binary in zip(lines, binary, strict=True) if not is_binary]  # these are bad rows
    kind = guess_kind(lines, str(path)) if options.kind == 'auto' else options.kind
    if find_kind(kind).magic:
        raise DataFormatError(f'{path}: expected {kind} rows, found text')
    return replace(find_kind(kind).choose_format(lines, path, options), blank_bytes=blank_bytes)
