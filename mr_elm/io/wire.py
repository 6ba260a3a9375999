"""Write keys and values as lines of text that a shuffle can sort, and read them back.

A line is KEY, TAB, VALUE. A key is a kind and zero-padded coordinates; a value is either JSON (it begins with a
brace) or arrays, each as `shape:base64` of little-endian float64. Nothing is ever unpickled.
"""
import json
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from urllib.parse import quote, unquote

import numpy as np

NUMBER_BYTES = 8 * 4 / 3  # of a float64, in base64


def make_key(kind, *coordinates):
    """Join a kind and its coordinates; whole numbers are padded so that they sort as text."""
    return ' '.join([kind, *(f'{c:012d}' if isinstance(c, int) else quote(c, safe='') for c in coordinates)])


def split_key(key):
    """Take a key apart: (kind, list of coordinates as text)."""
    kind, *coordinates = key.split(' ')
    return kind, [unquote(text) for text in coordinates]


def encode_arrays(arrays):
    """Write float64 arrays as one text without tabs or line ends."""
    return b''.join(pieces_of(arrays))


def pieces_of(arrays):
    """Yield that text in pieces, so that long ones are put together once: each array is shape:base64."""
    for number, array in enumerate(arrays):
        array = np.asarray(array, '<f8')
        yield b' ' * (number > 0) + ','.join(map(str, array.shape)).encode() + b':'
        yield b2a_base64(np.ascontiguousarray(array).data, newline=False)


def decode_arrays(text):
    """Read what `encode_arrays` wrote. Raises ValueError when it is damaged."""
    return [decode_array(part) for part in text.split(b' ')]


def decode_array(text):
    """Read one shape:base64."""
    try:
        shape = text[:text.index(b':')]
        values = np.frombuffer(a2b_base64(memoryview(text)[len(shape) + 1:]), '<f8')
        return values.reshape([int(n) for n in shape.split(b',') if n])
    except (Base64Error, ValueError) as error:
        raise ValueError(f'a damaged array on the wire: {text[:40]!r} ({error})') from None


class WireProtocol:
    """Carry (key, value) pairs: a mrjob protocol for everything but predictions.

    A key is text; a value is a dictionary of JSON, or a list of float64 arrays.
    """

    def read(self, line):
        """Read one line."""
        key, _, value = line.partition(b'\t')
        value = value.rstrip(b'\t\r\n')
        return key.decode(), json.loads(value) if value.startswith(b'{') else decode_arrays(value)

    def write(self, key, value):
        """Write one line, without its end."""
        pieces = [json.dumps(value).encode()] if isinstance(value, dict) else pieces_of(value)
        return b''.join([key.encode(), b'\t', *pieces])
