"""Any cut of a data set into splits, tasks in any order: the same sums, to the bit where rows are packed."""

import itertools
import json
import tempfile
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.landmarks import rows_from_arrays
from mr_elm.features.nodes import draw_nodes
from mr_elm.model.parts import layer_arrays
from mr_elm.rows.blocks import Block, encode_labels, take_rows
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.options import RowOptions
from mr_elm.rows.packs import PackWriter
from mr_elm.store import save_arrays
from mr_elm.streaming.mr_gram import MRGram
from mr_elm.streaming.mr_stats import MRStats
from mr_elm.sums.gram import GridSteps, assemble, expand
from mr_elm.sums.statistics import Classes, ColumnStatistics, LabelTable

L = 4  # nodes
maps = st.sampled_from(['sigmoid', 'relu', 'rbf', 'multiquadric', 'hardlimit'])
cuts = st.lists(st.integers(1, 3000), max_size=4)


@st.composite
def blocks(draw, numeric):
    """Draw a data set as one block: dense or CSR, with and without weights."""
    n, d = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    size = draw(st.sampled_from([1.0, 1e-3, 1e6]))
    X = size * draw(arrays_of.arrays(float, (n, d), elements=st.sampled_from([0.0, 1.0, 0.1]) | st.floats(-1, 1)))
    labels = (
        {'targets': draw(arrays_of.arrays(float, n, elements=st.floats(-size, size)))}
        if numeric
        else dict(
            zip(
                ('names', 'codes'),
                encode_labels(draw(st.lists(st.sampled_from(['1', '+1', '-1', 'a', 'città']), min_size=n, max_size=n))),
                strict=True,
            )
        )
    )
    weights = draw(st.none() | arrays_of.arrays(float, n, elements=st.floats(0.1, 9)))
    return Block(draw(st.sampled_from([np.asarray, sp.csr_matrix]))(X), weights=weights, **labels)


def pack(block, size, numeric):
    """Write a data set as packed blocks of `size` rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'rows'
        writer = PackWriter(str(path))
        for start in range(0, len(block), size):
            writer.write(take_rows(block, slice(start, start + size)))
        writer.close()
        return path.read_bytes(), RowOptions('packed', numeric_labels=numeric)


def as_text(block, numeric):
    """Write a data set as CSV: label, weight where there is one, features."""
    weights = [[]] * len(block) if block.weights is None else block.weights[:, None].tolist()
    labels = list(map(repr, block.targets.tolist())) if numeric else [block.names[code] for code in block.codes]
    rows = [
        [label, *map(repr, [*weight, *row])]
        for label, weight, row in zip(labels, weights, dense(block.X).tolist(), strict=True)
    ]
    form = RowOptions(
        'csv', ',', '.', n_columns=len(rows[0]), weight_column=1 if weights[0] else None, numeric_labels=numeric
    )
    return ''.join(','.join(row) + '\n' for row in rows).encode(), form


def dense(X):
    """Make rows dense."""
    return X.toarray() if sp.issparse(X) else X


@pytest.fixture
def job(by_hand, read_pairs, tmp_path):
    """Run a map task a split, and one reduce task over what they write in random order: key -> value, less counts."""
    path = tmp_path / 'rows'

    def run(job_class, content, cuts, arguments, random):
        data, form = content
        path.write_bytes(data)
        plan, lines = InputPlan([InputFile(str(path), len(data), form)]), []
        for start, end in itertools.pairwise(sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})):
            split = json.dumps([[0, start, end - start]]).encode() + b'\n'
            lines += by_hand(job_class, plan, split, '--planned-splits', *arguments)
        random.shuffle(lines)
        lines.sort(key=lambda line: line.partition(b'\t')[0])
        pairs = read_pairs(by_hand(job_class, plan, b'\n'.join(lines), *arguments, task='reducer'))
        counted = [value for kind, _, value in pairs if kind == 'counts']
        assert sum(counts['lines'] for counts in counted) == sum(counts['used'] for counts in counted)
        return {(kind, *place): value for kind, place, value in pairs if kind != 'counts'}

    return run


@pytest.fixture
def gram_arguments(tmp_path):
    """Ship nodes and grids for a data set."""

    def ship(layer, block, numeric):
        save_arrays(
            tmp_path / 'layer.npz',
            {'parameters': {'map': layer.kind}, 'n_features': layer.n_features},
            layer_arrays(layer),
        )
        X, weights = dense(block.X), [1.0] if block.weights is None else block.weights
        steps = GridSteps.of(
            layer.bound(X.min(axis=0), X.max(axis=0)), np.abs(block.targets).max() if numeric else 1.0, max(weights)
        )
        (tmp_path / 'grid.json').write_text(json.dumps(astuple(steps)))
        return ['--layer', tmp_path / 'layer.npz', '--grid', tmp_path / 'grid.json']

    return ship


@settings(max_examples=25)
@given(
    st.booleans().flatmap(lambda numeric: st.tuples(st.just(numeric), blocks(numeric))),
    st.integers(1, 9),
    cuts,
    cuts,
    maps,
    st.randoms(use_true_random=False),
)
def test_the_gram_and_the_class_sums_of_packed_rows_are_the_same_bits_for_any_splits(
    job, gram_arguments, drawn, size, cuts, text_cuts, kind, random
):
    numeric, block = drawn
    d = block.X.shape[1]
    layer = HiddenLayer(kind, *draw_nodes(kind, L, d), np.zeros(d), np.ones(d))
    arguments, packed = gram_arguments(layer, block, numeric), pack(block, size, numeric)
    whole = job(MRGram, packed, [], arguments, random)
    found = job(MRGram, packed, cuts, arguments, random)
    assert bits(found) == bits(whole)
    check_sums(whole, layer, block, numeric)
    check_sums(job(MRGram, as_text(block, numeric), text_cuts, arguments, random), layer, block, numeric)


def bits(sums):
    """Return what tells two sets of sums apart, to the bit."""
    return {key: [part.tobytes() for part in pair] for key, pair in sums.items()}


def check_sums(found, layer, block, numeric):
    """Compare sums with those that numpy makes of all rows at once."""
    E, weights = expand(layer, dense(block.X)), np.ones(len(block)) if block.weights is None else block.weights
    tiles = {(int(key[1]), int(key[2])): pair for key, pair in found.items() if key[0] == 'gram'}
    atol = 1e-12 * weights.sum() * np.abs(E).max() ** 2
    assert np.allclose(np.add(*assemble(tiles, L + 1)), np.triu((E.T * weights) @ E), rtol=1e-9, atol=atol)
    named = {key[1]: sum(pair) for key, pair in found.items() if key[0] == 'sum'}
    if numeric:
        atol *= np.abs(block.targets).max()
        wanted = (E.T * weights) @ block.targets
        assert np.allclose(named['targets'], wanted, rtol=1e-9, atol=atol + 1e-280)  # the grid has an end
        return
    assert set(named) == {block.names[code] for code in block.codes}
    for k, name in enumerate(block.names):
        rows = block.codes == k
        wanted = np.append(weights[rows] @ E[rows], rows.sum())
        assert np.allclose(named[name], wanted, rtol=1e-9, atol=atol)


@settings(max_examples=25)
@given(blocks(numeric=False), st.integers(1, 9), cuts, st.booleans(), st.randoms(use_true_random=False))
def test_statistics_labels_and_landmarks_are_the_same_for_any_splits(job, block, size, cuts, packed, random):
    content = pack(block, size, False) if packed else as_text(block, False)
    found = job(MRStats, content, cuts, ['--landmarks', 3, '--seed', 1], random)
    whole = job(MRStats, content, [], ['--landmarks', 3, '--seed', 1], random)
    columns, wanted = (ColumnStatistics.from_arrays(one['columns', '000000000000']) for one in (found, whole))
    X, weights = dense(block.X), np.ones(len(block)) if block.weights is None else block.weights
    assert np.isclose(columns.n, weights.sum(), rtol=1e-12)
    assert np.array_equal(columns.minimum, X.min(axis=0)) and np.array_equal(columns.maximum, X.max(axis=0))
    mean, atol = np.average(X, axis=0, weights=weights), 1e-12 * np.abs(X).max()
    assert np.allclose(columns.mean, mean, rtol=1e-12, atol=atol)
    assert np.allclose(columns.squares, weights @ (X - mean) ** 2, rtol=1e-9, atol=atol**2 * len(X))
    assert columns.n_features == wanted.n_features
    tables = [Classes.of(LabelTable(one['labels',])) for one in (found, whole)]
    assert (tables[0].names, tables[0].counts, tables[0].index) == (tables[1].names, tables[1].counts, tables[1].index)
    rows = [rows_from_arrays(one['landmarks', '000000000000']) for one in (found, whole)]
    assert dense(rows[0]).tobytes() == dense(rows[1]).tobytes()
