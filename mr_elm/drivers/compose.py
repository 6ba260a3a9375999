"""Write predictions as a table, whose columns have names, batch by batch when the job has ended."""

import csv
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, TextIO

from mr_elm.drivers import score
from mr_elm.engines.base import Engine
from mr_elm.machines.answer_columns import AnswerColumns
from mr_elm.model.base import Model
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.storage import write_file
from mr_elm.store import temporary_folder

BATCH_ROWS = 1 << 16  # rows that are written together
DELIMITERS = {'csv': ',', 'tsv': '\t'}
TABLES = ('parquet', *DELIMITERS)  # endings of names of outputs whose columns have names


def find_table(output: str | None) -> str | None:
    """Return the kind of table, one of TABLES, that the name of an output asks for; None for lines of text."""
    ending = (output or '').lower().rpartition('.')[2]
    if ending in TABLES:
        return ending
    return None


def predict(
    model: tuple[str, Model],
    plan: InputPlan,
    out: str,
    table: str,
    engine: Engine,
    columns: AnswerColumns,
    bad_rows: str = 'stop',
) -> Accounts:
    """Write the predictions of all rows, in input order, as a table.

    model : its file, and what that holds. table : one of TABLES. columns : what stands behind the label.
    Returns the Accounts. The file appears whole or not at all.
    """
    path, trained = model
    names = columns.names(trained)
    with temporary_folder() as folder:
        text = os.path.join(folder, 'predictions')
        accounts = score.predict(path, plan, text, engine, columns, bad_rows)
        with open(text, encoding='utf-8', newline='\n') as lines, write_file(out) as local:
            if table == 'parquet':
                write_parquet(local, read_batches(lines, len(names)), names, trained.numeric)
            else:
                write_csv(local, read_batches(lines, len(names)), names, DELIMITERS[table])
    return accounts


def read_batches(lines: TextIO, n_columns: int) -> Iterator[list[list[str]]]:
    """Yield the fields of some rows; a label may have tabs."""
    rows = (line.removesuffix('\n').rsplit('\t', n_columns - 1) for line in lines)
    while batch := list(islice(rows, BATCH_ROWS)):
        yield batch


def write_csv(path: str, batches: Iterator[list[list[str]]], names: Sequence[str], delimiter: str) -> None:
    """Write a line of names, then a line for each row."""
    with open(path, 'w', encoding='utf-8', newline='') as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator='\n')
        writer.writerow(names)
        for batch in batches:
            writer.writerows(batch)


def write_parquet(path: str, batches: Iterator[list[list[str]]], names: Sequence[str], numeric: bool) -> None:
    """Write a column for each name. numeric : whether predictions are numbers, as of a regression."""
    arrow: Any = import_module('pyarrow')
    label = arrow.string()
    if numeric:
        label = arrow.float64()
    schema = arrow.schema([(names[0], label), *((name, arrow.float64()) for name in names[1:])])
    with import_module('pyarrow.parquet').ParquetWriter(path, schema) as writer:
        for batch in batches:
            labels, *scores = zip(*batch, strict=True)
            columns = [map(float, labels) if numeric else labels, *(map(float, values) for values in scores)]
            writer.write_table(arrow.table([arrow.array(values) for values in columns], schema=schema))
