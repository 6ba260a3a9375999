"""Train models on DataFrames of Spark and add predictions to DataFrames, in a notebook or any program with a session.

The jobs are those of `mr-elm train METHOD ... -r spark`; they run in the session of the DataFrame.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from mr_elm.drivers.score import choose_target
from mr_elm.engines import make_engine
from mr_elm.engines.spark.batches import (
    PREDICTION,
    PROBABILITY,
    column_of,
    feature_names,
    find_labels,
    has_probabilities,
    measure_arrays,
    predict_batches,
)
from mr_elm.engines.spark.data_frames import (
    ARRAY,
    DATE,
    NUMBER,
    TEXT,
    VECTOR,
    demand_columns,
    demand_kind,
    demand_session,
    find_kind,
    find_root,
    plan_partitions,
    read_column,
    select_columns,
    stage_rows,
)
from mr_elm.engines.spark.session import STAGING, runs_here, send_code, send_file
from mr_elm.errors import demand_choice
from mr_elm.methods import METHODS
from mr_elm.model.base import Model
from mr_elm.model.file import read_model
from mr_elm.option import option_fields, speaking_python
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions, RowUse
from mr_elm.rows.storage import fetch_file
from mr_elm.store import temporary_folder


@dataclass(frozen=True)
class SparkModel:
    """Predict the rows of DataFrames.

    trained : the Model: its header and its arrays, and after a training its sums.
    """

    trained: Model

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.trained!r})'

    def transform(self, df: Any) -> Any:
        """Return a DataFrame with the new column `prediction`, and `probability` where the model has probabilities.

        df : DataFrame with the columns of the training, which are found by their names. Other columns stay as they are.

        A prediction is a number for a regression and where all classes are numbers, else text. A probability is an
        array with a number for each class, in the order of `trained.classes`. Spark predicts batch by batch, when it
        needs the rows. The Python of the workers needs pandas and pyarrow.
        Raises ValueError when a column is missing, or cannot be a feature.
        """
        demand_session(df)
        functions, sizes = import_module('pyspark.sql.functions'), measure_arrays(self.trained, df.columns)
        names = list(dict.fromkeys(column_of(name, sizes) for name in feature_names(self.trained)))
        demand_columns(df, names)
        for name in names:
            demand_kind(df, name, *((ARRAY, VECTOR) if name in sizes else (NUMBER, TEXT, DATE)))
        added = self.added_columns
        if taken := [name for name in added if name in df.columns]:
            raise ValueError(f'df: expected no column {taken[0]!r}, which transform adds: drop it or rename it')
        schema = ', '.join(f'{name} {kind}' for name, kind in added.items())
        predict = functions.pandas_udf(self.make_predict(df.sparkSession, sizes), schema)
        columns = {name: read_column(df, name) for name in names}
        columns |= {name: column.cast('string') for name, column in columns.items() if find_kind(df, name) == DATE}
        found = predict(functions.struct(*(column.alias(name) for name, column in columns.items())))
        return df.withColumns({name: found[name] for name in added})

    @property
    def added_columns(self) -> dict[str, str]:
        """Return the columns that `transform` adds: name -> type."""
        kind = {'O': 'string', 'i': 'bigint', 'f': 'double'}[find_labels(self.trained).dtype.kind]
        return {PREDICTION: kind, **({PROBABILITY: 'array<double>'} if has_probabilities(self.trained) else {})}

    def make_predict(self, session: Any, sizes: Mapping[str, int]) -> Callable:
        """Return the function of batches that workers run; Spark sends them the model once. sizes : of the arrays."""
        pandas = import_module('pandas')
        if not runs_here(session):
            send_code(session)
        with temporary_folder() as folder:
            path = os.path.join(folder, 'model.npz')
            self.trained.without_sums().save(path)
            name = send_file(session, path)

        def predict(batches: Any) -> Any:
            yield from predict_batches(import_module('pyspark').SparkFiles.get(name), sizes, batches)

        kind = Iterator[pandas.DataFrame]  # type: ignore[name-defined]
        predict.__annotations__ = {'batches': kind, 'return': kind}  # by which Spark knows what the function takes
        return predict

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to a file, and its sums beside it, see `Model.save`. path : here, on HDFS or S3."""
        self.trained.save(path)


def __getattr__(name: str) -> Any:
    """Give the stages of pipelines, ElmEstimator and ElmTransformer, where they are asked for: they load pyspark.ml."""
    if name in ('ElmEstimator', 'ElmTransformer'):
        return getattr(import_module('mr_elm.spark_ml'), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def load(path: str | os.PathLike) -> SparkModel:
    """Read a file of `SparkModel.save` or `mr-elm train`. path : here, on HDFS or S3.

    Raises ModelFormatError when it holds no model, ValueError when the model cannot predict DataFrames.
    """
    with fetch_file(os.fspath(path), 'model.npz') as local:
        model = read_model(local, os.fspath(path))
    if model.header.target_names or model.multilabel:
        raise ValueError(f'{path}: expected a model of one label, found one of several: use mr-elm predict')
    if not feature_names(model):
        raise ValueError(f'{path}: expected a model of columns with names, the rows of its training had none')
    return SparkModel(model)


@speaking_python({})
def train(
    df: Any,
    method: str = 'pesvm',
    label: str = 'y',
    weight: str | None = None,
    encode: str = 'refuse',
    missing_labels: Sequence[str] | None = None,
    target: str = 'none',
    **options: Any,
) -> SparkModel:
    """Train a model on the rows of a DataFrame.

    df : DataFrame. All columns but label and weight are features: numbers, text, vectors, arrays of numbers.
    method : as in `mr-elm train METHOD`.
    label, weight : names of columns; without a weight every row counts once.
    encode : refuse, or auto: text becomes categories, and values may be missing.
    missing_labels : texts that stand for a missing label, as with --missing-labels; null and NaN always do.
    target : of a regression: none, log, or auto, as with --target.
    options : those of `mr-elm train METHOD`, with _ for -, such as hidden=200 or task='regression'; and bad_rows:
        stop, or skip the rows that cannot be used.

    Spark writes the rows as Parquet to a temporary folder: on this machine if its master is local, else in the folder
    that the property spark.mr_elm.staging names (default: hdfs:///tmp). Where there is none that this process and the
    tasks reach, Spark computes the rows of df again for each pass, and tasks read their partition; the rows then make
    other blocks, so predictions agree to 1e-8 with those of the files.
    Raises ValueError when a column or an option cannot be used, DataFormatError when a row cannot.
    """
    settings = make_options(method, options)
    for name, value in {'encode': encode, 'target': target}.items():
        option_fields(RowOptions)[name].demand(value, name)
    if target != 'none' and not settings.numeric:
        raise ValueError("target: expected task='regression' too")
    demand_session(df)
    table = select_columns(df, label, weight, encode == 'auto')
    rows = RowOptions(
        kind='parquet',
        label_column=label,
        weight_column=weight,
        encode=encode,
        numeric_labels=settings.numeric,
        target=target,
        missing_labels=None if missing_labels is None else tuple(missing_labels),
    )
    root, driver = find_root(df.sparkSession), resolve_name(METHODS[method].driver)
    with ExitStack() as stack:
        if root is not None:
            plan = plan_inputs([stack.enter_context(stage_rows(table, root))], rows)
            files = [replace(file, path=f'df, part {n}', uri=file.path) for n, file in enumerate(plan.files)]
            plan = replace(plan, files=files)
            runner = make_engine('spark', ('-D', f'{STAGING}={root}'), frame=df)
        else:
            plan, partitions = plan_partitions(table, rows)
            runner = make_engine('spark', frame=table, partitions=partitions)
        engine = stack.enter_context(runner)
        plan = choose_target(lambda plan: driver(plan, settings, engine), plan, engine, settings.bad_rows)
        model, _ = driver(plan, settings, engine)
        path = os.path.join(stack.enter_context(temporary_folder()), 'model.npz')
        model.without_sums().save(path)
        return SparkModel(replace(load(path).trained, arrays=model.arrays, sums=model.sums))


def make_options(method: str, given: Mapping[str, Any]) -> Any:
    """Make the options of a training. Raises ValueError for an unknown method, option or value."""
    demand_choice('method', method, METHODS)
    kind = resolve_name(METHODS[method].options)
    known = {each.flag.lstrip('-').replace('-', '_'): each for each in option_fields(kind).values()}
    known['bad_rows'] = option_fields(RowUse)['bad_rows']
    values = {}
    for name, value in given.items():
        demand_choice(f'option of {method}', name, known)
        known[name].demand(value, name)
        values[known[name].name] = value
    options = kind(**values)
    options.check()
    return options
