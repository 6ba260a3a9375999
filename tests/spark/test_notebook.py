"""A DataFrame gives the model of its Parquet, and gets the predictions of the command."""

import numpy as np
import pandas
import pyarrow as pa
import pytest
from pyspark.ml.functions import array_to_vector
from pyspark.sql import functions as F

from mr_elm import spark as notebook
from mr_elm.cli import main
from mr_elm.engines.spark.batches import predict_batches

CALIBRATED = {'hidden': 9, 'probabilities': True}


@pytest.fixture(scope='module')
def table(session, folder):
    """Write 300 rows as Parquet: numbers, a category and a target; returns the folder."""
    rows = np.loadtxt(folder / 'rows.csv', delimiter=',')
    df = session.createDataFrame(
        [(float(y), *map(float, x), 'AB'[int(x[0] > 0)]) for y, *x in rows],
        'y double, a double, b double, c double, city string',
    )
    df.coalesce(1).write.parquet(str(folder / 'table'))
    return folder / 'table'


@pytest.fixture
def df(session, table):
    """Read the numbers of the table."""
    return session.read.parquet(str(table)).drop('city')


@pytest.fixture(scope='module')
def plain(session, table):
    """Train on the numbers of the table."""
    return notebook.train(session.read.parquet(str(table)).drop('city'), hidden=9)


def arrays_of(path):
    """Read the bytes of the arrays of a model file."""
    with np.load(path) as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files if name != 'header'}


def draw_numbers(batches):
    """Replace the first feature by other numbers each time."""
    for batch in batches:
        yield batch.set_column(1, 'a', pa.array(np.random.default_rng().random(len(batch))))


def collect(df, name='prediction'):
    """Return the values of a column."""
    return [row[0] for row in df.select(name).collect()]


@pytest.mark.parametrize(
    'method, options, words',
    [
        ('pesvm', CALIBRATED, ['--hidden', 9, '--probabilities', '--drop', 'city']),
        ('pesvm', {'hidden': 9, 'encode': 'auto'}, ['--hidden', 9, '--encode', 'auto']),
        (
            'elm',
            {'hidden': 9, 'C': 10, 'task': 'regression'},
            ['--hidden', 9, '--C', 10, '--task', 'regression', '--drop', 'city'],
        ),
        (
            'mr-kelm',
            {'sigma': 2, 'task': 'classification'},
            ['--sigma', 2, '--task', 'classification', '--drop', 'city'],
        ),
    ],
    ids=['classes', 'category', 'regression', 'kernel'],
)
def test_model_and_predictions_are_those_of_the_command(session, spark, here, table, tmp_path, method, options, words):
    df = session.read.parquet(str(table))
    df = df if 'encode' in options else df.drop('city')
    model = notebook.train(df, method, **options)
    model.save(tmp_path / 'notebook.npz')
    spark(2, 'train', method, table, '--label-column', 'y', *words, '--model', tmp_path / 'command.npz', '-q')
    assert arrays_of(tmp_path / 'notebook.npz') == arrays_of(tmp_path / 'command.npz')

    calibrated = 'probabilities' in options
    here(
        'predict',
        tmp_path / 'command.npz',
        table,
        '-o',
        tmp_path / 'out',
        '-q',
        *(['--probabilities'] if calibrated else []),
    )
    expected = np.loadtxt(tmp_path / 'out', ndmin=2)
    found = notebook.load(tmp_path / 'notebook.npz').transform(df)
    np.testing.assert_allclose(collect(found), expected[:, 0], rtol=1e-9)
    assert found.columns == [*df.columns, 'prediction', *(['probability'] if calibrated else [])]
    if calibrated:
        np.testing.assert_allclose(collect(found, 'probability'), expected[:, 1:], rtol=1e-9)


@pytest.mark.parametrize('method, options', [('mr-kelm', {'sigma': 2}), ('pesvm', {'hidden': 9, 'encode': 'auto'})])
def test_without_a_folder_that_tasks_reach_they_read_partitions(session, table, monkeypatch, method, options):
    df = session.read.parquet(str(table)).repartition(3, 'a')
    df = df if 'encode' in options else df.drop('city')
    expected = notebook.train(df, method, probabilities=True, **options).transform(df).orderBy('a')
    monkeypatch.setattr(notebook, 'find_root', lambda session: None)
    model = notebook.train(df, method, probabilities=True, **options)
    assert model.trained.header.n_rows_used == 300
    np.testing.assert_allclose(
        collect(model.transform(df).orderBy('a'), 'probability'), collect(expected, 'probability'), atol=1e-8
    )


def test_rows_that_change_between_passes_are_refused(df, monkeypatch):
    monkeypatch.setattr(notebook, 'find_root', lambda session: None)
    with pytest.raises(RuntimeError, match=r'df: expected the same rows in each pass, partition 0 changed'):
        notebook.train(df.mapInArrow(draw_numbers, df.schema), hidden=9)


@pytest.mark.parametrize(
    'make', [F.array, lambda *columns: array_to_vector(F.array(*columns))], ids=['array', 'vector']
)
def test_items_of_a_vector_are_columns(df, plain, tmp_path, make):
    packed = df.select('y', make('a', 'b').alias('v'), 'c')
    model = notebook.train(packed, hidden=9)
    assert model.trained.header.parameters['input']['names'] == ['v[0]', 'v[1]', 'c']
    model.save(tmp_path / 'packed'), plain.save(tmp_path / 'plain')
    assert arrays_of(tmp_path / 'packed') == arrays_of(tmp_path / 'plain')
    assert collect(model.transform(packed)) == collect(plain.transform(df))


def test_missing_values_are_encoded(session, table):
    df = (
        session.read.parquet(str(table))
        .withColumn('a', F.when(F.col('a') > -1, F.col('a')))
        .withColumn('city', F.when(F.col('b') > -1, F.col('city')))
    )
    model = notebook.train(df, hidden=9, encode='auto')
    first = collect(model.transform(df))
    assert len(first) == 300 and set(first) <= {0.0, 1.0, 2.0}
    assert collect(model.transform(df.repartition(7).orderBy('c'))) == collect(model.transform(df.orderBy('c')))


def test_dates_are_predicted_as_they_were_learned(df):
    days = df.select(F.expr("date_add(date'2024-01-01', cast(500 * a as int))").alias('day'))
    days = days.withColumn('y', F.when(F.year('day') > 2023, 'late').otherwise('early'))
    labels = collect(notebook.train(days, hidden=50, nu=1e4, encode='auto').transform(days))
    assert np.mean(np.array(labels) == collect(days, 'y')) > 0.95


def test_classes_that_are_text_are_predicted_as_text(df):
    df = df.withColumn('y', F.when(F.col('y') > 0, 'yes').otherwise('no'))
    assert set(collect(notebook.train(df, hidden=9).transform(df))) == {'yes', 'no'}


def test_rows_that_cannot_be_used_are_skipped_if_asked(df):
    holes = df.withColumn('y', F.when(F.col('a') < 1, F.col('y')))
    n_missing = holes.filter('y is null').count()
    with pytest.raises(ValueError, match=r'^df, part \d+, row \d+: missing label'):
        notebook.train(holes)
    header = notebook.train(holes, hidden=9, bad_rows='skip').trained.header
    assert (header.n_rows_used, header.n_rows_rejected) == (300 - n_missing, n_missing)


def test_rows_like_those_that_the_training_skipped_get_no_prediction(df):
    holes = df.withColumn('a', F.when(F.col('a') < 1, F.col('a'))).withColumn('y', F.col('y').cast('bigint') + 2**53)
    model = notebook.train(holes, hidden=9, bad_rows='skip', probabilities=True)
    rows = model.transform(holes).select('a', 'prediction', 'probability').collect()
    assert any(row.a is None for row in rows)
    assert all((row.a is None) == (row.prediction is None) == (row.probability is None) for row in rows)
    whole = notebook.SparkModel(model.trained).transform(holes.dropna()).select('a', 'prediction', 'probability')
    assert [row for row in rows if row.a is not None] == whole.collect()
    assert {row.prediction for row in rows} == {None, *map(int, model.trained.classes)}


def test_labels_are_exact_and_may_be_missing(session):
    rows = [(2**53 + i % 3, float(i % 3), float(i % 7)) for i in range(60)]
    df = session.createDataFrame(rows, 'y bigint, a double, b double')
    model = notebook.train(df, hidden=20, nu=1000)
    assert model.trained.classes == [str(2**53 + k) for k in range(3)]
    assert collect(model.transform(df)) == [y for y, *_ in rows]
    for missing in (
        df.withColumn('y', F.when(F.col('y') != 2**53, F.col('y') * 1.0).otherwise(np.nan)),
        df.withColumn('y', F.when(F.col('y') != 2**53, F.col('a').cast('string')).otherwise('NA')),
    ):
        with pytest.raises(ValueError, match=r'^df, part \d+, row \d+: missing label'):
            notebook.train(missing, hidden=9)
    assert notebook.train(missing, hidden=9, missing_labels=['?']).trained.classes == ['1.0', '2.0', 'NA']


def test_the_staged_rows_are_removed(df, tmp_path, monkeypatch):
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
    notebook.train(df, hidden=9)
    assert not list(tmp_path.rglob('*.parquet'))


@pytest.mark.parametrize(
    'change, options, expected',
    [
        (lambda df: df, {'label': 'z'}, "expected a column named 'z', its columns are y, a, b, c"),
        (lambda df: df, {'method': 'svm'}, 'method: expected one of auto, pesvm, .*, found .svm'),
        (lambda df: df, {'hiden': 9}, "option of pesvm: expected .*hidden.*, found 'hiden'"),
        (lambda df: df, {'hidden': 0}, 'hidden: expected a whole number above 0, found 0'),
        (lambda df: df, {'map': 'sigmoyd'}, "map: expected one of sigmoid, .*, found 'sigmoyd'"),
        (lambda df: df, {'nu': '1'}, "nu: expected a number above 0, found '1'"),
        (lambda df: df.withColumn('a', F.lit('x')), {}, "found text: encode='auto' makes categories"),
        (lambda df: df.withColumn('a', F.current_date()), {}, "in column 'a', found dates: drop it"),
        (lambda df: df.filter('a > 99'), {}, 'expected rows, the file is empty'),
        (
            lambda df: df.withColumn('a', F.when(F.col('a') > 0, F.array('b')).otherwise(F.array('b', 'b'))),
            {},
            "vectors of one size in column 'a', found sizes from 1 to 2",
        ),
    ],
)
def test_wrong_trainings_are_refused(df, change, options, expected):
    with pytest.raises(ValueError, match=expected):
        notebook.train(change(df), **options)


def test_a_list_is_no_data_frame(session):
    with pytest.raises(TypeError, match='expected a DataFrame of pyspark, found list'):
        notebook.train([])


def test_wrong_rows_to_predict_are_refused(session, df, tmp_path):
    model = notebook.train(df.select('y', F.array('a', 'b').alias('v'), 'c'), hidden=9)
    model.save(tmp_path / 'm.npz')
    good = session.createDataFrame([([1.0, 2.0], 3.0)], 'v array<double>, c double')
    for wrong, expected in [
        (good.drop('c'), "named 'c'"),
        (good.withColumn('v', F.lit(1.0)), "in column 'v'"),
        (good.withColumn('prediction', F.lit(1)), "no column 'prediction'"),
    ]:
        with pytest.raises(ValueError, match=expected):
            model.transform(wrong)
    for v, c, expected in [
        ([1.0], 3.0, "size 2 in column 'v', found one of size 1"),
        ([1.0, 2.0], np.nan, "finite numbers in column 'c'"),
        (None, 3.0, r"in column 'v\[0\]'"),
    ]:
        with pytest.raises(ValueError, match=expected):
            list(predict_batches(str(tmp_path / 'm.npz'), {'v': 2}, [pandas.DataFrame({'v': [v], 'c': [c]})]))


def test_a_model_without_names_is_refused(model_of, here, folder, tmp_path):
    here('train', 'pesvm', folder / 'packed', '--hidden', 9, '--model', tmp_path / 'm.npz', '-q')
    with pytest.raises(ValueError, match='expected a model of columns with names'):
        notebook.load(tmp_path / 'm.npz')


def test_spark_reads_a_pack(session, tmp_path):
    X, labels = np.random.default_rng(0).standard_normal((50, 3)), ['yes', 'no'] * 25
    (tmp_path / 'rows.csv').write_text(
        ''.join(f'{label},{",".join(map(repr, row))}\n' for label, row in zip(labels, X.tolist(), strict=True))
    )
    assert main(['pack', str(tmp_path / 'rows.csv'), '-o', str(tmp_path / 'packed'), '-q']) in (0, None)
    rows = session.read.parquet(str(tmp_path / 'packed')).collect()
    assert np.array_equal([row.x for row in rows], X) and [row.label for row in rows] == labels
