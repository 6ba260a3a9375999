"""Tables against peers: every trial is kept, a stopped run goes on, what is absent is named."""
import csv
import json
from importlib.util import find_spec

import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import SVC

from benchmarks.tables import everything, sparse_elm, sphere_svm
from benchmarks.tables.claims import AsGood
from benchmarks.tables.harness import Comparison, run, split_halves
from benchmarks.tables.results import Table
from benchmarks.tables.sizes import measure_model
from benchmarks.tables.sphere_svm import split_outer
from mr_elm.estimators import SparseELMClassifier


def methods(n_features, n_classes):
    """Return two machines, with little to choose from."""
    return {'sparse ELM': (SparseELMClassifier(), {'C': [1.0, 10.0]}), 'SVC': (SVC(), {'C': [1.0]})}


@pytest.fixture(autouse=True)
def only_bundled_sets(monkeypatch):
    monkeypatch.delenv('MR_ELM_DATA', raising=False)


def trials_of(folder):
    with open(folder / 'table.trials.csv', newline='') as stream:
        return list(csv.DictReader(stream))


def judge(**accuracies):
    """Judge that `ours` is as good as `peer`: method -> its accuracies, a set each."""
    rows = [{'set': str(number), 'method': method, 'accuracy': accuracy}
            for method, values in accuracies.items() for number, accuracy in enumerate(values)]
    return Table(rows, 'Halves.', [], [AsGood('ours', 'peer')], {}).judge()


def test_a_stopped_run_goes_on_and_measures_nothing_twice(tmp_path):
    comparison = Comparison(('iris', 'wine'), split_halves, methods, 'Halves.', claims=(AsGood('sparse ELM', 'SVC'),))
    run(comparison, tmp_path / 'table.md', n_trials=1)
    before, path = trials_of(tmp_path), tmp_path / 'table.trials.csv'
    path.write_text(path.read_text()[:-20])  # killed while it wrote the last trial
    text = run(comparison, tmp_path / 'table.md', n_trials=2)
    after = trials_of(tmp_path)
    assert after[:3] == before[:3]
    assert sorted((row['set'], row['method'], row['trial']) for row in after) == sorted(
        (name, method, trial) for name in ('iris', 'wine') for method in methods(2, 2) for trial in '01')
    kept = json.loads((tmp_path / 'table.json').read_text())
    for row in kept['rows']:
        mine = [float(trial['accuracy']) for trial in after if trial['set'] == row['set']
                and trial['method'] == row['method']]
        assert row['accuracy'] == pytest.approx(sum(mine) / 2, abs=1e-5)
        assert row['accuracy'] > 0.8
    assert {trial['session'] for trial in after} == set(kept['sessions'])
    assert text.startswith('\n\n'.join(Table.from_json(kept).describe()))
    assert '| mean of 2 sets |' in text and 'Left out' not in text
    assert '| sparse ELM, points of accuracy below SVC | ' in text


def test_what_could_not_be_compared_is_named(tmp_path):
    def with_a_fault(n_features, n_classes):
        return {**methods(n_features, n_classes), 'broken': (RidgeClassifier(), {'alpha': [-1.0]})}

    comparison = Comparison(('iris', 'nowhere'), split_halves, with_a_fault, 'Halves.',
                            absent=('hpelm is not installed',))
    text = run(comparison, tmp_path / 'table.md', n_trials=1)
    left_out = text.partition('Left out:')[2]
    assert all(words in left_out for words in ('nowhere', 'broken on iris: ', 'hpelm is not installed'))
    assert {row['method'] for row in trials_of(tmp_path)} == {'sparse ELM', 'SVC'}


def test_sets_that_are_not_there_are_named_first_with_the_way_to_have_them(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv('MR_ELM_DATA', str(tmp_path))
    comparison = Comparison(('ionosphere', 'nowhere', 'iris'), split_halves, methods, 'Halves.')
    run(comparison, tmp_path / 'table.md', n_trials=1)
    first, second, *others = capsys.readouterr().err.splitlines()
    assert 'ionosphere' in first and '`mr-elm download ionosphere` brings it' in first
    assert 'nowhere' in second and 'no origin' in second and 'iris, trial 1' in others[0]


def test_a_set_that_cannot_be_halved_is_named(tmp_path, monkeypatch):
    (tmp_path / 'single.libsvm').write_text('0 1:1\n0 1:2\n1 1:3\n')
    monkeypatch.setenv('MR_ELM_DATA', str(tmp_path))
    text = run(Comparison(('single', 'iris'), split_halves, methods, 'Halves.'), tmp_path / 'table.md', n_trials=1)
    assert '* single: ' in text.partition('Left out:')[2] and 'trials are left' not in text
    assert {row['set'] for row in trials_of(tmp_path)} == {'iris'}


def test_a_run_whose_time_is_up_says_so(tmp_path):
    comparison = Comparison(('iris',), split_halves, methods, 'Halves.')
    assert '4 trials are left' in run(comparison, tmp_path / 'table.md', n_trials=2, minutes=1e-9)


def test_outer_folds_test_every_row_once():
    _, y = load_wine(return_X_y=True)
    folds = [split_outer(y, trial) for trial in range(5)]
    assert sorted(row for _, test in folds for row in test) == list(range(len(y)))
    assert not any(set(train) & set(test) for train, test in folds)


@pytest.mark.filterwarnings('ignore')
def test_every_machine_has_a_size_and_every_peer_is_there_or_named():
    X, y = load_wine(return_X_y=True)
    machines = everything.list_methods(X.shape[1], 3)
    for name, (estimator, _) in machines.items():
        assert measure_model(estimator.fit(X / X.max(axis=0), y)) >= 8 * X.shape[1], name
    assert ('hpelm' in machines) == bool(find_spec('hpelm')) == (not everything.ABSENT)


@pytest.mark.parametrize('ours, behind, verdict', [((0.9, 0.792), '0.40', 'met'), ((0.9, 0.788), '0.60', 'missed'),
                                                   ((0.9, 0.9), '-5.00', 'met')])
def test_a_machine_is_as_good_as_a_peer_within_half_a_point_of_mean_accuracy(ours, behind, verdict):
    claim, = judge(ours=ours, peer=(0.9, 0.8))
    assert (f'{claim.value:.2f}', str(claim.aim), claim.verdict) == (behind, 'at most 0.5', verdict)


def test_only_sets_that_all_methods_did_count_for_a_claim():
    claim, = judge(ours=(0.9, 0.5), peer=(0.9, 0.9), other=(0.1,))
    assert claim.value == 0 and claim.note == '90.00 % against 90.00 %, mean of 1 sets'


def test_a_claim_without_its_peer_is_not_measured():
    claim, = judge(ours=(0.9,))
    assert claim.verdict == 'not measured'


@pytest.mark.parametrize('table', [everything, sparse_elm, sphere_svm])
def test_claims_are_about_methods_of_their_table(table):
    names = set(table.COMPARISON.methods(4, 2))
    assert table.COMPARISON.claims
    assert {name for claim in table.COMPARISON.claims for name in (claim.method, claim.peer)} <= names
