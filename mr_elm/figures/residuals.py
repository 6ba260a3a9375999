"""Draw what a regression predicts beside what is true."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mr_elm.figures.figure import as_text, open_figure
from mr_elm.typing import Floats


def draw(
    actual: Floats,
    predicted: Floats,
    names: Sequence[str],
    coverage: tuple[Floats, Floats] | None,
    path: str | Path,
) -> None:
    """Draw the predictions over the true values, the errors over the predictions, and the coverage of intervals.

    actual, predicted : (n,), or (n, K). names : of the first targets, each of which has a row of panels.
    coverage : shares of the targets that intervals are to hold, and that they hold, or None.
    """
    columns = 2
    if coverage is not None:
        columns = 3
    rows = len(names)
    with open_figure(path, rows=rows, columns=columns, figsize=(5 * columns, 4 * rows), squeeze=False) as (
        figure,
        axes,
    ):
        targets, predictions = np.atleast_2d(actual.T), np.atleast_2d(predicted.T)
        if rows < len(targets):
            figure.suptitle(f'the first {rows} of {len(targets)} targets')
        for (left, right, *others), name, true, said in zip(axes, names, targets, predictions, strict=False):
            left.axline((true[0], true[0]), slope=1, linestyle=':', color='grey')
            left.plot(true, said, '.', alpha=0.5)
            left.set(xlabel='true value', ylabel='prediction', title=as_text(name))
            for panel in (left, right):
                panel.locator_params(axis='x', nbins=5)  # prices have many digits
            right.axhline(0, linestyle=':', color='grey')
            right.plot(said, true - said, '.', alpha=0.5)
            right.set(xlabel='prediction', ylabel='true value less prediction')
            if coverage is not None:
                others[0].axline((0, 0), slope=1, linestyle=':', color='grey')
                others[0].plot(*coverage)
                others[0].set(xlabel='coverage of the intervals', ylabel='share of the true values in them')
