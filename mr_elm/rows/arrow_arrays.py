"""Turn arrays of Arrow into arrays of numpy and back; pyarrow's own ways load pandas, which takes half a second."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError

ABSURD = re.compile(r'size \d{13}')  # of memory that pyarrow could not get: a terabyte and more, for some rows

NUMPY_NAMES = {'float': 'float32', 'halffloat': 'float16'}  # types of Arrow that numpy calls otherwise


def to_texts(texts: Any) -> Any:
    """Return a sequence of texts as a pyarrow.StringArray; one is left as it is."""
    if hasattr(texts, 'dictionary_encode'):
        return texts
    import pyarrow as arrow

    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return arrow.StringArray.from_buffers(len(encoded), arrow.py_buffer(offsets), arrow.py_buffer(b''.join(encoded)))


def to_array(values: np.ndarray) -> Any:
    """Return numbers as an array of Arrow."""
    import pyarrow as arrow

    values = np.ascontiguousarray(values)
    return arrow.Array.from_buffers(arrow.from_numpy_dtype(values.dtype), len(values), [None, arrow.py_buffer(values)])


def from_array(array: Any, missing: float | None = None) -> np.ndarray:
    """Return an array of numbers as numpy holds them, without a copy where no value is missing.

    missing : what stands for a missing one; it is undefined by default.
    """
    name = str(array.type)
    dtype = np.dtype(NUMPY_NAMES.get(name, name))  # to_pandas_dtype of some versions needs pandas
    if not len(array):
        return np.empty(0, dtype)
    values = np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)
    if missing is None or not array.null_count:
        return values
    return np.where(from_flags(array.is_valid()), values, dtype.type(missing))


def from_flags(array: Any) -> np.ndarray:
    """Return a BooleanArray without missing values: (n,) bool."""
    return from_array(array.cast('uint8')).astype(bool)


@contextmanager
def refuse_damage(place: str) -> Iterator[None]:
    """Turn what pyarrow and numpy raise for damaged bytes into a DataFormatError that names a place."""
    try:
        yield
    except (DataFormatError, ImportError):  # without memory no library is loaded
        raise
    except Exception as error:  # what pyarrow, numpy and zipfile raise for damaged bytes is in no list of theirs
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the file cannot be read, whatever it is
        if isinstance(error, MemoryError) and not ABSURD.search(str(error)):
            raise
        reason = ' '.join(str(error).split())[:120]
        raise DataFormatError(f'{place}: the file is cut short or damaged ({reason})') from None
