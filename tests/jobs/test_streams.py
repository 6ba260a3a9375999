"""Whatever has `__arrow_c_stream__` is packed, and added to a living estimator, batch by batch."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import mr_elm
from mr_elm.errors import AccountingError
from mr_elm.estimators import ESVMClassifier, ESVMRegressor
from mr_elm.rows.packs import load_manifest

N = 240


class Stream:
    """Offer a table as batches that can only be read one after another."""

    def __init__(self, table, batch_rows=50):
        self.table, self.batch_rows = table, batch_rows

    def __arrow_c_stream__(self, requested_schema=None):
        batches = self.table.to_batches(max_chunksize=self.batch_rows)
        return pa.RecordBatchReader.from_batches(self.table.schema, iter(batches)).__arrow_c_stream__(requested_schema)


@pytest.fixture
def table(rng):
    age, city = rng.uniform(20, 70, N), rng.choice(['Oslo', 'Rome', 'Lima'], N)
    label = np.where((age > 45) != (city == 'Rome'), 'yes', 'no')
    return pa.table(
        {'age': pa.array(age, mask=rng.random(N) < 0.1), 'city': city, 'times': rng.integers(1, 4, N), 'label': label}
    )


@pytest.fixture
def numbers(rng):
    X = rng.normal(size=(N, 3))
    return pa.table({**{name: X[:, j] for j, name in enumerate('abc')}, 'y': X @ [1.0, 2.0, 3.0]})


@pytest.mark.parametrize('make', [Stream, pl.from_arrow, lambda table: table], ids=['stream', 'polars', 'table'])
@pytest.mark.parametrize('options', [{}, {'encode': 'auto', 'weight_column': 'times'}], ids=['numbers', 'table'])
def test_a_stream_is_packed_as_its_file_is(make, options, table, numbers, elm, tmp_path):
    source, label = (table, 'label') if options else (numbers, 'y')
    task = 'classification' if options else 'regression'
    path, words = tmp_path / 'rows.arrow', ['--encode', 'auto', '--weight-column', 'times'] if options else []
    with pa.ipc.new_file(path, source.schema) as writer:
        writer.write_table(source)
    done = elm('pack', path, '-o', tmp_path / 'file', '--label-column', label, '--task', task, '-q', *words)
    assert done == (0, '', '')
    assert mr_elm.pack(make(source), str(tmp_path / 'stream'), label, task, **options) == N
    found, wanted = (load_manifest(str(tmp_path / name)) for name in ('stream', 'file'))
    assert all(found[key] == wanted[key] for key in ('n_rows', 'labels', 'statistics'))
    assert found.get('encoding') == wanted.get('encoding')


def test_a_stream_without_labels_is_packed(numbers, tmp_path):
    assert mr_elm.pack(Stream(numbers), str(tmp_path / 'pack')) == N
    assert load_manifest(str(tmp_path / 'pack'))['n_features'] == 4


def test_a_stream_that_cannot_be_packed_is_named(table, tmp_path):
    with pytest.raises(ValueError, match="the stream: expected number or lists in the feature column 'city'"):
        mr_elm.pack(Stream(table), str(tmp_path / 'pack'), 'label')
    with pytest.raises(TypeError, match='expected an Arrow stream.*found list'):
        mr_elm.pack([[1, 2]], str(tmp_path / 'pack'))
    assert not (tmp_path / 'pack').exists()


@pytest.mark.parametrize('batch_rows', [30, 100, N])
def test_the_batches_of_a_stream_are_added_one_by_one(batch_rows, numbers):
    X = np.column_stack([numbers[name] for name in 'abc'])
    fitted = ESVMRegressor(n_hidden=20, scale='none').partial_fit(Stream(numbers, batch_rows), 'y')
    assert fitted.n_rows_ == N and fitted.feature_names_in_.tolist() == list('abc')
    wanted = ESVMRegressor(n_hidden=20, scale='none').fit(X, np.asarray(numbers['y'])).predict(X)
    np.testing.assert_allclose(fitted.predict(numbers.to_pandas()[list('abc')]), wanted, rtol=0, atol=1e-8)


def test_a_stream_with_text_is_encoded_as_its_first_batch_is(table):
    first, rest = table.slice(0, 50), table.slice(50)
    fitted = ESVMClassifier(encode='auto').partial_fit(Stream(table), 'label', sample_weight='times')
    twin = ESVMClassifier(encode='auto')
    for part in (first, rest):
        frame = part.to_pandas()
        twin.partial_fit(frame[['age', 'city']], frame['label'], sample_weight=frame['times'])
    frame = table.to_pandas()[['city', 'age']]
    np.testing.assert_allclose(fitted.decision_function(frame), twin.decision_function(frame), rtol=0, atol=1e-8)


def test_a_stream_is_forgotten_as_it_was_added(table, numbers):
    first, rest = table.slice(0, 150), table.slice(150)
    fitted = ESVMClassifier(encode='auto').partial_fit(Stream(first, 150), 'label')
    before = fitted.model_.arrays['output_weights']
    fitted.partial_fit(Stream(rest), 'label').forget(Stream(rest, 40), 'label')
    assert fitted.n_rows_ == 150
    np.testing.assert_allclose(fitted.model_.arrays['output_weights'], before, rtol=0, atol=1e-8)
    with pytest.raises(AccountingError):
        fitted.forget(Stream(table), 'label')
    assert fitted.n_rows_ == 150


def test_labels_may_come_beside_the_stream(table):
    labels = table['label'].to_pylist()
    fitted = ESVMClassifier(encode='auto').partial_fit(Stream(table.drop_columns(['label'])), labels)
    wanted = ESVMClassifier(encode='auto').partial_fit(Stream(table), 'label')
    assert (fitted.model_.arrays['output_weights'] == wanted.model_.arrays['output_weights']).all()
    with pytest.raises(ValueError, match=f'y: expected {N} values'):
        ESVMClassifier(encode='auto').partial_fit(Stream(table.drop_columns(['label'])), labels + ['yes'])


def test_a_stream_with_a_batch_that_does_not_fit_changes_nothing(table):
    fitted = ESVMClassifier(encode='auto').partial_fit(Stream(table), 'label')
    state = dict(fitted.__dict__)
    bad = pa.concat_tables([table, table.set_column(0, 'age', pa.array([np.inf] * N))])
    with pytest.raises(ValueError, match="column 'age' holds an infinite number"):
        fitted.partial_fit(Stream(bad), 'label')
    assert fitted.__dict__ == state
    with pytest.raises(ValueError, match="expected a column named 'labels'"):
        fitted.partial_fit(Stream(table), 'labels')
    with pytest.raises(ValueError, match="expected numbers in column 'city'"):
        ESVMClassifier().partial_fit(Stream(table), 'label')
