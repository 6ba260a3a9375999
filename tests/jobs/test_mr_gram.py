"""The Gram job sums exactly: any splits, by hand or by the runner, in few bytes."""

import json

import numpy as np
import pytest

from mr_elm.engines import make_engine
from mr_elm.errors import AccountingError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.model.parts import layer_arrays
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.splits import plan_splits
from mr_elm.rows.wire import WireProtocol, make_key, split_key
from mr_elm.store import save_arrays
from mr_elm.streaming.mr_gram import MRGram
from mr_elm.sums.gram import GridSteps, assemble

D = 3


@pytest.fixture
def layer(rng):
    """Draw a layer that knows nothing of the code under test but its five arrays."""
    return lambda n_hidden: HiddenLayer(
        'tanh', rng.normal(size=(n_hidden, D)), rng.normal(size=n_hidden), np.array([0.5, 0, -1]), np.array([1, 2, 0.5])
    )


@pytest.fixture
def arguments(tmp_path):
    """Ship a layer and the grids."""

    def options(layer, weights=None, target_bound=1.0):
        path, weights_path = tmp_path / 'layer.npz', tmp_path / 'weights.json'
        weights_path.write_text(json.dumps(weights))
        save_arrays(path, {'parameters': {'map': layer.kind}, 'n_features': layer.n_features}, layer_arrays(layer))
        steps, grid_path = GridSteps.of(1.0, target_bound), tmp_path / 'grid.json'
        grid_path.write_text(json.dumps([steps.gram, steps.target, steps.square]))
        return ['--layer', str(path), '--grid', str(grid_path), '--class-weights', str(weights_path)]

    return options


def expansion(layer, X):
    Z = (X - layer.offset) * layer.scale
    return np.c_[np.tanh(Z @ layer.weights.T + layer.biases), -np.ones(len(X))]


def plan_of(path, **options):
    return plan_inputs([str(path)], RowOptions(**options))


def output_of(plan, arguments, *runner_options, alias='inline'):
    """Run the job: key -> value of all that is not an account."""
    accounts, found = Accounts(plan), {}
    with make_engine(alias, runner_options).run_job(MRGram, plan, arguments, 'Gram') as output:
        for key, value in output.pairs(accounts):
            assert key not in found
            found[key] = value
    accounts.settle('stop')
    return found


def bits(found):
    return {key: [part.tobytes() for part in value] for key, value in found.items()}


def gram_of(found, m):
    """Put the tiles together as upper triangles: high + low."""
    tiles = {tuple(map(int, split_key(key)[1])): value for key, value in found.items() if key.startswith('gram ')}
    return np.add(*assemble(tiles, m))


@pytest.fixture
def rows(rng, csv_of, write):
    """Write 500 rows: (path, X, labels)."""
    X, labels = rng.normal(size=(500, D)), rng.choice(['no', 'yes', 'può darsi'], 500)
    return write('a.csv', csv_of(labels, X)), X, labels


@pytest.mark.parametrize('n_hidden', [5, 300])
def test_the_sums_are_those_of_the_whole_table(rows, layer, arguments, n_hidden, maps):
    path, X, labels = rows
    nodes = layer(n_hidden)
    E, found = expansion(nodes, X), output_of(plan_of(path), arguments(nodes), *maps(3))
    assert np.allclose(gram_of(found, n_hidden + 1), np.triu(E.T @ E), rtol=1e-12, atol=1e-10)
    for name in ('no', 'yes', 'può darsi'):
        high, low = found[make_key('sum', name)]
        assert np.allclose((high + low)[:-1], E[labels == name].sum(axis=0), rtol=1e-12, atol=1e-11)
        assert (high[-1], low[-1]) == ((labels == name).sum(), 0)


def test_class_weights_multiply_rows(rows, layer, arguments, maps):
    path, X, labels = rows
    nodes, weights = layer(7), {'no': 0.25, 'yes': 1.0, 'può darsi': 3.0}
    E, w = expansion(nodes, X), np.array([weights[label] for label in labels])
    found = output_of(plan_of(path), arguments(nodes, weights), *maps(2))
    assert np.allclose(gram_of(found, 8), np.triu((E * w[:, None]).T @ E), rtol=1e-12, atol=1e-11)


def test_targets_give_their_own_sums(rng, csv_of, write, layer, arguments, maps):
    X, y = rng.normal(size=(300, D)), rng.normal(size=300) * 40
    nodes = layer(9)
    plan = plan_of(write('a.csv', csv_of(y.tolist(), X)), numeric_labels=True)
    found = output_of(plan, arguments(nodes, target_bound=200.0), *maps(4))
    E = expansion(nodes, X)
    assert np.allclose(sum(found['sum targets']), E.T @ y, rtol=1e-12, atol=1e-9)
    assert np.allclose(sum(found['sum squares']), [y @ y], rtol=1e-13)


@pytest.fixture
def packed(elm, rows, tmp_path):
    """Pack the rows in blocks of 40."""
    assert elm('pack', rows[0], '-o', tmp_path / 'pack', '--block-rows', 40, '-q').status == 0
    return plan_of(tmp_path / 'pack')


@pytest.mark.parametrize('n_maps', [2, 5, 13])
def test_packed_rows_have_the_same_bits_for_any_splits(packed, layer, arguments, n_maps, maps):
    options = arguments(layer(30))
    whole = bits(output_of(packed, options))
    assert bits(output_of(packed, options, *maps(n_maps))) == whole


def test_the_order_of_the_tasks_does_not_show_in_the_bits(packed, layer, arguments, by_hand, rng):
    """Merge what many tasks emitted in several orders, as speculative attempts and retries do."""
    options, emitted = arguments(layer(30)), []
    for task in plan_splits(packed, 1000):
        emitted += by_hand(MRGram, packed, json.dumps(task).encode(), *options, '--planned-splits')
    results = set()
    for _ in range(4):
        emitted = [emitted[i] for i in rng.permutation(len(emitted))]
        merged = by_hand(MRGram, packed, b'\n'.join(sorted(emitted, key=key_of)), *options, task='reducer')
        results.add(tuple(line for line in merged if line.startswith((b'gram', b'sum'))))
    assert len(results) == 1 and len(results.pop()) == 1 + 3


def key_of(line):
    return line.split(b'\t')[0]


def test_a_reducer_keeps_its_keys_apart(rows, layer, arguments, by_hand, rng):
    values = {
        f'gram {i:012d} {j:012d}': rng.integers(-9, 9, (5, 2, 4)).astype(float)
        for i, j in [(0, 0), (0, 1), (0, 2), (1, 1)]
    }
    write = WireProtocol().write
    lines = [write(key, list(pair)) for key, pairs in values.items() for pair in pairs]
    merged = by_hand(MRGram, plan_of(rows[0]), b'\n'.join(lines), *arguments(layer(3)), task='reducer')
    found = dict(map(WireProtocol().read, merged))
    assert {key: sum(pair).tolist() for key, pair in found.items()} == {
        key: pairs.sum(axis=(0, 1)).tolist() for key, pairs in values.items()
    }


def test_an_empty_split_sends_its_account_only(rows, layer, arguments, by_hand, read_pairs):
    lines = by_hand(MRGram, plan_of(rows[0]), b'', *arguments(layer(3)), file=rows[0], start=10**6)
    assert [kind for kind, _, _ in read_pairs(lines)] == ['counts']


@pytest.mark.parametrize('n_rows', [300, 9000])
def test_a_task_sends_few_bytes_whatever_its_rows(rng, csv_of, write, layer, arguments, by_hand, n_rows):
    L, K = 200, 2
    text = csv_of(rng.integers(0, K, n_rows), rng.normal(size=(n_rows, D))).encode()
    path = write('a.csv', text)
    lines = by_hand(MRGram, plan_of(path), text, *arguments(layer(L)), file=path)
    assert sum(len(line) + 1 for line in lines) <= 2.8 * 8 * (L + 1 + K) * (L + 2 + K) / 2


def test_no_record_exceeds_a_few_megabytes(rows, layer, arguments, by_hand):
    lines = by_hand(MRGram, plan_of(rows[0]), rows[0].read_bytes(), *arguments(layer(700)), file=rows[0])
    assert max(map(len, lines)) < 4 << 20 and len(lines) > 6


def test_keys_sort_as_numbers_do(rows, layer, arguments, by_hand, read_pairs):
    lines = by_hand(MRGram, plan_of(rows[0]), rows[0].read_bytes(), *arguments(layer(700)), file=rows[0])
    tiles = [tuple(map(int, place)) for kind, place, _ in read_pairs(sorted(lines)) if kind == 'gram']
    assert tiles == sorted(tiles) == [(i, j) for i in range(3) for j in range(i, 3)]


def test_a_tile_that_is_missing_or_one_too_many_is_refused(rows, layer, arguments):
    found = output_of(plan_of(rows[0]), arguments(layer(300)))
    tiles = {tuple(map(int, split_key(key)[1])): value for key, value in found.items() if key.startswith('gram ')}
    for place in list(tiles):
        with pytest.raises(AccountingError, match='missing'):
            assemble({other: value for other, value in tiles.items() if other != place}, 301)
    with pytest.raises(AccountingError, match='too many'):
        assemble({**tiles, (0, 2): tiles[0, 1]}, 301)


def test_tasks_compute_with_one_thread(packed, layer, arguments, monkeypatch):
    from threadpoolctl import threadpool_info

    seen = []
    monkeypatch.setattr(
        MRGram,
        'map_end',
        lambda self: seen.extend(info['num_threads'] for info in threadpool_info() if info['user_api'] == 'blas'),
    )
    accounts = Accounts(packed)
    with make_engine().run_job(MRGram, packed, arguments(layer(3)), 'Gram') as output:
        assert list(output.pairs(accounts)) == []
    assert seen and set(seen) == {1}
