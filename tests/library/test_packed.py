"""Packed rows: the bits that went in come out, and nothing altered gets through."""
import sys
from binascii import b2a_base64
from runpy import run_path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.errors import DataFormatError
from mr_elm.io import letters
from mr_elm.io.blocks import Block
from mr_elm.io.encoded_rows import EncodedRows, spread
from mr_elm.io.formats import RowFormat
from mr_elm.io.packed import (
    BLOCK_MARK,
    END_MARK,
    MAX_RECORD,
    count_record_rows,
    cut_to_records,
    decode_block,
    encode_block,
)
from mr_elm.io.packed_reader import PackedReader

RNG = np.random.default_rng(0)
NAMES, CODES = ('+1', 'città\t"x"', '-1'), np.array([2, 0, 1, 1, 0], np.int32)
DENSE = RNG.standard_normal((5, 4)) * 10.0**RNG.integers(-300, 300, (5, 4))
DENSE[0] = [0.0, -0.0, 5e-324, 1.7976931348623157e308]
SPARSE = sp.random(5, 40, 0.2, 'csr', random_state=0)
WEIGHTS = RNG.uniform(0.5, 2, 5)
MATRICES = {'dense': DENSE, 'csr': SPARSE, 'csr of zeros': sp.csr_matrix((5, 7)), 'one column': DENSE[:, :1],
            'encoded': EncodedRows(DENSE[:, 1:3], (0, 4), np.array([[1, 7], [-1, 5], [2, 7], [3, 9], [1, -1]]), 10),
            'only ones': EncodedRows(DENSE[:, :0], (), np.array([[1], [-1], [70_000], [3], [1]]), 70_001),
            'column order': np.asfortranarray(DENSE), 'slice': np.repeat(DENSE, 2, axis=1)[:, ::2]}


def bits(X):
    X = spread(X)
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X).tobytes()


@pytest.mark.parametrize('matrix', MATRICES)
@pytest.mark.parametrize('weights', [None, WEIGHTS], ids=['unweighted', 'weighted'])
@pytest.mark.parametrize('labelled', [True, False])
def test_a_block_comes_back_bit_for_bit(matrix, weights, labelled):
    X = MATRICES[matrix]
    block = Block(X, NAMES, CODES, weights) if labelled else Block(X, weights=weights)
    line = encode_block(block)
    found = decode_block(line)
    assert line.startswith(BLOCK_MARK) and b'\n' not in line
    assert type(found.X) is type(X) and found.X.shape == X.shape and spread(found.X).dtype == np.float64
    assert bits(found.X) == bits(X)
    assert found.names == block.names
    assert (found.codes is None) if not labelled else np.array_equal(found.codes, CODES)
    assert (found.weights is None) if weights is None else np.array_equal(found.weights, weights)


@pytest.mark.parametrize('X', [np.clip(DENSE, -1e30, 1e30), SPARSE], ids=['dense', 'csr'])
def test_float32_keeps_what_float32_can_hold_in_less_room(X):
    block = Block(X, NAMES, CODES)
    found = decode_block(encode_block(block, 'float32'))
    assert bits(found.X) == bits(X.astype(np.float32).astype(np.float64))
    assert decode_block(encode_block(found, 'float32')).X.dtype == np.float64
    assert bits(decode_block(encode_block(found, 'float32')).X) == bits(found.X)
    assert len(encode_block(block, 'float32')) < len(encode_block(block))


def test_numeric_labels_come_back_bit_for_bit():
    targets = np.array([1e-300, -0.1, 3, 1.7976931348623157e308, -0.0])
    for T in (targets, np.column_stack([targets, targets[::-1]])):
        found = decode_block(encode_block(Block(DENSE, targets=T)))
        assert found.targets.shape == T.shape and bits(found.targets) == bits(T)


def test_explicit_zeros_stay():
    X = sp.csr_matrix(([0.0, 1.0], [2, 3], [0, 1, 2]), shape=(2, 5))
    found = decode_block(encode_block(Block(X))).X
    assert found.nnz == 2 and found.indices.tolist() == [2, 3]


def same(a, b):
    return (bits(a.X) == bits(b.X) and a.names == b.names and np.array_equal(a.codes, b.codes)
            and np.array_equal(a.weights, b.weights))


@pytest.mark.parametrize('X', [DENSE[:, :2], SPARSE[:, :6]], ids=['dense', 'csr'])
def test_no_altered_byte_changes_a_block_unseen(X):
    block = Block(X, NAMES, CODES, WEIGHTS)
    line = encode_block(block)
    caught = 0
    for place in range(len(BLOCK_MARK), len(line)):
        for flip in (1, 0x20):
            altered = bytearray(line)
            altered[place] ^= flip
            try:
                assert same(decode_block(bytes(altered)), block), place
            except ValueError:
                caught += 1
    assert caught > 1.9 * (len(line) - len(BLOCK_MARK)) - 20


def test_a_cut_line_is_refused_wherever_it_is_cut():
    line = encode_block(Block(DENSE[:, :2], NAMES, CODES))
    for length in range(len(line)):
        with pytest.raises(ValueError):
            decode_block(line[:length])


@pytest.mark.parametrize('old, new', [
    (b'"rows": 5', b'"rows": 4'), (b'"columns": 4', b'"columns": 2'), (b'<f8', b'>f8'), (b'"codes"', b'"none"'),
    (b'"-1"', b'"+2"'), (b'"weights": true', b'"weights": false'),
])
def test_a_changed_header_is_refused(old, new):
    line = encode_block(Block(DENSE, NAMES, CODES, WEIGHTS))
    assert line.count(old) == 1
    with pytest.raises(ValueError, match='altered|damaged'):
        decode_block(line.replace(old, new))


@pytest.mark.parametrize('header', [b'{}', b'[]', b'3', b'null', b'"x"', b'{"rows": 5', b'\xff', b'[' * 9999])
def test_a_header_that_is_none_is_refused(header):
    with pytest.raises(ValueError, match='damaged'):
        decode_block(BLOCK_MARK + b'\t' + header + b'\tAAAA')


@pytest.mark.parametrize('X', [np.ones((130, 10_000)), sp.csr_matrix(np.ones((130, 8000)))], ids=['dense', 'csr'])
def test_pieces_of_a_large_block_are_records_below_16_megabytes_and_hold_its_rows(X):
    block = Block(X, NAMES, np.arange(130) % 3, np.arange(1.0, 131))
    pieces = list(cut_to_records(block))
    assert max(len(encode_block(piece)) for piece in pieces) < 16e6
    assert np.array_equal(np.concatenate([piece.weights for piece in pieces]), block.weights)
    assert np.array_equal(np.concatenate([piece.codes for piece in pieces]), block.codes)
    assert sum(piece.X.sum() for piece in pieces) == X.sum()


def test_positions_beyond_the_features_are_damage():
    for columns, ones in (((0, 3), [[1]]), ((-1,), [[1]]), ((0,), [[3]])):
        line = encode_block(Block(EncodedRows(np.ones((1, len(columns))), columns, np.array(ones), 3)))
        with pytest.raises(ValueError, match='positions of 3 features'):
            decode_block(line)


def test_the_reader_accounts_for_rows_and_keeps_what_packing_counted():
    lines = [encode_block(Block(DENSE, NAMES, CODES)), encode_block(Block(DENSE[:2], NAMES[:1], CODES[:2] * 0)),
             END_MARK + b'\t{"used": 7}\t']
    reader = PackedReader(RowFormat('packed'), 'part-0')
    blocks = list(reader.blocks([b'\n'.join(lines[:1]) + b'\n', b'\n'.join(lines[1:]) + b'\n']))
    assert [len(block) for block in blocks] == [5, 2]
    assert (reader.counts.records, reader.counts.lines, reader.counts.used) == (3, 7, 7)
    assert reader.packing == [{'used': 7}]


@pytest.mark.parametrize('bad', [b'1,2,3', BLOCK_MARK, BLOCK_MARK + b'\t{}\tAAAA', encode_block(Block(DENSE))[:-9],
                                 END_MARK + b'\t' + b'[' * 9999], ids=lambda bad: bad[:20])
def test_the_reader_names_file_and_position_of_a_damaged_block(bad):
    reader = PackedReader(RowFormat('packed'), 'part-0', start=77)
    with pytest.raises(DataFormatError, match='part-0, record 2, behind byte 77'):
        list(reader.blocks([encode_block(Block(DENSE)) + b'\n' + bad + b'\n']))


def test_a_regression_refuses_packed_labels_that_are_no_numbers():
    reader = PackedReader(RowFormat('packed', numeric_labels=True), 'part-0')
    with pytest.raises(DataFormatError, match='part-0, record 1'):
        list(reader.blocks([encode_block(Block(DENSE, NAMES, CODES))]))


def test_a_classification_refuses_packed_targets():
    reader = PackedReader(RowFormat('packed'), 'part-0')
    with pytest.raises(DataFormatError, match='part-0, record 1: expected classes'):
        list(reader.blocks([encode_block(Block(DENSE, targets=np.arange(5.0)))]))


@pytest.mark.parametrize('width', [1, 50, 3000, 10**6, 10**8])
def test_rows_are_chosen_so_that_a_record_stays_below_16_megabytes(width):
    rows = count_record_rows(width, 4096)
    assert 1 <= rows <= 4096
    assert rows == 1 or rows * width * 8 <= MAX_RECORD
    assert MAX_RECORD * 4 / 3 < 16e6


@pytest.fixture(params=['pybase64', 'base64'])
def coder(request, monkeypatch):
    """Give mr_elm.io.letters as it is with or without the fast library."""
    if request.param == 'pybase64':
        pytest.importorskip('pybase64')
    else:
        monkeypatch.setitem(sys.modules, 'pybase64', None)
    return SimpleNamespace(**run_path(letters.__file__))


@pytest.mark.parametrize('n', [*range(9), 1000])
def test_base64_is_that_of_the_standard_library_whoever_writes_it(n, coder):
    data = np.random.default_rng(n).bytes(n)
    text = coder.encode_base64(data)
    assert text == b2a_base64(data, newline=False)
    assert coder.decode_base64(memoryview(text)) == data


@pytest.mark.parametrize('damaged', [b'AAA', b'AAAA=', b'AAAA==', b'=', b'AA-A', b'AA A', b'AAAA\n', b'AA==AAAA',
                                     b'=AAA', b'AAAA\r', b'\xff'])
def test_what_is_not_base64_alone_is_refused(damaged, coder):
    with pytest.raises(ValueError):
        coder.decode_base64(damaged)
