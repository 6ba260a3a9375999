"""Draw what a search has scored over its grid."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mr_elm.figures.figure import open_figure
from mr_elm.scores.selection import NodeScore
from mr_elm.typing import Floats


def draw(scores: list, best: Any, path: str | Path, goal: str = 'accuracy') -> None:
    """Draw what a search has scored as a heat map, the best cell ringed.

    scores : over a full grid. Of NodeScore the error over the nodes and nu is drawn, for the best kind of nodes, where
        nu can be trusted; of Score the accuracy over C and the parameter of the kernel. path : of the png. goal : what
        the accuracy is called.
    """
    if isinstance(best, NodeScore):
        trusted = [score for score in scores if score.kind == best.kind and score.trusted]
        cells = {(score.nu, score.n_hidden): score.error for score in trusted}
        chosen, across, down, cmap = (best.nu, best.n_hidden), 'hidden nodes', 'nu', 'viridis_r'
        title = f'{best.kind.describe()}:\nheld-out squared error'
        if best.accuracy is not None:  # decides among the finalists
            title += f'\nring: best {goal}\nof ten finalists'
    else:
        down = next(iter(best.parameters), '')
        cells = {(score.parameters.get(down), score.C): score.accuracy for score in scores}
        chosen, across, cmap = (best.parameters.get(down), best.C), 'C', 'viridis'
        title = f'held-out {goal},\nbest {best.accuracy:.4f}'
    rows, columns = (sorted({cell[axis] for cell in cells}) for axis in (0, 1))
    values = np.full((len(rows), len(columns)), np.nan)
    for (row, column), value in cells.items():
        values[rows.index(row), columns.index(column)] = value
    with open_figure(path, figsize=(2.5 + 0.55 * len(columns), 1.8 + 0.4 * len(rows))) as (figure, axes):
        ring = rows.index(chosen[0]), columns.index(chosen[1])
        image = draw_cells(axes, values, columns, rows, ring, cmap)
        axes.set(xlabel=across, ylabel=down, title=title)
        figure.colorbar(image, ax=axes)


def draw_cells(
    axes: Any,
    values: Floats,
    bounds: Sequence[float],
    others: Sequence,
    best: tuple[int, int] | None = None,
    cmap: str = 'viridis',
) -> Any:
    """Draw values as a heat map, C across and the other parameter down, the best one ringed; return the image.

    values : (len(others), len(bounds)). best : cell, None for the largest value.
    """
    row, column = best or np.unravel_index(np.nanargmax(values), values.shape)
    image = axes.imshow(values, origin='lower', aspect='auto', cmap=cmap)
    axes.set_xticks(range(len(bounds)), [f'{C:g}' for C in bounds], rotation=45)
    axes.set_yticks(range(len(others)), ['' if other is None else f'{other:.4g}' for other in others])
    for colour, width in (('white', 4), ('black', 1.5)):  # seen on dark and on bright cells
        axes.plot(column, row, 'o', markersize=19, color=colour, markerfacecolor='none', markeredgewidth=width)
    axes.set(xlabel='C')
    return image
