"""Read and quote pieces of text, the same for all readers of rows."""
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

import numpy as np

LINE_END = ord('\n')


def read_number(text: str, decimal: str = '.') -> float | None:
    """Read a plain decimal number, or return None for any other text. decimal : its decimal point."""
    if decimal != '.':
        if '.' in text:
            return None
        text = text.replace(decimal, '.')
    try:
        return None if '_' in text or not text.isascii() else float(text)
    except ValueError:
        return None


def read_exact(text: str) -> Decimal | None:
    """Read a finite decimal number without rounding it, or return None for any other text."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and '_' not in text else None


def quote(text: str, limit: int = 40) -> str:
    """Quote a piece of input for a message, shortened and without control characters."""
    text = str(text) if len(text) <= limit else text[:limit] + '...'  # str: of numpy's, repr would name the type
    return ascii(text) if not text.isprintable() else repr(text)


def find_repeated(names: Iterable[str]) -> tuple[str, int] | None:
    """Return the first name that occurs more than once, and how often; None where there is none."""
    return next(((name, count) for name, count in Counter(names).items() if count > 1), None)


def find_line_ends(text: bytes) -> np.ndarray:
    """Tell which bytes are line ends: (n,) bool."""
    return np.frombuffer(text, np.uint8) == LINE_END
