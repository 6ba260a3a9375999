"""Blocks that become record batches of Arrow come back bit for bit, whatever their rows and labels are."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mr_elm.rows.arrow_blocks import from_batch, read_facts, to_batch
from mr_elm.rows.blocks import Block, EncodedRows, concatenate, take_rows

DENSE = np.array([[-0.0, np.inf, np.nan, 5e-324], [1e308, -np.inf, 0.1, -1.5], [1, 2, 3, 4]])
ROWS = {
    'dense': DENSE,
    'transposed': DENSE.T[:3],
    'one column': DENSE[:, :1],
    'no rows': DENSE[:0],
    'csr': sp.csr_matrix(([-0.0, 0.0, 1.5], [0, 99_999, 4], [0, 2, 2, 3]), shape=(3, 100_000)),
    'encoded': EncodedRows(DENSE, (0, 1, 2, 5), np.array([[3, -1], [4, 6], [-1, -1]], np.int32), 7),
    'only numbers': EncodedRows(DENSE, (0, 1, 2, 3), np.empty((3, 0), np.int32), 4),
    'only categories': EncodedRows(np.empty((3, 0)), (), np.array([[0], [2], [-1]], np.int32), 3),
}
LABELS = {
    'none': {},
    'classes': {'names': ('città', '', 'a b'), 'codes': np.array([2, 0, 2], np.int32)},
    'target': {'targets': DENSE[:, 0]},
    'targets': {'targets': DENSE[:, [1, 3]]},
}


def back(batch):
    return from_batch(batch, read_facts(batch.schema.metadata))


def parts_of(block):
    X = block.X
    if isinstance(X, EncodedRows):
        arrays, rest = [X.numbers, X.ones], [X.columns]
    elif sp.issparse(X):
        arrays, rest = [X.data, X.indices, X.indptr], []
    else:
        arrays, rest = [X], []
    labels = None if block.codes is None else [block.names[code] for code in block.codes]
    arrays += [part for part in (block.targets, block.weights) if part is not None]
    return [X.shape, labels, *rest, *((part.shape, np.ascontiguousarray(part).tobytes()) for part in arrays)]


@pytest.mark.parametrize('weights', [None, np.array([0.5, 1e300, 3])], ids=['plain', 'weighted'])
@pytest.mark.parametrize('labels', LABELS.values(), ids=LABELS)
@pytest.mark.parametrize('X', ROWS.values(), ids=ROWS)
def test_every_bit_comes_back(X, labels, weights):
    n = X.shape[0]
    block = Block(
        X,
        **{name: part[:n] if name != 'names' else part for name, part in labels.items()},
        weights=None if weights is None else weights[:n],
    )
    assert parts_of(back(to_batch(block))) == parts_of(block)


@pytest.mark.parametrize('X', [X for X in ROWS.values() if X.shape[0]])
def test_some_rows_of_a_batch_are_those_of_the_block(X):
    block = Block(X, **LABELS['classes'])
    assert parts_of(back(to_batch(block).slice(1, 2))) == parts_of(take_rows(block, slice(1, 3)))


def test_dense_rows_are_not_copied():
    batch = to_batch(Block(DENSE))
    assert np.shares_memory(back(batch).X, batch.column('x').flatten().to_numpy())


def test_other_programs_read_lists_labels_and_weights():
    frame = pa.Table.from_batches([to_batch(Block(DENSE, **LABELS['classes'], weights=np.ones(3)))]).to_pandas()
    assert np.array_equal(np.stack(frame['x']), DENSE, equal_nan=True)
    assert frame['label'].tolist() == ['a b', 'città', 'a b'] and frame['weight'].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    'X',
    [
        sp.csr_matrix(([1.0], [5], [0, 1]), shape=(1, 3)),
        sp.csr_matrix(([1.0], [-1], [0, 1]), shape=(1, 3)),
        EncodedRows(np.ones((1, 1)), (0,), np.array([[3]], np.int32), 3),
    ],
)
def test_positions_outside_a_row_are_refused(X):
    with pytest.raises(ValueError, match='positions below 3'):
        back(to_batch(Block(X)))


def test_a_batch_whose_lists_end_outside_their_items_is_refused():
    batch = to_batch(Block(sp.csr_matrix(np.eye(3))))
    ends = np.array([0, 1 << 20, 2, 3], np.int32)
    wrong = pa.Array.from_buffers(batch['value'].type, 3, [None, pa.py_buffer(ends)], children=[batch['value'].values])
    with pytest.raises(ValueError):
        back(batch.set_column(1, batch.schema.field('value'), wrong))


@pytest.mark.parametrize('positions', [[], [0, 1], [7], ['a']])
def test_numbers_of_an_encoded_table_have_a_position_each(positions):
    batch = to_batch(Block(EncodedRows(np.ones((1, 1)), (0,), np.array([[1]], np.int32), 3)))
    with pytest.raises(ValueError):
        from_batch(batch, {'columns': 3, 'number_columns': positions})


@pytest.mark.parametrize('weights', [None, np.array([0.5, 1e300, 3])], ids=['plain', 'weighted'])
@pytest.mark.parametrize('labels', LABELS.values(), ids=LABELS)
@pytest.mark.parametrize('X', [ROWS['dense'], ROWS['csr'], ROWS['encoded']], ids=['dense', 'csr', 'encoded'])
def test_the_parts_of_a_block_make_it_up_again(X, labels, weights):
    block = Block(X, **labels, weights=weights, parts=np.array([2, 0, 2]))
    parts = [take_rows(block, slice(0, 1)), None, take_rows(block, slice(1, 3))]
    joint = concatenate(parts)
    assert parts_of(joint) == parts_of(block) and joint.parts.tolist() == [2, 0, 2]
    assert concatenate([None, block]) is block and concatenate([]) is None
