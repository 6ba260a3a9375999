"""A metric is learned from a sample of the rows, whatever the splits and the runner, and stays with its model."""

import json

import numpy as np
import pandas as pd
import pytest
from reference.files import LOCAL

from mr_elm.estimators import ESVMClassifier

N, D = 500, 6
METRIC = '--metric', 'diagonal', '--nu', '100'


@pytest.fixture
def table(rng):
    """Draw rows of two classes that two of the features decide: (X, labels)."""
    X = rng.normal(size=(N, D))
    return X, np.where(X[:, 1] * X[:, 3] > 0, 'yes', 'no')


def same_bits(one, other):
    return set(one) == set(other) and all(one[name].tobytes() == other[name].tobytes() for name in one)


@pytest.mark.parametrize('kind, map_name', [('diagonal', 'sigmoid'), ('full', 'rbf'), ('full', 'nystrom')])
def test_packed_rows_give_the_same_bits_for_any_splits_and_runner(packed, trained, kind, map_name, maps):
    options = packed, '--metric', kind, '--map', map_name, '--nu', 100
    _, alone = trained(*options)
    assert alone['feature_metric'].ndim == (1 if kind == 'diagonal' else 2)
    assert same_bits(trained(*options, *maps(4))[1], alone) and same_bits(trained(*options, *LOCAL)[1], alone)


def test_the_order_of_the_rows_does_not_change_what_is_learned(write, csv_of, table, trained, rng):
    X, labels = table
    order = rng.permutation(N)
    _, one = trained(write('a.csv', csv_of(labels, X)), *METRIC)
    _, other = trained(write('b.csv', csv_of(labels[order], X[order])), *METRIC)
    assert np.allclose(one['feature_metric'], other['feature_metric'], rtol=1e-9)
    assert np.allclose(one['output_weights'], other['output_weights'], rtol=1e-6)


def test_a_model_with_a_metric_names_it_and_predicts_better(dense, trained, elm):
    errors = []
    for options in (('--nu', '100'), METRIC):
        header, arrays = trained(dense, *options, n_hidden=60)
        errors.append(1 - json.loads(elm('evaluate', trained.path, dense, '--json').out)['accuracy'])
    assert header['requires'] == ['metric'] and header['parameters']['metric'] == 'diagonal'
    assert header['parameters']['metric_steps'] > 0
    assert sorted(np.argsort(arrays['feature_metric'])[-2:]) == [1, 3] and errors[1] < 0.7 * errors[0]


@pytest.mark.parametrize('method', ['pesvm', 'elm'])
def test_a_regression_learns_a_metric(write, csv_of, rng, elm, tmp_path, method):
    X = rng.normal(size=(400, 5))
    path = write('rows.csv', csv_of((2 * np.sin(X[:, 2])).tolist(), X))
    assert (
        elm(
            'train',
            method,
            path,
            '--task',
            'regression',
            '--hidden',
            30,
            '--metric',
            'diagonal',
            '--model',
            tmp_path / 'm.npz',
            '-q',
        ).status
        == 0
    )
    importance = json.loads(elm('inspect', tmp_path / 'm.npz', '--json').out)['importance']
    assert np.argmax(importance) == 2 and importance[2] > 0.8 and np.isclose(sum(importance), 1)


def test_sparse_rows_learn_a_diagonal_and_predict_as_dense_ones(write, csv_of, libsvm_of, rng, trained):
    X = np.where(rng.random((300, 8)) < 0.4, rng.normal(size=(300, 8)), 0)
    labels = (X[:, 0] + X[:, 1] > 0) * 1
    paths = write('rows.libsvm', libsvm_of(labels, X)), write('rows.csv', csv_of(labels, X))
    sparse, dense = (
        trained(path, '--metric', kind)[1]['feature_metric']
        for path, kind in zip(paths, ('full', 'diagonal'), strict=True)
    )
    assert sparse.shape == (8,) and np.allclose(sparse, dense, rtol=1e-9)


def test_weights_of_rows_and_classes_count(write, csv_of, rng, trained):
    X = rng.normal(size=(800, 12))
    labels, light = np.where(X[:, 0] > 0, 1, 2), np.where(rng.random(800) < 0.5, 1.0, 1e-9)
    labels = np.where(light < 1, np.where(X[:, 1] > 0, 1, 2), labels)  # rows that hardly count say something else
    path = write('rows.csv', csv_of(labels, np.column_stack([light, X])))
    _, weighed = trained(path, '--weight-column', 1, '--class-weight', 'balanced', *METRIC)
    assert np.argmax(weighed['feature_metric']) == 0
    assert weighed['feature_metric'][1] < 0.5 * weighed['feature_metric'][0]


@pytest.fixture
def halves(elm, write, csv_of, table, tmp_path):
    """Pack both halves of the rows."""
    X, labels = table
    for name, part in (('one', slice(0, 250)), ('two', slice(250, N))):
        path = write(f'{name}.csv', csv_of(labels[part], X[part]))
        assert elm('pack', path, '-o', tmp_path / name, '--block-rows', 25, '-q').status == 0
    return tmp_path / 'one', tmp_path / 'two'


def test_rows_come_leave_and_merge_behind_the_metric_that_was_learned(elm, halves, trained, tmp_path, model_of):
    def change(*words):
        done = elm(*words, '--model', tmp_path / 'changed.npz', '--overwrite', '-q')
        assert done.status == 0, done.err
        return model_of(tmp_path / 'changed.npz')

    two, first = halves[1], trained(halves[0], *METRIC)
    path = trained.path
    header, grown = change('update', path, two)
    assert header['requires'] == ['metric']
    assert np.array_equal(grown['feature_metric'], first[1]['feature_metric'])
    assert elm('train', 'pesvm', two, '--like', path, '--model', tmp_path / 'two.npz', '-q').status == 0
    assert same_bits(change('merge', path, tmp_path / 'two.npz')[1], grown)
    change('update', path, two)
    assert elm('forget', tmp_path / 'changed.npz', two, '--model', tmp_path / 'left.npz', '-q').status == 0
    assert same_bits(model_of(tmp_path / 'left.npz')[1], first[1])


def test_models_of_different_metrics_do_not_merge(elm, halves, trained, tmp_path):
    trained(halves[0], *METRIC)
    one = trained.path
    for options in (METRIC, ('--nu', 100)):
        trained(halves[1], *options, '--scale', 'none')
        done = elm('merge', one, trained.path, '--model', tmp_path / 'm.npz')
        assert done.status == 1 and 'expected the same feature' in done.err


def test_inspect_ranks_the_columns_by_name(write, csv_of, table, trained, elm, tmp_path):
    X, labels = table
    text = 'label,a,b,c,d,e,f\n' + csv_of(labels, X)
    trained(write('rows.csv', text), *METRIC)
    shown = elm('inspect', trained.path, '--figure', tmp_path / 'importance.png').out
    lines = shown.split('importance:\n')[1].splitlines()
    assert [line.split()[0] for line in lines[:2]] in (['b', 'd'], ['d', 'b']) and len(lines) == D
    values = [float(line.split()[1]) for line in lines]
    assert values == sorted(values, reverse=True) and lines[0].endswith(' ' + '#' * 40)
    assert (tmp_path / 'importance.png').read_bytes().startswith(b'\x89PNG')
    found = json.loads(elm('inspect', trained.path, '--json').out)
    assert list(found['importance_by_column']) == list('abcdef')
    assert np.allclose(found['importance'], list(found['importance_by_column'].values()))


def test_inspect_prints_the_most_important_of_many_columns(write, csv_of, rng, trained, elm):
    X = rng.normal(size=(400, 104))
    trained(write('rows.csv', csv_of((X[:, 102] > 0) * 1, X)), '--metric', 'diagonal')
    lines = elm('inspect', trained.path).out.split('importance:\n')[1].splitlines()
    assert len(lines) == 101 and lines[0].startswith('  feature 103 ') and lines[-1] == '  and 4 more'


def test_a_figure_needs_a_metric(dense, trained, elm, tmp_path):
    trained(dense)
    done = elm('inspect', trained.path, '--figure', tmp_path / 'importance.png')
    assert done.status == 1 and 'expected a model with a learned metric' in done.err
    assert 'importance' not in json.loads(elm('inspect', trained.path, '--json').out)


@pytest.fixture
def orders(rng):
    """Draw a table whose labels depend on three of six columns: (data frame, labels)."""
    n = 600
    frame = pd.DataFrame(
        {
            'amount': np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 20, n)),
            'noise': rng.normal(size=n),
            'plan': rng.choice(['basic', 'family', 'pro'], n),
            'channel': rng.choice(['web', 'shop', 'mail', 'phone'], n),
            'city': rng.choice([f'c{k}' for k in range(9)], n, p=np.arange(1, 10) / 45),
            'late': rng.uniform(0, 1, n),
        }
    )
    score = (frame['amount'].fillna(50) - 50) / 20 + frame['plan'].map({'basic': -1, 'family': 0, 'pro': 1.5})
    return frame, np.where(score + 2 * frame['late'] > 1.1, 'yes', 'no')


TABLE = '--encode', 'auto', '--label-column', 'label', '--metric', 'diagonal'
NUMBERS = {
    'nystrom': ['pesvm', '--map', 'nystrom', '--nu', 10, '--hidden', 60],
    'full': ['elm', '--C', 10, '--hidden', 60, '--metric', 'full'],
}


@pytest.mark.parametrize('words', NUMBERS.values(), ids=NUMBERS)
def test_columns_of_both_kinds_that_matter_come_first(write, orders, elm, tmp_path, words):
    frame, labels = orders
    path = write('rows.csv', frame.assign(label=labels).to_csv(index=False))
    assert elm('train', words[0], path, *TABLE, *words[1:], '--model', tmp_path / 'm.npz', '-q').status == 0
    found = json.loads(elm('inspect', tmp_path / 'm.npz', '--json').out)
    share = found['importance_by_column']
    assert list(share) == list(frame) and np.isclose(sum(share.values()), 1)
    assert len(found['importance']) == 1 + 1 + 1 + 4 + 5 + 10 + 1 and np.isclose(sum(found['importance']), 1)
    assert min(share[name] for name in ('amount', 'plan', 'late')) > max(
        share[name] for name in ('noise', 'channel', 'city')
    )
    assert 'importance' not in found['parameters']


@pytest.mark.parametrize('words, weights', [((), None), (('--class-weight', 'balanced'), 'balanced')])
def test_the_command_and_the_estimator_find_the_same_importance(write, orders, elm, tmp_path, words, weights):
    frame, labels = orders
    path = write('rows.csv', frame.assign(label=labels).to_csv(index=False))
    assert (
        elm(
            'train',
            'pesvm',
            path,
            *TABLE,
            '--hidden',
            50,
            '--nu',
            10,
            '--model',
            tmp_path / 'm.npz',
            '-q',
            *words,
        ).status
        == 0
    )
    found = json.loads(elm('inspect', tmp_path / 'm.npz', '--json').out)['importance_by_column']
    estimator = ESVMClassifier(n_hidden=50, nu=10, encode='auto', metric='diagonal', class_weight=weights)
    assert np.allclose(estimator.fit(frame, labels).feature_importances_, list(found.values()), rtol=1e-6)


def test_importance_stays_when_rows_come_and_in_a_training_on_the_same_nodes(elm, halves, trained, tmp_path, model_of):
    first, path = trained(halves[0], *METRIC)[0]['parameters']['importance'], trained.path
    for words in (['update', path, halves[1]], ['train', 'pesvm', halves[1], '--like', path]):
        assert elm(*words, '--model', tmp_path / 'other.npz', '--overwrite', '-q').status == 0
        assert model_of(tmp_path / 'other.npz')[0]['parameters']['importance'] == first


def test_sets_that_choose_no_step_show_importance_all_the_same(write, rng, elm, tmp_path):
    X = rng.normal(size=(300, 3))
    path = write('rows.csv', ''.join(f'{x + 2 * y},{x},{y},{z}\n' for x, y, z in X.tolist()))
    assert (
        elm(
            'train',
            'pesvm',
            path,
            '--task',
            'regression',
            '--map',
            'identity',
            '--metric',
            'diagonal',
            '--nu',
            1e6,
            '--model',
            tmp_path / 'm.npz',
            '-q',
        ).status
        == 0
    )
    found = json.loads(elm('inspect', tmp_path / 'm.npz', '--json').out)
    assert np.allclose(
        found['importance'], np.array([1, 4, 0]) * X.var(axis=0) / (X.var(axis=0) @ [1, 4, 0]), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    'options, message',
    [
        (('--metric', 'full', '--map', 'hardlimit'), 'these nodes have no slope'),
        (('--metric', 'round'), 'expected one of none, diagonal, full'),
    ],
)
def test_options_that_contradict_each_other_are_refused(dense, elm, options, message):
    done = elm('train', 'pesvm', dense, '--model', 'm.npz', *options)
    assert done.status == 2 and message in done.err
