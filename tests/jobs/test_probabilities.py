"""--probabilities: fitted to rows that the machines have not seen, on every runner, for every method."""

import json

import numpy as np
import pytest
from reference.files import LOCAL

from mr_elm.drivers import calibrate, dual
from mr_elm.model.file import read_model
from mr_elm.rows.blocks import Block
from mr_elm.scores.selection import MACHINE_FOLD, fold_numbers

N, D = 120, 3
METHODS = [
    ('pesvm', '--hidden', 15, '--nu', 5),
    ('elm', '--hidden', 15, '--C', 5),
    ('mr-kelm', '--sigma', 2),
    ('sparse-elm', '--sigma', 2),
    ('sparse-elm', '--sigma', 2, '--multiclass', 'one-vs-all'),
    ('oelm', '--kernel', 'sigmoid', '--hidden', 12),
    ('sphere-svm', '--sigma', 2),
    ('pesvm', '--hidden', 15, '--nu', 5, '--solver', 'passes'),
    ('mr-kelm', '--sigma', 2, '--solver', 'cg'),
]
NAMES = ['-'.join(map(str, words[::3])) for words in METHODS]


@pytest.fixture
def table(rng):
    """Draw rows of three classes that overlap: (X, labels)."""
    X = rng.normal(size=(N, D))
    return X, (X[:, 0] + rng.normal(size=N) > 0.3) * 1 + (X[:, 1] > 0.2)


@pytest.fixture
def train(elm, dense, tmp_path):
    """Train quietly with probabilities: the path of the model."""

    def run(method, *words, rows=dense, name='m.npz'):
        done = elm('train', method, rows, *words, '--probabilities', '--model', tmp_path / name, '-q', '--overwrite')
        assert done == (0, '', '')
        return tmp_path / name

    return run


@pytest.fixture
def say(elm, dense, tmp_path):
    """Predict with probabilities: (labels, probabilities)."""

    def run(model, *words, rows=dense):
        done = elm('predict', model, rows, '--probabilities', '-o', tmp_path / 'said', '-q', '--overwrite', *words)
        assert done.status == 0, done.err
        lines = [line.split('\t') for line in (tmp_path / 'said').read_text().splitlines()]
        return [line[0] for line in lines], np.array([line[1:] for line in lines], float)

    return run


@pytest.fixture
def scored(monkeypatch):
    """Return the list of HeldOut that trainings fit probabilities to."""
    found = []
    for module in (calibrate, dual):
        score = module.score_rows
        monkeypatch.setattr(module, 'score_rows', lambda *given, score=score: found.append(score(*given)) or found[-1])
    return found


@pytest.mark.parametrize('words', METHODS, ids=NAMES)
def test_labels_are_the_most_probable_classes_on_every_runner(words, train, say, maps, model_of):
    model = train(*words)
    labels, P = say(model, *maps(3))
    assert P.shape == (N, 3) and np.allclose(P.sum(axis=1), 1, atol=1e-12)
    assert labels == [str(k) for k in P.argmax(axis=1)]
    again = train(*words, *LOCAL, name='local.npz')
    assert np.allclose(model_of(again)[1]['calibration'], model_of(model)[1]['calibration'], atol=1e-6)
    other, Q = say(again, *LOCAL)
    assert other == labels and np.allclose(P, Q, atol=1e-6)
    assert model_of(model)[0]['requires'] == ['calibration']
    least, most = (10, 40) if words[-1] in ('passes', 'cg') else (N, N)
    assert least <= model_of(model)[0]['calibration']['rows'] <= most


@pytest.mark.parametrize('words', [METHODS[0], METHODS[-2], METHODS[-1]], ids=['gram', 'passes', 'cg'])
def test_packed_rows_have_the_same_bits_on_every_runner_and_for_any_splits(words, train, packed, model_of, maps):
    one = model_of(train(*words, rows=packed))[1]['calibration']
    for where in ((*maps(3),), LOCAL):
        assert model_of(train(*words, *where, rows=packed))[1]['calibration'].tobytes() == one.tobytes()


def expand(arrays, X, bias):
    Z = (X - arrays['feature_offset']) * arrays['feature_scale'] @ arrays['hidden_weights'].T + arrays['hidden_biases']
    E = 1 / (1 + np.exp(-Z))
    return np.c_[E, -np.ones(len(X))] if bias else E


@pytest.mark.parametrize('balanced', [False, True])
@pytest.mark.parametrize('method, nu', [('pesvm', '--nu'), ('elm', '--C')])
def test_the_scores_are_those_of_brute_force_with_all_weights(
    method, nu, balanced, train, write, csv_of, table, rng, scored, model_of, maps
):
    X, labels = table
    weights = rng.uniform(0.5, 3, N)
    path = write('weighted.csv', csv_of(labels, np.c_[weights, X]))
    model = train(
        method,
        '--hidden',
        12,
        nu,
        5,
        '--weight-column',
        1,
        *maps(3),
        *(['--class-weight', 'balanced'] if balanced else []),
        rows=path,
    )
    if balanced:
        weights = weights * weights.sum() / (3 * np.bincount(labels, weights)[labels])
    E, T = expand(model_of(model)[1], X, method == 'pesvm'), np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    left = np.empty((N, 3))
    for i in range(N):
        rest = np.arange(N) != i
        A = (E[rest].T * weights[rest]) @ E[rest] + np.eye(E.shape[1]) / 5
        left[i] = E[i] @ np.linalg.solve(A, (E[rest].T * weights[rest]) @ T[rest])
    (rows,) = scored
    assert np.array_equal(rows.numbers, labels) and np.allclose(rows.weights, weights)
    assert np.allclose(rows.decisions, left, atol=1e-7)


@pytest.mark.parametrize('seed', [0, 3])
def test_a_machine_of_the_dual_scores_no_row_that_it_has_seen(seed, train, dense, table, monkeypatch):
    kept = []
    make = dual.train_folds
    monkeypatch.setattr(dual, 'train_folds', lambda *given: kept.append(make(*given)) or kept[0])
    train('sparse-elm', '--sigma', 1, '--C', 100, '--scale', 'none', '--seed', seed)
    (machines,) = kept
    folds = fold_numbers(table[0], 5, seed + MACHINE_FOLD)
    scores = machines.score(Block(table[0], ('0', '1', '2'), table[1]), None).decisions
    for fold, model in enumerate(machines.models):
        support = {tuple(row) for row in model.support_vectors.tolist()}
        assert len(support) > 20 and not support & {tuple(row) for row in table[0][folds == fold].tolist()}
        assert np.array_equal(scores[folds == fold], model.decision_function(table[0][folds == fold]))


def test_probabilities_are_kept_by_an_update_unless_rows_are_given(
    elm, train, dense, write, csv_of, table, tmp_path, model_of
):
    X, labels = table
    first, rest = (
        write(f'{k}.csv', csv_of(labels[part], X[part])) for k, part in enumerate((slice(0, 70), slice(70, N)))
    )
    model = train(*METHODS[0], rows=first)
    done = elm('update', model, rest, '--model', tmp_path / 'kept.npz')
    assert done.status == 0 and 'probabilities: kept from before' in done.err
    header, arrays = model_of(tmp_path / 'kept.npz')
    assert np.array_equal(arrays['calibration'], model_of(model)[1]['calibration'])
    assert header['calibration']['rows_of_training'] == 70 and header['n_rows_used'] == N
    assert (
        elm(
            'update', model, rest, '--calibrate', first, '--calibrate', rest, '--model', tmp_path / 'new.npz', '-q'
        ).status
        == 0
    )
    anew = model_of(train('pesvm', '--like', model, name='like.npz'))
    assert np.allclose(model_of(tmp_path / 'new.npz')[1]['calibration'], anew[1]['calibration'], atol=1e-6)
    back = elm('forget', tmp_path / 'new.npz', rest, '--calibrate', first, '--model', tmp_path / 'back.npz', '-q')
    assert back.status == 0
    assert np.allclose(model_of(tmp_path / 'back.npz')[1]['calibration'], model_of(model)[1]['calibration'], atol=1e-6)


def test_a_new_class_ends_the_probabilities(elm, train, write, tmp_path, model_of):
    done = elm('update', train(*METHODS[0]), write('new.csv', '9,1,2,3\n'), '--model', tmp_path / 'u.npz')
    assert done.status == 0 and 'probabilities: left out, because the classes changed' in done.err
    header, arrays = model_of(tmp_path / 'u.npz')
    assert 'calibration' not in arrays and header['requires'] == []


def test_both_scores_and_probabilities_may_be_asked_for(elm, train, dense, table, tmp_path):
    model = train(*METHODS[0])
    assert elm('predict', model, dense, '--scores', '--probabilities', '-o', tmp_path / 'both', '-q').status == 0
    rows = np.array([line.split('\t') for line in (tmp_path / 'both').read_text().splitlines()], float)
    scores = read_model(model).decision_function(table[0])
    logits = np.exp(np.load(model)['calibration'][0]) * scores + np.append(0, np.load(model)['calibration'][1:])
    assert np.allclose(rows[:, 1:4], scores) and np.array_equal(rows[:, 4:].argmax(axis=1), logits.argmax(axis=1))


def test_a_regression_refuses_probabilities(elm, dense, tmp_path):
    done = elm('train', 'pesvm', dense, '--task', 'regression', '--probabilities', '--model', tmp_path / 'm.npz')
    assert done.status == 2 and '--probabilities: cannot be used with --task regression' in done.err


def test_a_model_without_probabilities_says_so(elm, trained, dense, tmp_path):
    trained(dense)
    for option in (['--probabilities'], ['--threshold', 0.3]):
        done = elm('predict', trained.path, dense, *option, '-o', tmp_path / 'said')
        assert done.status == 1 and 'that was trained with --probabilities' in done.err


def test_too_few_rows_for_folds_are_explained(elm, write, tmp_path):
    path = write('few.csv', '0,1,2\n0,1,2\n1,3,4\n1,3,4\n')
    done = elm('train', 'sparse-elm', path, '--probabilities', '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and 'probabilities' in done.err and len(done.err.splitlines()) == 1


def test_a_calibration_of_another_size_is_refused(elm, train, dense, tmp_path):
    model = train(*METHODS[0])
    arrays = dict(np.load(model))
    for broken in (np.zeros(2), np.array([np.nan, 0, 0])):
        np.savez(model, **{**arrays, 'calibration': broken})
        done = elm('predict', model, dense, '-o', tmp_path / 'said', '-q')
        assert done.status == 1 and 'calibration' in done.err
    header = json.loads(str(arrays['header']))
    np.savez(
        model,
        **{
            **arrays,
            'header': np.array(json.dumps({**header, 'threshold': 0.5, 'requires': ['calibration', 'threshold']})),
        },
    )
    assert 'two classes' in elm('predict', model, dense, '-o', tmp_path / 'said', '-q').err


@pytest.mark.parametrize('words', [METHODS[0], METHODS[2], METHODS[3]], ids=['pesvm', 'mr-kelm', 'sparse-elm'])
def test_a_threshold_is_chosen_kept_and_overridden(words, elm, train, say, write, csv_of, table, model_of, tmp_path):
    X, labels = table
    path = write('two.csv', csv_of((labels == 2) * 1, X))
    model = train(*words, '--threshold', 5, rows=path)
    header = model_of(model)[0]
    assert header['requires'] == ['calibration', 'threshold'] and 0 < header['threshold'] < 0.5
    found, P = say(model, rows=path)
    assert found == [str(int(p > header['threshold'])) for p in P[:, 1]]
    found, P = say(model, '--threshold', 0.9, rows=path)
    assert found == [str(int(p > 0.9)) for p in P[:, 1]]
    assert [str(k) for k in read_model(model).predict(X)] == say(model, rows=path)[0]
    if words[0] == 'pesvm':
        assert elm('update', model, path, '--calibrate', path, '--model', tmp_path / 'u.npz', '-q').status == 0
        assert model_of(tmp_path / 'u.npz')[0]['threshold'] == header['threshold']


@pytest.mark.parametrize(
    'words, status, what',
    [
        (['--threshold', 'f1'], 2, '--threshold: expected --probabilities beside it'),
        (['--threshold', 'best', '--probabilities'], 2, 'expected balanced, f1 or a number above 0'),
        (['--threshold', 'f1', '--probabilities'], 1, '--threshold: expected two classes, found 3'),
    ],
)
def test_a_threshold_that_cannot_be_is_refused(elm, dense, tmp_path, words, status, what):
    done = elm('train', 'pesvm', dense, '--hidden', 9, *words, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == status and what in done.err


@pytest.mark.parametrize(
    'method, grid',
    [
        ('pesvm', ('--hidden', '10,20', '--nu', '0.1,10', '--map', 'sigmoid')),
        ('mr-kelm', ('--sigma', '1,3', '--C', '1,10')),
        ('sparse-elm', ('--sigma', '1,3', '--C', '1,10', '--seed', 1)),
    ],
)
def test_the_model_that_tune_writes_has_the_probabilities_that_were_asked_for(
    method, grid, elm, packed_classes, tmp_path, model_of
):
    model = tmp_path / 'best.npz'
    assert elm('tune', method, packed_classes, *grid, '--probabilities', '--model', model, '-q').status == 0
    header, arrays = model_of(model)
    assert header['calibration']['rows'] == 300 and arrays['calibration'].shape == (3,)
