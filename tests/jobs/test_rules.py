"""The rule that was asked for is the one that solves, on kernels and on random nodes, in every command."""

import csv
import json

import numpy as np
import pytest
from reference import dual as twin

from mr_elm.estimators import OELMClassifier, SparseELMClassifier, SphereSVMClassifier
from mr_elm.solvers.choose_solver import COORDINATE, METHOD_RULES

SIGMA, C, L = 1.5, 50.0, 12
ON = {'kernel': ('--sigma', SIGMA), 'nodes': ('--kernel', 'sigmoid', '--hidden', L)}
ESTIMATORS = {'sparse-elm': SparseELMClassifier, 'oelm': OELMClassifier, 'sphere-svm': SphereSVMClassifier}
PAIRS = [(method, on) for method in METHOD_RULES for on in ON if (method, on) != ('sphere-svm', 'nodes')]


@pytest.fixture
def table(rng):
    """Draw rows of two classes that overlap: (X, labels)."""
    X = rng.normal(size=(120, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=120) > 0.3) * 1


def rules_of(method, on):
    return [rule for rule in METHOD_RULES[method] if on == 'nodes' or rule != COORDINATE]


def count_work(n_iter, steps):
    """Return what tells rules apart: iterations, and which kinds of steps they made."""
    return n_iter, tuple(kind for kind, count in steps.items() if count)


@pytest.mark.parametrize('method, on', PAIRS)
def test_train_runs_the_rule_and_records_it(elm, dense, tmp_path, model_of, method, on):
    ways = {}
    for rule in rules_of(method, on):
        path = tmp_path / f'{rule}.npz'
        assert elm('train', method, dense, *ON[on], '--C', C, '--rule', rule, '--model', path, '-q').err == ''
        parameters = model_of(path)[0]['parameters']
        assert parameters['solver'] == rule
        certificates = parameters['certificates']
        ways[rule] = count_work(certificates['n_iter'][0], certificates.get('steps', [{}])[0])
    assert len(set(ways.values())) == len(ways)


def test_the_paper_rule_on_nodes_is_algorithm_1(elm, dense, table, tmp_path, model_of):
    path = tmp_path / 'm.npz'
    assert elm('train', 'sparse-elm', dense, *ON['nodes'], '--C', C, '--rule', 'paper', '--model', path, '-q').err == ''
    header, arrays = model_of(path)
    Z = (table[0] - arrays['feature_offset']) * arrays['feature_scale']
    H = 1 / (1 + np.exp(-Z @ arrays['hidden_weights'].T - arrays['hidden_biases']))
    _, history = twin.algorithm_1(twin.signed(H @ H.T, 2.0 * table[1] - 1), C, 1e-3, 100_000)
    assert header['parameters']['certificates']['n_iter'] == [len(history)]


@pytest.mark.parametrize('method', ['sparse-elm', 'oelm', 'sphere-svm'])
def test_tune_runs_the_rule_and_says_which(elm, dense, tmp_path, method):
    iterations = {}
    for rule in rules_of(method, 'kernel'):
        out = tmp_path / f'{rule}.csv'
        grid = ('--sigma', SIGMA, '--C', '50,100', '--folds', 2, '--table', out)
        done = elm('tune', method, dense, *grid, '--rule', rule, '-q')
        assert json.loads(done.out)['solver'] == rule and done.err == ''
        with open(out) as stream:
            iterations[rule] = [int(line['n_iter']) for line in csv.DictReader(stream)]
    assert len(set(map(tuple, iterations.values()))) == len(iterations)


@pytest.mark.parametrize('method, on', PAIRS)
def test_an_estimator_runs_the_rule_and_records_it(table, method, on):
    ways = {}
    for rule in rules_of(method, on):
        kernel = {'sigma': SIGMA} if on == 'kernel' else {'kernel': 'sigmoid', 'n_hidden': L}
        fitted = ESTIMATORS[method](**kernel, C=C, rule=rule).fit(*table)
        assert fitted.model_.header.parameters['solver'] == rule
        ways[rule] = count_work(fitted.n_iter_, fitted.results_[0].steps)
    assert len(set(ways.values())) == len(ways)


@pytest.mark.parametrize('command', ['train', 'tune'])
@pytest.mark.parametrize('method', ['sparse-elm', 'oelm'])
def test_coordinate_descent_on_a_kernel_is_wrong_usage(elm, dense, tmp_path, command, method):
    done = elm(command, method, dense, '--rule', 'coordinate', '--model', tmp_path / 'm.npz')
    assert done.status == 2 and "with a kernel, found 'coordinate'" in done.err


@pytest.mark.parametrize('method', ['sparse-elm', 'oelm'])
def test_the_default_of_nodes_is_coordinate_descent(elm, dense, tmp_path, model_of, method):
    path = tmp_path / 'm.npz'
    assert elm('train', method, dense, *ON['nodes'], '--model', path, '-q').err == ''
    assert model_of(path)[0]['parameters']['solver'] == COORDINATE


def test_tune_says_how_many_trainings_were_stopped_early(elm, dense, tmp_path):
    grid = ('--sigma', '0.5,2', '--C', '5,50', '--folds', 3, '--table', tmp_path / 'table.csv')
    done = elm('tune', 'sparse-elm', dense, *grid, '--rule', 'paper', '--max-iter', 2, '-q')
    assert done.status == 0
    assert '12 of 12 trainings stopped before they reached --eps 0.001, as that with sigma 0.5, C 5, fold 0' in done.err
    with open(tmp_path / 'table.csv') as stream:
        assert [line['n_unfinished'] for line in csv.DictReader(stream)] == ['3'] * 4
