"""The pages that name code: every word of the glossary once, and every name where its link leads."""

import ast
import re
from itertools import chain
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / 'docs'


def names_on(page):
    """List (name, path) of the links of a page that lead to a name in a module."""
    text = (DOCS / page).read_text(encoding='utf-8')
    return re.findall(r'\[`(\w+)`\]\((\S+\.py)\)', text)


def defined_names(path):
    """Return the names of the classes, functions and variables that a module defines."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding='utf-8'))))
    return {node.name for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef))} | {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def test_every_word_stands_once():
    rows = re.findall(
        r'^\| ([^|]+) \|.*\| \[`\w+`\]\(\S+\) \|$', (DOCS / 'glossary.md').read_text(encoding='utf-8'), re.MULTILINE
    )
    assert len(rows) > 50 and len(set(rows)) == len(rows)


def test_step_and_grid_have_one_meaning_in_the_pages_on_stages():
    """A step is what a sum is rounded to, in m.grid.json; a grid is the candidates of a search, which have no page."""
    for page in ('stages.md', 'wire.md'):
        text = (DOCS / page).read_text(encoding='utf-8')
        assert re.findall(r'(?<![\w.-])grids?(?![\w.])', text) == []
        assert [
            part
            for part in re.split(r'\n(?=\n|\* )', text)
            if re.search(r'\bsteps?\b(?! \d)', part) and 'grid' not in part
        ] == []


@pytest.mark.parametrize(
    'paper, last', [('PESVM', 8), ('Sparse ELM', 45), ('OELM', 6), ('SphereSVM', 6), ('MR-KELM', 6)]
)
def test_every_numbered_equation_of_a_paper_stands_in_its_table(paper, last):
    section = (DOCS / 'papers.md').read_text(encoding='utf-8').partition(f'## {paper}\n')[2].partition('\n## ')[0]
    cells = re.findall(r'^\| (\d[^|]*) \|', section, re.MULTILINE)
    numbers = [
        range(int(first), int(end or first) + 1)
        for cell in cells
        for first, end in re.findall(r'(\d+)(?: - (\d+))?', cell.partition('theorem')[0])
    ]
    assert sorted(chain(*numbers)) == list(range(1, last + 1))


@pytest.mark.parametrize('page', ['glossary.md', 'papers.md'])
def test_every_name_is_defined_where_the_page_says(page):
    names = names_on(page)
    assert len(names) > 50
    assert [name for name, path in names if name not in defined_names((DOCS / path).resolve())] == []
