"""Rows become columns by a stage, and rows that do not fit into memory are gathered into a file."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.machines.gathering import GatheredRows, gather
from mr_elm.machines.kernel import ColumnsTask
from mr_elm.rows.blocks import Block
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.packs import PackWriter
from mr_elm.rows.wire import WireProtocol, split_key
from mr_elm.streaming.mr_columns import MRColumns


@pytest.mark.parametrize('kind', [np.ascontiguousarray, sp.csr_matrix])
def test_the_stage_of_columns_transposes_scaled_rows_of_any_splits(by_hand, tmp_path, rng, kind):
    X, scale = rng.normal(size=(9, 5)) * (rng.random((9, 5)) < 0.5), rng.normal(size=5)
    offset = rng.normal(size=5) if kind is np.ascontiguousarray else np.zeros(5)
    path, problem = tmp_path / 'rows', tmp_path / 'problem.npz'
    plan = plan_labelled(path, [kind(part) for part in (X[:4], X[4:6], X[6:])])
    ColumnsTask(
        index={'a': 0},
        n_classes=1,
        class_weights=None,
        seed=0,
        width=2,
        n_features=5,
        arrays={'feature_offset': offset, 'feature_scale': scale},
    ).save(problem)
    mapped, start = [], 0
    (file,) = plan.files
    for end in [*file.cuts[1:], file.size]:
        split = json.dumps([[0, start, end - start]]).encode() + b'\n'
        mapped += by_hand(MRColumns, plan, split, '--planned-splits', '--problem', problem)
        start = end
    shuffled = sorted(mapped, key=lambda line: (line.split(b'\t')[0], -len(line)))
    written = by_hand(MRColumns, plan, b'\n'.join(shuffled) + b'\n', '--problem', problem, task='reducer')
    records = [(split_key(key)[0], value) for key, value in map(WireProtocol().read, written)]
    columns = [value[0] for kind, value in records if kind == 'block']
    assert [len(block) for block in columns] == [2, 2, 1]
    assert (np.concatenate(columns) == ((X - offset) * scale).T).all()
    assert sum(value['used'] for kind, value in records if kind == 'counts') == 9


def plan_labelled(path, parts):
    """Write rows of one label as the row groups of a file."""
    writer = PackWriter(str(path))
    for X in parts:
        writer.write(Block(X, ('a',), np.zeros(X.shape[0], np.int32)))
    writer.close()
    return plan_inputs([str(path)], RowOptions(), closed=False)


@pytest.mark.parametrize('kind', [np.asarray, sp.csr_matrix])
def test_gathered_rows_stand_in_input_order(rng, kind):
    X = rng.normal(size=(50, 3)) * (rng.random((50, 3)) < 0.5)
    places = np.c_[np.zeros(50), np.repeat([0, 10], 25), np.tile(np.arange(25), 2)]
    rows = GatheredRows(places.astype(int), np.arange(50.0), np.ones(50), kind(X))
    for starts in (0, 20, 40), (40, 0, 20):
        pieces = [piece for start in starts for piece, _ in rows.take(slice(start, start + 20)).cut()]
        found = gather(pieces)
        assert type(found.X) is type(rows.X) and (found.X != rows.X).sum() == 0
        assert (found.numbers == rows.numbers).all() and (found.places == rows.places).all()


@pytest.mark.parametrize(
    ('words', 'meant'),
    [
        (('--label-column', 'chrun'), 'churn'),
        (('--label-column', 'Churn'), 'churn'),
        (('--drop', 'custmer_id'), 'customer_id'),
        (('--weight-column', 'AGE'), 'Age'),
        (('--encode', 'auto', '--category', 'age'), 'Age'),
        (('--part-by', 'Customer-ID'), 'customer_id'),
    ],
)
def test_a_column_that_is_probably_meant_is_named(elm, tmp_path, words, meant):
    path = tmp_path / 'rows.csv'
    path.write_text('churn,customer_id,Age\n' + ''.join(f'{i % 2},{i},{i % 7}\n' for i in range(20)))
    said = elm('train', 'elm', path, *words, '--model', tmp_path / 'm.npz').err
    assert f"expected a column named '{words[-1]}' (did you mean {meant}?), its 3 columns are churn, " in said
