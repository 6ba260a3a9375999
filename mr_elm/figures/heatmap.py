"""Draw the accuracy of cross-validation over a grid."""
from pathlib import Path

import numpy as np

from mr_elm.figures.figure import open_figure


def draw(scores: list, path: str | Path) -> None:
    """Draw Scores as a heat map, C across and the parameter with the most values down, the best one marked.

    Of several parameters each cell shows the best accuracy over the values of the others.

    scores : list of Score over a full grid. path : of the png.
    """
    name = max(scores[0].parameters, key=lambda name: len({score.parameters[name] for score in scores}), default=None)
    bounds = sorted({score.C for score in scores})
    widths = sorted({score.parameters.get(name) for score in scores}) if name else [None]
    values = np.full((len(widths), len(bounds)), np.nan)
    for score in scores:
        place = widths.index(score.parameters.get(name)), bounds.index(score.C)
        values[place] = np.fmax(values[place], score.accuracy)
    row, column = np.unravel_index(np.nanargmax(values), values.shape)
    with open_figure(path, figsize=(2.5 + 0.55 * len(bounds), 1.8 + 0.4 * len(widths))) as (figure, axes):
        image = axes.imshow(values, origin='lower', aspect='auto', cmap='viridis')
        axes.set_xticks(range(len(bounds)), [f'{C:g}' for C in bounds], rotation=45)
        axes.set_yticks(range(len(widths)), ['' if width is None else f'{width:.3g}' for width in widths])
        axes.plot(column, row, 'wo', markersize=11, markerfacecolor='none', markeredgewidth=2)
        axes.set(xlabel='C', ylabel=name or '', title=f'cross-validated accuracy, best {np.nanmax(values):.4f}')
        figure.colorbar(image, ax=axes)
