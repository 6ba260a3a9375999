"""Add floating-point numbers as fractions, where nothing is ever rounded."""

from fractions import Fraction


def exact_sum(values):
    """Return the sum as a Fraction."""
    return sum(map(Fraction, values), Fraction())


def to_grid(value, step):
    """Round a number to a multiple of step, halves to even."""
    return Fraction(step) * round(Fraction(value) / Fraction(step))
