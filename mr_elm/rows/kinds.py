"""Know the kinds of rows by name. A new kind is a module with a `Kind`, and a line in `options.KINDS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from mr_elm.errors import RowError
from mr_elm.rows.blocks import Block
from mr_elm.rows.options import KINDS, RowOptions


def refuse_text(*arguments: object) -> Any:
    """Stand for what a kind does not offer: parsing where rows are no lines of text, opening where they are."""
    raise TypeError(f'expected rows of another kind, found {arguments[-1]}')


@dataclass(frozen=True)
class Kind:
    """Say how rows of one kind are found and read.

    choose_format : (first lines, path, RowOptions) -> RowOptions of a file. Raises DataFormatError.
    recognise : first lines -> whether they are of this kind.
    endings : of the names of such files, or none: then the first lines tell, before any name does.
    parse : (whole lines as bytes, RowOptions) -> Block of their rows. Raises ValueError when any line is no row, or
    cannot be read; numbers and labels that cannot be used are found behind it.
    diagnose : (line, RowOptions) -> RowError that says why a line cannot be read, None where it can.
    comment : what a line that is no row begins with, or None.
    sparse : whether rows are sparse; their width is that of the widest.
    reader : class that reads splits of other lines than text, such as `WireReader`; None for `LineReader`.
    magic : what files begin with that are no text; then `open` stands for choose_format, recognise and parse.
    open : (path or seekable file, name of the file) -> the file in parts, for a kind with magic.
    describe : says in words how a file is read, '' where that had not to be decided.
    """

    choose_format: Callable[[list[str], str, RowOptions], RowOptions] = refuse_text
    recognise: Callable[[list[str]], bool] = refuse_text
    endings: tuple[str, ...] = ()
    parse: Callable[[bytes, RowOptions], Block] = refuse_text
    diagnose: Callable[[str, RowOptions], RowError | None] = refuse_text
    comment: str | None = None
    sparse: bool = False
    reader: type[Any] | None = None
    magic: tuple[bytes, ...] = ()
    open: Callable[[Any, str], Any] = refuse_text
    describe: Callable[[RowOptions], str] = lambda form: ''

    @property
    def unit(self) -> str:
        """Return what an error counts to say where a row is."""
        if self.reader is None:
            return 'line'
        return 'row'


def find_kind(name: str) -> Kind:
    """Return the Kind of a name in KINDS."""
    return resolve_name(KINDS[name])


def find_binary_kind(first_bytes: bytes) -> str | None:
    """Return the name of the kind whose files begin with some bytes; None for text."""
    for name in KINDS:
        magic = find_kind(name).magic
        if magic and first_bytes.startswith(magic):
            return name
    return None


def is_text(name: str) -> bool:
    """Tell whether a name is that of a kind of text, which is read line by line."""
    return name in KINDS and find_kind(name).parse is not refuse_text
