"""The blocks of the pages of the manual, as a person would copy them."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
PAGES = ['README.md', *(str(page.relative_to(ROOT)) for page in sorted(ROOT.glob('docs/**/*.md')))]


def read_page(name):
    """Return the text of a page."""
    return (ROOT / name).read_text(encoding='utf-8')


def blocks_of(text):
    """List (tag, body) of the blocks of code of a page."""
    return [
        (tag, dedent(body))
        for _, tag, body in re.findall(r'^( *)```([a-z ]+)\n(.*?)^\1```$', text, flags=re.MULTILINE | re.DOTALL)
    ]


README = read_page('README.md')
BLOCKS = blocks_of(README)


def commands(body):
    """Yield the words of each command of a block, lines that end in a backslash joined."""
    for line in body.replace('\\\n', ' ').splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def shown_commands(body):
    """Yield (command, what it prints) of a console."""
    for part in re.split(r'^\$ ', body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition('\n')
        yield command, shown


def commands_on_hadoop(page):
    """List (command, what it prints) of the consoles of a page that need a Hadoop."""
    bodies = [body for tag, body in blocks_of(read_page(page)) if tag == 'console hadoop']
    return [pair for body in bodies for pair in shown_commands(body)]


def run_script(script, folder, given='', **environ):
    """Run a script of the shell in a folder, with the programs of this Python; returns the completed process.

    given : what its first command reads from standard input.
    """
    path = f'{os.path.dirname(sys.executable)}:{os.environ["PATH"]}'
    return subprocess.run(
        ['sh', '-e', '-c', script],
        input=given,
        cwd=folder,
        env={**os.environ, 'PATH': path, **environ},
        capture_output=True,
        text=True,
        timeout=600,
    )
