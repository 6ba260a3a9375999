"""Read and quote pieces of text, the same for all readers of rows."""

import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from mr_elm.errors import DataFormatError

LINE_END = ord('\n')
SPACE = '\t\n\v\f\r\x1c\x1d\x1e\x1f '  # of ASCII only: UTF-8 letters hold bytes that Latin-1 takes for space
BLANKS = ' \t'  # what may stand around a text, and never counts
SPACES = re.compile(f'[{SPACE}]+')


def read_number(text: str, decimal: str = '.') -> float | None:
    """Read a plain decimal number, or return None for any other text. decimal : its decimal point."""
    if decimal != '.':
        if '.' in text:
            return None
        text = text.replace(decimal, '.')
    try:
        if '_' in text or not text.isascii() or not text.isprintable():
            return None
        return float(text)
    except ValueError:
        return None


def read_exact(text: str) -> Decimal | None:
    """Read a finite decimal number without rounding it, or return None for any other text."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if number.is_finite() and '_' not in text:
        return number
    return None


def quote(text: str) -> str:
    """Quote a piece of input for a message, shortened and without control characters."""
    text = str(text)  # of numpy's, repr would name the type
    if len(text) > 40:
        text = text[:40] + '...'
    return repr(text)


def demand_distinct(place: str, names: Iterable[str], cure: str = '') -> None:
    """Raise DataFormatError, a ValueError, if two columns have the same name. cure : what to do, after a colon."""
    for name, count in Counter(names).items():
        if count > 1:
            raise DataFormatError(f'{place}: expected columns of different names, {count} are named {name!r}{cure}')


def split_lines(text: bytes) -> list[str]:
    """Decode whole lines with plain line ends byte for byte, and split them."""
    return text.decode('latin-1').split('\n')[:-1]


def split_white(line: str) -> list[str]:
    """Split at runs of white space."""
    if line.isascii():
        return line.split()
    return SPACES.split(line.strip(SPACE))
