"""Open a figure to draw in, and write it to files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mr_elm.errors import import_package


@contextmanager
def open_figure(
    *paths: str | Path, rows: int = 1, columns: int = 1, dpi: int = 150, **look: Any
) -> Iterator[tuple[Any, Any]]:
    """Give a figure and the axes of its panels; it is written to all paths at the end, and closed.

    paths : those that end in .svg become drawings, all others png. dpi : of a png. look : options of pyplot.subplots.
    """
    import_package('matplotlib', '--figure').use('Agg')
    from matplotlib import pyplot

    pyplot.rcParams['svg.hashsalt'] = 'mr_elm'  # the same drawing is the same file
    figure, axes = pyplot.subplots(rows, columns, layout='constrained', **look)
    try:
        yield figure, axes
        for path in paths:
            if str(path).endswith('.svg'):
                figure.savefig(path, format='svg', metadata={'Date': None})
            else:
                figure.savefig(path, dpi=dpi, format='png')
    finally:
        pyplot.close(figure)
