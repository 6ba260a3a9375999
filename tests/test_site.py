"""The site of the manual: docstrings become reStructuredText, and links of a built site are checked."""

import re
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread
from reference.manual import PAGES, ROOT, read_page

sys.path.insert(0, str(Path(__file__).parents[1] / 'docs/site'))
from docstrings import convert_docstring
from links import find_faults
from navigation import NAVIGATION


def test_every_page_of_the_manual_is_in_the_navigation_once():
    listed = [name for names in NAVIGATION.values() for name in names]
    assert len(listed) == len(set(listed))
    assert {page[len('docs/') : -len('.md')] for page in PAGES if page != 'README.md'} <= set(listed)


def test_the_gallery_shows_each_figure_that_its_script_draws():
    script = (ROOT / 'docs/figures/draw.py').read_text(encoding='utf-8')
    drawn = re.findall(r"^    '([\w-]+)': draw_", script, flags=re.MULTILINE)
    assert drawn == re.findall(r'\(figures/([\w-]+)\.png\)', read_page('docs/gallery.md'))
    assert len(drawn) == 6


@pytest.mark.parametrize('figure', sorted((ROOT / 'docs/figures').glob('*.png')), ids=lambda path: path.stem)
def test_a_figure_lies_on_the_page_without_a_background_of_its_own(figure):
    assert imread(figure)[0, 0, 3] == 0


@pytest.mark.parametrize('page', PAGES)
def test_no_line_of_a_sentence_begins_with_a_sign_that_makes_it_a_quotation_or_an_item(page):
    """Lists begin with `*` or numbers, and nothing is quoted: `> 0` where a line begins is a mistake."""
    prose = re.sub(r'^( *)```.*?^\1```$', '', read_page(page), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r'^ *[>+-] .*', prose, flags=re.MULTILINE) == []


@pytest.mark.parametrize('page', PAGES)
def test_a_block_of_code_ends_with_the_fence_that_begins_it(page):
    """Markdown takes a fence that is indented further for a line of the code, and the text below too."""
    fences = re.findall(r'^( *)(`{3,}|~{3,})(.*)$', read_page(page), flags=re.MULTILINE)
    assert len(fences) % 2 == 0
    for (indent, marks, _), closing in zip(fences[::2], fences[1::2], strict=True):
        assert closing == (indent, marks, '')


@pytest.mark.parametrize(
    'docstring, converted',
    [
        ('Read a\nBlock.', ['Read a Block.']),
        ('a : 1. b, c : the\n    rest.\nRaises it.', ['- **a** – 1.', '- **b, c** – the rest.', 'Raises it.']),
        ('As `Block` of `x`.', ['As :py:obj:`Block <io.Block>` of ``x``.']),
        ('Fit. As in A; b : 1.', ['Fit. As in A;', '- **b** – 1.']),
        ('|a| * model_', [r'\|a\| \* model\_']),
        ('>>> 1\n1', ['>>> 1', '1']),
        ('Solve\n\n    min |x|', ['Solve', '.. code-block:: text', '       min |x|']),
        ('Map:    read\nReduce: add', ['.. code-block:: text', '   Map:    read', '   Reduce: add']),
        ('Parameters\n----------\nC : > 0.', ['.. rubric:: Parameters', '- **C** – > 0.']),
    ],
)
def test_a_docstring_is_plain_text_with_lists_of_arguments_code_and_examples(docstring, converted):
    lines = convert_docstring(docstring.split('\n'), {'Block': 'io.Block'})
    assert [line for line in lines if line] == converted


@pytest.mark.parametrize(
    'link, fault',
    [
        ('href="b.html#here"', None),
        ('href="https://example.org/a"', None),
        ('href="c.html"', 'no such file'),
        ('href="b.html#there"', 'no such anchor'),
        ('href="#there"', 'no such anchor'),
        ('href="https:/example"', 'not an address'),
        ('src="https://example.org/a.js"', 'loaded from elsewhere'),
    ],
)
def test_a_dead_link_of_a_site_is_found(link, fault, tmp_path):
    (tmp_path / 'b.html').write_text('<h1 id="here">b</h1>')
    (tmp_path / 'a.html').write_text(f'<a {link}>b</a>')
    faults = list(find_faults(tmp_path))
    assert [found.rsplit(': ')[-1] for found in faults] == ([fault] if fault else [])
