"""predict writes tables, and copies columns of its input beside the predictions; rows that are left out stay out."""

import csv
import gzip

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
def test_text_with_names_holds_what_text_without_names_does(predict, path, table, name, delimiter):
    words = (path, '--scores', '--keep', 'id,number')
    lines = [line.split('\t') for line in predict('text', *words).read_text().splitlines()]
    said = predict(name, *words)
    with open(said, newline='') as stream:
        names, *rows = csv.reader(stream, delimiter=delimiter)
    assert names == ['label', 'score_high', 'score_low', 'score_mid', 'id', 'number']
    assert rows == lines and [row[4] for row in rows] == table['id'].to_pylist()
    assert read_csv(said, sep=delimiter)['score_low'].tolist() == [float(line[2]) for line in lines]


@pytest.mark.parametrize(
    'write',
    [
        pq.write_table,
        lambda table, path: pa.ipc.new_stream(path, table.schema),
        lambda table, path: path.with_suffix('.csv'),
    ],
    ids=['parquet', 'arrow', 'csv'],
)
def test_columns_are_kept_whatever_the_input_is(write, predict, table, path, tmp_path):
    source = tmp_path / 'rows'
    opened = write(table, source)
    if isinstance(opened, pa.ipc.RecordBatchStreamWriter):
        with opened:
            opened.write_table(table, max_chunksize=20)
    found = pq.read_table(predict('said.parquet', path if opened == path else source, '--keep', 'number,id'))
    assert found.column_names == ['label', 'number', 'id']
    assert found['id'].to_pylist() == table['id'].to_pylist()
    assert list(map(int, found['number'].to_pylist())) == list(range(N))


def test_kept_columns_follow_the_scores_in_text(predict, path, table):
    plain = predict('plain', path, '--scores').read_text().splitlines()
    kept = predict('kept', path, '--scores', '--keep', '2,kind').read_text().splitlines()
    assert kept == [
        f'{line}\t{row["number"]}\t{row["kind"]}' for line, row in zip(plain, table.to_pylist(), strict=True)
    ]


def test_rows_that_are_left_out_are_not_kept(predict, path, table, write):
    lines = path.read_text().splitlines()
    lines[3:3] = ['', 'bad,x,100,1,low', '  ', 'bad,1,101,1']
    whole = write('d/b.csv.gz', gzip.compress('\n'.join(lines).encode()))
    write('d/a.csv', f'{lines[0]}\n{lines[1]}\n{lines[4]}\n')
    found = predict('said', whole.parent, '--keep', 'number', '--bad-rows', 'skip', '-D', 'mapreduce.job.maps=3')
    assert [line.split('\t')[1] for line in found.read_text().splitlines()] == ['0', *map(str, range(N))]


def test_bad_rows_of_parquet_are_not_kept(predict, table, tmp_path):
    values = table['a'].to_pylist()
    values[40] = float('nan')
    pq.write_table(table.set_column(1, 'a', pa.array(values)), tmp_path / 'rows.parquet', row_group_size=30)
    found = pq.read_table(predict('said.parquet', tmp_path / 'rows.parquet', '--keep', 'number', '--bad-rows', 'skip'))
    assert found['number'].to_pylist() == [i for i in range(N) if i != 40]


@pytest.mark.parametrize('keep', ['part', 'part,id'])
def test_the_folders_of_a_partitioned_data_set_can_be_kept(keep, elm, table, predict, tmp_path):
    part = pa.array(['one', None, '3'] * (N // 3))
    pq.write_to_dataset(table.append_column('part', part), tmp_path / 'set', partition_cols=['part'])
    found = pq.read_table(predict('said.parquet', tmp_path / 'set', '--keep', keep, '--drop', 'id,number,part'))
    assert found.column_names == ['label', *keep.split(',')]
    assert found['part'].to_pylist() == ['3'] * (N // 3) + [None] * (N // 3) + ['one'] * (N // 3)


def test_batches_do_not_change_what_is_written(predict, path, monkeypatch):
    wanted = pq.read_table(predict('whole.parquet', path, '--scores', '--keep', 'id'))
    monkeypatch.setattr(compose, 'BATCH_ROWS', 7)
    written = predict('pieces.parquet', path, '--scores', '--keep', 'id')
    assert pq.read_table(written) == wanted and pq.ParquetFile(written).num_row_groups == -(-N // 7)


def test_predictions_of_a_regression_are_numbers(elm, rng, csv_of, write, tmp_path):
    X = rng.normal(size=(40, 2))
    path = write('targets.csv', csv_of(X[:, 0] * 2, X))
    assert (
        elm('train', 'elm', path, '--task', 'regression', '--hidden', 9, '--model', tmp_path / 'm.npz', '-q').status
        == 0
    )
    assert (
        elm(
            'predict', tmp_path / 'm.npz', path, '-o', tmp_path / 'said.parquet', '--scores', '--keep', '0', '-q'
        ).status
        == 0
    )
    found = pq.read_table(tmp_path / 'said.parquet')
    assert found.schema.field('label').type == pa.float64() and found.column_names == ['label', '0']


@pytest.mark.parametrize(
    ('name', 'words', 'message'),
    [
        ('said.parquet', ['--keep', 'nothing'], "expected a column named 'nothing'"),
        ('said', ['--keep', '9'], 'expected column 9'),
    ],
)
def test_a_column_that_is_not_there_is_named_before_any_work(elm, model, path, tmp_path, name, words, message):
    done = elm('predict', model, path, '-o', tmp_path / name, *words)
    assert done.status == 1 and message in done.err and 'predictions' not in done.err
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize('ending', ['parquet', 'csv'])
def test_two_columns_of_a_table_cannot_have_one_name(elm, model, path, tmp_path, ending):
    renamed = path.read_text().replace('id,', 'label,', 1)
    path.write_text(renamed)
    done = elm('predict', model, path, '-o', tmp_path / f'said.{ending}', '--drop', 'label,number', '--keep', 'label')
    assert done.status == 1 and '--keep label has the name of a column with predictions' in done.err


def test_rows_without_names_or_positions_cannot_be_kept(elm, trained, write, libsvm_of, rng, tmp_path):
    path = write('rows.libsvm', libsvm_of(['a', 'b'] * 20, rng.normal(size=(40, 2))))
    trained(path)
    done = elm('predict', trained.path, path, '-o', tmp_path / 'said', '--keep', '0')
    assert done.status == 1 and 'expected csv, parquet or arrow rows for --keep, found libsvm' in done.err


@pytest.mark.parametrize('words', [['-o', 'said.parquet'], ['-o', 'said.csv'], ['--keep', 'id']])
def test_standard_input_is_answered_by_lines_only(elm, words):
    done = elm('predict', 'm.npz', '-', *words)
    assert done.status == 2 and 'expected files' in done.err
