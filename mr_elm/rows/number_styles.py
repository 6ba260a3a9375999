"""Read numbers as people write them: with a sign of a currency or %, and with separators between thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from mr_elm.errors import RowError
from mr_elm.rows.arrow_arrays import from_flags, to_texts
from mr_elm.rows.columns import MISSING_TEXTS, TextColumn
from mr_elm.rows.text import quote
from mr_elm.typing import Floats

CURRENCIES = '$€£¥₹'
PLAIN = r'(?:[0-9]+{point}?[0-9]*|{point}[0-9]+)(?:[eE][-+]?[0-9]+)?'
SEPARATORS = {'.': ", '_", ',': ". '_"}  # of thousands, by the decimal point; _ stands for a no-break space
NO_BREAK_SPACE = '\u00a0'


@dataclass(frozen=True)
class Style:
    """Say how the numbers of a column are written.

    prefix, suffix : a sign of a currency or %, or ''. thousands : what separates groups of three digits, or ''.
    """

    prefix: str = ''
    suffix: str = ''
    thousands: str = ''

    def __str__(self) -> str:
        signs = [repr(sign) for sign in (self.prefix, self.suffix) if sign]
        if signs:
            parts = [f'with {" and ".join(signs)}']
        else:
            parts = []
        if self.thousands:
            parts.append(f'with {self.thousands!r} between thousands')
        return ' and '.join(parts)

    def pattern(self, decimal: str) -> str:
        """Return the regular expression of a number of this style; its sign and its separators may be left out."""
        point = re.escape(decimal)
        plain = PLAIN.format(point=point)
        if self.thousands:
            plain = rf'(?:[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+(?:{point}[0-9]*)?|{plain})'
        prefix = ''
        if self.prefix:
            prefix = rf'(?:{re.escape(self.prefix)} ?)?'
        suffix = ''
        if self.suffix:
            suffix = rf'(?: ?{re.escape(self.suffix)})?'
        return rf'^(?:[-+]?{prefix}|{prefix}[-+]?){plain}{suffix}$'

    def read(self, texts: Any, decimal: str = '.') -> Floats:
        """Read texts, a pyarrow.StringArray or a sequence, as numbers, NaN for missing ones.

        Raises RowError at any other text.
        """
        texts, compute = to_texts(texts), import_module('pyarrow.compute')
        missing = compute.is_in(texts, value_set=to_texts(MISSING_TEXTS))
        right = compute.or_(missing, compute.match_substring_regex(texts, self.pattern(decimal)))
        if right.false_count:
            text = texts[int(np.argmin(from_flags(right)))].as_py()
            raise RowError('not a number', f'holds {quote(text)}, and its numbers are written {self}')
        signs = f'[{re.escape(self.prefix + self.suffix + self.thousands)} ]'
        plain = compute.if_else(missing, to_texts([''])[0], compute.replace_substring_regex(texts, signs, ''))
        return TextColumn(plain, decimal).numbers()


def find_style(values: Sequence[str], decimal: str) -> Style | None:
    """Return how all numbers of a column are written, the plain Style where without signs, None where not alike.

    values : of a column, without missing ones.
    """
    plain = re.compile('[-+]?' + PLAIN.format(point=re.escape(decimal)))
    if all(map(plain.fullmatch, values)):
        return Style()
    matches = [styled_number(decimal).fullmatch(value) for value in values]
    signs = {(match['prefix'] or '', match['suffix'] or '') for match in matches if match}
    if None in matches or len(signs) != 1:
        return None
    separators = {match['thousands'] for match in matches if match and match['thousands']}
    if len(separators) > 1:
        return None
    return Style(*signs.pop(), separators.pop() if separators else '')


@cache
def styled_number(decimal: str) -> re.Pattern[str]:
    """Return the pattern of a number of any style; without separators its whole part has any number of digits."""
    sign, point = rf'[{re.escape(CURRENCIES)}]', re.escape(decimal)
    separator = f'[{SEPARATORS[decimal].replace("_", NO_BREAK_SPACE)}]'.replace(decimal, '')
    grouped = rf'[0-9]{{1,3}}(?P<thousands>{separator})[0-9]{{3}}(?:(?P=thousands)[0-9]{{3}})*(?:{point}[0-9]*)?'
    return re.compile(
        rf'(?:[-+]?(?P<prefix>{sign}) ?)?[-+]?(?:{grouped}|{PLAIN.format(point=point)})'
        rf'(?: ?(?P<suffix>%|{sign}))?'
    )
