"""Write predictions as a table, and with columns of the input beside them, batch by batch when the job has ended."""

import csv
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, count, islice
from typing import Any, TextIO

import numpy as np

from mr_elm.drivers import score
from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.machines.answer_columns import AnswerColumns
from mr_elm.model.base import Model
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.arrow_columns import EMPTY_FOLDER
from mr_elm.rows.csv_format import readable
from mr_elm.rows.csv_rows import split_fields
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.lines import split_chunk
from mr_elm.rows.selection import Header
from mr_elm.rows.splits import read_stream
from mr_elm.rows.storage import open_ranges, store_of, write_file
from mr_elm.rows.text import find_repeated, read_number
from mr_elm.store import temporary_folder
from mr_elm.typing import Floats

BATCH = 1 << 16  # rows that are written together
ARROW = ('parquet', 'arrow')  # kinds whose files have record batches
DELIMITERS = {'csv': ',', 'tsv': '\t'}
TABLES = ('parquet', *DELIMITERS)  # endings of names of outputs whose columns have names

Columns = Mapping[str, Any]  # name -> list of text, or array of Arrow


@dataclass(frozen=True)
class Layout:
    """Say what is written of each row.

    columns : what stands behind the label. keep : columns of the input, by name or position.
    table : one of TABLES, for columns with names; None for lines of text.
    """

    columns: AnswerColumns = AnswerColumns()
    keep: Sequence[str] = ()
    table: str | None = None


def find_table(output: str | None) -> str | None:
    """Return the kind of table, one of TABLES, that the name of an output asks for; None for lines of text."""
    ending = (output or '').lower().rpartition('.')[2]
    if ending in TABLES:
        return ending
    return None


def predict(
    model: tuple[str, Model], plan: InputPlan, out: str, layout: Layout, engine: Engine, bad_rows: str = 'stop'
) -> Accounts:
    """Write the predictions of all rows, in input order, as a Layout says. model : its file, and what that holds.

    Returns the Accounts. The file appears whole or not at all. Raises DataFormatError when there is no such column.
    """
    path, trained = model
    kept = [find_columns(file, layout.keep) for file in plan.files]
    names = layout.columns.names(trained)
    if layout.table:
        demand_names(out, [*names, *kept[0]])
    with temporary_folder() as folder:
        text = os.path.join(folder, 'predictions')
        accounts = score.predict(path, plan, text, engine, layout.columns, bad_rows)
        with open(text, encoding='utf-8', newline='\n') as lines, write_file(out) as local:
            pieces = join_columns(lines, read_kept(plan, layout.keep, accounts) if layout.keep else None)
            if layout.table == 'parquet':
                write_parquet(local, pieces, names, trained.numeric)
            elif layout.table:
                write_csv(local, pieces, [*names, *kept[0]], len(names), DELIMITERS[layout.table])
            else:
                write_text(local, pieces)
    return accounts


def has_columns(plan: InputPlan) -> bool:
    """Tell whether columns of the rows can be copied beside predictions."""
    return plan.form.kind in ('csv', *ARROW)


def predict_pairs(
    model: tuple[str, Model], plan: InputPlan, engine: Engine, bad_rows: str = 'stop', most: int = 2000
) -> tuple[Floats, Floats]:
    """Return targets and predictions, (n,) both, of at most so many rows, which lie evenly in the input.

    model : see `predict`. Raises DataFormatError where rows have no columns that can be copied.
    """
    form = plan.files[0].format
    # by name where there are names: columns of other files may stand in another order
    label = str(form.label_column if form.label_name is None else form.label_name)
    with temporary_folder() as folder:
        out = os.path.join(folder, 'pairs')
        n_rows = predict(model, plan, out, Layout(keep=(label,)), engine, bad_rows).used
        with open(out, encoding='utf-8') as lines:
            pairs = [
                [read_number(text, form.decimal) for text in line.rstrip('\n').split('\t')]
                for line in islice(lines, 0, None, -(-n_rows // most))
            ]
    predicted, actual = np.array(pairs, float).T
    return actual, predicted


def demand_names(path: str, names: Sequence[str]) -> None:
    """Raise DataFormatError when a table cannot have columns of these names."""
    if clash := find_repeated(names):
        raise DataFormatError(
            f'{path}: expected columns of different names, --keep {clash[0]} has the name of a '
            'column with predictions: write text, or rename the column'
        )


def find_columns(file: InputFile, keep: Sequence[str]) -> dict[str, int]:
    """Find the columns to keep in a file: name -> position. Raises DataFormatError when one is not there."""
    if not keep:
        return {}
    header = read_header(file)
    positions = [header.locate(column) for column in keep]
    return {str(header.call(position)): position for position in positions}


def read_header(file: InputFile) -> Header:
    """Read the names of all columns of a file."""
    if file.format.kind in ARROW:
        with open_parts(file) as parts:
            names = [*parts.schema.names, *(name for name, _ in file.format.folders)]
        return Header(file.path, len(names), names)
    if file.format.kind != 'csv':
        raise DataFormatError(
            f'{file.path}: expected csv, parquet or arrow rows for --keep, found {file.format.kind} '
            'rows, whose columns have no names'
        )
    if not file.format.header:
        return Header(file.path, file.format.n_columns or 0)
    fields = split_fields(next(line for _, line in read_lines(file)), file.format.delimiter)
    return Header(file.path, len(fields), list(map(readable, fields)))


@contextmanager
def open_parts(file: InputFile) -> Iterator[Any]:
    """Open a Parquet or an Arrow file."""
    with open_ranges(file.uri or file.path) as source:
        yield find_kind(file.format.kind).open(source, file.path)


def read_lines(file: InputFile) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of the lines of a file that are not blank, the header included."""
    numbers = count(1)
    with store_of(file.uri or file.path).open(file.uri or file.path) as stream:
        for k, chunk in enumerate(read_stream(stream, file.path, charset=file.format.charset)):
            for line, number in zip(split_chunk(chunk, k == 0), numbers, strict=False):
                if line and not line.isspace():
                    yield number, line


def read_kept(plan: InputPlan, keep: Sequence[str], accounts: Accounts) -> Iterator[tuple[Columns, int]]:
    """Yield (columns, number of rows) for the rows that were predicted, in input order."""
    rejected: dict[str, set[int]] = {}
    for row in accounts.rejected():
        rejected.setdefault(row.path, set()).add(row.line)
    for file in plan.files:
        if file.format.kind in ARROW:
            read = read_batches
        else:
            read = read_fields
        yield from read(file, find_columns(file, keep), rejected.get(file.path, set()))


def read_fields(
    file: InputFile, columns: Mapping[str, int], rejected: Collection[int]
) -> Iterator[tuple[Columns, int]]:
    """Yield the columns of a file of csv as they are written there."""
    lines = islice(read_lines(file), 1 if file.format.header else 0, None)
    rows = (split_fields(line, file.format.delimiter) for number, line in lines if number not in rejected)
    while batch := list(islice(rows, BATCH)):
        yield {name: [readable(row[position]) for row in batch] for name, position in columns.items()}, len(batch)


def read_batches(
    file: InputFile, columns: Mapping[str, int], rejected: Collection[int]
) -> Iterator[tuple[Columns, int]]:
    """Yield the columns of a file of record batches as they are."""
    arrow, first = import_module('pyarrow'), 1
    folders = {name: None if text == EMPTY_FOLDER else text for name, text in file.format.folders if name in columns}
    with open_parts(file) as parts:
        for batch in parts.read_columns([name for name in columns if name not in folders]):
            rows = range(first, first + batch.num_rows)
            first = rows.stop
            kept = [row not in rejected for row in rows]
            used, n = batch.filter(arrow.array(kept, arrow.bool_())), sum(kept)
            yield (
                {
                    name: arrow.array([folders[name]] * n, arrow.string()) if name in folders else used.column(name)
                    for name in columns
                },
                n,
            )


def join_columns(lines: TextIO, kept: Iterator[tuple[Columns, int]] | None) -> Iterator[tuple[list[str], Columns]]:
    """Yield (predictions, columns that are kept) for some rows. Raises AccountingError if rows are missing."""
    texts = (line.removesuffix('\n') for line in lines)
    if kept is None:
        while batch := list(islice(texts, BATCH)):
            yield batch, {}
        return
    for columns, n_rows in kept:
        batch = list(islice(texts, n_rows))
        if len(batch) < n_rows:
            break
        yield batch, columns
    else:
        if next(texts, None) is None:
            return
    raise AccountingError(
        'expected a row of the columns to keep for each prediction, found another number: the input changed meanwhile'
    )


def write_text(path: str, pieces: Iterator[tuple[list[str], Columns]]) -> None:
    """Write a line for each row: the prediction, then the columns that are kept, a tab before each."""
    with open(path, 'w', encoding='utf-8', newline='\n') as stream:
        for lines, columns in pieces:
            stream.writelines('\t'.join([line, *kept]) + '\n' for line, kept in zip_rows(lines, columns))


def write_csv(
    path: str, pieces: Iterator[tuple[list[str], Columns]], names: Sequence[str], n_predicted: int, delimiter: str
) -> None:
    """Write a line of names, then a line for each row; n_predicted : how many of the names are of predictions."""
    with open(path, 'w', encoding='utf-8', newline='') as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator='\n')
        writer.writerow(names)
        for lines, columns in pieces:
            writer.writerows([*line.rsplit('\t', n_predicted - 1), *kept] for line, kept in zip_rows(lines, columns))


def zip_rows(lines: Sequence[str], columns: Columns) -> Iterator[tuple[str, list[str]]]:
    """Yield (prediction, texts of the columns that are kept) of each row."""
    kept = [values if isinstance(values, list) else values.to_pylist() for values in columns.values()]
    for line, *values in zip(lines, *kept, strict=True):
        yield line, ['' if value is None else str(value) for value in values]


def write_parquet(path: str, pieces: Iterator[tuple[list[str], Columns]], names: Sequence[str], numeric: bool) -> None:
    """Write Parquet: a column for each name of the predictions, then the columns that are kept.

    numeric : whether predictions are numbers, as of a regression.
    """
    first = make_table(*next(pieces, ([], {})), names, numeric)
    others = (make_table(*piece, names, numeric).cast(first.schema) for piece in pieces)
    with import_module('pyarrow.parquet').ParquetWriter(path, first.schema) as writer:
        for table in group_tables(chain([first], others)):
            writer.write_table(table)


def make_table(lines: Sequence[str], columns: Columns, names: Sequence[str], numeric: bool) -> Any:
    """Make a pyarrow.Table of some rows; see `write_parquet`."""
    arrow = import_module('pyarrow')
    if lines:
        labels, *scores = zip(*(line.rsplit('\t', len(names) - 1) for line in lines), strict=True)
    else:
        labels, *scores = (() for _ in names)
    predicted = [
        arrow.array(map(float, labels) if numeric else labels, arrow.float64() if numeric else arrow.string()),
        *(arrow.array(map(float, values), arrow.float64()) for values in scores),
    ]
    kept = [arrow.array(values, arrow.string()) if isinstance(values, list) else values for values in columns.values()]
    return arrow.table([*predicted, *kept], [*names, *columns])


def group_tables(tables: Iterable[Any]) -> Iterator[Any]:
    """Join tables to some of BATCH rows or more."""
    arrow, waiting = import_module('pyarrow'), list[Any]()
    for table in tables:
        waiting.append(table)
        if sum(part.num_rows for part in waiting) >= BATCH:
            yield arrow.concat_tables(waiting)
            waiting = []
    if waiting:
        yield arrow.concat_tables(waiting)
