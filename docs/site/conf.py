"""Configure Sphinx, which builds the manual as a site: `make docs`."""

import re
import sys
from pathlib import Path

from sphinx.util.typing import stringify_annotation

sys.path.insert(0, str(Path(__file__).parent))
from docstrings import convert_docstring
from navigation import NAVIGATION
from pages import linked_names, write_pages

from mr_elm.typing import Floats, Weights

project = html_title = 'mr_elm'
extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.viewcode']
myst_heading_anchors = 4
smartquotes = False
suppress_warnings = ['misc.highlighting_failure']  # what a command prints is not always code
nitpicky = True
nitpick_ignore_regex = [('py:(?!obj).*', '.*')]  # in signatures: types of other projects

html_theme = 'furo'
html_static_path = ['site.css']
html_css_files = ['site.css']
html_search_scorer = str(Path(__file__).with_name('scorer.js'))
html_copy_source = html_show_sphinx = html_show_copyright = False

add_module_names = False
toc_object_entries = False  # copied for every page, they would take most of the time
autodoc_default_options = {'members': True, 'member-order': 'bysource', 'ignore-module-all': True}
viewcode_follow_imported_members = False  # all is described where it is defined
autodoc_preserve_defaults = True
SHORT_TYPES = {
    stringify_annotation(long, 'smart'): short
    for long, short in {Floats: 'ndarray', Weights: 'ArrayLike | None'}.items()
}
LINKED = linked_names()


def convert(app, what, name, member, options, lines):
    """Turn a docstring into reStructuredText; a package lists behind it what it offers of its modules."""
    offered = getattr(member, '__all__', ()) if what == 'module' else ()
    lines[:] = convert_docstring([*lines, '', *(f'- `{name}`' for name in offered)], LINKED)


def shorten(*event):
    """Write the types of a signature as the code does, and leave out Any; its arguments and result end the event."""
    texts = event[-2:]
    for long, short in SHORT_TYPES.items():
        texts = [text and text.replace(long, short) for text in texts]
    return tuple(text and re.sub(r': ~typing\.Any(?=[,)]| =)', '', text) for text in texts)


def skip_foreign(app, what, name, member, skip, options):
    """Leave out what estimators inherit from scikit-learn."""
    return skip or not str(getattr(member, '__module__', 'mr_elm')).startswith('mr_elm')


def setup(app):
    """Write the pages, and tell Sphinx how to read docstrings."""
    app.connect('config-inited', lambda app, config: write_pages(Path(app.srcdir), NAVIGATION))
    app.connect('autodoc-process-docstring', convert)
    app.connect('autodoc-process-signature', shorten)
    app.connect('autodoc-skip-member', skip_foreign)
