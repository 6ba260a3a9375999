"""Draw how far the parts of a training are from each other."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mr_elm.figures.figure import as_text, open_figure

SHOWN_COLUMNS = 20  # those that differ most


def draw(drift: Mapping[str, float], shifts: Sequence[Mapping[str, float]], path: str | Path) -> None:
    """Draw the drift of each part as a bar, and beside it the shifts of the columns that differ most as a heat map.

    drift : name of a part -> how far its model is from that of the others. shifts : of each part, column -> how far its
    mean is, in standard deviations; none where nothing is known of columns. path : of the png.
    """
    n_columns = 0
    ratios = [3.0]
    if shifts:
        n_columns = min(len(shifts[0]), SHOWN_COLUMNS)
        ratios.append(0.4 * n_columns)
    size = 4 + 0.4 * n_columns, 2 + 0.3 * len(drift)
    with open_figure(path, columns=len(ratios), figsize=size, width_ratios=ratios) as (figure, axes):
        bars = np.ravel(axes)[0]
        bars.barh(range(len(drift)), list(drift.values()))
        bars.set_yticks(range(len(drift)), list(map(as_text, drift)))
        bars.set(xlabel='rms difference of predictions', title='drift of each part', ylim=(len(drift) - 0.5, -0.5))
        if not shifts:
            return
        values = np.array([list(each.values()) for each in shifts])
        shown = np.argsort(-values.max(axis=0))[:n_columns]
        image = axes[1].imshow(values[:, shown], aspect='auto', cmap='viridis', vmin=0)
        names = list(map(as_text, shifts[0]))
        axes[1].set_xticks(range(n_columns), [names[column] for column in shown], rotation=60, ha='right')
        axes[1].set_yticks([])
        axes[1].set(title='distance of means')
        figure.colorbar(image, ax=axes[1], label='standard deviations')
