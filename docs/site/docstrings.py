"""Turn docstrings, which are plain text, into reStructuredText.

Paragraphs are filled, and lines `name : what it is` become a list. Lists, indented blocks, columns and examples stay.
"""

import re
from collections.abc import Iterator

NAMES = r'[A-Za-z][\w\\]*(?:, [A-Za-z][\w\\]*)*'  # with the backslashes of mark_up
ARGUMENT = re.compile(rf'(?:^|(?<=[.;] ))({NAMES}) : ')
COLUMNS = re.compile(r'\S {2,}\S|^ {8}')


def convert_docstring(lines: list[str], linked: dict[str, str]) -> list[str]:
    """Return the lines of a docstring as reStructuredText.

    linked : what stands between backticks -> the object that it is a link to.
    """
    converted = []
    for block in split_blocks(lines):
        converted += [*convert_block(block, linked), '']
    return converted


def split_blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the blocks between blank lines."""
    block: list[str] = []
    for line in [*lines, '']:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def convert_block(block: list[str], linked: dict[str, str]) -> list[str]:
    """Return a block as reStructuredText."""
    if block[0].startswith('>>>'):
        return block
    if block[0].startswith('- '):
        return [mark_up(line, linked) for line in block]
    if block[0].startswith(' ') or any(COLUMNS.search(line) for line in block):
        return ['.. code-block:: text', '', *('   ' + line for line in block)]
    if len(block) > 1 and set(block[1]) == {'-'}:
        return [f'.. rubric:: {block[0]}', '', *convert_block(block[2:], linked)]
    return [line for part in split_arguments(block) for line in [*fill(part, linked), '']]


def split_arguments(lines: list[str]) -> Iterator[list[str]]:
    """Yield the parts of a paragraph: the lines of an argument, or those of prose."""
    part: list[str] = []
    for line in lines:
        is_prose_behind = part and ARGUMENT.match(part[0]) and part[-1].endswith('.') and line[0].isupper()
        if part and (ARGUMENT.match(line) or is_prose_behind):
            yield part
            part = []
        part.append(line.strip())
    yield part


def fill(lines: list[str], linked: dict[str, str]) -> list[str]:
    """Return one paragraph: prose, and the arguments in it or below it as a list."""
    start, *parts = ARGUMENT.split(mark_up(' '.join(lines), linked))
    items = [f'- **{name}** – {what.strip()}' for name, what in zip(parts[::2], parts[1::2], strict=True)]
    return [start.strip(), '', *items] if start else items


def mark_up(text: str, linked: dict[str, str]) -> str:
    """Return plain text with its marks escaped, and what stands between backticks as code or link."""
    parts = re.split(r'`([^`]+)`', text)
    parts[::2] = [re.sub(r'([\\*|_`])', r'\\\1', part) for part in parts[::2]]
    parts[1::2] = [f':py:obj:`{part} <{linked[part]}>`' if part in linked else f'``{part}``' for part in parts[1::2]]
    return ''.join(parts)
