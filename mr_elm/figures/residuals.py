"""Draw what a regression predicts beside what is true."""

from pathlib import Path

from mr_elm.figures.figure import open_figure
from mr_elm.typing import Floats


def draw(actual: Floats, predicted: Floats, path: str | Path, coverage: tuple[Floats, Floats] | None = None) -> None:
    """Draw the predictions over the true values, the errors over the predictions, and the coverage of intervals.

    actual, predicted : (n,). coverage : shares of the targets that intervals are to hold, and that they hold, or None.
    """
    columns = 2
    if coverage is not None:
        columns = 3
    with open_figure(path, columns=columns, figsize=(5 * columns, 4)) as (_, (left, right, *others)):
        left.axline((actual[0], actual[0]), slope=1, linestyle=':', color='grey')
        left.plot(actual, predicted, '.', alpha=0.5)
        left.set(xlabel='true value', ylabel='prediction')
        left.locator_params(axis='x', nbins=5)  # prices have many digits
        right.axhline(0, linestyle=':', color='grey')
        right.plot(predicted, actual - predicted, '.', alpha=0.5)
        right.set(xlabel='prediction', ylabel='true value less prediction')
        if coverage is not None:
            others[0].axline((0, 0), slope=1, linestyle=':', color='grey')
            others[0].plot(*coverage)
            others[0].set(xlabel='coverage of the intervals', ylabel='share of the true values in them')
