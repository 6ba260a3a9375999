"""Look at the first lines of a file and decide how to read all of them."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from mr_elm.errors import DataFormatError
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.lines import BYTE_ORDER_MARK, split_chunk
from mr_elm.rows.options import KINDS, RowOptions
from mr_elm.rows.splits import CHUNK_BYTES

MAX_LINES = 200
MIN_LINES = 3  # lines, once as many bytes as one chunk have been read
MAGICS = (
    (
        b'PK\x03\x04',
        'a zip archive: an Excel or OpenDocument workbook, or numpy arrays; save a workbook as csv, '
        'give a zip archive of one csv file a name that ends in .zip',
    ),
    (b'\x1f\x8b', 'gzip data: give the file a name that ends in .gz'),
    (b'BZh', 'bzip2 data: give the file a name that ends in .bz2'),
    (b'\x28\xb5\x2f\xfd', 'zstandard data: give the file a name that ends in .zst'),
    (b'\xfd7zXZ', 'xz data: unpack the file (xz -d)'),
    (b'\xd0\xcf\x11\xe0', 'an old Excel workbook: save it as csv'),
    (b'\x93NUMPY', 'a numpy array: write it as csv (numpy.savetxt) or as parquet'),
    (b'\x89HDF', 'an HDF5 file: write its table as csv or as parquet'),
    (b'ORC', 'an ORC file: write it as parquet'),
    (b'SQLite format 3', 'an SQLite database: write its table as csv'),
    (b'\x80\x04', 'a Python pickle: write its table as csv or as parquet'),
    (b'%PDF', 'a PDF document'),
)
TEXTS = (
    (
        re.compile(r'(%.*\n\s*)*@relation\b', re.I),
        'an ARFF file: leave out the lines above the rows, which begin with % or @, or convert it to csv',
    ),
    (re.compile(r'<(!doctype|html|\?xml)', re.I), 'a web page or XML, perhaps instead of a download that failed'),
    (re.compile(r'\{\s*("|$)|\[\s*[\[{]'), 'JSON: write its rows as csv or as parquet'),
)
TEXT_CHARACTERS = 4096  # characters that tell what a text is


def take_first_lines(chunks: Iterable[bytes], limit: int = MAX_LINES) -> tuple[list[str], int]:
    """Take the first lines that are not blank from chunks of whole lines: (lines, bytes of the blank lines above).

    They are `limit`, or fewer where lines are long. A byte order mark counts with the blank lines.
    """
    lines: list[str] = []
    size = blank_bytes = 0
    for i, chunk in enumerate(chunks):
        if not lines:
            text = chunk.decode('latin-1')
            rest = text.removeprefix(BYTE_ORDER_MARK).lstrip()
            blank_bytes += text.rfind('\n', 0, len(text) - len(rest)) + 1
        lines += [line for line in split_chunk(chunk, i == 0) if line.strip()]
        size += len(chunk)
        if len(lines) >= limit or size >= CHUNK_BYTES and len(lines) >= MIN_LINES:
            break
    return lines[:limit], blank_bytes


def sniff(lines: list[str], path: str, options: RowOptions, blank_bytes: int = 0) -> RowOptions:
    """Decide the RowOptions of a file.

    lines : its first lines, without blank ones. blank_bytes : of the blank lines above them.
    options : RowOptions of the command line.
    Raises DataFormatError when the lines are no rows at all.
    """
    first_bytes, binary = lines[0].encode('latin-1'), ['\0' in line for line in lines]
    foreign = next((what for magic, what in MAGICS if first_bytes.startswith(magic)), None)
    if foreign or binary[0] or sum(binary) > len(lines) // 2:
        raise DataFormatError(f'{path}: expected rows of text, found {foreign or "binary data"}')
    text = '\n'.join(lines[:20])[:TEXT_CHARACTERS].lstrip()
    foreign = next((what for pattern, what in TEXTS if pattern.match(text)), None)
    if foreign and options.kind == 'auto':
        raise DataFormatError(f'{path}: expected rows, found {foreign}')
    lines = [line for line, is_binary in zip(lines, binary, strict=True) if not is_binary]  # these are bad rows
    if options.kind != 'auto':
        kind = find_kind(options.kind)
    else:  # by the lines where no name of a file tells the kind, else by the name, else by the lines
        kinds = [kind for kind in map(find_kind, KINDS) if not kind.magic]
        nameless = [kind for kind in kinds if kind.names is None and kind.recognise(lines)]
        named = [kind for kind in kinds if kind.names and kind.names.search(str(path))]
        kind = next(chain(nameless, named, (kind for kind in kinds if kind.recognise(lines))))
    if kind.magic:
        raise DataFormatError(f'{path}: expected {options.kind} rows, found text')
    return replace(kind.choose_format(lines, path, options), blank_bytes=blank_bytes)
