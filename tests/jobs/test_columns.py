"""Rows become columns by a stage, and rows that do not fit into memory are gathered into a file."""
import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.io.blocks import Block
from mr_elm.io.packed import decode_block, decode_end
from mr_elm.machines.gathering import GatheredRows, expand_on_disk, gather_to_file
from mr_elm.machines.kernel import ColumnsTask
from mr_elm.rows.inputs import plan_blocks
from mr_elm.sparse import count_bytes
from mr_elm.streaming.mr_columns import MRColumns


@pytest.mark.parametrize('kind', [np.ascontiguousarray, sp.csr_matrix])
def test_the_stage_of_columns_transposes_scaled_rows_of_any_splits(by_hand, tmp_path, rng, kind):
    X, scale = rng.normal(size=(9, 5)) * (rng.random((9, 5)) < 0.5), rng.normal(size=5)
    offset = rng.normal(size=5) if kind is np.ascontiguousarray else np.zeros(5)
    path, problem = tmp_path / 'rows', tmp_path / 'problem.npz'
    labelled = [Block(kind(part), ('a',), np.zeros(len(part), np.int32)) for part in (X[:4], X[4:6], X[6:])]
    plan = plan_blocks(str(path), labelled)
    ColumnsTask(index={'a': 0}, n_classes=1, class_weights=None, seed=0, width=2, n_features=5,
                arrays={'feature_offset': offset, 'feature_scale': scale}).save(problem)
    mapped, start = [], 0
    for record in path.read_bytes().splitlines(keepends=True):
        mapped += by_hand(MRColumns, plan, record, '--problem', problem, file=path, start=start)
        start += len(record)
    shuffled = sorted(mapped, key=lambda line: (line.split(b'\t')[0], -len(line)))
    written = by_hand(MRColumns, plan, b'\n'.join(shuffled) + b'\n', '--problem', problem, task='reducer')
    columns = [decode_block(line).X for line in written if line.startswith(b'mr_elm-block')]
    assert [len(block) for block in columns] == [2, 2, 1]
    assert (np.concatenate(columns) == ((X - offset) * scale).T).all()
    ends = [decode_end(line) for line in written if line.startswith(b'mr_elm-end')]
    assert sum(end['used'] for end in ends) == 9


@pytest.mark.parametrize('kind', [np.asarray, sp.csr_matrix])
def test_rows_gathered_into_a_file_stand_in_input_order(tmp_path, rng, kind):
    X = rng.normal(size=(50, 3)) * (rng.random((50, 3)) < 0.5)
    places = np.c_[np.zeros(50), np.repeat([0, 10], 25), np.tile(np.arange(25), 2)]
    rows = GatheredRows(places.astype(int), np.arange(50.0), np.ones(50), kind(X))
    for name, starts in ('in order', (0, 20, 40)), ('out of order', (40, 0, 20)):
        pieces = [piece for start in starts for piece, _ in rows.take(slice(start, start + 20)).cut()]
        found = gather_to_file(pieces, str(tmp_path / name))
        assert type(found.X) is type(rows.X) and count_bytes(found.X) == count_bytes(rows.X)
        for part in ('data', 'indices', 'indptr') if kind is sp.csr_matrix else ():
            assert (getattr(found.X, part) == getattr(rows.X, part)).all()
        dense = expand_on_disk(found.X, str(tmp_path / f'{name}, dense'))
        assert type(dense) is np.ndarray and (dense == X).all()
        assert (found.numbers == rows.numbers).all() and (found.places == rows.places).all()
