"""Compare what a program prints with what the manual shows: words exactly, each number as far as its kind allows.

Seconds and speeds are free. A condition may differ by FACTOR, an accuracy by SHARE: so many rows may get another label
on another processor. A number with all its digits may differ by ROUNDING: processors round sums in different orders.
All other numbers, such as rows, features and nodes, are the same everywhere. Where there is a confusion matrix,
precision and recall must follow from it, as must all other scores and rows.
"""

import re
from math import ceil

import numpy as np

NUMBER = re.compile(r'-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?')
MATRIX = 'rows of a true class (down) by predicted class (across)\n'
SHARE, FACTOR = 0.02, 2
ROUNDING, ALL_DIGITS = 1e-9, 14  # of a number; significant digits, from which on a number was not rounded
FREE, CONDITION, ACCURACY, COMPUTED, LONG, EXACT = 'free', 'condition', 'accuracy', 'computed', 'long', 'exact'


def differences(shown, printed):
    """List what differs, a sentence each; nothing where a reader sees what the manual shows."""
    if (wanted := words_of(shown)) != (found := words_of(printed)):
        return [f'the words of the manual were expected, others came: {wanted} and {found}']
    return [
        *compare_numbers(shown, printed),
        *compare_matrices(shown, printed),
        *contradictions(shown),
        *contradictions(printed),
    ]


def words_of(text):
    """Return the words of each line, with a mark for each number."""
    return [NUMBER.sub('#', line).split() for line in text.strip().splitlines()]


def compare_numbers(shown, printed):
    """Yield the numbers in front of the confusion matrix that differ by more than their kind allows."""
    for (kind, wanted, line), (_, found, _) in zip(numbers_of(shown), numbers_of(printed), strict=True):
        is_computed = kind == COMPUTED and MATRIX in shown
        if not is_computed and not is_close(kind, wanted, found):
            yield f'{wanted:g} was expected, {found:g} came: {line.strip()}'


def numbers_of(text):
    """Yield (kind, number, line) for the numbers in front of the confusion matrix."""
    heads = []
    for line in text.partition(MATRIX)[0].splitlines():
        found = list(NUMBER.finditer(line))
        heads = heads if found else line.split()
        for place, match in enumerate(found):
            head = heads[place - len(found)] if len(found) <= len(heads) else ''
            yield kind_of(line[: match.start()], match[0], line[match.end() :], head), read(match[0]), line


def kind_of(before, number, behind, head):
    """Return the kind of a number by the words before and behind it and the head of its column, '' where none is."""
    if re.match(r' (MB/)?s\b', behind):
        return FREE
    if before.endswith('condition about '):
        return CONDITION
    if before.split() in ([name] for name in ('accuracy', 'balanced_accuracy', 'matthews', 'auc', 'average_precision')):
        return ACCURACY
    if head in ('precision', 'recall') or before.split() in ([name] for name in ('f1', 'precision', 'recall')):
        return COMPUTED
    digits = re.sub(r'e.*|\D', '', number).lstrip('0')
    return LONG if '.' in number and len(digits) >= ALL_DIGITS else EXACT


def read(number):
    """Return the value of a number as it is printed."""
    return float(number.replace(',', ''))


def is_close(kind, wanted, found):
    """Return whether two numbers of a kind are close enough."""
    if kind == CONDITION:
        return wanted / FACTOR <= found <= wanted * FACTOR
    if kind in (ACCURACY, COMPUTED):
        return abs(found - wanted) <= SHARE
    if kind == LONG:
        return abs(found - wanted) <= ROUNDING * abs(wanted)
    return kind == FREE or found == wanted


def matrix_of(text):
    """Return (classes above, classes beside, counts) of the confusion matrix of a text, None where there is none."""
    _, title, body = text.partition(MATRIX)
    if not title:
        return None
    above, *lines = (line.split() for line in body.strip().splitlines())
    return above, [line[0] for line in lines], np.array([list(map(read, line[1:])) for line in lines])


def compare_matrices(shown, printed):
    """Yield how confusion matrices differ, if more rows have other labels than SHARE of accuracy allows."""
    if matrix_of(shown) is None:
        return
    (*classes, wanted), (*other_classes, found) = matrix_of(shown), matrix_of(printed)
    if classes != other_classes or classes[0] != classes[1]:
        yield f'classes {classes} were expected, {other_classes} came'
    elif abs(found - wanted).sum() / 2 > ceil(SHARE * wanted.sum()):
        yield f'confusion matrix\n{wanted}\nwas expected,\n{found}\ncame'


def contradictions(text):
    """Yield the scores of a text that do not follow from its confusion matrix."""
    if matrix_of(text) is None:
        return
    names, _, matrix = matrix_of(text)
    right, true, said = matrix.diagonal(), matrix.sum(axis=1), matrix.sum(axis=0)
    computed = {
        'accuracy': f'{right.sum() / matrix.sum():.6f}',
        'rows': f'{matrix.sum():,.0f}',
        'balanced_accuracy': f'{(right / true).mean():.6g}',
        'matthews': f'{matthews_of(matrix):.6g}',
        **{
            name: f'{hits / guesses:.4f} {hits / rows:.4f} {rows:,.0f}'
            for name, hits, guesses, rows in zip(names, right, said, true, strict=True)
        },
    }
    lines = dict(line.split(maxsplit=1) for line in text.partition(MATRIX)[0].splitlines() if len(line.split()) > 1)
    if positive := lines.get('positive'):
        k = names.index(positive)
        computed |= {
            'f1': f'{2 * right[k] / (true[k] + said[k]):.6g}',
            'precision': f'{right[k] / said[k]:.6g}',
            'recall': f'{right[k] / true[k]:.6g}',
        }
    for name, wanted in computed.items():
        beside = ' '.join(lines.get(name, 'nothing').split())
        if beside != wanted:
            yield f'{wanted} follows from the confusion matrix, {beside} is beside {name}'


def matthews_of(matrix):
    """Return Matthews' coefficient of a confusion matrix: the correlation of true and predicted classes."""
    shares = matrix / matrix.sum()
    true, said = shares.sum(axis=1), shares.sum(axis=0)
    return (shares.trace() - true @ said) / np.sqrt((1 - true @ true) * (1 - said @ said))
