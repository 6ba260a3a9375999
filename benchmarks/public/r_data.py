"""Read the rows of a data set that R has saved: vectors, matrices, data frames and the sparse matrices of SparseM.

Source: R Internals, chapter 1.8, Serialization Formats: the binary form (XDR), version 2 and 3.
"""
import bz2
import gzip
import lzma
from collections.abc import Iterator
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError

COMPRESSIONS = {b'\x1f\x8b': gzip.decompress, b'BZh': bz2.decompress, b'\xfd7zXZ': lzma.decompress}
MAGIC = b'RDX2\nX\n', b'RDX3\nX\n'
HAS_ATTRIBUTES, HAS_TAG = 0x200, 0x400
SYMBOL, PAIRS, CHARACTERS, STRINGS, LIST, S4 = 1, 2, 9, 16, 19, 25
NUMBERS = {10: '>i4', 13: '>i4', 14: '>f8'}  # logical, integer, double
NOTHING, REFERENCE, END_OF_PAIRS = (242, 251, 253), 255, 254


def is_r_data(content: bytes) -> bool:
    """Tell whether a file, as bytes, is data that R has saved."""
    return decompress(content)[:len(MAGIC[0])] in MAGIC


def decompress(content: bytes) -> bytes:
    """Return the bytes of a file that may be compressed. Raises DataFormatError for one that is cut short."""
    known = (expand for mark, expand in COMPRESSIONS.items() if content.startswith(mark))
    try:
        return next(known, bytes)(content)
    except (EOFError, OSError, ValueError, lzma.LZMAError) as error:
        raise DataFormatError(f'expected a whole compressed file, found a damaged one: {error}') from error


def read_rows(content: bytes, names: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Yield the rows of R objects as fields of LIBSVM text: the label, then index:value, zeros left out.

    An object is a list of x, the rows, and y, the labels; or a matrix with the labels first; or a data frame with
    the labels last.

    names : of the objects, in order; () for all in the file. Raises DataFormatError for data of another form.
    """
    try:
        objects = dict(Reader(decompress(content)).read_item())
        for name in names or objects:
            yield from write_fields(*split_labels(*objects[name]))
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise DataFormatError(f'expected rows and labels that R has saved, found other data: {error!r}') from error


class Reader:
    """Read the items of R data one after another: an item is a value, or (value, attributes)."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, len(MAGIC[0])
        self.symbols: list[str] = []
        version = self.read_integers(3)[0]
        if version == 3:  # names its encoding
            self.read_bytes(self.read_length())

    def read_bytes(self, size: int) -> bytes:
        """Return the next bytes."""
        self.at += size
        return self.content[self.at - size:self.at]

    def read_integers(self, n: int) -> np.ndarray:
        """Return the next n integers."""
        return np.frombuffer(self.read_bytes(4 * n), '>i4', n)

    def read_length(self) -> int:
        """Return the next integer: how many bytes or elements follow."""
        return int(self.read_integers(1)[0])

    def read_item(self) -> Any:
        """Return the next item."""
        flags = self.read_length()
        kind = flags & 255
        if kind == PAIRS:
            return self.read_pairs(flags)
        if kind == REFERENCE:
            return self.symbols[(flags >> 8) - 1]
        if kind == SYMBOL:
            self.symbols.append(self.read_item())
            return self.symbols[-1]
        if kind == CHARACTERS:
            return self.read_bytes(max(self.read_length(), 0)).decode('latin-1')
        value = None if kind in (S4, *NOTHING, END_OF_PAIRS) else self.read_vector(kind)
        return (value, self.read_item() or {}) if flags & HAS_ATTRIBUTES or kind == S4 else value

    def read_vector(self, kind: int) -> Any:
        """Return the numbers or the items of a vector."""
        n = self.read_length()
        if kind in NUMBERS:
            numbers = np.dtype(NUMBERS[kind])
            return np.frombuffer(self.read_bytes(numbers.itemsize * n), numbers, n)
        if kind not in (STRINGS, LIST):
            raise ValueError(f'R type {kind}')
        return [self.read_item() for _ in range(n)]

    def read_pairs(self, flags: int) -> dict:
        """Return a list of pairs as a dictionary: names of objects, or of attributes."""
        pairs = {}
        while flags & 255 == PAIRS:
            if flags & HAS_ATTRIBUTES:
                self.read_item()
            name = self.read_item() if flags & HAS_TAG else None
            pairs[name] = self.read_item()
            flags = self.read_length()
        return pairs


def split_labels(value: Any, attributes: dict) -> tuple[Any, list[str]]:
    """Return the rows of an object, dense or sparse, and their labels as text."""
    if 'dim' in attributes:
        matrix = shape_matrix(value, attributes)
        return matrix[:, 1:], write_labels(matrix[:, 0])
    parts = {name.lower(): part for name, part in zip(attributes['names'], value, strict=True)}
    if {'x', 'y'} <= set(parts):
        return shape_matrix(*parts['x']), write_labels(parts['y'])
    columns = list(parts.values())
    return np.column_stack([np.asarray(column, dtype=float) for column in columns[:-1]]), write_labels(columns[-1])


def shape_matrix(value: Any, attributes: dict) -> np.ndarray:
    """Return a dense or a sparse matrix of R as a dense one."""
    if 'dim' in attributes:
        return value.reshape(attributes['dim'], order='F')
    matrix = np.zeros(attributes['dimension'])
    rows = np.repeat(np.arange(len(matrix)), np.diff(attributes['ia']))
    matrix[rows, attributes['ja'] - 1] = attributes['ra']
    return matrix


def write_labels(labels: Any) -> list[str]:
    """Return labels as text: the levels of a factor, or numbers."""
    if isinstance(labels, tuple):
        codes, attributes = labels
        return [attributes['levels'][code - 1] for code in codes]
    return [label if isinstance(label, str) else f'{label:g}' for label in labels]


def write_fields(X: np.ndarray, labels: list[str]) -> Iterator[list[str]]:
    """Yield the fields of each row."""
    for row, label in zip(X, labels, strict=True):
        used = np.flatnonzero(row)
        yield [label, *(f'{index + 1}:{value!r}' for index, value in zip(used.tolist(), row[used].tolist(),
                                                                         strict=True))]
