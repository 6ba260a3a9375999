"""Draw what a regression predicts beside what is true."""

from pathlib import Path

from mr_elm.figures.figure import open_figure
from mr_elm.typing import Floats


def draw(actual: Floats, predicted: Floats, path: str | Path) -> None:
    """Draw the predictions over the true values, and the errors over the predictions. actual, predicted : (n,)."""
    with open_figure(path, columns=2, figsize=(10, 4)) as (_, (left, right)):
        left.axline((actual[0], actual[0]), slope=1, linestyle=':', color='grey')
        left.plot(actual, predicted, '.', alpha=0.5)
        left.set(xlabel='true value', ylabel='prediction')
        right.axhline(0, linestyle=':', color='grey')
        right.plot(predicted, actual - predicted, '.', alpha=0.5)
        right.set(xlabel='prediction', ylabel='true value less prediction')
