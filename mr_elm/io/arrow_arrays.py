"""Turn arrays of Arrow into arrays of numpy and back; pyarrow's own ways load pandas, which takes half a second."""
from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np


def to_texts(texts: Any) -> Any:
    """Return a sequence of texts as a pyarrow.StringArray; one is left as it is."""
    if hasattr(texts, 'dictionary_encode'):
        return texts
    arrow = import_module('pyarrow')
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return arrow.StringArray.from_buffers(len(encoded), arrow.py_buffer(offsets), arrow.py_buffer(b''.join(encoded)))


def to_numbers(array: Any, dtype: Any) -> np.ndarray:
    """Return an array of numbers as numpy holds them, without a copy; what stands for a missing one is undefined."""
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * np.dtype(dtype).itemsize)


def to_flags(array: Any) -> np.ndarray:
    """Return a BooleanArray without missing values: (n,) bool."""
    bits = np.unpackbits(np.frombuffer(array.buffers()[1], np.uint8), bitorder='little')
    return bits[array.offset:array.offset + len(array)].astype(bool)


def to_positions(rows: Sequence[int] | np.ndarray) -> Any:
    """Return positions as a pyarrow.Int64Array."""
    arrow = import_module('pyarrow')
    positions = np.asarray(rows, np.int64)
    return arrow.Array.from_buffers(arrow.int64(), len(positions), [None, arrow.py_buffer(positions)])
