"""The glossary: every word once, and every name where it says."""
import ast
import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / 'docs'
PAGE = (DOCS / 'glossary.md').read_text(encoding='utf-8')
ROWS = re.findall(r'^\| ([^|]+) \|.*\| \[`(\w+)`\]\((\S+)\) \|$', PAGE, re.MULTILINE)


def defined_names(path):
    """Return the names of the classes, functions and variables that a module defines."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding='utf-8'))))
    return ({node.name for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
            | {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)})


def test_every_word_stands_once():
    words = [word for word, _, _ in ROWS]
    assert len(words) > 50 and len(set(words)) == len(words)


def test_every_name_is_defined_where_the_glossary_says():
    assert [name for _, name, path in ROWS if name not in defined_names((DOCS / path).resolve())] == []
