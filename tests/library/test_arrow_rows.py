"""Parquet and Arrow files: what a column may hold, which rows are refused, and where a file can be cut."""

import datetime
import json
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from itertools import count
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_arrays import from_array
from mr_elm.rows.arrow_files import find_cuts, read_parts
from mr_elm.rows.blocks import spread
from mr_elm.rows.columns import Table, count_values
from mr_elm.rows.encoding import Column, Encoding
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.kinds import find_binary_kind, find_kind
from mr_elm.rows.options import RowOptions
from mr_elm.rows.remote import RemoteStore
from mr_elm.rows.storage import open_ranges

PART = 7  # rows of a row group or record batch


def write_parquet(path, table):
    pq.write_table(table, path, row_group_size=PART)


def write_file(path, table):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, PART)


def write_stream(path, table):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, PART)


WRITERS = {'parquet': write_parquet, 'arrow': write_file, 'stream': write_stream}


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    """Write columns to a file of each format: its path."""

    def file(columns, name='rows'):
        path = tmp_path / name
        WRITERS[request.param](path, pa.table(columns))
        return str(path)

    return file


def open_parts(path):
    kind = find_kind(find_binary_kind(Path(path).read_bytes()[:8]))
    return kind, kind.open(path, path)


def read(path, stop=False, block_rows=4, encoding=None, split=(0, 1 << 60), folders=(), **options):
    """Read a split of a file: (reader, blocks)."""
    kind, parts = open_parts(path)
    form = parts.choose_format(RowOptions(encoding=encoding, **options), folders)
    reader = kind.reader(form, path, stop=stop, encoding=encoding)
    size = Path(path).stat().st_size
    batches = (batch for _, batch in read_parts(parts, size, form, split, block_rows))
    return reader, list(reader.blocks(batches))


def matrix(blocks):
    return np.vstack([spread(block.X) for block in blocks])


def labels_of(blocks):
    return [block.names[code] for block in blocks for code in block.codes]


def values_of(blocks, column):
    """Count the values of a column of tables."""
    return sum((count_values(block.X.columns[column]) for block in blocks), start=Counter())


# Numbers


@pytest.mark.parametrize(
    'type, values',
    [
        *(
            (type, [0, 1, 2, 127] * 5)
            for type in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64())
        ),
        *((type, [0.0, -1.5, 0.25, 1024.0] * 5) for type in (pa.float16(), pa.float32(), pa.float64())),
        (pa.bool_(), [True, False] * 10),
        (pa.decimal128(9, 2), [Decimal('1.50'), Decimal('-2.25')] * 10),
    ],
    ids=str,
)
def test_all_numbers_and_booleans_are_features(write, type, values):
    values = [np.float16(value) for value in values] if type == pa.float16() else values
    _, blocks = read(write({'y': list(range(20)), 'x': pa.array(values, type), 'z': [0.5] * 20}))
    assert np.array_equal(matrix(blocks), [[float(value), 0.5] for value in values])


def test_numbers_keep_every_bit(write):
    X = np.random.default_rng(0).standard_normal((50, 3)) * 10.0 ** np.arange(-200, 250, 150)
    _, blocks = read(write({'y': [0, 1] * 25, **{f'x{j}': X[:, j] for j in range(3)}}))
    assert np.array_equal(matrix(blocks), X) and max(map(len, blocks)) == 4


def test_lists_of_one_size_are_a_feature_an_item(write):
    X = np.arange(60.0).reshape(20, 3)
    path = write({'y': [0, 1] * 10, 'e': pa.FixedSizeListArray.from_arrays(X.ravel(), 3), 'x': [7] * 20})
    assert open_parts(path)[1].choose_format(RowOptions(), ()).names == ('e[0]', 'e[1]', 'e[2]', 'x')
    assert np.array_equal(matrix(read(path)[1]), np.column_stack([X, np.full(20, 7)]))
    assert np.array_equal(
        matrix(read(path, names=('x', 'e[2]', 'e[0]'), dropped=('e[1]',))[1]),
        np.column_stack([np.full(20, 7), X[:, 2], X[:, 0]]),
    )
    assert np.array_equal(matrix(read(path, drop=('e',))[1]), np.full((20, 1), 7))
    assert np.array_equal(matrix(read(path, columns=('e',))[1]), X)


# Columns


def test_columns_are_found_by_name_in_any_order(write):
    path = write({'w': [2.0] * 9, 'b': range(9), 'y': ['n', 'p', 'n'] * 3, 'a': [0.5] * 9})
    _, blocks = read(path, label_column='y', weight_column='w', names=('a', 'b'))
    assert np.array_equal(matrix(blocks), [[0.5, i] for i in range(9)])
    assert labels_of(blocks) == ['n', 'p', 'n'] * 3
    assert np.array_equal(np.concatenate([block.weights for block in blocks]), [2.0] * 9)


@pytest.mark.parametrize('label', [0, '0', 'y', '-3'])
def test_the_label_is_a_name_or_a_position(write, label):
    path = write({'y': [3, 4] * 4, 'a': [1.0] * 8, 'b': [2] * 8})
    assert labels_of(read(path, label_column=label)[1]) == ['3', '4'] * 4


@pytest.mark.parametrize(
    'values, texts',
    [
        ([3, -1, 3], '3 -1 3'),
        ([0.1, 2.0, 1e300], '0.1 2.0 1e+300'),
        (['b', 'ä', 'b'], 'b ä b'),
        ([True, False, True], 'True False True'),
        ([Decimal('1.50')] * 3, '1.50 1.50 1.50'),
        (pa.array(['x', 'y', 'x']).dictionary_encode(), 'x y x'),
    ],
)
def test_a_label_is_the_text_that_csv_would_hold(write, values, texts):
    assert labels_of(read(write({'y': values, 'x': [1.0] * 3}))[1]) == texts.split()


def test_the_index_of_a_data_frame_is_no_feature_unless_it_is_named(write):
    frame = pd.DataFrame({'label': ['a', 'b'] * 3, 'x': np.arange(6.0)}, index=pd.Index([3, 1, 4, 1, 5, 9], name='id'))
    path = write(pa.Table.from_pandas(frame))
    assert matrix(read(path, label_column='label')[1]).tolist() == [[float(k)] for k in range(6)]
    chosen = matrix(read(path, label_column='label', columns=('x', 'id'))[1])
    assert chosen.tolist() == [[float(k), id] for k, id in enumerate([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])]


def test_targets_of_a_regression_are_numbers(write):
    _, blocks = read(write({'y': [True, False, True], 'x': [1.0] * 3}), numeric_labels=True)
    assert np.concatenate([block.targets for block in blocks]).tolist() == [1.0, 0.0, 1.0]


def test_prediction_does_without_the_label_and_reads_no_column_in_vain(write):
    path = write({'x': [1.0, 2.0], 'when': [datetime.date(2026, 1, 1)] * 2})
    _, [block] = read(path, ignore_label=True, label_name='y', names=('x',), dropped=('when',))
    assert block.codes is None and block.X.tolist() == [[1.0], [2.0]]


# What cannot be a feature


REFUSED = {
    'text': (['a', 'b'], '--encode auto makes categories of text, .*--drop x'),
    'dictionary': (pa.array(['a', 'b']).dictionary_encode(), '--encode auto'),
    'timestamp': ([datetime.datetime(2026, 1, 1)] * 2, '--encode auto.*--drop x'),
    'date32': ([datetime.date(2026, 1, 1)] * 2, '--encode auto.*--drop x'),
    'time': ([datetime.time(1)] * 2, 'make numbers of it.*--drop x'),
    'duration': ([datetime.timedelta(1)] * 2, 'make numbers of it.*--drop x'),
    'list': ([[1.0], [2.0]], 'cast the lists to one fixed size.*--drop x'),
    'struct': ([{'a': 1}, {'a': 2}], 'make numbers of it.*--drop x'),
    'binary': ([b'a', b'b'], 'make numbers of it.*--drop x'),
}


@pytest.mark.parametrize('values, cure', REFUSED.values(), ids=REFUSED)
def test_a_column_that_is_no_number_is_refused_with_its_cure(write, values, cure):
    path = write({'y': [0, 1], 'ok': [1, 2], 'x': values})
    with pytest.raises(
        DataFormatError, match=f"rows: expected number or lists in the feature column 'x', found .*: .*{cure}"
    ):
        read(path)
    assert matrix(read(path, drop=('x',))[1]).tolist() == [[1], [2]]


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ['y', 'x', 'x'])
    write_file(tmp_path / 'rows', table)
    with pytest.raises(DataFormatError, match="2 are named 'x': give each another name"):
        read(str(tmp_path / 'rows'))


@pytest.mark.parametrize(
    'options, message',
    [
        ({'names': ('x', 'age')}, "expected a column named 'age', its 1 features are x"),
        ({'names': ()}, "found also 'x': leave it out with --drop x"),
        ({'label_column': 'nope'}, r"expected a column named 'nope', its 3 columns are y, x, e\[0\]"),
        ({'label_column': 'e'}, "expected a column named 'e'"),
        ({'label_column': 'e[0]'}, "expected number or category in the label column 'e', found fixed_size_list"),
        ({'weight_column': 'e[0]'}, "in the weight column 'e'"),
        ({'columns': ('y',)}, "column 'y' is the label"),
        ({'n_features': 5}, 'expected rows of 5 features, found rows of 1'),
    ],
)
def test_columns_that_do_not_fit_are_named(write, options, message):
    path = write({'y': [0, 1], 'x': [1, 2], 'e': pa.FixedSizeListArray.from_arrays([1.0, 2.0], 1)})
    with pytest.raises(DataFormatError, match=message):
        read(path, **options, **({} if 'e[0]' in options.values() else {'drop': ('e',)}))


# Rows that cannot be used


BAD = {
    'y': ['a', None, 'b', 'a', '', 'b', 'a', 'b'],
    'x': [1.0, 2.0, None, np.inf, 3.0, np.nan, 4.0, 5.0],
    'w': [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 2.0],
}
REASONS = {
    1: 'missing label',
    2: 'missing value',
    3: 'nan or infinite',
    4: 'missing label',
    5: 'missing value',
    6: 'weight is not positive',
}


def test_rows_that_cannot_be_used_are_left_out_and_counted_by_reason(write):
    reader, blocks = read(write(BAD), weight_column='w')
    assert {row.ordinal: row.reason for row in reader.rejected} == REASONS
    assert matrix(blocks).tolist() == [[1.0], [5.0]] and labels_of(blocks) == ['a', 'b']
    assert [name for block in blocks for name in block.names] == ['a', 'b']
    assert reader.counts.lines == 8 == reader.counts.used + sum(reader.counts.rejected.values())


def test_reading_stops_at_the_first_bad_row_when_asked(write):
    reader, blocks = read(write(BAD), stop=True, weight_column='w', block_rows=1)
    assert [row.ordinal for row in reader.rejected] == [1] and len(blocks) == 1


def test_a_bad_row_is_shown_with_its_cure(write):
    reader, _ = read(write({'y': [1], 'age': pa.array([None], pa.int32()), 'x': [2]}))
    assert json.loads(reader.rejected[0].line) == {'y': 1, 'age': None, 'x': 2}
    assert "'age' has no value (--encode auto takes the mean" in reader.rejected[0].detail


# Tables


def test_tables_keep_text_and_missing_values(write):
    city = ['Rome', None, 'Oslo', 'Rome'] * 5
    path = write(
        {
            'y': [0, 1] * 10,
            'city': city,
            'code': pa.array(city).dictionary_encode(),
            'age': [1.5, None, 2.0, np.nan] * 5,
            'e': pa.FixedSizeListArray.from_arrays(np.arange(40.0), 2),
        }
    )
    _, blocks = read(path, encode='auto')
    assert all(isinstance(block.X, Table) for block in blocks)
    assert values_of(blocks, 0) == values_of(blocks, 1) == {'Rome': 10, 'Oslo': 5, '': 5}
    assert values_of(blocks, 2) == {'1.5': 5, '2': 5, '': 10}
    assert np.array_equal(np.concatenate([block.X.columns[4].numbers() for block in blocks]), np.arange(1.0, 40, 2))


def test_encoded_rows_that_cannot_be_used_are_found_one_by_one(write):
    encoding = Encoding((Column('a', mean=3.0), Column('b', 'category', categories=('u',))))
    path = write({'y': [0, 1, None, 1, 0], 'a': ['1', 'oops', '2', '', 'inf'], 'b': ['u', 'v', 'u', None, 'u']})
    reader, blocks = read(path, encoding=encoding)
    assert {row.ordinal: row.reason for row in reader.rejected} == {
        1: 'not a number',
        2: 'missing label',
        4: 'nan or infinite',
    }
    assert matrix(blocks).tolist() == [[1, 1, 0], [3, 0, 1]]


def test_the_names_of_folders_are_columns(write):
    path = write({'y': [0, 1], 'x': [1.0, 2.0]})
    folders = ('year', '2026'), ('x', '9'), ('city', 'Oslo'), ('none', '__HIVE_DEFAULT_PARTITION__')
    _, [block] = read(path, encode='auto', folders=folders)
    assert [dict(count_values(column)) for column in block.X.columns] == [
        {'1': 1, '2': 1},
        {'2026': 2},
        {'Oslo': 2},
        {'': 2},
    ]
    with pytest.raises(DataFormatError, match="the feature column 'city', found string: --encode auto"):
        read(path, folders=folders)


# Parts


def test_parts_are_read_once_whatever_the_splits(write):
    path = write({'y': [0, 1] * 30, 'x': np.arange(60.0)})
    size = Path(path).stat().st_size
    for n_splits in (1, 2, 3, 7, 50):
        bounds = [size * i // n_splits for i in range(n_splits + 1)]
        blocks = [
            block
            for start, end in zip(bounds, bounds[1:], strict=False)
            for block in read(path, split=(start, end - start))[1]
        ]
        assert matrix(blocks)[:, 0].tolist() == list(range(60))


def test_files_that_are_elsewhere_are_read_by_ranges(write):
    X = np.random.default_rng(0).standard_normal((500, 2))
    path = write({'y': [0, 1] * 250, 'x': X[:, 0], 'z': X[:, 1]})
    size, source = Path(path).stat().st_size, RemoteStore(fsspec.filesystem('file')).open(f'file://{path}')
    kind, form = open_parts(path)[0], open_parts(path)[1].choose_format(RowOptions(), ())
    batches = [batch for _, batch in read_parts(kind.open(source, path), size, form, (0, size), 64)]
    assert np.array_equal(matrix([batch.block for batch in batches]), X)


def test_a_file_that_is_elsewhere_takes_few_requests(monkeypatch):
    system, asked = fsspec.filesystem('memory', skip_instance_cache=True), []
    system.pipe_file('/elsewhere', bytes(9 << 20))
    store, read = RemoteStore(system), system.cat_file
    monkeypatch.setattr('mr_elm.rows.storage.store_of', lambda path: store)
    monkeypatch.setattr(
        system, 'cat_file', lambda path, start, end, **how: asked.append((start, end)) or read(path, start, end, **how)
    )
    with open_ranges('hdfs:///elsewhere') as source:
        assert all(source.read(1 << 16) for _ in range(9 << 4))
    assert asked == [(0, 9 << 20)]


def test_tasks_do_without_pandas_which_takes_longer_to_load_than_they_may_last(write):
    path = write(
        {
            'y': ['a', None, 'b'],
            'n': [1, None, 3],
            't': [True, False, None],
            'c': ['u', None, 'u'],
            'x': [1.5, None, 2.5],
            'l': pa.array([[1.0, 2], None, [3.0, 4]], pa.list_(pa.float64(), 2)),
        }
    )
    script = """
import json, sys
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.splits import SplitReader
plan = InputPlan.from_json(json.loads(sys.argv[1]))
reader, batches = SplitReader(plan, None, False, 4096).open(0, 0, 1 << 30, lambda n: None)
[block] = reader.blocks(batches)
print(len(block), 'pandas' in sys.modules)
"""
    plan = json.dumps(plan_inputs([path], RowOptions(encode='auto')).to_json())
    done = subprocess.run([sys.executable, '-c', script, plan], capture_output=True, text=True, check=True)
    assert done.stdout == '2 False\n'


@pytest.mark.parametrize('kind', ['float16', 'float32', 'float64', 'int8', 'uint16', 'int32', 'uint64'])
def test_numbers_of_arrow_are_those_of_numpy(kind):
    class Number:  # to_pandas_dtype of some versions of pyarrow needs pandas, which need not be installed
        def __str__(self):
            return str(array.type)

    class Array:
        type, offset, null_count = Number(), 1, 0
        buffers = staticmethod(lambda: array.buffers())
        __len__ = lambda _: 2  # noqa: E731

    array = pa.array(np.array([7, 1, 2], kind))
    found = from_array(Array())
    assert (found.dtype, found.tolist()) == (np.dtype(kind), [1, 2])
    assert from_array(array[1:]).tolist() == [1, 2]


@pytest.mark.parametrize('n_answers', [0, 1])
def test_a_store_that_does_not_answer_is_no_damage(write, n_answers):
    path = write({'y': [0, 1] * 50_000, 'x': np.random.default_rng(0).standard_normal(100_000)})
    size, asked = Path(path).stat().st_size, count()
    system = fsspec.filesystem('file', skip_instance_cache=True)
    read = system.cat_file

    def read_range(path, start, end, **how):
        if next(asked) >= n_answers:
            raise ConnectionError('nobody answers')
        return read(path, start, end, **how)

    system.cat_file = read_range
    source = RemoteStore(system).open(f'file://{path}')
    with pytest.raises(OSError, match='does not answer'):
        parts = open_parts(path)[0].open(source, path)
        list(read_parts(parts, size, parts.choose_format(RowOptions(), ()), (0, size), 64))


def test_parquet_says_how_many_rows_it_has(tmp_path):
    table = pa.table({'y': [0, 1] * 10, 'x': np.arange(20.0)})
    for name, write in WRITERS.items():
        write(tmp_path / name, table)
    found = {name: open_parts(str(tmp_path / name))[1] for name in WRITERS}
    assert {name: (parts.n_rows, len(parts.sizes)) for name, parts in found.items()} == {
        'parquet': (20, 3),
        'arrow': (None, 3),
        'stream': (None, 1),
    }


def test_cuts_rise_and_begin_with_the_file():
    assert find_cuts(100, [0, 0, 0, 0]) == [0, 25, 50, 75]
    assert find_cuts(1000, [99, 299, 599]) == [0, 100, 400] and find_cuts(5, []) == []


# Damage


@pytest.mark.parametrize('cut', [1, 9, 200, 1000])
def test_a_file_that_is_cut_short_is_named(write, cut):
    path = write({'y': [0, 1] * 500, 'x': np.random.default_rng(0).standard_normal(1000)})
    Path(path).write_bytes(Path(path).read_bytes()[:-cut])
    with pytest.raises(DataFormatError, match='rows.*: the file is cut short'):
        read(path)


def test_a_damaged_row_group_is_named(tmp_path):
    path = tmp_path / 'rows.parquet'
    table = pa.table({'y': [0, 1] * 500, 'x': np.random.default_rng(0).standard_normal(1000)})
    pq.write_table(table, path, row_group_size=500, use_dictionary=False, write_page_checksum=True)
    column, data = pq.read_metadata(path).row_group(1).column(1), bytearray(path.read_bytes())
    data[column.data_page_offset + column.total_compressed_size // 2] ^= 255
    path.write_bytes(data)
    with pytest.raises(DataFormatError, match=r'rows\.parquet, row group 2: the file is cut short or damaged'):
        read(str(path))


def test_damaged_bytes_never_stop_the_program(write):
    """Whatever a file holds, its rows are read, or one sentence names it."""
    path = write({'y': ['a', 'b'] * 40, 'x': np.arange(80.0), 'c': ['u', 'v', None, 'w'] * 20})
    data, rng = Path(path).read_bytes(), np.random.default_rng(1)
    for _ in range(150):
        damaged = bytearray(data)
        for position in rng.integers(6, len(data), 3):
            damaged[position] = rng.integers(256)
        Path(path).write_bytes(damaged)
        try:
            read(path, encode='auto')
        except DataFormatError as error:
            assert str(error).startswith(path) and '\n' not in str(error)
