"""Draw comparisons as dots, one a data set: the reader sees all of them, not a mean."""
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.verdict import EVEN, Claim, is_steady
from mr_elm.figures.figure import open_figure

OFFSETS = (0, 0.3, -0.3, 0.1, -0.1, 0.2, -0.2)  # of neighbouring dots, so that they do not hide each other
TIMES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
POINTS = (-50, -20, -10, -5, -2, -1, 0, 1, 2, 5, 10, 20, 50)


def draw_speed(groups: dict[str, list[Claim]], path: Path) -> None:
    """Draw how many times faster we are than each peer, on a logarithmic scale; unsteady runs give hollow dots."""
    rows = {name: [(claim.value, is_steady(claim.runs)) for claim in claims] for name, claims in groups.items()}
    with open_rows(path, rows, 1) as axes:
        axes.set_xscale('log')
        axes.axvspan(1 / EVEN, EVEN, color='#dddddd', linewidth=0, zorder=0)
        set_ticks(axes, TIMES)
        axes.set_xlabel('times faster than the peer (1 = equal; grey: even)')


def draw_accuracy(differences: dict[str, list[float]], path: Path) -> None:
    """Draw how many points of accuracy we are above each peer, linear between -1 and 1 and logarithmic outside."""
    rows = {name: [(value, True) for value in values] for name, values in differences.items()}
    with open_rows(path, rows, 0) as axes:
        axes.set_xscale('symlog', linthresh=1, linscale=0.5)
        set_ticks(axes, POINTS)
        axes.set_xlabel('points of accuracy above the peer (0 = equal)')


@contextmanager
def open_rows(path: Path, rows: dict[str, list[tuple]], equal: float) -> Iterator[Any]:
    """Give axes with a row of dots for each comparison; a bar marks the median, a line where both sides are equal."""
    with open_figure(path, figsize=(7, 0.9 + 0.55 * len(rows))) as (_, axes):
        axes.axvline(equal, color='black', linewidth=1)
        for y, values in enumerate(rows.values()):
            draw_row(axes, y, values)
        axes.set_yticks(range(len(rows)), [describe_row(name, values, equal) for name, values in rows.items()])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis='x', alpha=0.3)
        axes.spines[['top', 'right', 'left']].set_visible(False)
        axes.tick_params(left=False)
        yield axes


def draw_row(axes: Any, y: int, values: list[tuple]) -> None:
    """Draw the dots of a comparison and their median. values : (value, is it steady)."""
    dots = [(value, y + OFFSETS[number % len(OFFSETS)], steady)
            for number, (value, steady) in enumerate(sorted(values))]
    for is_filled, face in ((True, 'black'), (False, 'white')):
        some = [(value, height) for value, height, steady in dots if steady == is_filled]
        axes.plot([value for value, _ in some], [height for _, height in some], 'o', markersize=4, markeredgewidth=0.8,
                  color='black', markerfacecolor=face, alpha=0.75)
    axes.plot([median(value for value, _ in values)] * 2, [y - 0.4, y + 0.4], color='#d1495b', linewidth=2.5)


def describe_row(name: str, values: list[tuple], equal: float) -> str:
    """Name a comparison, and say how often we are ahead."""
    ours, _, peer = name.partition(' : ')
    ahead, behind = (sum(side * value > side * equal for value, _ in values) for side in (1, -1))
    return f'{ours} against\n{peer}\nahead {ahead}, behind {behind}'


def set_ticks(axes: Any, ticks: tuple) -> None:
    """Write round numbers at the ticks that are in sight."""
    low, high = axes.get_xlim()
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(shown, [f'{tick:g}' for tick in shown])
    axes.set_xticks([], minor=True)
