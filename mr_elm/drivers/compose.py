"""Write predictions as a table, and with columns of the input beside them, batch by batch when the job has ended."""

import csv
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, count, islice
from typing import Any, TextIO

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
from mr_elm.rows.text import find_repeated
from mr_elm.store import temporary_folder

BATCH_ROWS = 1 << 16  # rows that are written together
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
    if layout.table and (clash := find_repeated([*names, *kept[0]])):
        raise DataFormatError(
            f'{out}: expected columns of different names, --keep {clash[0]} has the name of a '
            'column with predictions: write text, or rename the column'
        )
    with temporary_folder() as folder:
        text = os.path.join(folder, 'predictions')
        accounts = score.predict(path, plan, text, engine, layout.columns, bad_rows)
        with open(text, encoding='utf-8', newline='\n') as lines, write_file(out) as local:
            columns = None
            if layout.keep:
                columns = read_kept(plan, layout.keep, accounts)
            batches = join_columns(lines, columns)
            if layout.table == 'parquet':
                write_parquet(local, batches, names, trained.numeric)
            elif layout.table:
                write_csv(local, batches, [*names, *kept[0]], len(names), DELIMITERS[layout.table])
            else:
                write_text(local, batches)
    return accounts


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
        for chunk in read_stream(stream, file.path, charset=file.format.charset):
            for line, number in zip(split_chunk(chunk), numbers, strict=False):
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
    lines = islice(read_lines(file), int(bool(file.format.header)), None)
    rows = (split_fields(line, file.format.delimiter) for number, line in lines if number not in rejected)
    while batch := list(islice(rows, BATCH_ROWS)):
        yield {name: [readable(row[position]) for row in batch] for name, position in columns.items()}, len(batch)


def read_batches(
    file: InputFile, columns: Mapping[str, int], rejected: Collection[int]
) -> Iterator[tuple[Columns, int]]:
    """Yield the columns of a file of record batches as they are."""
    import pyarrow as arrow

    first = 1
    folders = {name: text for name, text in file.format.folders if name in columns}
    with open_parts(file) as parts:
        for batch in parts.read_columns([name for name in columns if name not in folders]):
            rows = range(first, first + batch.num_rows)
            first = rows.stop
            is_used = [row not in rejected for row in rows]
            used, n_rows = batch.filter(arrow.array(is_used, arrow.bool_())), sum(is_used)
            kept: dict[str, Any] = {}
            for name in columns:
                if name not in folders:
                    kept[name] = used.column(name)
                elif folders[name] == EMPTY_FOLDER:
                    kept[name] = arrow.nulls(n_rows, arrow.string())
                else:
                    kept[name] = arrow.repeat(folders[name], n_rows)
            yield kept, n_rows


def join_columns(lines: TextIO, kept: Iterator[tuple[Columns, int]] | None) -> Iterator[tuple[list[str], Columns]]:
    """Yield (predictions, columns that are kept) for some rows. Raises AccountingError if rows are missing."""
    texts = (line.removesuffix('\n') for line in lines)
    if kept is None:
        while batch := list(islice(texts, BATCH_ROWS)):
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


def write_text(path: str, batches: Iterator[tuple[list[str], Columns]]) -> None:
    """Write a line for each row: the prediction, then the columns that are kept, a tab before each."""
    with open(path, 'w', encoding='utf-8', newline='\n') as stream:
        for lines, columns in batches:
            stream.writelines('\t'.join([line, *kept]) + '\n' for line, kept in zip_rows(lines, columns))


def write_csv(
    path: str, batches: Iterator[tuple[list[str], Columns]], names: Sequence[str], n_predicted: int, delimiter: str
) -> None:
    """Write a line of names, then a line for each row; n_predicted : how many of the names are of predictions."""
    with open(path, 'w', encoding='utf-8', newline='') as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator='\n')
        writer.writerow(names)
        for lines, columns in batches:
            writer.writerows([*line.rsplit('\t', n_predicted - 1), *kept] for line, kept in zip_rows(lines, columns))


def zip_rows(lines: Sequence[str], columns: Columns) -> Iterator[tuple[str, list[str]]]:
    """Yield (prediction, texts of the columns that are kept) of each row."""
    kept = [values if isinstance(values, list) else values.to_pylist() for values in columns.values()]
    for line, *values in zip(lines, *kept, strict=True):
        yield line, ['' if value is None else str(value) for value in values]


def write_parquet(path: str, batches: Iterator[tuple[list[str], Columns]], names: Sequence[str], numeric: bool) -> None:
    """Write Parquet: a column for each name of the predictions, then the columns that are kept.

    numeric : whether predictions are numbers, as of a regression.
    """
    first = make_table(*next(batches, ([], {})), names, numeric)
    others = (make_table(*batch, names, numeric).cast(first.schema) for batch in batches)
    with import_module('pyarrow.parquet').ParquetWriter(path, first.schema) as writer:
        for table in group_tables(chain([first], others)):
            writer.write_table(table)


def make_table(lines: Sequence[str], columns: Columns, names: Sequence[str], numeric: bool) -> Any:
    """Make a pyarrow.Table of some rows; see `write_parquet`."""
    import pyarrow as arrow

    if lines:
        labels, *scores = zip(*(line.rsplit('\t', len(names) - 1) for line in lines), strict=True)
    else:
        labels, *scores = (() for _ in names)
    texts, numbers = [labels], scores
    if numeric:
        texts, numbers = [], [labels, *scores]
    arrays = [arrow.array(values, arrow.string()) for values in texts]
    arrays += [arrow.array(map(float, values), arrow.float64()) for values in numbers]
    for values in columns.values():
        if isinstance(values, list):
            values = arrow.array(values, arrow.string())
        arrays.append(values)
    return arrow.table(arrays, [*names, *columns])


def group_tables(tables: Iterable[Any]) -> Iterator[Any]:
    """Join tables to some of BATCH_ROWS rows or more."""
    import pyarrow as arrow

    waiting: list[Any] = []
    for table in tables:
        waiting.append(table)
        if sum(part.num_rows for part in waiting) >= BATCH_ROWS:
            yield arrow.concat_tables(waiting)
            waiting = []
    if waiting:
        yield arrow.concat_tables(waiting)
