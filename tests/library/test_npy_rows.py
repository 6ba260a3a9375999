"""Matrices of numpy: .npy and .npz files as rows."""
import io
from pathlib import Path

import numpy as np
import pytest

from mr_elm.errors import DataFormatError
from mr_elm.files.storage import Ranges
from mr_elm.io.columns import Table
from mr_elm.io.formats import RowOptions
from mr_elm.io.kinds import find_binary_kind, find_kind
from mr_elm.io.npy_rows import PART_ROWS
from mr_elm.io.parts import read_parts

ROWS = np.array([[1, 0.5, 2], [0, -1.5, 4], [1, 0.1, 8]])


def read(path, elsewhere=False, block_rows=4096, split=None, **options):
    """Read a file, or a split of it, where it is or by ranges: (reader, blocks)."""
    data = Path(path).read_bytes()
    source = Ranges(lambda start, length: data[start:start + length], len(data)) if elsewhere else str(path)
    kind = find_kind(find_binary_kind(data[:8]))
    parts = kind.open(source, str(path))
    form = parts.choose_format(RowOptions(**options), ())
    reader = kind.reader(form, str(path), stop=False)
    batches = (batch for _, batch in read_parts(source, parts, form, split or (0, len(data)), block_rows))
    return reader, list(reader.blocks(batches))


def labels_of(blocks):
    return [block.names[code] for block in blocks for code in block.codes]


@pytest.fixture
def save(tmp_path):
    """Write an array, or several by name: the path."""
    def file(array=None, **arrays):
        path = tmp_path / ('rows.npz' if arrays else 'rows.npy')
        if arrays:
            np.savez(path, **arrays)
        else:
            np.save(path, array)
        return path
    return file


@pytest.mark.parametrize('elsewhere', [False, True])
@pytest.mark.parametrize('dtype', ['float64', 'float32', '>f8', 'int16'])
def test_the_label_stands_first_in_a_matrix(save, dtype, elsewhere):
    rows = ROWS.astype(dtype)
    _, blocks = read(save(rows), elsewhere, block_rows=2)
    assert np.array_equal(np.vstack([block.X for block in blocks]), rows[:, 1:]) and blocks[0].X.dtype == float
    assert labels_of(blocks) == ['1', '0', '1']


@pytest.mark.parametrize('elsewhere', [False, True])
@pytest.mark.parametrize('y', [[3, 1, 3], ['b', 'ä', 'b'], [True, False, True]], ids=['numbers', 'text', 'booleans'])
def test_an_archive_has_labels_of_its_own(save, y, elsewhere):
    path = save(X=ROWS, y=np.array(y))
    _, blocks = read(path, elsewhere)
    assert np.array_equal(blocks[0].X, ROWS) and labels_of(blocks) == list(map(str, y))
    assert read(path, ignore_label=True)[1][0].codes is None


def test_label_weight_and_features_may_be_any_columns(save):
    _, [block] = read(save(ROWS + [1, 0, 0]), label_column=-1, weight_column='0', n_features=1)
    assert block.X.tolist() == [[0.5], [-1.5], [0.1]] and labels_of([block]) == ['2', '4', '8']
    assert block.weights.tolist() == [2, 1, 2]


def test_rows_in_the_order_of_fortran_are_the_same_rows(save):
    assert np.array_equal(read(save(np.asfortranarray(ROWS)))[1][0].X, ROWS[:, 1:])


def test_large_matrices_are_cut(save):
    rows = np.arange(6.0 * PART_ROWS).reshape(-1, 2)
    path = save(rows)
    size = path.stat().st_size
    found = [block.X for start, end in ((0, size // 2), (size // 2, size))
             for block in read(path, split=(start, end - start), labelled=False)[1]]
    assert len(found) > 2 and np.array_equal(np.vstack(found), rows)


def test_rows_that_cannot_be_used_are_left_out(save):
    reader, blocks = read(save(np.array([[np.nan, 1], [0, np.nan], [1, np.inf], [0, 7]])))
    assert {row.ordinal: row.reason for row in reader.rejected} == {
        0: 'missing label', 1: 'missing value', 2: 'nan or infinite'}
    assert blocks[0].X.tolist() == [[7]]


def test_missing_values_may_be_kept(save):
    _, [block] = read(save(np.array([[0, np.nan], [1, 2]])), encode='auto')
    assert isinstance(block.X, Table) and dict(block.X.columns[0].count()) == {'': 1, '2': 1}


@pytest.mark.parametrize('arrays, message', [
    ({'array': np.arange(3.0)}, 'expected a matrix of numbers, found an array of shape .3,. and type float64'),
    ({'array': np.array([['a']])}, 'expected a matrix of numbers'),
    ({'array': np.array([[None, 1]], object)}, 'cut short or damaged'),
    ({'X': ROWS}, 'expected the arrays X and y, found X'),
    ({'X': ROWS, 'y': np.arange(2)}, 'as many labels in y as rows in X')], ids=lambda value: str(value)[:20])
def test_other_arrays_are_refused(save, arrays, message):
    with pytest.raises(DataFormatError, match=message):
        read(save(**arrays))


@pytest.mark.parametrize('elsewhere', [False, True])
@pytest.mark.parametrize('arrays', [{'array': ROWS}, {'X': ROWS, 'y': ROWS[:, 0]}], ids=['npy', 'npz'])
def test_damaged_bytes_give_one_sentence(save, arrays, elsewhere):
    path, rng = save(**arrays), np.random.default_rng(2)
    data = path.read_bytes()
    for cut in (1, 30, len(data) - 8):
        path.write_bytes(data[:-cut])
        with pytest.raises(DataFormatError, match='rows.np[yz]: the file is cut short or damaged'):
            read(path, elsewhere)
    for _ in range(100):
        damaged = bytearray(data)
        for position in rng.integers(8, len(data), 2):
            damaged[position] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            read(path, elsewhere)
        except DataFormatError as error:
            assert str(error).startswith(str(path)) and '\n' not in str(error)


def test_the_rows_of_csv_have_the_same_labels(save):
    text = io.StringIO()
    np.savetxt(text, ROWS, fmt='%g', delimiter=',')
    assert labels_of(read(save(ROWS))[1]) == [line.partition(',')[0] for line in text.getvalue().splitlines()]
