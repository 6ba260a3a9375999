"""The blocks of the README, as a person would copy them."""
import re
import shlex
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
README = (ROOT / 'README.md').read_text(encoding='utf-8')
BLOCKS = [(tag, dedent(body)) for _, tag, body in
          re.findall(r'^( *)```([a-z ]+)\n(.*?)^ *```$', README, flags=re.MULTILINE | re.DOTALL)]


def commands(body):
    """Yield the words of each command of a block, lines that end in a backslash joined."""
    for line in body.replace('\\\n', ' ').splitlines():
        if words := shlex.split(line, comments=True):
            yield words
