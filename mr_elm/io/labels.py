"""Keep several targets, or a set of labels, of a row as the text of one label, and read them back.

Targets are numbers with one space between. Labels of a set have the separator between that the user has named; spaces
around a label do not count, and an empty text is the empty set.
"""
import math
from collections.abc import Mapping, Sequence

import numpy as np

from mr_elm.io.formats import RowError, RowFormat
from mr_elm.io.text import quote, read_number
from mr_elm.typing import Floats


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
    if not text:
        raise RowError('missing target', f'target {name} is empty')
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
