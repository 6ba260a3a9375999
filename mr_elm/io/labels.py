"""Compare labels, and keep several targets, or a set of labels, of a row as the text of one label.

Targets are numbers with one space between. Labels of a set have the separator between that the user has named; spaces
around a label do not count, and an empty text is the empty set.
"""
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from mr_elm.io.formats import RowError, RowFormat
from mr_elm.io.text import quote, read_exact, read_number
from mr_elm.typing import Floats

LARGEST_INTEGER = 2**64  # no column has larger ones; the least one is 2^63 below 0


def label_keys(names: Iterable[str]) -> dict[str, Any]:
    """Return what labels are compared by: labels of equal keys are one class, classes are in the order of the keys.

    The keys are the exact numbers when every label is a finite number, or else the bytes of the texts: '+1' and '1.0'
    are one class, 2^53 and 2^53 + 1 are two, although float64 holds only one of them.
    """
    keys: dict[str, Any] = {name: read_exact(name) for name in names}
    return {name: name.encode() for name in keys} if None in keys.values() else keys


def find_twins(names: Iterable[str]) -> tuple[str, str] | None:
    """Return two labels that are equal numbers but two classes, as labels are compared as text; None without any."""
    numbers: dict[Any, str] = {}
    keys = label_keys(names)
    for name, key in keys.items():
        if isinstance(key, bytes) and (number := read_exact(name)) is not None:
            if number in numbers:
                return numbers[number], name
            numbers[number] = name
    return None


def write_label(value: Any) -> str:
    """Write a label that is no text: a number such that `read_exact` finds it again where it is whole."""
    text = str(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if abs(number) < LARGEST_INTEGER and number.is_integer() and Decimal(text) != int(number):
            return str(int(number))
    return text


def read_labels(names: Sequence[str]) -> np.ndarray:
    """Return the names of classes as numbers if these increase and one type of numpy holds all of them, else as text.
    """
    numbers = [number for name in names if (number := read_exact(name)) is not None]
    if len(numbers) < len(names) or not names or any(a >= b for a, b in pairwise(numbers)):
        return np.array(names)
    if all(abs(number) < LARGEST_INTEGER and number == int(number) for number in numbers):
        return hold_integers([int(number) for number in numbers], np.array(names))
    found = [float(number) for number in numbers]
    exact = all(read_exact(repr(value)) == number for value, number in zip(found, numbers, strict=True))
    return np.array(found if exact else names)


def hold_integers(values: Sequence[int], otherwise: Any = None) -> Any:
    """Return integers as an array of int64 or uint64, `otherwise` where neither holds all of them."""
    for dtype in (np.int64, np.uint64):
        limits = np.iinfo(dtype)
        if limits.min <= min(values) and max(values) <= limits.max:
            return np.array(values, dtype)
    return otherwise


def is_missing(text: str, form: RowFormat) -> bool:
    """Tell whether the text of a label stands for a missing one."""
    text = text.strip()
    return not text or text in form.missing_labels or bool(form.missing_numbers) and (
        read_exact(text) in form.missing_numbers)


def explain_missing(text: str) -> str:
    """Say for a message why a label is missing."""
    return f'is {quote(text)}, a missing one (see --missing-labels)' if text.strip() else 'is empty'


def join_targets(columns: Sequence[Sequence[str]]) -> list[str]:
    """Return the label of each row from the texts of its targets. columns : a sequence of texts for each target."""
    return list(map(' '.join, zip(*columns, strict=True)))


def check_targets(label: str, form: RowFormat) -> None:
    """Raise RowError when the label of a row does not hold a finite number for each target."""
    texts = label.split(' ')
    if len(texts) != len(form.target_columns):
        raise RowError('target is not a number', f'the targets are {quote(label)}')
    for position, text in zip(form.target_columns, texts, strict=True):
        check_target(text, position, form)


def check_target(text: str, position: int, form: RowFormat) -> None:
    """Raise RowError when the text of a target is no finite number. position : of its column."""
    name = describe_target(position, form)
    if is_missing(text, form):
        raise RowError('missing target', f'target {name} {explain_missing(text)}')
    number = read_number(text)
    if number is None:
        raise RowError('target is not a number', f'target {name} is {quote(text)}, and regression needs a number')
    if not math.isfinite(number):
        raise RowError('nan or infinite', f'target {name} is {quote(text)}')


def describe_target(position: int, form: RowFormat) -> str:
    """Name a target for a message, by its column or by the position of that."""
    known = dict(zip(form.target_columns, form.target_names or (), strict=False))
    return repr(known[position]) if position in known else f'in column {position}'


def read_targets(names: Sequence[str]) -> Floats:
    """Read labels as targets: (n,), or (n, K) where they hold K > 1 numbers. Raises ValueError when one is none."""
    if names and ' ' not in names[0]:
        return np.array(list(map(float, names)))  # in half the time
    numbers = np.array([name.split(' ') for name in names]).astype(float)
    return numbers[:, 0] if numbers.shape[1:] == (1,) else numbers


def split_label(label: str, separator: str) -> list[str]:
    """Return the labels of a set, each once."""
    return list(dict.fromkeys(filter(None, (part.strip() for part in label.split(separator)))))


def find_labels(names: Sequence[str], separator: str) -> tuple[tuple[str, ...], Floats]:
    """Find the labels that some sets hold, in order of first appearance.

    Returns (labels, (sets, labels) with a 1 where a set holds a label).
    """
    sets = [split_label(name, separator) for name in names]
    table = {label: k for k, label in enumerate(dict.fromkeys(label for labels in sets for label in labels))}
    holds = np.zeros((len(sets), len(table)))
    for row, labels in zip(holds, sets, strict=True):
        row[[table[label] for label in labels]] = 1.0
    return tuple(table), holds


def mark_labels(names: Sequence[str], separator: str, index: Mapping[str, int], n_labels: int) -> Floats:
    """Return (sets, n_labels) with a 1 where a set holds a label. index : label -> its number; several may be one."""
    labels, holds = find_labels(names, separator)
    return join_columns(holds, [index[label] for label in labels], n_labels)


def join_columns(holds: Floats, numbers: Sequence[int], n_labels: int) -> Floats:
    """Return (sets, n_labels) with a 1 where a set holds a label. holds : of `find_labels`. numbers : of its labels."""
    marks = np.zeros((len(holds), n_labels))
    for number, column in zip(numbers, holds.T, strict=True):
        marks[:, number] = np.maximum(marks[:, number], column)
    return marks
