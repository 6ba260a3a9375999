"""Check the columns of a DataFrame of Spark, and write its rows to files for jobs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from operator import itemgetter
from typing import Any

from mr_elm.engines.spark.session import STAGING, reads_from, runs_here, uri_of
from mr_elm.engines.spark.task import FACTS, describe_partition, write_batches
from mr_elm.passes.work import ROOT, new_staging
from mr_elm.rows.inputs import InputFile, InputPlan, plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.selection import SHOWN_NAMES
from mr_elm.rows.storage import store_of
from mr_elm.rows.text import demand_distinct
from mr_elm.store import temporary_folder

NUMBER, TEXT, DATE, ARRAY, VECTOR = 'numbers', 'text', 'dates', 'arrays of numbers', 'vectors'


def demand_session(df: Any) -> None:
    """Raise TypeError or ValueError when there is no DataFrame of a session in this process."""
    if not hasattr(df, 'sparkSession'):
        raise TypeError(f'df: expected a DataFrame of pyspark, found {type(df).__name__}')
    demand_distinct('X', df.columns)


def demand_columns(df: Any, names: Iterable[str]) -> None:
    """Raise ValueError when a column is missing."""
    if missing := [name for name in names if name not in df.columns]:
        raise ValueError(
            f'df: expected a column named {missing[0]!r}, its columns are {", ".join(df.columns[:SHOWN_NAMES])}'
        )


def find_kind(df: Any, name: str) -> str:
    """Return what a column holds: NUMBER, TEXT, DATE, ARRAY, VECTOR, or the name of another type."""
    from pyspark.sql import types

    type_ = df.schema[name].dataType
    numbers: Any = (types.NumericType, types.BooleanType)
    if type(type_).__name__ == 'VectorUDT':
        return VECTOR
    if isinstance(type_, types.ArrayType) and isinstance(type_.elementType, numbers):
        return ARRAY
    kinds = {NUMBER: numbers, TEXT: types.StringType, DATE: types.DateType}
    return next((kind for kind, spark_types in kinds.items() if isinstance(type_, spark_types)), type_.simpleString())


def demand_kind(df: Any, name: str, *kinds: str) -> None:
    """Raise ValueError when a column is of none of some kinds."""
    if (kind := find_kind(df, name)) not in kinds:
        if kind == TEXT:
            hint = ": encode='auto' makes categories of text"
        else:
            hint = f': drop it, or make {kinds[0]} of it'
        raise ValueError(f'df: expected {" or ".join(kinds)} in column {name!r}, found {kind}{hint}')


def read_column(df: Any, name: str) -> Any:
    """Return the Column of a name; vectors become arrays."""
    from pyspark.sql import functions

    quoted = name.replace('`', '``')
    column = functions.col(f'`{quoted}`')
    if find_kind(df, name) != VECTOR:
        return column
    return functions.when(column.isNotNull(), import_module('pyspark.ml.functions').vector_to_array(column))


def select_columns(df: Any, label: str, weight: str | None, encodes: bool) -> Any:
    """Return the columns of a training, where each item of arrays and vectors has a column of its own."""
    special = {label: (NUMBER, TEXT), **({} if weight is None else {weight: (NUMBER,)})}
    from pyspark.sql import functions

    demand_columns(df, special)
    features = (NUMBER, *([TEXT, DATE] if encodes else []), ARRAY, VECTOR)
    for name in df.columns:
        demand_kind(df, name, *special.get(name, features))
    arrays = df.select(*(read_column(df, name).alias(name) for name in df.columns))
    sizes = measure_columns(arrays)
    columns = []
    for name in df.columns:
        column = read_column(arrays, name)
        if name in sizes:
            items = [functions.get(column, functions.lit(j)).cast('double') for j in range(sizes[name])]
            columns += [item.alias(f'{name}[{j}]') for j, item in enumerate(items)]
        else:
            columns.append(column)
    return arrays.select(*columns)


def measure_columns(df: Any) -> dict[str, int]:
    """Return the sizes of the columns of arrays. Raises ValueError when a column has arrays of several sizes."""
    from pyspark.sql import functions

    names = [name for name in df.columns if find_kind(df, name) == ARRAY]
    if not names:
        return {}
    columns = [
        functions.when(column.isNotNull(), functions.size(column))
        for column in (read_column(df, name) for name in names)
    ]
    bounds = df.agg(*(bound(column) for column in columns for bound in (functions.min, functions.max))).first()
    for name, low, high in zip(names, bounds[::2], bounds[1::2], strict=True):
        if low != high or not low:
            raise ValueError(f'df: expected vectors of one size in column {name!r}, found sizes from {low} to {high}')
    return dict(zip(names, bounds[::2], strict=True))


@contextmanager
def name_folder(root: str = ROOT) -> Iterator[str]:
    """Give the name of a folder below `root` that nobody has; what is there at the end is removed."""
    folder = new_staging(root)
    try:
        yield folder
    finally:
        if store_of(folder).find(folder):
            store_of(folder).remove(folder)


@contextmanager
def stage_rows(df: Any, root: str) -> Iterator[str]:
    """Write a DataFrame as Parquet where tasks can read it: its folder, which vanishes at the end.

    root : a folder of this machine, or of a cluster.
    """
    with name_folder(root) as folder:
        df.write.parquet(uri_of(folder))
        yield folder


def find_root(session: Any) -> str | None:
    """Return the folder for files that the tasks of a session and this process reach, or None where there is none."""
    if runs_here(session):
        return tempfile.gettempdir()
    root = session.conf.get(STAGING, ROOT)
    if root != ROOT:
        return root
    with suppress(OSError, ValueError), name_folder() as folder:  # no Hadoop is configured here
        if reads_from(session, folder):  # the Hadoop that is configured here may not be that of the session
            return root
    return None


def plan_partitions(df: Any, options: RowOptions) -> tuple[InputPlan, dict[int, tuple[int, int]]]:
    """Make a plan whose files are the partitions of a DataFrame; returns it, and the partitions for `StageTask`."""
    facts = sorted(df.mapInArrow(describe_partition, FACTS).toArrow().to_pylist(), key=itemgetter('partition'))
    with temporary_folder() as folder:
        path = os.path.join(folder, 'rows.parquet')
        write_batches(path, df.limit(1).toArrow().to_batches())
        form = plan_inputs([path], options).files[0].format
    files = [InputFile(f'df, partition {each["partition"]}', each['size'], form, uri='df', cuts=(0,)) for each in facts]
    partitions = {each['partition']: (number, each['digest']) for number, each in enumerate(facts)}
    return InputPlan(files, max_categories=options.max_categories), partitions
