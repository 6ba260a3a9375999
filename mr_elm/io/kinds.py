"""Know the kinds of rows by name. A new kind is a module with a `Kind` that is called KIND, and a line in KINDS."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mr_elm.io.blocks import Block
from mr_elm.io.formats import RowError, RowFormat, RowOptions

# name -> module; csv stands last, it takes what no other kind recognises
KINDS = {
    'packed': 'mr_elm.io.packed_reader',
    'libsvm': 'mr_elm.io.libsvm_rows',
    'csv': 'mr_elm.io.csv_format',
}


def refuse_text(lines: object, form: RowFormat) -> Any:
    """Stand for parsing, where rows are no lines of text."""
    raise TypeError(f'expected a kind of text, found {form.kind}')


@dataclass(frozen=True)
class Kind:
    """Say how rows of one kind are found and read.

    choose_format : (first lines, path, RowOptions) -> RowFormat of a file. Raises DataFormatError.
    recognise : first lines -> whether they are of this kind.
    names : what names of such files match, or None: then the first lines tell, before any name does.
    parse : (lines, RowFormat) -> Block of their rows. Raises ValueError when any line cannot be used.
    diagnose : (line, RowFormat) -> RowError that says why a line cannot be used.
    comment : what a line that is no row begins with, or None.
    sparse : whether rows are sparse; their width is that of the widest.
    reader : class that reads splits of other lines than text, such as `PackedReader`; None for `LineReader`.
    """

    choose_format: Callable[[list[str], str, RowOptions], RowFormat]
    recognise: Callable[[list[str]], bool]
    names: re.Pattern[str] | None = None
    parse: Callable[[list[str], RowFormat], Block] = refuse_text
    diagnose: Callable[[str, RowFormat], RowError] = refuse_text
    comment: str | None = None
    sparse: bool = False
    reader: type[Any] | None = None


def find_kind(name: str) -> Kind:
    """Return the Kind of a name in KINDS."""
    return import_module(KINDS[name]).KIND


def name_pattern(*endings: str) -> re.Pattern[str]:
    """Return the pattern of files' names with one of some endings, compressed or not."""
    return re.compile(rf'\.({"|".join(endings)})(\.gz|\.bz2)?$', re.IGNORECASE)


def guess_kind(lines: list[str], path: str) -> str:
    """Tell the kind of a file by its first lines where no name of a file tells, by its name, or by its lines."""
    kinds = {name: find_kind(name) for name in KINDS}
    for name, kind in kinds.items():
        if kind.names is None and kind.recognise(lines):
            return name
    for name, kind in kinds.items():
        if kind.names and kind.names.search(path):
            return name
    return next(name for name, kind in kinds.items() if kind.recognise(lines))
