"""Choose the positive one of two classes, and the probability of it above which a row is labelled so."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mr_elm.rows.labels import label_keys, write_label
from mr_elm.rows.text import quote, read_number
from mr_elm.scores.ranking import Ranking, key_of
from mr_elm.typing import Floats

Goal = Callable[[Floats, Floats, float, float], Floats]  # (true, false, positive, negative) weights -> what is largest


def balanced_accuracy(true: Floats, false: Floats, positive: float, negative: float) -> Floats:
    """Return the mean recall of both classes."""
    return (true / positive + 1 - false / negative) / 2


def f1(true: Floats, false: Floats, positive: float, negative: float) -> Floats:
    """Return the harmonic mean of precision and recall of the positive class."""
    return 2 * true / (true + false + positive)


def make_goal(name: Any) -> Goal:
    """Return the goal called balanced or f1, or of a number, the cost of a missed row over a false one.

    Raises ValueError for another name.
    """
    name = str(name)
    if name in GOALS:
        return GOALS[name]
    cost = read_number(name) or 0.0
    if not 0 < cost < np.inf:
        raise ValueError(f'--threshold: expected balanced, f1 or a number above 0, found {name!r}')
    return lambda true, false, positive, negative: -(cost * (positive - true) + false)


GOALS: dict[str, Goal] = {'balanced': balanced_accuracy, 'f1': f1}


def choose_threshold(name: Any, probabilities: Floats, positive: np.ndarray, weights: Floats) -> float:
    """Return the threshold that is best for rows held out: rows with a larger probability are of the positive class.

    name : see `make_goal`. probabilities : (n,) of that class. positive : (n,) of bool. weights : (n,).
    """
    ranking = Ranking.of(key_of(probabilities), positive, weights, len(probabilities))
    cuts = ranking.probabilities
    true, false = ranking.curve()
    middle = (cuts[1:] + cuts[:-1]) / 2
    between = np.where(middle < cuts[1:], middle, cuts[:-1])  # of neighbours in float64 the middle is one of them
    edges = np.r_[1.0, between[::-1], 0.0]
    values = make_goal(name)(true, false, true[-1], false[-1])
    if not cuts[0]:  # no threshold labels all rows positive if one has probability 0
        values = values[:-1]
    return float(edges[values.argmax()])


def choose_positive(label: Any, classes: Sequence[str]) -> str | None:
    """Return the one of two classes that a label names; None where there is no label, which leaves it to the header.

    Raises ValueError where the label names none of two classes.
    """
    if label is None:
        return None
    if len(classes) != 2:
        raise ValueError(
            f'--positive: expected two classes, found {len(classes) or "a regression"}: leave --positive out, or set '
            'positive=None in Python'
        )
    label = write_label(label)
    keys = label_keys([*classes, label])  # '1', '+1' and '1.0' name one class
    for name in classes:
        if keys[name] == keys[label]:
            return name
    raise ValueError(
        f'--positive: expected {quote(classes[0])} or {quote(classes[1])}, the classes, found {quote(label)}'
    )
