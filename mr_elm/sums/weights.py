"""Weigh rows by their classes."""

from collections.abc import Mapping

from mr_elm.rows.blocks import Block
from mr_elm.sums.statistics import Classes
from mr_elm.typing import Floats


def class_weights(kind: str | None, classes: Classes | None) -> dict[str, float] | None:
    """Return label -> weight for 'balanced', W / (K W_k) with W_k the weight of a class and W of all; None for None."""
    if kind is None or classes is None:
        return None
    total = sum(classes.weights)
    return {name: total / (len(classes.names) * classes.weights[k]) for name, k in classes.index.items()}


def row_weights(block: Block, weight_of_label: Mapping[str, float] | None = None) -> Floats | None:
    """Return the weight of each row, (n,), or None when all count once."""
    if weight_of_label is None:
        return block.weights
    weights = block.look_up(weight_of_label)
    if block.weights is None:
        return weights
    return weights * block.weights
