"""Write a page about a model: one file of HTML that needs no other."""

import os
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from mr_elm.export.facts import list_columns, list_facts
from mr_elm.figures.reliability import draw as draw_curves
from mr_elm.figures.residuals import draw as draw_residuals
from mr_elm.machines.evaluation import Evaluation
from mr_elm.model.base import Model
from mr_elm.store import temporary_folder
from mr_elm.typing import Floats

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #ffffff; --line: #d5d9de; --bar: #4c78a8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #16181b; --line: #3a3f45; --bar: #7aa6d8; } }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }
table { display: block; overflow-x: auto; border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem; border-bottom: 1px solid var(--line); }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td { overflow-wrap: break-word; }
figure { margin: 1rem 0; padding: .5rem; background: #ffffff; border: 1px solid var(--line); overflow-x: auto; }
figure svg { width: 100%; min-width: 40rem; height: auto; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); }
@media (max-width: 40rem) { body { margin: 1rem auto; } th, td { padding: .25rem .4rem; } }
"""
SHOWN_COLUMNS, SHOWN_CLASSES = 200, 30


def make_card(
    model: Model,
    name: str,
    test: tuple[str, Evaluation] | None = None,
    pairs: tuple[Floats, Floats] | None = None,
    importance: Sequence[float] | None = None,
) -> str:
    """Return the page. name : of the model's file.

    test : the name of labelled rows, and what the model says of them. pairs : their labels and predictions, both
        (n,) or (n, K), of a regression. importance : of the columns, where these rows were asked for it.
    """
    parts = [f'<h1>{escape(os.path.basename(name))}</h1>', table(list_facts(model).items())]
    if test is not None:
        parts += [f'<h2>Scores on {escape(os.path.basename(test[0]))}</h2>', *show_scores(model, test[1], pairs)]
    columns = list_columns(model, importance)
    columns.sort(key=lambda column: -(column[2] or 0))
    sections = [
        [column, kind, *([] if share is None else [f'{share:.4f}'])] for column, kind, share in columns[:SHOWN_COLUMNS]
    ]
    parts += [
        '<h2>Columns</h2>',
        table(sections, ['column', 'kind', *(['importance'] if len(sections[0]) > 2 else [])]),
    ]
    if len(columns) > SHOWN_COLUMNS:
        parts.append(f'<p>and {len(columns) - SHOWN_COLUMNS:,} more</p>')
    use = [
        f'mr-elm predict {os.path.basename(name)} rows.csv -o predictions.csv',
        '# in Python',
        'from mr_elm.estimators import to_estimator',
        'from mr_elm.model.file import read_model',
        f'to_estimator(read_model({os.path.basename(name)!r})).predict(X)',
    ]
    parts += [
        '<h2>How to use it</h2>',
        f'<pre>{escape(chr(10).join(use))}</pre>',
        f'<p>Written by mr_elm {version("mr_elm")} with numpy {version("numpy")}, scipy {version("scipy")} and Python '
        f'{python_version()}.</p>',
    ]
    head = f'<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>{escape(name)}</title>'
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n<style>{STYLE}</style>\n</head>\n<body>\n'
        + '\n'.join(parts)
        + '\n</body>\n</html>\n'
    )


def table(rows: Iterable[Sequence[Any]], names: Sequence[str] = ()) -> str:
    """Write a table; the first cell of a row names it."""
    head = ''
    if names:
        head = f'<tr>{"".join(f"<th>{escape(name)}</th>" for name in names)}</tr>\n'
    body = ''.join(
        f'<tr><th>{escape(str(first))}</th>{"".join(map(write_cell, others))}</tr>\n' for first, *others in rows
    )
    return f'<table>\n{head}{body}</table>'


def write_cell(value: Any) -> str:
    """Write a cell; numbers stand below each other."""
    if value is None:
        return '<td class="number">-</td>'
    if isinstance(value, (int, float)):
        return f'<td class="number">{value:,.6g}</td>'
    return f'<td>{escape(value)}</td>'


def show_scores(model: Model, evaluation: Evaluation, pairs: tuple[Floats, Floats] | None) -> Iterable[str]:
    """Yield tables and figures of the scores."""
    scores = evaluation.scores(model.classes, model.header.target_names, model.header.positive)
    yield table((name, value) for name, value in scores.items() if not isinstance(value, dict))
    for name in ('per_class', 'per_label', 'per_target'):
        rows = scores.get(name) or {}
        if 0 < len(rows) <= SHOWN_CLASSES:
            yield table(
                [(key, *row.values()) for key, row in rows.items()],
                [name.removeprefix('per_'), *next(iter(rows.values()))],
            )
    confusion = scores.get('confusion')
    if confusion and len(confusion['true']) <= SHOWN_CLASSES:
        yield table(
            [(name, *row) for name, row in zip(confusion['true'], confusion['rows'], strict=True)],
            ['true class, predicted:', *confusion['predicted']],
        )
    if pairs is not None:
        yield draw(draw_residuals, *pairs, (model.header.target_names or [''])[:SHOWN_CLASSES], None)
    if evaluation.rankings:
        yield draw(draw_curves, evaluation, model.classes, model.header.positive)


def draw(function: Any, *arguments: Any) -> str:
    """Return a figure as a part of a page. function : of the arguments and the path of the drawing."""
    with temporary_folder() as folder:
        path = os.path.join(folder, 'figure.svg')
        function(*arguments, path)
        text = Path(path).read_text(encoding='utf-8')
    drawing = re.sub(r'<metadata>.*?</metadata>', '', text[text.index('<svg') :], flags=re.DOTALL)
    return f'<figure>{drawing}</figure>'
