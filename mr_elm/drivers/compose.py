"""Write predictions as a table, whose columns have names."""

import csv
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice

BATCH_ROWS = 1 << 16  # rows that are written together
DELIMITERS = {'csv': ',', 'tsv': '\t'}
TABLES = ('parquet', *DELIMITERS)  # endings of names of outputs whose columns have names


def write_table(path: str, lines: Iterator[str], table: str, names: Sequence[str], numeric: bool) -> int:
    """Write predictions as a table: how many rows it has. table : one of TABLES.

    lines : of a row each, with tabs between the fields; a label may have tabs. names : of the columns. numeric :
    whether predictions are numbers, as of a regression.
    """
    rows = (line.rsplit('\t', len(names) - 1) for line in lines)
    if table == 'parquet':
        return write_parquet(path, rows, names, numeric)
    n_rows = 0
    with open(path, 'w', encoding='utf-8', newline='') as stream:
        writer = csv.writer(stream, delimiter=DELIMITERS[table], lineterminator='\n')
        writer.writerow(names)
        for row in rows:
            writer.writerow(row)
            n_rows += 1
    return n_rows


def write_parquet(path: str, rows: Iterator[list[str]], names: Sequence[str], numeric: bool) -> int:
    """Write a column for each name; see `write_table`."""
    arrow = import_module('pyarrow')
    label = arrow.string()
    if numeric:
        label = arrow.float64()
    schema = arrow.schema([(names[0], label), *((name, arrow.float64()) for name in names[1:])])
    n_rows = 0
    with import_module('pyarrow.parquet').ParquetWriter(path, schema) as writer:
        while batch := list(islice(rows, BATCH_ROWS)):
            labels, *scores = zip(*batch, strict=True)
            columns = [map(float, labels) if numeric else labels, *(map(float, values) for values in scores)]
            writer.write_table(arrow.table([arrow.array(values) for values in columns], schema=schema))
            n_rows += len(batch)
    return n_rows
