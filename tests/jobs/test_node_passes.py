"""Solving by passes gives the model of the Gram, whatever the nodes, the weights and the sample."""

import json

import numpy as np
import pytest
from reference.files import LOCAL

from mr_elm.features.nodes import MAPS
from mr_elm.machines import passes

N, D = 300, 4
EXACT = ('--solver', 'passes', '--tolerance', '1e-11')


@pytest.fixture
def table(rng):
    """Draw rows of three classes, of which one is rare: (X, labels)."""
    X = rng.normal(size=(N, D))
    return X, np.where(X[:, 2] > 1.2, 5, (X[:, 0] * X[:, 1] > 0) * 1)


@pytest.fixture
def pack(elm, write, csv_of, tmp_path):
    """Pack rows into blocks of 30; words are options of the rows."""

    def pack(labels, X, *words, name='packed'):
        path = write(f'{name}.csv', csv_of(labels, X))
        assert elm('pack', path, '-o', tmp_path / name, '--block-rows', 30, '-q', *words).status == 0
        return tmp_path / name

    return pack


@pytest.fixture
def packed(pack, table):
    return pack(table[1], table[0])


@pytest.fixture
def train(elm, tmp_path, model_of):
    """Train: (header, arrays, decision values on some rows)."""

    def train(rows, *words, method='pesvm', score=None):
        train.count += 1
        path, said = tmp_path / f'{train.count}.npz', tmp_path / 'said'
        done = elm('train', method, rows, '--model', path, '-q', *words)
        assert done.status == 0, done.err
        elm('predict', path, score or rows, '-o', said, '--scores', '--overwrite', '-q')
        values = [[float(value) for value in line.split('\t')[-3:]] for line in said.read_text().splitlines()]
        return *model_of(path), np.array(values)

    train.count = 0
    return train


def agree(train, rows, *words, within=1e-7, solving=(), **named):
    """Train both ways and compare: the header of the model by passes. solving : more options of these."""
    _, _, wanted = train(rows, *words, '--solver', 'gram', **named)
    header, arrays, values = train(rows, *words, *EXACT, *solving, **named)
    assert abs(values - wanted).max() <= within * abs(wanted).max()
    assert 'gram' not in arrays and header['parameters']['solver'] == 'passes'
    return header


@pytest.mark.parametrize(
    'words',
    [('--map', kind) for kind in MAPS]
    + [('--map', 'nystrom', '--kernel', kernel) for kernel in ('laplacian', 'product-laplacian')],
)
def test_any_nodes(train, packed, words):
    words += () if 'identity' in words else ('--hidden', 12)
    parameters = agree(train, packed, *words, '--nu', 3)['parameters']
    assert 1 < parameters['passes'] < 200 and parameters['residual'] <= parameters['tolerance'] == 1e-11
    assert not {'peak', 'condition'} & set(parameters)


def test_class_weights_row_weights_and_a_machine_without_a_bias(train, pack, table, rng):
    X, labels = table
    weighted = pack(labels, np.c_[rng.uniform(0.1, 5, N), X], '--weight-column', 1, name='weighted')
    for words, method in ((('--nu', 20), 'pesvm'), (('--C', 20), 'elm')):
        agree(train, weighted, '--hidden', 20, '--class-weight', 'balanced', *words, method=method)


def test_a_regression(train, pack, table):
    X = table[0]
    numbers = pack((np.sin(X[:, 0]) + X[:, 1]).tolist(), X, '--task', 'regression', name='numbers')
    agree(train, numbers, '--task', 'regression', '--hidden', 20, '--nu', 50)


def test_sparse_rows(train, write, rng):
    lines = [f'{i % 3} {1 + i % 4}:{rng.normal():.4f} {5 + i % 5}:{rng.normal():.4f}\n' for i in range(N)]
    agree(train, write('rows.libsvm', ''.join(lines)), '--hidden', 20)


@pytest.mark.parametrize('rows_of_a_node', [1 / 8, 1, 25_000])
def test_any_sample_even_one_of_fewer_rows_than_nodes_and_one_of_all(train, packed, rows_of_a_node, monkeypatch):
    monkeypatch.setattr(passes, 'SAMPLE_OF_OTHERS', rows_of_a_node)
    header = agree(train, packed, '--hidden', 40, '--nu', 2)
    assert header['parameters']['precondition_rows'] <= N
    if rows_of_a_node > N:
        assert header['parameters']['passes'] <= 4


def test_rows_that_repeat_and_a_feature_that_never_changes(train, pack, table):
    X, labels = table
    X = np.c_[np.round(X[:, :1]), np.ones(N)]
    agree(train, pack(labels, X, name='poor'), '--hidden', 30, '--nu', 100, '--map', 'rbf', within=1e-5)


def test_splits_and_engines_change_no_bit(train, packed, maps):
    words = '--hidden', 25, '--solver', 'passes'
    wanted = train(packed, *words)[1]
    for more in (maps(4), LOCAL):
        found = train(packed, *words, *more)[1]
        assert all(found[name].tobytes() == wanted[name].tobytes() for name in wanted)


def test_a_large_layer_takes_passes_unless_the_gram_is_asked_for(elm, packed, tmp_path, model_of):
    done = elm('train', 'pesvm', packed, '--hidden', 120, '--memory', 0.3, '--model', tmp_path / 'm.npz')
    assert 'solving by passes: a Gram of 120 nodes takes 0 MB, --memory is 0.3 MB' in done.err
    assert 'passes: pass 1 of at most 200, relative residual' in done.err
    assert model_of(tmp_path / 'm.npz')[0]['parameters']['tolerance'] == 1e-4


def test_a_factor_that_does_not_fit_is_refused_before_the_first_job(elm, packed, tmp_path):
    done = elm('train', 'pesvm', packed, '--hidden', 600, '--memory', 1, '--model', tmp_path / 'm.npz')
    assert done.status == 1 and 'expected at most 499 hidden nodes with --memory 1 MB, found 600' in done.err
    assert 'statistics' not in done.err and not (tmp_path / 'm.npz').exists()


def test_a_factor_in_single_precision_is_enough_to_guide_passes(train, packed):
    words = '--hidden', 200, '--solver', 'passes', '--tolerance', '1e-9'
    wanted = train(packed, *words)[2]
    assert np.allclose(train(packed, *words, '--memory', 0.2)[2], wanted, atol=1e-6)


def test_a_training_begins_where_a_model_ended(train, packed, tmp_path):
    first = train(packed, '--hidden', 30, *EXACT)[0]['parameters']['passes']
    header, _, _ = train(packed, '--like', tmp_path / '1.npz', '--solver', 'passes', '--tolerance', '1e-8')
    assert header['parameters']['passes'] < first / 2 and header['parameters']['tolerance'] == 1e-8


def test_rows_cannot_be_added_without_sums_and_the_refusal_says_what_to_do(elm, train, packed, tmp_path):
    train(packed, '--hidden', 10, '--solver', 'passes')
    for command in ('update', 'forget'):
        done = elm(command, tmp_path / '1.npz', packed, '--model', tmp_path / 'x.npz', '-q')
        assert done.status == 1 and '--like' in done.err and 'a training by passes makes none' in done.err


def test_too_few_passes_are_a_warning(elm, packed, tmp_path, model_of):
    done = elm('train', 'pesvm', packed, '--hidden', 40, *EXACT, '--max-passes', 3, '--model', tmp_path / 'm.npz')
    assert done.status == 0 and 'stopped after 3 passes with a relative residual of' in done.err
    assert model_of(tmp_path / 'm.npz')[0]['parameters']['residual'] > 1e-11


@pytest.mark.parametrize(
    'words', [('--tolerance', '1e-3'), ('--precondition-rows', '9'), ('--solver', 'passes', '--tolerance', '2')]
)
def test_options_that_do_not_fit_are_refused(elm, packed, tmp_path, words):
    done = elm('train', 'pesvm', packed, '--model', tmp_path / 'm.npz', *words)
    assert done.status == 2 and words[-2] in done.err


def test_inspect_says_how_a_model_was_solved(elm, train, packed, tmp_path):
    train(packed, '--hidden', 10, '--solver', 'passes')
    told = json.loads(elm('inspect', tmp_path / '1.npz', '--json').out)
    assert told['parameters']['solver'] == 'passes' and 'gram' not in told['arrays']
