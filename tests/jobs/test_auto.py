"""--auto chooses machines by a sample and trains them by all rows: the same model for any splits and runner."""
import json

import numpy as np
import pytest
from reference.commands import succeed
from reference.files import LOCAL

from mr_elm.drivers import auto, auto_passes
from mr_elm.machines import node_choice
from mr_elm.machines.budget import Budget
from mr_elm.models import read_model

N = 300


@pytest.fixture
def trained(elm, tmp_path):
    """Train quietly by --auto: the path of the model."""
    def run(path, *options, name='m'):
        done = elm('train', 'pesvm', path, '--auto', '--model', tmp_path / name, '--overwrite', '-q', *options)
        assert (done.status, done.out, done.err) == (0, '', '')
        return tmp_path / name
    run.path = tmp_path / 'm'
    return run


def demand_same_bits(model_of, one, other):
    """Demand models of the same machines and bits; a condition is an estimate, a peak tells of the past."""
    (header, arrays), (wanted, others) = model_of(one), model_of(other)
    members, same = ([{name: value for name, value in member.items() if name not in ('condition', 'peak')}
                      for member in each.get('members', [each['parameters']])] for each in (header, wanted))
    assert members == same and list(arrays) == list(others)
    assert [name for name in arrays if arrays[name].tobytes() != others[name].tobytes()] == []


@pytest.mark.parametrize('options', [('3',), ('2', *LOCAL)], ids=' '.join)
def test_splits_and_runners_do_not_show(trained, packed_classes, model_of, options, maps):
    n, *runner = options
    demand_same_bits(model_of, trained(packed_classes), trained(packed_classes, *maps(n), *runner, name='again'))


def test_machines_whose_sums_take_a_pass_each_are_the_same(elm, trained, packed_classes, model_of, tmp_path,
                                                           monkeypatch):
    together = trained(packed_classes)
    monkeypatch.setattr(auto, 'TASK_SUMS', 1)
    said = elm('train', 'pesvm', packed_classes, '--auto', '--model', tmp_path / 'again').err.splitlines()
    demand_same_bits(model_of, together, tmp_path / 'again')
    passes = sum(line.startswith('folds: ') for line in said)
    assert passes == len(read_model(together).members) > 1


def test_machines_are_averaged_and_label_new_rows(elm, trained, write, csv_of, packed_classes, rng):
    X = rng.normal(size=(N, 3))
    labels = (X[:, 0] > 0.3) * 1 + (X[:, 1] * X[:, 2] > 0) * 1
    model = trained(packed_classes)
    told = json.loads(elm('evaluate', model, write('new.csv', csv_of(labels, X)), '--json').out)
    assert 1 < len(read_model(model).members) <= 4 and told['accuracy'] > 0.85


def test_it_is_told_what_was_compared_and_chosen(elm, packed_classes, tmp_path):
    said = elm('train', 'pesvm', packed_classes, '--auto', '--model', tmp_path / 'm').err.splitlines()
    compared = [line for line in said if line.startswith('--map ')]
    assert len(compared) == 5 and all('of 300 rows right' in line for line in compared)
    kept = [line for line in compared if 'left out' not in line]
    assert sum(f'the model averages {len(kept)} machines' in line for line in said) == 1


def test_the_model_lives(elm, trained, packed_classes, three_classes, write, csv_of, tmp_path, model_of):
    """Rows that come and leave are none of the landmarks, which cannot be forgotten."""
    model, (X, labels) = trained(packed_classes), three_classes
    more = write('more.csv', csv_of(labels, 0.9 * X))
    for command, old, new in (('update', model, 'more'), ('forget', tmp_path / 'more', 'once')):
        succeed(elm(command, old, more, '--model', tmp_path / new, '-q'))
    demand_same_bits(model_of, model, tmp_path / 'once')
    refused = elm('forget', tmp_path / 'more', packed_classes, '--model', tmp_path / 'refused', '-q')
    assert refused.status == 1 and 'landmarks' in refused.err and not (tmp_path / 'refused').exists()


@pytest.mark.parametrize('sample_rows', [auto.SAMPLE_ROWS, 100])
def test_landmarks_are_those_of_a_training_without_auto(elm, trained, packed_classes, tmp_path, model_of, sample_rows,
                                                        monkeypatch):
    monkeypatch.setattr(auto, 'SAMPLE_ROWS', sample_rows)
    monkeypatch.setattr(auto, 'choose_metric', lambda *_: None)
    header, arrays = model_of(trained(packed_classes))
    number, member = next((k, each) for k, each in enumerate(header['members'])
                          if each['map'] == 'nystrom' and each.get('metric', 'none') == 'none')
    parameters = {**header['parameters'], **member}
    elm('train', 'pesvm', packed_classes, '--map', 'nystrom', '--kernel', parameters.get('kernel', 'gaussian'),
        '--hidden', N, '--weight-scale', parameters['weight_scale'], '--nu', parameters['nu'],
        '--model', tmp_path / 'plain', '-q')
    plain = model_of(tmp_path / 'plain')[1]
    assert plain['landmarks'].tobytes() == arrays[f'{number}/landmarks'].tobytes()
    assert plain['gram'].tobytes() == arrays[f'{number}/gram'].tobytes()


@pytest.mark.parametrize('n', [1, 2, 20])
def test_few_rows_of_each_class_are_enough(elm, trained, write, csv_of, rng, n):
    X = np.r_[rng.normal(size=(n, 2)) - 2, rng.normal(size=(n, 2)) + 2]
    path = write('few.csv', csv_of(np.repeat([0, 1], n), X))
    assert json.loads(elm('evaluate', trained(path), path, '--json').out)['accuracy'] == 1


def test_rows_that_are_all_alike_are_enough_and_the_model_says_so(elm, write, tmp_path):
    path = write('alike.csv', '0,1,2\n1,1,2\n' * 3)
    done = elm('train', 'pesvm', path, '--auto', '--model', tmp_path / 'm', '-q')
    assert done.status == 0 and "gives all 6 rows that were looked at the class '0'" in done.err


def test_sparse_rows_and_weights_of_classes(elm, trained, write, libsvm_of, rng):
    X = rng.normal(size=(120, 30)) * (rng.random((120, 30)) < 0.2)
    path = write('rows.libsvm', libsvm_of(np.where(X[:, :5].sum(axis=1) > 0.5, '+1', '-1'), X))
    told = json.loads(elm('evaluate', trained(path, '--class-weight', 'balanced'), path, '--json').out)
    assert told['accuracy'] > 0.7


def test_a_regression_within_seconds(elm, trained, write, csv_of, three_classes):
    X, _ = three_classes
    path = write('y.csv', csv_of((np.sin(3 * X[:, 0]) + 7).tolist(), X))
    model = trained(path, '--budget', '1s', '--task', 'regression')
    assert json.loads(elm('evaluate', model, path, '--json').out)['r2'] > 0.9


def test_the_average_has_probabilities_that_fit_rows_it_has_not_seen(elm, trained, packed_classes, write, csv_of, rng):
    X = rng.normal(size=(N, 3))
    path = write('new.csv', csv_of((X[:, 0] > 0.3) * 1 + (X[:, 1] * X[:, 2] > 0) * 1, X))
    model = read_model(trained(packed_classes, '--probabilities'))
    assert len(model.members) > 1 and model.header.calibration is not None
    told = json.loads(elm('evaluate', trained.path, path, '--json').out)
    assert told['log_loss'] < 0.6 * np.log(3)


def test_a_budget_of_nodes_is_kept(trained, packed_classes):
    assert all(member.layer.n_hidden <= 60 for member in read_model(trained(packed_classes, '--budget', 60)).members)


@pytest.mark.parametrize('options', [('--nu', 3), ('--kernel', 'laplacian'), ('--budget', '0'), ('--budget', '5m')])
def test_auto_and_what_it_chooses_are_wrong_usage(elm, packed_classes, options, tmp_path):
    assert elm('train', 'pesvm', packed_classes, '--auto', *options, '--model', tmp_path / 'm').status == 2
    assert elm('train', 'pesvm', packed_classes, '--budget', 10, '--model', tmp_path / 'm').status == 2


def test_landmarks_are_not_fewer_than_those_of_the_sample_where_rows_repeat(trained, write, csv_of, rng, monkeypatch):
    for name, value in (('SAMPLE_ROWS', 600), ('CHEAP', 1), ('STEEP', ((np.inf, 100),)), ('FEW_ROWS', 100)):
        monkeypatch.setattr(auto, name, value)
    monkeypatch.setattr(node_choice, 'COMPARED_NODES', 20)
    X = np.repeat(rng.normal(size=(150, 2)), 8, axis=0)
    members = read_model(trained(write('rows.csv', csv_of((X[:, 0] * X[:, 1] > 0) * 1, X)))).members
    counts = [member.layer.n_hidden for member in members if member.layer.kind != 'sigmoid']
    assert counts and min(counts) > 60  # 600 of 1,200 rows hold about 75 distinct ones, 200 about 25


def test_machines_of_many_rows_choose_their_width_once_more_in_smaller_steps(elm, trained, packed_classes, tmp_path,
                                                                             monkeypatch):
    monkeypatch.setattr(node_choice, 'COMPARED_NODES', 50)
    monkeypatch.setattr(auto, 'FEW_ROWS', 100)
    monkeypatch.setattr(auto, 'REFINED_NODES', 60)
    monkeypatch.setattr(auto, 'TRIED_NODES', 80)
    said = elm('train', 'pesvm', packed_classes, '--auto', '--model', tmp_path / 'm').err
    assert said.index('width and nu again for 60 hidden nodes') < said.index('width and nu again for 80 hidden nodes')
    assert all(member.layer.n_hidden == N for member in read_model(tmp_path / 'm').members)


@pytest.fixture
def small_grams(monkeypatch):
    """Compare landmarks of 20 nodes, and let a Gram have 40: as with many thousand rows, passes could have more."""
    monkeypatch.setattr(node_choice, 'FAMILIES', node_choice.FAMILIES[:2])
    monkeypatch.setattr(node_choice, 'COMPARED_NODES', 20)
    monkeypatch.setattr(auto, 'CHEAP', 1)
    monkeypatch.setattr(auto, 'STEEP', ((np.inf, 40),))


@pytest.fixture
def curved(elm, write, csv_of, rng, tmp_path):
    """Pack rows whose boundary wants many landmarks."""
    X = rng.uniform(-2, 2, size=(N, 2))
    path = write('curved.csv', csv_of((np.sin(4 * X[:, 0]) * np.sin(4 * X[:, 1]) > 0) * 1, X))
    elm('pack', path, '-o', tmp_path / 'curved', '--block-rows', 40, '-q')
    return tmp_path / 'curved'


def test_passes_train_more_landmarks_than_a_gram_where_a_budget_allows_them(
        elm, small_grams, curved, tmp_path, maps, model_of):
    done = elm('train', 'pesvm', curved, '--auto', '--budget', 150, '--model', tmp_path / 'm')
    assert done.status == 0 and 'solving by passes: 40 landmarks have 0.' in done.err
    assert 'and the budget allows 150' in done.err
    members = read_model(tmp_path / 'm').members
    assert len(members) > 1
    for member in members:
        assert member.layer.n_hidden == 150 and member.header.parameters['solver'] == 'passes'
    done = elm('update', tmp_path / 'm', curved, '--model', tmp_path / 'x', '-q')
    assert done.status == 1 and 'a training by passes makes none' in done.err and '--like' in done.err
    elm('train', 'pesvm', curved, '--auto', '--budget', 150, '--model', tmp_path / 'again', '-q', *maps(3), *LOCAL)
    demand_same_bits(model_of, tmp_path / 'm', tmp_path / 'again')


def test_passes_have_probabilities_of_a_fold_held_out(elm, trained, small_grams, curved, monkeypatch):
    monkeypatch.setattr(auto, 'choose_metric', lambda *_: None)
    model = trained(curved, '--budget', 80, '--probabilities')
    assert read_model(model).header.calibration['scored'] == 'folds'
    assert json.loads(elm('evaluate', model, curved, '--json').out)['log_loss'] < 0.6


@pytest.mark.parametrize(('words', 'reason'), [
    ((), ''), (('--budget', 70), 'rows and budget allow 70 landmarks by passes, expected at least 80')])
def test_a_gram_trains_where_passes_would_not_pay(elm, small_grams, curved, tmp_path, words, reason):
    done = elm('train', 'pesvm', curved, '--auto', *words, '--model', tmp_path / 'm')
    assert done.status == 0 and reason in done.err and 'by passes:' not in done.err
    assert read_model(tmp_path / 'm', sums=True).sums


def test_a_gram_trains_where_the_error_does_not_fall(elm, small_grams, curved, tmp_path, monkeypatch):
    monkeypatch.setattr(auto_passes, 'FALLS', 0.0)
    done = elm('train', 'pesvm', curved, '--auto', '--budget', 150, '--model', tmp_path / 'm')
    assert 'solving by a Gram: 40 landmarks have 0.' in done.err and 'expected at most 0' in done.err


def test_sums_of_more_machines_take_no_more_memory():
    assert [Budget().largest(10**4, n) for n in (1, 2, 4)] == [5000, 5000, 3535]
    assert Budget(nodes=8000).largest(10**4, 4) == 3535 and Budget(nodes=800).largest(10**4, 4) == 800


def test_seconds_allow_more_landmarks_by_passes_than_by_a_gram_of_many_rows():
    assert Budget().largest(10**6) == 5000 and not Budget().said
    budget = Budget(seconds=7200)
    assert budget.largest_by_passes(10**6, 60) > 2 * budget.largest(10**6)
    assert budget.largest_by_passes(10**6, 60) > budget.largest_by_passes(10**6, 60, 3)
    assert Budget(seconds=10**9).largest_by_passes(10**6, 60) == 20000
