"""Lay out a table of a page."""

from collections.abc import Iterable
from statistics import fmean


def write_table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return the lines of a table in Markdown."""
    heads = list(heads)
    return '\n'.join(f'| {" | ".join(cells)} |' for cells in (heads, ['---'] * len(heads), *rows))


def tabulate(keys: tuple[str, ...], columns: tuple[str, ...], over: str, rows: list[dict]) -> str:
    """Lay out the means of columns over the rows that have the keys in common. over : see `Part`."""
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    common = set.intersection(*({row.get(over, '') for row in group} for group in groups.values()))
    lines = []
    for key, group in groups.items():
        same = [row for row in group if row.get(over, '') in common]
        means = [f'{fmean(row[column] for row in same):.4g}' for column in columns if same]
        lines.append([*map(str, key), *means])
    table = write_table((*keys, *columns), lines)
    return f'{table}\n\nMeans over {", ".join(sorted(common))}.' if over else table
