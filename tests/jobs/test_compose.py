"""predict writes tables, whose columns have names."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandas import read_csv

from mr_elm.drivers import compose

N = 90


@pytest.fixture
def table(rng):
    """Make rows with a name each; the label is one of three."""
    X = rng.normal(size=(N, 2))
    return pa.table(
        {
            'id': [f'row "{i}", é' for i in range(N)],
            'a': X[:, 0],
            'number': np.arange(N),
            'b': X[:, 1],
            'kind': np.where(X[:, 0] > 0.4, 'high', np.where(X[:, 0] < -0.4, 'low', 'mid')),
        }
    )


@pytest.fixture
def path(table, tmp_path):
    table.to_pandas().to_csv(tmp_path / 'rows.csv', index=False)
    return tmp_path / 'rows.csv'


@pytest.fixture
def model(trained, path):
    trained(path, '--label-column', 'kind', '--drop', 'id,number')
    return trained.path


@pytest.fixture
def predict(elm, model, tmp_path):
    """Predict to a file of this name: its path."""

    def run(name, *words):
        done = elm('predict', model, *words, '-o', tmp_path / name, '--overwrite', '-q')
        assert done == (0, '', '')
        return tmp_path / name

    return run


def test_parquet_holds_labels_and_scores_as_text_does(predict, path, model):
    lines = [line.split('\t') for line in predict('text', path, '--scores').read_text().splitlines()]
    found = pq.read_table(predict('said.parquet', path, '--scores'))
    assert found.column_names == ['label', 'score_high', 'score_low', 'score_mid']
    assert found['label'].to_pylist() == [line[0] for line in lines]
    assert [list(row.values())[1:] for row in found.to_pylist()] == [list(map(float, line[1:])) for line in lines]
    assert pq.read_table(predict('labels.parquet', path)).column_names == ['label']


@pytest.mark.parametrize(('name', 'delimiter'), [('said.csv', ','), ('SAID.TSV', '\t')])
def test_text_with_names_holds_what_text_without_names_does(predict, path, name, delimiter):
    words = (path, '--scores')
    lines = [line.split('\t') for line in predict('text', *words).read_text().splitlines()]
    said = predict(name, *words)
    with open(said, newline='') as stream:
        names, *rows = csv.reader(stream, delimiter=delimiter)
    assert names == ['label', 'score_high', 'score_low', 'score_mid'] and rows == lines
    assert read_csv(said, sep=delimiter)['score_low'].tolist() == [float(line[2]) for line in lines]


def test_batches_do_not_change_what_is_written(predict, path, monkeypatch):
    wanted = pq.read_table(predict('whole.parquet', path, '--scores'))
    monkeypatch.setattr(compose, 'BATCH_ROWS', 7)
    written = predict('pieces.parquet', path, '--scores')
    assert pq.read_table(written) == wanted and pq.ParquetFile(written).num_row_groups == -(-N // 7)


def test_predictions_of_a_regression_are_numbers(elm, rng, csv_of, write, tmp_path):
    X = rng.normal(size=(40, 2))
    path = write('targets.csv', csv_of(X[:, 0] * 2, X))
    assert (
        elm('train', 'elm', path, '--task', 'regression', '--hidden', 9, '--model', tmp_path / 'm.npz', '-q').status
        == 0
    )
    assert elm('predict', tmp_path / 'm.npz', path, '-o', tmp_path / 'said.parquet', '--scores', '-q').status == 0
    found = pq.read_table(tmp_path / 'said.parquet')
    assert found.schema.field('label').type == pa.float64() and found.column_names == ['label']


@pytest.mark.parametrize('words', [['-o', 'said.parquet'], ['-o', 'said.csv']])
def test_standard_input_is_answered_by_lines_only(elm, words):
    done = elm('predict', 'm.npz', '-', *words)
    assert done.status == 2 and 'expected files' in done.err
