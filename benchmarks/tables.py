"""Lay out a table of a page."""

from collections.abc import Iterable


def write_table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return the lines of a table in Markdown."""
    heads = list(heads)
    return '\n'.join(f'| {" | ".join(cells)} |' for cells in (heads, ['---'] * len(heads), *rows))
