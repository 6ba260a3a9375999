"""Draw the accuracy of cross-validation over a grid."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mr_elm.figures.figure import open_figure
from mr_elm.typing import Floats


def draw(scores: list, path: str | Path) -> None:
    """Draw Scores as a heat map, C across and the parameter of the kernel down, the best one marked.

    scores : list of Score over a full grid. path : of the png.
    """
    name = next(iter(scores[0].parameters), None)
    bounds = sorted({score.C for score in scores})
    widths = sorted({score.parameters.get(name) for score in scores})
    values = np.full((len(widths), len(bounds)), np.nan)
    for score in scores:
        values[widths.index(score.parameters.get(name)), bounds.index(score.C)] = score.accuracy
    with open_figure(path, figsize=(2.5 + 0.55 * len(bounds), 1.8 + 0.4 * len(widths))) as (figure, axes):
        image = draw_cells(axes, values, bounds, widths)
        axes.set(ylabel=name or '', title=f'cross-validated accuracy, best {np.nanmax(values):.4f}')
        figure.colorbar(image, ax=axes)


def draw_cells(
    axes: Any,
    values: Floats,
    bounds: Sequence[float],
    others: Sequence,
    best: tuple[int, int] | None = None,
    cmap: str = 'viridis',
    **look: Any,
) -> Any:
    """Draw values as a heat map, C across and the other parameter down, the best one ringed; return the image.

    values : (len(others), len(bounds)). best : cell, None for the largest value. look : options of imshow.
    """
    row, column = best or np.unravel_index(np.nanargmax(values), values.shape)
    image = axes.imshow(values, origin='lower', aspect='auto', cmap=cmap, **look)
    axes.set_xticks(range(len(bounds)), [f'{C:g}' for C in bounds], rotation=45)
    axes.set_yticks(range(len(others)), ['' if other is None else f'{other:.4g}' for other in others])
    for colour, width in (('white', 4), ('black', 1.5)):  # seen on dark and on bright cells
        axes.plot(column, row, 'o', markersize=19, color=colour, markerfacecolor='none', markeredgewidth=width)
    axes.set(xlabel='C')
    return image
