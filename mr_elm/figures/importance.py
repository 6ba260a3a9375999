"""Draw how important the columns of the rows are to a learned metric."""

from collections.abc import Mapping
from pathlib import Path

from mr_elm.figures.figure import as_text, open_figure

SHOWN_COLUMNS = 30  # columns in a figure


def draw(importance: Mapping[str, float], path: str | Path) -> None:
    """Draw a bar for each of the most important columns, the largest on top.

    importance : name -> share of the whole. path : of the png.
    """
    ranked = sorted(importance.items(), key=lambda item: -item[1])
    names, values = zip(*ranked[:SHOWN_COLUMNS], strict=True)
    with open_figure(path, figsize=(7, 1.2 + 0.24 * len(names))) as (_, axes):
        axes.barh(range(len(names)), values)
        axes.set_yticks(range(len(names)), list(map(as_text, names)))
        axes.invert_yaxis()
        axes.margins(y=0.5 / len(names))
        rest = ''
        if len(ranked) > SHOWN_COLUMNS:
            rest = f', {len(ranked) - SHOWN_COLUMNS} more are not shown'
        axes.set(xlabel='importance', title=f'importance of {len(names)} columns{rest}')
