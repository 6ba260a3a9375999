"""Compare labels, read targets, and keep a set of labels of a row as the text of one label.

Labels of a set have the separator between that the user has named; spaces around a label do not count, and an empty
text is the empty set.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from mr_elm.errors import RowError
from mr_elm.rows.options import RowOptions
from mr_elm.rows.text import quote, read_exact, read_number
from mr_elm.typing import Floats

LARGEST_INTEGER = 2**64  # no column has larger ones; the least one is 2^63 below 0


def label_keys(names: Iterable[str]) -> dict[str, Any]:
    """Return what labels are compared by: labels of equal keys are one class, classes are in the order of the keys.

    The keys are the exact numbers when every label is a finite number, or else the bytes of the texts: '+1' and '1.0'
    are one class, 2^53 and 2^53 + 1 are two, although float64 holds only one of them.
    """
    keys = {name: read_exact(name) for name in names}
    if None in keys.values():
        return {name: name.encode() for name in keys}
    return keys


def merge_labels(classes: Sequence[str], separator: str | None = None) -> Callable[[str], str]:
    """Return a function that gives one text to all labels that mean the same: '1.0' becomes the class '1'.

    A label that is none of the classes stays as it is. separator : what stands between the labels of a set, whose text
    has them in byte order, each once; None where a row has one label.
    """
    names_by_key = {key: name for name, key in label_keys(classes).items()}

    def merge(label: str) -> str:
        if label in classes:
            return label
        return names_by_key.get(read_exact(label), label)

    if separator is None:
        return merge
    return lambda label: separator.join(sorted(set(map(merge, split_label(label, separator)))))


def find_twins(names: Iterable[str]) -> tuple[str, str] | None:
    """Return two labels that are equal numbers but two classes, as labels are compared as text; None without any."""
    keys = {name: read_exact(name) for name in names}
    first: dict[Any, str] = {}
    for name, number in keys.items():
        if None in keys.values() and number is not None and first.setdefault(number, name) != name:
            return first[number], name
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
    """Return the names of classes as numbers if these increase and one numpy type holds all of them, else as text."""
    numbers = [number for name in names if (number := read_exact(name)) is not None]
    if len(numbers) < len(names) or not names or any(a >= b for a, b in pairwise(numbers)):
        return np.array(names)
    if all(abs(number) < LARGEST_INTEGER and number == int(number) for number in numbers):
        return hold_integers([int(number) for number in numbers], np.array(names))
    values = [float(number) for number in numbers]
    exact = all(read_exact(repr(value)) == number for value, number in zip(values, numbers, strict=True))
    return np.array(values if exact else names)


def hold_integers(values: Sequence[int], otherwise: Any = None) -> Any:
    """Return integers as an array of int64 or uint64, `otherwise` where neither holds all of them."""
    for dtype in (np.int64, np.uint64):
        limits = np.iinfo(dtype)
        if limits.min <= min(values) and max(values) <= limits.max:
            return np.array(values, dtype)
    return otherwise


def is_missing(text: str, form: RowOptions) -> bool:
    """Tell whether the text of a label stands for a missing one."""
    text = text.strip()
    return not text or text in form.missing_texts or read_exact(text) in form.missing_numbers


def explain_missing(text: str) -> str:
    """Say for a message why a label is missing, and what helps."""
    if text.strip():
        return f'is {quote(text)}, a missing one (--missing-labels names others)'
    return 'is empty'


def read_numbers(texts: Sequence[str]) -> Floats:
    """Read texts as numbers, NaN where one is none: (n,)."""
    return np.array(list(map(read_number, texts)), float)


def find_usable(T: Floats, form: RowOptions) -> np.ndarray:
    """Tell which of some numbers can be targets: finite ones, not missing ones, and above 0 where logs are learned."""
    return np.isfinite(T) & ((T > 0) | (form.target != 'log')) & ~np.isin(T, list(map(float, form.missing_numbers)))


def check_target(text: str, k: int, form: RowOptions) -> None:
    """Raise RowError when the text of target `k` is no finite number."""
    who = 'the target'
    if form.targets:
        who += f' in {form.name_column(form.targets[k])}'
    if is_missing(text, form):
        raise RowError('missing target', f'{who} {explain_missing(text)}')
    number = read_number(text)
    if number is None:
        hint = ''
        if not form.targets and form.label_name is not None:
            hint = f' (it is column {form.label_name!r}: name another one with --label-column)'
        raise RowError('target is not a number', f'{who} is {quote(text)}, and regression needs a number{hint}')
    if not math.isfinite(number):
        raise RowError('nan or infinite', f'{who} is {quote(text)}')
    if number <= 0 and form.target == 'log':
        raise RowError('target is not above 0', f'{who} is {quote(text)}, which has no logarithm (--target log)')


def decode_text(text: str, name: str) -> str:
    """Decode a field that was read as Latin-1. name : what a message calls it. Raises RowError when it is not UTF-8."""
    try:
        return text.encode('latin-1').decode('utf-8')
    except UnicodeDecodeError:
        raise RowError(
            'not UTF-8',
            f'{name} holds {ascii(text)}: save the file as UTF-8, or say how it is written (--encoding cp1252)',
        ) from None


def check_label(name: str, form: RowOptions) -> None:
    """Raise RowError when a text cannot be a label."""
    parts = [name]
    if form.numeric_labels:
        check_target(name, 0, form)
    elif form.labels_separator is not None:
        parts = split_label(name, form.labels_separator)
    for part in parts:
        if is_missing(part, form):
            raise RowError('missing label', f'the label {explain_missing(part)}')


def split_label(label: str, separator: str) -> list[str]:
    """Return the labels of a set, each once."""
    return list(dict.fromkeys(filter(None, (part.strip() for part in label.split(separator)))))


def find_labels(names: Sequence[str], separator: str) -> tuple[tuple[str, ...], Floats]:
    """Find the labels that some sets hold, in order of first appearance.

    Returns (labels, (sets, labels) with a 1 where a set holds a label).
    """
    labels = dict.fromkeys(label for name in names for label in split_label(name, separator))
    index = {label: k for k, label in enumerate(labels)}
    return tuple(labels), mark_labels(names, separator, index, len(labels))


def mark_labels(names: Sequence[str], separator: str, index: Mapping[str, int], n_labels: int) -> Floats:
    """Return (sets, n_labels) with a 1 where a set holds a label. index : label -> its number; several may be one."""
    marks = np.zeros((len(names), n_labels))
    for row, name in zip(marks, names, strict=True):
        row[[index[label] for label in split_label(name, separator)]] = 1.0
    return marks
