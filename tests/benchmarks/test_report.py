"""The report: one file that needs no other, in which nothing is unescaped, and which names what is absent."""
import base64
import re
from html.parser import HTMLParser

import pytest

from benchmarks.report.__main__ import main
from benchmarks.report.page import FOLDED, render_markdown
from benchmarks.report.sections import SECTIONS

PICTURE = b'\x89PNG\r\n\x1a\n any bytes'
RAW = '<script>alert(1)</script>'


class Addresses(HTMLParser):
    """Gather the elements of a page, and the addresses that they name."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.tags, self.open = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.addresses += [value for name, value in attributes if name in ('src', 'href', 'srcset', 'action', 'data')]
        if tag in ('table', 'section', 'div', 'details', 'span'):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ('table', 'section', 'div', 'details', 'span'):
            assert self.open.pop() == tag


@pytest.fixture
def page(tmp_path):
    """Write a report of a folder with one page, its figure and its numbers."""
    (tmp_path / 'speedup.md').write_text(f'# Speedup {RAW}\n\n![curve](speedup.png) ![away](https://example.org/x.png)\n\n'
                                         f'| a | b |\n|---|---|\n| {RAW} | 2 |\n')
    (tmp_path / 'speedup.png').write_bytes(PICTURE)
    (tmp_path / 'speedup.csv').write_text('a,b\n1,2\n')
    main(tmp_path / 'report.html')
    return (tmp_path / 'report.html').read_text()


def test_the_page_needs_no_other_file(page):
    found = Addresses(page)
    assert all(re.match(r'data:|#', address) for address in found.addresses)
    assert not found.tags & {'script', 'link', 'iframe', 'object', 'embed'} and not found.open
    assert f'data:image/png;base64,{base64.b64encode(PICTURE).decode()}' in page
    assert f'data:text/csv;base64,{base64.b64encode(b"a,b" + bytes([10]) + b"1,2" + bytes([10])).decode()}' in page


def test_what_comes_from_files_is_escaped(page):
    assert RAW not in page and '&lt;script&gt;' in page


def test_what_is_absent_is_named_with_its_command(page):
    for part in SECTIONS:
        absent = f'is not there: <code>{part.command}</code>'
        assert (absent in page) == (part.key != 'speedup')
        assert page.count(f'id="{part.key}"') == 1


def test_a_figure_outside_of_the_folder_is_not_shown(tmp_path):
    (tmp_path / 'secret.png').write_bytes(PICTURE)
    (tmp_path / 'build').mkdir()
    assert 'data:' not in render_markdown('![x](../secret.png)', tmp_path / 'build')


@pytest.mark.parametrize('n_rows', [FOLDED, FOLDED + 1])
def test_only_long_tables_are_folded_up(tmp_path, n_rows):
    text = render_markdown('| a |\n|---|\n' + '| 1 |\n' * n_rows + '\nafter', tmp_path)
    assert ('<details>' in text) == (n_rows > FOLDED)
    assert text.count('<td>1</td>') == n_rows and not Addresses(text).open
