"""Packs: blocks of every kind come back bit for bit, other tools read them, and damage is found."""

import tracemalloc

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_files import BatchReader
from mr_elm.rows.blocks import Block, EncodedRows
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.packs import MAX_RECORD, PackParts, PackWriter, measure, sum_footer
from mr_elm.rows.splits import SplitReader

NAMES, CODES, WEIGHTS = ('x', 'ü z', '"\t\\'), np.array([1, 0, 2, 1, 1]), np.array([0.5, 1, 2, 1e300, 1e-300])
DENSE = np.array([[-0.0, np.pi, 5e-324, 1e308], [1, 2, 3, 4], [0.1, 1e22, -1.5, 7], [0, 0, 0, 0], [9, 8, 7, 6]])
SPARSE = sp.csr_matrix(DENSE)
ENCODED = EncodedRows(DENSE, (0, 1, 2, 5), np.array([[3, -1], [4, 6], [-1, -1], [3, 6], [4, -1]], np.int32), 7)
LABELS = {
    'none': {},
    'classes': {'names': NAMES, 'codes': CODES},
    'target': {'targets': DENSE[:, 1]},
    'targets': {'targets': DENSE[:, :2]},
}


def write(path, blocks, dtype='float64', **facts):
    writer = PackWriter(str(path), dtype, **facts)
    for block in blocks:
        writer.write(block)
    writer.close()
    return writer


def read(path, **form):
    parts = PackParts(str(path), 'part-0')
    form = RowOptions('packed', **form)
    batches = [batch for _, batch in parts.read(range(len(parts.sizes)), form, 4096)]
    return list(BatchReader(form).blocks(batches))


def shown(block):
    X = block.X
    layouts = {EncodedRows: ('numbers', 'ones'), sp.csr_matrix: ('data', 'indices', 'indptr')}
    arrays = [getattr(X, name) for name in layouts[type(X)]] if type(X) in layouts else [X]
    labels = None if block.codes is None else [block.names[code] for code in block.codes]
    arrays += [part for part in (block.targets, block.weights) if part is not None]
    return [X.shape, labels, getattr(X, 'columns', None), *(np.ascontiguousarray(part).tobytes() for part in arrays)]


@pytest.mark.parametrize('weights', [None, WEIGHTS], ids=['plain', 'weighted'])
@pytest.mark.parametrize('labels', LABELS.values(), ids=LABELS)
@pytest.mark.parametrize('X', [DENSE, SPARSE, ENCODED], ids=['dense', 'csr', 'encoded'])
def test_blocks_come_back_bit_for_bit(X, labels, weights, tmp_path):
    blocks = [
        Block(X, weights=weights, **labels),
        Block(
            X[:2],
            weights=None if weights is None else weights[:2],
            **{name: part if name == 'names' else part[:2] for name, part in labels.items()},
        ),
    ]
    write(tmp_path / 'p', blocks)
    numeric = 'targets' in labels
    assert list(map(shown, read(tmp_path / 'p', numeric_labels=numeric))) == list(map(shown, blocks))


@pytest.mark.parametrize('X', [np.clip(DENSE, -1e30, 1e30), sp.csr_matrix(np.clip(DENSE, -1e30, 1e30))])
def test_float32_keeps_what_float32_can_hold_in_less_room(X, tmp_path):
    X = X[np.zeros(5000, int)]
    write(tmp_path / 'p', [Block(X)], 'float32')
    write(tmp_path / 'q', [Block(X)])
    [block] = read(tmp_path / 'p')
    assert block.X.dtype == np.float64 and shown(block) == shown(Block(X.astype('float32').astype(float)))
    assert (tmp_path / 'p').stat().st_size < 0.8 * (tmp_path / 'q').stat().st_size


def test_sparse_rows_have_the_width_of_the_widest_block(tmp_path):
    write(tmp_path / 'p', [Block(SPARSE), Block(sp.csr_matrix(([1.0], [9], [0, 1])))])
    assert [block.X.shape for block in read(tmp_path / 'p')] == [(5, 10), (1, 10)]


def test_wide_blocks_are_cut(tmp_path):
    X = sp.csr_matrix(np.ones((130, 12_000)))
    writer = write(tmp_path / 'p', [Block(X, ('a', 'b'), np.arange(130) % 2)])
    blocks = read(tmp_path / 'p')
    assert writer.n_groups == len(blocks) > 1 and sum(map(len, blocks)) == 130
    assert max(measure(block.X) for block in blocks) <= MAX_RECORD


def test_other_tools_read_a_pack(tmp_path):
    write(tmp_path / 'p', [Block(DENSE, NAMES, CODES, WEIGHTS)] * 2)
    wanted, labels = np.r_[DENSE, DENSE], [NAMES[code] for code in CODES] * 2
    frame = pd.read_parquet(tmp_path / 'p')
    assert np.array_equal(np.stack(frame['x']), wanted) and frame['label'].tolist() == labels
    assert frame['weight'].tolist() == [*WEIGHTS, *WEIGHTS]
    frame = polars.read_parquet(tmp_path / 'p')
    assert np.array_equal(frame['x'].to_numpy(), wanted) and frame['label'].cast(polars.String).to_list() == labels
    duckdb = pytest.importorskip('duckdb')
    assert duckdb.sql(f"select x[2] from read_parquet('{tmp_path / 'p'}')").fetchall() == [(x,) for x in wanted[:, 1]]


def test_a_regression_refuses_packed_labels_that_are_no_numbers(tmp_path):
    write(tmp_path / 'p', [Block(DENSE, ('1', 'x', '-2'), CODES)])
    parts, form = PackParts(str(tmp_path / 'p'), 'part-0'), RowOptions('packed', numeric_labels=True)
    reader = BatchReader(form, stop=False)
    [block] = reader.blocks(batch for _, batch in parts.read([0], form, 4096))
    assert block.targets.tolist() == [1, -2] and {row.reason for row in reader.rejected} == {'target is not a number'}


def test_every_flipped_bit_is_found_or_harmless(tmp_path):
    write(tmp_path / 'p', [Block(DENSE, NAMES, CODES, WEIGHTS)] * 2)
    data = (tmp_path / 'p').read_bytes()
    wanted, footer, found = list(map(shown, read(tmp_path / 'p'))), sum_footer(str(tmp_path / 'p')), 0
    for place in range(0, len(data), 3):
        altered = bytearray(data)
        altered[place] ^= 1 << place % 8
        (tmp_path / 'q').write_bytes(altered)
        try:
            if sum_footer(str(tmp_path / 'q')) == footer:
                assert list(map(shown, read(tmp_path / 'q'))) == wanted, place
        except (DataFormatError, OSError):
            found += 1
    assert found > 100


def test_a_damaged_row_group_is_named(tmp_path):
    write(tmp_path / 'p', [Block(DENSE), Block(DENSE + 1)])
    data = (tmp_path / 'p').read_bytes()
    (tmp_path / 'p').write_bytes(data.replace((DENSE[4] + 1).tobytes(), (DENSE[4] + 2).tobytes()))
    with pytest.raises(DataFormatError, match='part-0, row group 2: the file is cut short or damaged .*CRC'):
        read(tmp_path / 'p')


def test_names_stand_in_the_footer(tmp_path):
    write(tmp_path / 'p', [Block(DENSE)], names=['a', 'b', 'c', 'd'])
    assert b'"names": ["a", "b", "c", "d"]' in pq.read_metadata(tmp_path / 'p').metadata[b'mr_elm']
    assert pq.read_schema(tmp_path / 'p').field('x').type == pa.list_(pa.field('element', pa.float64(), False), 4)


@pytest.mark.parametrize('kind', ['pack', 'parquet'])
def test_what_a_reader_holds_depends_on_the_row_group_not_on_the_file(kind, tmp_path):
    X, n_groups, path = np.random.default_rng(0).standard_normal((4096, 60)), 16, str(tmp_path / 'p')
    if kind == 'pack':
        write(tmp_path / 'p', [Block(X)] * n_groups)
    else:
        table = pa.table({f'x{j}': column for j, column in enumerate(X.T)})
        pq.write_table(pa.concat_tables([table] * n_groups), path, row_group_size=len(X), use_dictionary=False)
    plan = plan_inputs([path], RowOptions(labelled=False), closed=False)
    usual, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        reader, chunks = SplitReader(plan, None, True, len(X)).open(0, 0, plan.size, lambda n: None)
        assert sum(map(len, reader.blocks(chunks))) == n_groups * len(X)
        assert pool.max_memory() + tracemalloc.get_traced_memory()[1] < 6 * X.nbytes
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)
