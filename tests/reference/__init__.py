"""Slow and obvious twins of what the library does fast."""
