"""Parquet and Arrow as inputs of jobs: the model of the same rows as csv, planned splits, accounts, messages."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan, plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.splits import plan_splits

TABLE = ('--label-column', 'kind', '--encode', 'auto')


@pytest.fixture
def columns(rng):
    """Draw rows with text, missing values, a boolean and a list: name -> array."""
    kind, city = rng.choice(['good', 'bad'], 400), rng.choice(['Oslo', 'Rome', 'Kyiv'], 400)
    age = np.where(rng.random(400) < 0.1, None, rng.normal(40, 5, 400) + 8 * (kind == 'good'))
    return {
        'city': pa.array(city),
        'age': pa.array(age, pa.float64()),
        'kind': pa.array(kind),
        'known': pa.array(rng.random(400) < 0.5),
        'size': pa.array(rng.integers(0, 9, 400)),
    }


@pytest.fixture
def files(columns, tmp_path):
    """Write them as csv, Parquet, Arrow file and stream, each with its columns in another order: name -> path."""
    names, paths = list(columns), {}
    for shift, name in enumerate(('rows.csv', 'rows.parquet', 'rows.arrow', 'rows.arrows')):
        table = pa.table(columns).select(names[shift:] + names[:shift])
        paths[name] = tmp_path / name
        if name == 'rows.csv':
            table.to_pandas().assign(known=lambda rows: rows['known'].astype(int)).to_csv(paths[name], index=False)
        elif name == 'rows.parquet':
            pq.write_table(table, paths[name], row_group_size=70)
        else:
            make = pa.ipc.new_file if name == 'rows.arrow' else pa.ipc.new_stream
            with make(paths[name], table.schema) as writer:
                writer.write_table(table, 90)
    return paths


def predictions(elm, model, path, out, *words):
    assert elm('predict', model, path, '--scores', '-o', out, '-q', *words).status == 0
    return np.array([[float(number) for number in line.split('\t')[1:]] for line in Path(out).read_text().splitlines()])


def test_one_model_reads_all_formats_and_the_columns_in_any_order(elm, files, trained, tmp_path):
    trained(files['rows.csv'], *TABLE)
    csv = trained.path
    trained(files['rows.parquet'], *TABLE, '--columns', 'city,age,known,size')
    expected = predictions(elm, csv, files['rows.csv'], tmp_path / 'csv')
    for model in (csv, trained.path):
        for name, path in files.items():
            found = predictions(elm, model, path, tmp_path / f'{model.name}-{name}.txt')
            assert np.abs(found - expected).max() < 1e-8
    assert json.loads(elm('evaluate', csv, files['rows.parquet'], '--json', '-q').out)['rows'] == 400


def test_packs_of_csv_and_parquet_give_the_same_bits(elm, csv_of, rng, trained, tmp_path, write):
    X, y = rng.standard_normal((9000, 3)), rng.integers(0, 2, 9000)
    csv = write('rows.csv', 'y,a,b,c\n' + csv_of(y, X))
    pq.write_table(
        pa.table({'y': y, **dict(zip('abc', X.T, strict=True))}), tmp_path / 'rows.parquet', row_group_size=1000
    )
    models = []
    for path in (csv, tmp_path / 'rows.parquet'):
        assert elm('pack', path, '-o', f'{path}.pack', '-q').status == 0
        models.append(trained(f'{path}.pack')[1])
    assert all(models[0][name].tobytes() == models[1][name].tobytes() for name in models[0])


def test_tasks_read_each_row_group_once(elm, files, trained, tmp_path, maps):
    trained(files['rows.parquet'], *TABLE)
    expected = predictions(elm, trained.path, files['rows.parquet'], tmp_path / 'alone')
    for runner, n in (('inline', 2), ('local', 3), ('inline', 40)):
        found = predictions(elm, trained.path, files['rows.parquet'], tmp_path / f'{n}', '-r', runner, *maps(n))
        assert np.abs(found - expected).max() < 1e-12


# Data sets of several files


def test_the_folders_of_a_partitioned_data_set_are_a_column(elm, columns, trained, tmp_path):
    whole, folder = tmp_path / 'whole.parquet', tmp_path / 'set'
    pq.write_table(pa.table(columns), whole)
    pq.write_to_dataset(pa.table(columns), folder, partition_cols=['city'])
    header, _ = trained(folder, *TABLE)
    assert header['parameters']['input']['names'] == ['age', 'known', 'size', 'city']
    pattern = tmp_path / 's*' / 'city=*' / '*.parquet'
    for path in (whole, folder, pattern):
        scores = json.loads(elm('evaluate', trained.path, path, '--json', '-q').out)
        assert (scores['rows'], scores['accuracy'] > 0.7) == (400, True)
    done = elm('evaluate', trained.path, folder / 'city=Oslo', '-q')
    assert done.status == 1 and "expected a column named 'city'" in done.err


def test_files_may_have_columns_in_another_order_and_other_numbers(trained, tmp_path):
    pq.write_table(pa.table({'y': [0, 1] * 5, 'a': [1, 2] * 5, 'b': [0.5] * 10}), tmp_path / 'one.parquet')
    pq.write_table(pa.table({'b': [1, 2] * 5, 'y': [1, 0] * 5, 'a': [0.25, 2.5] * 5}), tmp_path / 'two.parquet')
    header, _ = trained(tmp_path)
    assert (header['n_rows_used'], header['classes']) == (20, ['0', '1'])


@pytest.mark.parametrize(
    'columns, words, message',
    [
        (
            {'y': [0, 1], 'a': ['x', 'y']},
            (),
            "two.parquet: expected number or lists in the feature column 'a', found string",
        ),
        ({'y': [0, 1], 'b': [1, 2]}, (), "two.parquet: expected a column named 'a'"),
        ({'y': [0, 1], 'a': [1, 2], 'c': [1, 2]}, (), "two.parquet: expected the columns a, found also 'c'"),
        ({'y': [[0], [1]], 'a': [1, 2]}, (), "two.parquet: expected number or category in the label column 'y'"),
    ],
)
def test_a_file_that_does_not_fit_the_others_is_named(elm, tmp_path, columns, words, message):
    pq.write_table(pa.table({'y': [0, 1] * 5, 'a': [1, 2] * 5}), tmp_path / 'one.parquet')
    pq.write_table(pa.table(columns), tmp_path / 'two.parquet')
    done = elm('train', 'pesvm', tmp_path, '--model', tmp_path / 'm.npz', '-q', *words)
    assert done.status == 1 and message in done.err


def test_a_column_that_is_text_in_one_file_is_a_category(elm, model_of, tmp_path):
    pq.write_table(pa.table({'y': [0, 1] * 5, 'a': [1, 2] * 5}), tmp_path / 'one.parquet')
    pq.write_table(pa.table({'y': [0, 1] * 5, 'a': ['1', 'x'] * 5}), tmp_path / 'two.parquet')
    done = elm('train', 'pesvm', tmp_path, '--encode', 'auto', '--hidden', 5, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 0 and "5 of them with text such as 'x'" in done.err
    [column] = model_of(tmp_path / 'm.npz')[0]['encoding']['columns']
    assert column['kind'] == 'category' and column['categories'] == ['1', '2', 'x']


def test_files_without_rows_are_left_out(tmp_path):
    schema = pa.schema({'y': pa.int64(), 'x': pa.float64()})
    pq.write_table(schema.empty_table(), tmp_path / 'a.parquet')
    pq.write_table(pa.table({'y': [0, 1], 'x': [1.0, 2.0]}), tmp_path / 'b.parquet')
    assert [Path(file.path).name for file in plan_inputs([str(tmp_path)], RowOptions()).files] == ['b.parquet']
    with pytest.raises(DataFormatError, match='a.parquet: expected rows, the file is empty'):
        plan_inputs([str(tmp_path / 'a.parquet')], RowOptions())


# Splits


@pytest.mark.parametrize('n_maps', [1, 2, 3, 5, 12, 100])
def test_splits_end_between_row_groups_and_are_of_about_one_size(tmp_path, rng, n_maps):
    for name, n_rows in (('a', 30_000), ('b', 2_000), ('c', 10_000)):
        pq.write_table(
            pa.table({'y': rng.integers(0, 2, n_rows), 'x': rng.standard_normal(n_rows)}),
            tmp_path / f'{name}.parquet',
            row_group_size=1000,
        )
    plan = plan_inputs([str(tmp_path)], RowOptions())
    tasks = plan_splits(plan, n_maps)
    assert len(tasks) == min(n_maps, len(tasks)) and len(tasks) >= min(n_maps, 42) * 0.9
    splits = [split for task in tasks for split in task]
    for number, file in enumerate(plan.files):
        starts = [start for mine, start, _ in splits if mine == number]
        ends = [start + length for mine, start, length in splits if mine == number]
        assert [*starts, file.size] == [0, *ends] and set(starts) <= set(file.cuts)
    sizes = [sum(length for _, _, length in task) for task in tasks]
    assert max(sizes) <= plan.size / n_maps + 2 * plan.size / 42


# Accounts


def test_a_bad_row_is_named_and_may_be_skipped(elm, tmp_path, maps):
    table = pa.table({'y': ['a', 'b', None, 'a'] * 10, 'x': [1.0, 2.0, 3.0, None] * 10})
    path, model = tmp_path / 'rows.parquet', tmp_path / 'm.npz'
    pq.write_table(table, path, row_group_size=6)
    words = ('train', 'pesvm', path, '--hidden', 5, '--model', model, '-q', *maps(3))
    stopped = elm(*words)
    assert stopped.status == 1 and f'{path}, row 3: missing label' in stopped.err
    assert elm(*words, '--bad-rows', 'skip').status == 0
    rejected = [line.split('\t') for line in Path(f'{model}.rejected').read_text().splitlines()]
    assert [int(line[1]) for line in rejected] == [row for start in range(0, 40, 4) for row in (start + 3, start + 4)]
    assert json.loads(rejected[1][3]) == {'y': 'a', 'x': None}


def test_a_pass_that_reads_other_rows_than_the_file_has_is_refused(tmp_path):
    pq.write_table(pa.table({'y': [0, 1] * 20, 'x': np.arange(40.0)}), tmp_path / 'rows.parquet')
    plan = plan_inputs([str(tmp_path)], RowOptions())
    counts = {
        'file': '',
        'lines': 39,
        'records': 39,
        'headers': 0,
        'comments': 0,
        'blank': 0,
        'used': 39,
        'held': 0,
        'rejected': {},
        'blas': '',
        'length': plan.size,
    }
    accounts = Accounts(plan)
    accounts.keep('counts', (0, 0), counts)
    with pytest.raises(AccountingError, match='rows.parquet: the file says that it has 40 rows, tasks read 39'):
        accounts.settle('stop')


def test_a_plan_can_be_written_down(files):
    plan = plan_inputs([str(files['rows.parquet'])], RowOptions(label_column='kind', encode='auto'))
    again = InputPlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert plan_splits(again, 3) == plan_splits(plan, 3) and again.files[0].format == plan.files[0].format


# Words and files that do not fit


@pytest.mark.parametrize(
    'name, kind, message',
    [
        ('rows.parquet', 'csv', 'expected csv rows, found parquet rows'),
        ('rows.csv', 'parquet', 'expected parquet rows, found text'),
        ('rows.arrow', 'parquet', 'expected parquet rows, found arrow rows'),
    ],
)
def test_another_format_than_the_user_named_is_refused(elm, files, tmp_path, name, kind, message):
    done = elm('train', 'pesvm', files[name], '--format', kind, '--model', tmp_path / 'm.npz')
    assert done.status == 1 and message in done.err


def test_two_formats_are_not_mixed(elm, files, tmp_path):
    done = elm('train', 'pesvm', files['rows.parquet'], files['rows.arrow'], *TABLE, '--model', tmp_path / 'm.npz')
    assert done.status == 1 and 'expected arrow rows' in done.err
