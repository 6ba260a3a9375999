"""Draw landmarks from statistics of the columns, so that a model keeps no row of its training."""

from typing import Any

import numpy as np

from mr_elm.features.landmarks import hash_rows
from mr_elm.rows.encoding import CATEGORY, Encoding
from mr_elm.typing import Floats

MAX_NUMBERS = 1000  # columns: of more, independent numbers lie far from all rows (docs/methods.md has figures)
NUMBER_STREAM, CHOICE_STREAM = 2, 3  # of the seed; random nodes are drawn from 0 and 1


def draw_landmarks(statistics: Any, encoding: Encoding | None, n_landmarks: int, seed: int) -> Floats:
    """Draw distinct rows like those that ColumnStatistics describe, (L, d), raw as rows are before they are scaled.

    A number is normal, with the mean and the deviation of its column. A column of categories has one of them, as often
    as the rows have; a number is missing as often as in the rows. Columns are independent. Smallest and largest values
    are not used: they are numbers of single rows.

    encoding : Encoding of rows that are tables, None where all features are numbers.
    n_landmarks : there are fewer where categories have fewer combinations. The first rows do not depend on it.
    Raises ValueError where numbers are too many to be drawn independently.
    """
    if encoding is None:
        is_number = np.ones(statistics.n_features, bool)
    else:
        is_number = ~encoding.indicators
    n_numbers = int(is_number.sum())
    if n_numbers > MAX_NUMBERS:
        raise ValueError(
            f'--landmarks synthetic: expected at most {MAX_NUMBERS:,} columns of numbers, found '
            f'{n_numbers:,}: mean and deviation of so many do not tell where rows lie; use --landmarks '
            'rows, or random nodes such as --map rff'
        )
    varies = bool((statistics.deviation[is_number] > 0).any())
    if varies:
        n_drawn = n_landmarks
    else:
        n_drawn = 8 * n_landmarks  # categories alone may give the same row twice
    numbers = np.random.default_rng([seed, NUMBER_STREAM]).standard_normal((n_drawn, n_numbers))
    rows = np.zeros((n_drawn, statistics.n_features))
    rows[:, is_number] = statistics.mean[is_number] + statistics.deviation[is_number] * numbers
    if encoding is not None:
        choices = np.random.default_rng([seed, CHOICE_STREAM]).random((n_drawn, len(encoding.parts)))
        fill_columns(rows, statistics.mean, encoding, choices)
    first = np.unique(hash_rows(rows, seed), return_index=True)[1]
    return rows[np.sort(first)[:n_landmarks]]


def fill_columns(rows: Floats, mean: Floats, encoding: Encoding, choices: Floats) -> None:
    """Write the features of categories and of missing numbers into rows, (n, d).

    mean : of each feature. choices : uniform numbers below 1, one a row and part of the encoding.
    """
    everyone = np.arange(len(rows))
    for (_, column, features), choice in zip(encoding.parts, choices.T, strict=True):
        start = features.start
        if column.kind == CATEGORY:
            below = np.cumsum(mean[features])
            rows[everyone, start + np.searchsorted(below / below[-1], choice, side='right')] = 1.0
        elif column.missing:
            share = mean[start + 1]
            if share < 1:  # the statistics count a missing number as the mean: the others deviate by more
                rows[:, start] = mean[start] + (rows[:, start] - mean[start]) / np.sqrt(1 - share)
            missing = choice < share
            rows[missing, start], rows[missing, start + 1] = column.mean, 1.0
