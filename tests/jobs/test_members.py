"""A model that averages machines predicts their mean, and each of its machines lives as if it stood alone."""

import itertools
import json

import numpy as np
import pytest
from reference.files import LOCAL

from mr_elm.estimators import to_estimator
from mr_elm.model.file import read_model
from mr_elm.model.models import join_members

N = 180
KINDS = (
    ('--map', 'sigmoid', '--hidden', 12, '--nu', 5),
    ('--map', 'nystrom', '--hidden', 9, '--nu', 50),
    ('--map', 'relu', '--hidden', 12, '--nu', 0.5, '--weight-scale', 2),
)


@pytest.fixture
def table(rng):
    """Draw rows of two classes, and of a third one in the last third: (X, labels)."""
    X = rng.normal(size=(N, 3))
    return X, np.where((np.arange(N) >= 120) & (X[:, 1] > 0.5), 7, (X[:, 0] * X[:, 1] > 0) * 1)


@pytest.fixture
def packs(elm, write, csv_of, table, tmp_path):
    """Pack the first rows and the last rows: two paths."""
    X, labels = table
    for name, part in (('first', slice(0, 120)), ('last', slice(120, N))):
        path = write(f'{name}.csv', csv_of(labels[part], X[part]))
        assert elm('pack', path, '-o', tmp_path / name, '--block-rows', 20, '-q').status == 0
    return tmp_path / 'first', tmp_path / 'last'


@pytest.fixture
def run(elm, tmp_path):
    """Run a command that writes a model: its path."""
    count = itertools.count()

    def run(*words):
        path = tmp_path / f'model-{next(count)}.npz'
        done = elm(*words, '--model', path, '-q')
        others = [line for line in done.err.splitlines() if 'gets new ones: 7' not in line]
        assert (done.status, others) == (0, []), done.err
        return path

    return run


@pytest.fixture
def average(tmp_path):
    """Write the model that averages the models of some files: its path."""
    count = itertools.count()

    def average(paths):
        path = tmp_path / f'mean-{next(count)}.npz'
        join_members([read_model(path, sums=True) for path in paths]).save(path)
        return path

    return average


@pytest.fixture
def machines(run, packs):
    """Train one machine of each kind on the first rows: their paths."""
    return [run('train', 'pesvm', packs[0], *kind) for kind in KINDS]


def demand_same(model_of, one, other, *keys):
    """Demand the same arrays, bit by bit, and the same words about some keys."""
    (header, ours), (wanted, theirs) = model_of(one), model_of(other)
    assert list(ours) == list(theirs) and all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)
    assert all(header[key] == wanted[key] for key in ('classes', 'n_rows_used', *keys))


def test_decision_values_are_the_means_of_the_machines(elm, machines, average, packs, tmp_path, table):
    mean, X = average(machines), table[0]
    wanted = np.mean([read_model(path).decision_function(X[:120]) for path in machines], axis=0)
    for runner in ((), LOCAL):
        elm('predict', mean, packs[0], '-o', tmp_path / 'said', '--scores', '--overwrite', '-q', *runner)
        said = [line.split('\t') for line in (tmp_path / 'said').read_text().splitlines()]
        assert np.allclose([[float(value) for value in line[1:]] for line in said], wanted, rtol=1e-12)
        assert [line[0] for line in said] == ['1' if value > 0 else '0' for value in wanted[:, 0]]


def test_a_file_says_what_machines_share_and_in_what_they_differ(elm, machines, average):
    told = json.loads(elm('inspect', average(machines), '--json').out)
    assert told['requires'] == ['members'] and told['version'] == 1
    assert [member['map'] for member in told['members']] == ['sigmoid', 'nystrom', 'relu']
    assert [member['n_hidden'] for member in told['members']] == [12, 9, 12]
    assert told['parameters']['seed'] == 0 and 'map' not in told['parameters']
    assert {'0/hidden_weights', '1/landmarks', '2/hidden_weights'} <= set(told['arrays'])


def test_the_mean_of_one_machine_is_the_machine(machines, average, model_of):
    assert model_of(average(machines[:1]))[0].get('members') is None


@pytest.mark.parametrize('runner', [(), LOCAL])
def test_every_machine_grows_and_forgets_as_if_it_stood_alone(run, machines, average, packs, model_of, runner):
    grown = run('update', average(machines), packs[1], *runner)
    alone = average([run('update', path, packs[1]) for path in machines])
    demand_same(model_of, grown, alone, 'members', 'parameters')
    assert model_of(grown)[0]['classes'] == ['0', '1', '7']
    demand_same(model_of, run('forget', grown, packs[1], *runner), average(machines))


def test_models_on_the_same_nodes_merge_machine_by_machine(run, machines, average, packs, model_of):
    mean = average(machines)
    other = run('train', 'pesvm', packs[1], '--like', mean)
    demand_same(model_of, other, average([run('train', 'pesvm', packs[1], '--like', path) for path in machines]))
    demand_same(model_of, run('merge', mean, other), run('update', mean, packs[1]))


def test_merging_other_machines_is_refused(elm, machines, average, tmp_path):
    for others in (machines[:2], machines[::-1]):
        done = elm('merge', average(machines), average(others), '--model', tmp_path / 'x.npz', '-q')
        assert done.status == 1 and 'expected' in done.err and not (tmp_path / 'x.npz').exists()


def test_leave_one_out_averages_what_the_machines_say_of_a_row_they_have_not_seen(elm, run, average, packs):
    """Machines that are alike say together what one of them says."""
    one = run('train', 'pesvm', packs[0], *KINDS[0])
    said, wanted = (
        elm('evaluate', model, packs[0], '--leave-one-out', '--json', '-q').out for model in (average([one, one]), one)
    )
    assert said == wanted and 'accuracy' in said


def test_an_option_of_one_machine_is_refused(elm, machines, average, packs, tmp_path):
    done = elm('train', 'pesvm', packs[0], '--like', average(machines), '--model', tmp_path / 'x.npz', '--nu', 3)
    assert done.status == 2 and 'averages 3 machines' in done.err


def test_an_option_of_the_solver_counts_for_every_machine(elm, run, machines, average, packs, model_of, tmp_path):
    by_passes = '--like', average(machines), '--solver', 'passes'
    header, _ = model_of(run('train', 'pesvm', packs[0], *by_passes))
    assert header['parameters']['solver'] == 'passes' and len(header['members']) == 3
    done = elm('train', 'pesvm', packs[0], *by_passes, '--probabilities', '--model', tmp_path / 'x.npz', '-q')
    assert done.status != 0 and '--solver gram' in done.err and not (tmp_path / 'x.npz').exists()


def test_an_estimator_is_one_machine(machines, average):
    with pytest.raises(ValueError, match='expected a model of one machine, found the mean of 3'):
        to_estimator(read_model(average(machines)))


@pytest.mark.parametrize('damage', [{'members': []}, {'members': [{}, {}, {}]}, {'members': None}, {'members': 'abc'}])
def test_a_file_whose_machines_are_not_whole_is_refused(elm, machines, average, model_of, tmp_path, packs, damage):
    header, arrays = model_of(average(machines))
    np.savez(tmp_path / 'broken.npz', header=np.array(json.dumps({**header, **damage})), **arrays)
    done = elm('evaluate', tmp_path / 'broken.npz', packs[0], '-q')
    assert done.status == 1 and 'expected a whole model' in done.err and len(done.err.splitlines()) == 1
