"""Open a figure to draw in, and write it to files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mr_elm.errors import import_package
from mr_elm.rows.storage import write_file

GREY = '#797979'  # as far from a white page as from a dark one: a contrast of 4.3 with #ffffff and with #0d1117
LOOK: dict[Any, Any] = {
    'svg.hashsalt': 'mr_elm',  # the same drawing is the same file
    'savefig.transparent': True,
    'legend.facecolor': 'none',
    'axes.formatter.limits': (-5, 4),  # labels of more digits, as of prices, would overlap
    'axes.formatter.use_mathtext': True,
    **dict.fromkeys(('text.color', 'axes.labelcolor', 'axes.edgecolor', 'xtick.color', 'ytick.color'), GREY),
}


def as_text(name: str) -> str:
    """Return the name of a column or class for a figure; what stands between two $ would be read as mathematics."""
    return name.replace('$', r'\$')


@contextmanager
def open_figure(
    *paths: str | Path, rows: int = 1, columns: int = 1, dpi: int = 150, **look: Any
) -> Iterator[tuple[Any, Any]]:
    """Give a figure and the axes of its panels; it is written to all paths at the end, and closed.

    It has no background, and its words are grey, so it can be read on a white and on a dark page.

    paths : those that end in .svg become drawings, all others png. dpi : of a png. look : options of pyplot.subplots.
    """
    import_package('matplotlib', '--figure').use('Agg')
    from matplotlib import pyplot

    with pyplot.rc_context(LOOK):
        figure, axes = pyplot.subplots(rows, columns, layout='constrained', **look)
        try:
            yield figure, axes
            for path in map(str, paths):
                with write_file(path) as local:
                    if path.endswith('.svg'):
                        figure.savefig(local, format='svg', metadata={'Date': None})
                    else:
                        figure.savefig(local, dpi=dpi, format='png')
        finally:
            pyplot.close(figure)
