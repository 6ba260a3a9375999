"""Turn Markdown and figures into HTML that needs no other file; whatever comes from files is escaped."""
import base64
import mimetypes
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

FOLDED = 40  # rows, from which a table is folded up
LARGEST = 1_000_000  # bytes of a drawing to take instead of its picture


def embed_figure(path: Path, title: str = '') -> str:
    """Return an <img> that holds its picture, or the drawing of the same name; words where there is none."""
    drawing = path.with_suffix('.svg')
    best = drawing if drawing.exists() and drawing.stat().st_size < LARGEST else path
    if not best.is_file():
        return f'<em>{escape(title or path.name)}: no figure of this name was found</em>'
    return f'<span class="figure"><img alt="{escape(title or path.stem)}" src="{embed_file(best)}"></span>'


def embed_file(path: Path) -> str:
    """Return a file as an address that holds it."""
    kind = mimetypes.guess_type(path.name)[0] or 'application/octet-stream'
    return f'data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}'


def render_markdown(text: str, folder: Path) -> str:
    """Return the HTML of a Markdown text whose figures are in a folder."""
    from markdown_it import MarkdownIt
    reader = MarkdownIt('commonmark', {'html': False}).enable('table')
    reader.add_render_rule('image', lambda _, tokens, i, *__: embed_token(tokens[i], folder))
    tokens = reader.parse(text)
    for token, n_rows in find_tables(tokens):
        token.attrs['n_rows'] = n_rows
    reader.add_render_rule('table_open', lambda _, tokens, i, *__: open_table(tokens[i].attrs['n_rows']))
    reader.add_render_rule('table_close', lambda _, tokens, i, *__: close_table(tokens[i].attrs['n_rows']))
    return reader.renderer.render(tokens, reader.options, {})


def embed_token(token: Any, folder: Path) -> str:
    """Return the figure of a token; only files below the folder are shown."""
    path = folder / unquote(token.attrs['src'])
    inside = path.resolve().is_relative_to(folder.resolve())
    return embed_figure(path if inside else folder / path.name, token.content)


def find_tables(tokens: list) -> Iterator[tuple[Any, int]]:
    """Yield the opening and the closing token of each table with its number of rows."""
    start = None
    for token in tokens:
        if token.type == 'table_open':
            start, n_rows = token, -1  # the head is no row
        elif token.type == 'tr_open':
            n_rows += 1
        elif token.type == 'table_close':
            yield start, n_rows
            yield token, n_rows


def open_table(n_rows: int) -> str:
    """Begin a table, folded up when it is long; it scrolls by itself where it is too wide."""
    fold = f'<details><summary>all {n_rows} rows</summary>' if n_rows > FOLDED else ''
    return f'{fold}<div class="wide"><table>'


def close_table(n_rows: int) -> str:
    """End a table."""
    return '</table></div>' + ('</details>' if n_rows > FOLDED else '')


def write_link(path: Path) -> str:
    """Return a link by which a file that the page holds can be saved."""
    return f'<a download="{escape(path.name)}" href="{embed_file(path)}">{escape(path.name)}</a>'


def write_pairs(values: dict[str, str]) -> str:
    """Return a table of what -> how much."""
    rows = ''.join(f'<tr><th scope="row">{escape(key)}</th><td>{escape(value)}</td></tr>'
                   for key, value in values.items())
    return f'<div class="wide"><table class="pairs">{rows}</table></div>'
