"""Write keys and values as lines of text that a shuffle can sort, and read them back.

A line is KEY, TAB, VALUE, TAB, CHECKSUM. A key is a kind and zero-padded coordinates; a value is either JSON (it begins
with a brace) or arrays, each as `shape:base64` of little-endian float64. The checksum is the CRC-32 of all that stands
before its tab, in eight hexadecimal digits. Other programs may leave the tab and the checksum out, and may ignore them.
Nothing is ever unpickled.
"""

import json
import zlib
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import ArrayLike

from mr_elm.errors import DataFormatError
from mr_elm.typing import Floats

try:  # fifty times as fast as the standard library: some nodes may lack it
    import pybase64 as base64
except ModuleNotFoundError:
    import base64  # type: ignore[no-redef]

NUMBER_BYTES = 8 * 4 / 3  # of a float64, in base64


def make_key(kind: str, *coordinates: int | str) -> str:
    """Join a kind and its coordinates; whole numbers are padded so that they sort as text."""
    return ' '.join([kind, *(f'{c:012d}' if isinstance(c, int) else quote(c, safe='') for c in coordinates)])


def split_key(key: str) -> tuple[str, list[str]]:
    """Take a key apart: (kind, list of coordinates as text)."""
    kind, *coordinates = key.split(' ')
    return kind, [unquote(text) for text in coordinates]


def encode_arrays(arrays: Iterable[ArrayLike]) -> bytes:
    """Write float64 arrays as one text without tabs or line ends."""
    return b''.join(encode_pieces(arrays))


def encode_pieces(arrays: Iterable[ArrayLike]) -> Iterator[bytes]:
    """Yield the text of `encode_arrays` in pieces, so that a long line is put together once."""
    for number, array in enumerate(arrays):
        array = np.asarray(array, '<f8')
        yield b' ' * (number > 0) + ','.join(map(str, array.shape)).encode() + b':'
        yield base64.b64encode(np.ascontiguousarray(array).data)


def decode_arrays(text: bytes, start: int = 0, stop: int | None = None) -> list[Floats]:
    """Read what `encode_arrays` wrote, from start to stop of a text. Raises DataFormatError when it is damaged."""
    if stop is None:
        stop = len(text)
    arrays = []
    while start <= stop:
        end = text.find(b' ', start, stop)
        if end < 0:
            end = stop
        arrays.append(decode_array(text, start, end))
        start = end + 1
    return arrays


def decode_array(text: bytes, start: int, stop: int) -> Floats:
    """Read one shape:base64, from start to stop of a text."""
    try:
        colon = text.index(b':', start, stop)
        shape = text[start:colon]
        if shape and not shape.replace(b',', b'0').isdigit():
            raise ValueError('its shape is not whole numbers')
        content = memoryview(text)[colon + 1 : stop]
        if len(content) % 4:
            raise ValueError('base64 is cut short')
        return np.frombuffer(base64.b64decode(content, validate=True), '<f8').reshape(
            [int(n) for n in shape.split(b',') if n]
        )
    except ValueError as error:
        raise DataFormatError(
            f'a damaged array on the wire: {text[start : min(start + 40, stop)]!r} ({error})'
        ) from None


def checksum(pieces: Iterable[bytes | memoryview]) -> bytes:
    """Return the CRC-32 of pieces of bytes that stand one after another, in hexadecimal digits."""
    value = 0
    for piece in pieces:
        value = zlib.crc32(piece, value)
    return b'%08x' % value


def demand_arrays(arrays: list[Floats], *numbers: int) -> list[Floats]:
    """Return the arrays of a value. Raises DataFormatError unless their number is one of `numbers`.

    Nothing else finds a line that was cut between two arrays: it has lost its checksum too.
    """
    if len(arrays) not in numbers:
        raise DataFormatError(
            f'a damaged line on the wire: expected {" or ".join(map(str, numbers))} arrays, found {len(arrays)}'
        )
    return arrays


class WireProtocol:
    """Carry (key, value) pairs: a mrjob protocol for everything but predictions.

    A key is text; a value is a dictionary of JSON, or a list of float64 arrays.
    """

    def read(self, line: bytes) -> tuple[str, dict | list[Floats]]:
        """Read one line, with a checksum or without. Raises DataFormatError when it is damaged."""
        line = line.rstrip(b'\t\r\n')
        try:
            start, stop = line.index(b'\t') + 1, line.rindex(b'\t')
            if stop < start:
                stop = len(line)
            elif line[stop + 1 :] != checksum([memoryview(line)[:stop]]):
                raise ValueError('its checksum does not match')
            if line.startswith(b'{', start):
                value = json.loads(line[start:stop])
            else:
                value = decode_arrays(line, start, stop)
            return line[: start - 1].decode(), value
        except (ValueError, RecursionError) as error:
            raise DataFormatError(f'a damaged line on the wire: {line[:40]!r} ({error})') from None

    def write(self, key: str, value: dict | Iterable[ArrayLike]) -> bytes:
        """Write one line, without its end."""
        pieces = [json.dumps(value).encode()] if isinstance(value, dict) else encode_pieces(value)
        pieces = [key.encode(), b'\t', *pieces]
        return b''.join([*pieces, b'\t', checksum(pieces)])
