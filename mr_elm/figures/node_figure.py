"""Draw the results of cross-validation over hidden nodes."""

from pathlib import Path
from typing import Any

import numpy as np

from mr_elm.figures.figure import open_figure
from mr_elm.figures.heatmap import draw_cells


def draw(scores: list, best: Any, path: str | Path) -> None:
    """Draw the error over nu and L for the best kind of nodes, and the least error over the weight scale of the others.

    scores : list of NodeScore over a full grid. best : the one chosen. path : of the png.
    """
    with open_figure(path, columns=2, figsize=(11, 4.2)) as (figure, (left, right)):
        image = draw_heat_map(left, [score for score in scores if score.kind == best.kind], best)
        figure.colorbar(image, ax=left, label='held-out squared error')
        draw_curves(right, scores)


def draw_heat_map(axes: Any, scores: list, best: Any) -> Any:
    """Draw error over nu and L, the chosen cell ringed, cells that are not trusted crossed out."""
    from matplotlib.colors import LogNorm

    nus, sizes = (sorted({getattr(score, name) for score in scores}) for name in ('nu', 'n_hidden'))
    values, doubtful = np.full((len(nus), len(sizes)), np.nan), []
    for score in scores:
        cell = nus.index(score.nu), sizes.index(score.n_hidden)
        values[cell] = score.error
        if not score.trusted:
            doubtful.append(cell[::-1])
    trusted = [score.error for score in scores if score.trusted]
    chosen, norm = (nus.index(best.nu), sizes.index(best.n_hidden)), LogNorm(min(trusted), max(trusted))
    image = draw_cells(axes, values, sizes, nus, chosen, 'viridis_r', norm=norm)
    if doubtful:
        axes.plot(*zip(*doubtful, strict=True), 'rx', label='nu too large to trust')
        axes.legend(loc='upper left')
    axes.set(xlabel='hidden nodes', ylabel='nu', title=best.kind.describe())
    return image


def draw_curves(axes: Any, scores: list) -> None:
    """Draw the least error over the weight scale, a curve for each family of nodes."""
    least: dict[tuple[str, float], float] = {}
    for score in scores:
        if score.trusted:
            kind = score.kind.family, score.kind.weight_scale
            least[kind] = min(score.error, least.get(kind, np.inf))
    for name in dict.fromkeys(name for name, _ in least):
        points = sorted((scale, error) for (family, scale), error in least.items() if family == name)
        axes.plot(*zip(*points, strict=True), marker='o', label=name)
    scales = sorted({scale for _, scale in least})
    axes.set(xscale='log', xlabel='weight scale', ylabel='held-out squared error', title='best nu and L of each')
    axes.set_xticks(scales, [f'{scale:g}' for scale in scales])
    axes.minorticks_off()
    axes.legend()
    axes.grid(alpha=0.3)
