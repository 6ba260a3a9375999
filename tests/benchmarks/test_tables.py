"""Tables against peers: every trial is kept, a stopped run goes on, what is absent is named."""
import csv
import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks.public.sets import DATA_SETS
from benchmarks.tables import boosting, everything, harness, sparse_elm, sphere_svm
from benchmarks.tables.claims import AsGood
from benchmarks.tables.harness import Comparison, download_sets, run
from benchmarks.tables.results import KeptRows, Table
from benchmarks.tables.sizes import measure_model
from benchmarks.tables.sphere_svm import split_outer
from benchmarks.tables.split import permute_parts, split_halves
from benchmarks.tables.tuning import TimeIsUp, Tuning
from mr_elm.estimators import SparseELMClassifier
from mr_elm.features.kernels import make_kernel
from mr_elm.scores.selection import PAPER, PAPER_DEGREES

ROOT = Path(__file__).parents[2]


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
    assert '| mean accuracy, 2 sets |' in text and 'Left out' not in text
    assert '| accuracy of SVC minus accuracy of sparse ELM, points | ' in text


def test_a_stopped_choice_of_parameters_goes_on_and_scores_nothing_twice(tmp_path):
    X, y = load_wine(return_X_y=True)
    X, grid, place = X / X.max(axis=0), {'C': [0.01, 1.0, 100.0]}, {'set': 'wine', 'method': 'SVC', 'trial': 0}
    asked = []
    with pytest.raises(TimeIsUp):
        Tuning(tmp_path / 'candidates.csv', lambda: asked.append(1) or len(asked) > 2).choose(place, SVC(), grid, X, y)
    before = (tmp_path / 'candidates.csv').read_text()
    again = Tuning(tmp_path / 'candidates.csv', lambda: False)
    search = GridSearchCV(SVC(), grid, cv=5).fit(X, y)
    assert again.choose(place, SVC(), grid, X, y) == search.best_params_
    assert (tmp_path / 'candidates.csv').read_text().startswith(before) and before.count('\n') == 3
    assert [float(row['accuracy']) for row in again.kept.rows] == pytest.approx(search.cv_results_['mean_test_score'],
                                                                                 abs=1e-5)


def test_rows_of_an_older_form_are_not_added_to(tmp_path):
    (tmp_path / 'rows.csv').write_text('set,accuracy\niris,1\n')
    with pytest.raises(SystemExit, match='expected the columns set, other, found others: remove the file'):
        KeptRows(tmp_path / 'rows.csv', ('set', 'other'))


def test_a_table_beside_trials_of_an_older_version_ends_with_one_sentence(tmp_path):
    (tmp_path / 'table.trials.csv').write_text('set,accuracy\niris,1\n')
    done = subprocess.run([sys.executable, '-m', 'benchmarks.tables.everything', tmp_path / 'table.md', 'iris'],
                          capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1 and done.stdout == ''
    assert re.fullmatch(r'\S+table.trials.csv: expected the columns .*: remove the file', done.stderr.splitlines()[-1])
    assert 'Traceback' not in done.stderr


def test_a_table_is_laid_out_as_printed_with_training_and_testing(tmp_path):
    sections = (('Both (table IV)', ('sparse ELM', 'SVC')),)
    comparison = Comparison(('iris',), split_halves, methods, 'Halves.', sections=sections, tuned_on=None)
    text = run(comparison, tmp_path / 'table.md', n_trials=2)
    training = [100 * float(row['train_accuracy']) for row in trials_of(tmp_path) if row['method'] == 'SVC']
    cells = next(line for line in text.partition('### Both (table IV)')[2].splitlines() if '| SVC |' in line).split('|')
    assert cells[3].split()[0] == f'{sum(training) / 2:.2f}'
    assert '| iris | C 1 |' in text.partition('### Parameters')[2].replace('C 10 |', 'C 1 |')
    assert '### Number of support vectors\n\n| set | sparse ELM | SVC |' in text


def test_auto_and_trees_are_compared_without_a_choice_of_parameters(tmp_path):
    text = run(boosting.COMPARISON, tmp_path / 'table.md', ['iris'], n_trials=1)
    assert all(f'| accuracy of {peer} minus accuracy of --auto, points | ' in text
               for peer in boosting.list_methods(4, 3) if peer != boosting.AUTO)
    assert {row['parameters'] for row in trials_of(tmp_path)} == {'{}'}
    assert all(float(row['accuracy']) > 0.85 for row in trials_of(tmp_path))
    assert len((tmp_path / 'table.candidates.csv').read_text().splitlines()) <= 1  # the names of the columns


def test_a_set_is_divided_by_the_folds_of_its_file(tmp_path, monkeypatch):
    folds = [np.arange(start, start + 3) for start in range(4)]
    np.savez(tmp_path / 'small.npz', X=np.eye(8), y=np.arange(8) % 2, **{f'k{k}': rows for k, rows in enumerate(folds)})
    monkeypatch.setenv('MR_ELM_DATA', str(tmp_path))
    for trial in range(2):
        train, test = boosting.COMPARISON.split_set('small', np.arange(8) % 2, trial)
        assert train.tolist() == folds[2 * trial].tolist() and test.tolist() == folds[2 * trial + 1].tolist()
    halves = boosting.COMPARISON.split_set('small', np.arange(8) % 2, 2)
    assert sorted(np.concatenate(halves)) == list(range(8))


def test_a_matrix_that_memory_cannot_hold_is_left_out_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, 'MEMORY', 75 * 75 * 16 - 1)
    comparison = Comparison(('iris',), split_halves, methods, 'Halves.', dense=('sparse ELM',))
    assert 'sparse ELM on iris: expected ' in run(comparison, tmp_path / 'table.md', n_trials=1)
    assert {row['method'] for row in trials_of(tmp_path)} == {'SVC'}


def test_a_published_training_part_comes_first_and_is_put_in_another_order_each_trial():
    train, test = permute_parts(10, 6, 0)
    assert sorted(train) == list(range(6)) and sorted(test) == list(range(6, 10))
    assert list(train) != list(permute_parts(10, 6, 1)[0])


def test_the_grid_of_the_paper_has_its_values():
    grids = {name: grid for name, (_, grid) in sparse_elm.PAPER.methods(4, 2).items()}
    assert all(tuple(grid['C']) == PAPER for grid in grids.values()) and len(PAPER) == 14
    assert tuple(grids['sparse ELM, gaussian']['sigma']) == PAPER
    assert grids['SVC, gaussian']['gamma'] == pytest.approx([1 / (2 * sigma**2) for sigma in PAPER])
    assert {tuple(grids[f'{method}, polynomial']['degree']) for method in ('sparse ELM', 'unified ELM', 'SVC')} == {
        PAPER_DEGREES}
    assert all(len(grids[name]['weight_scale']) > 1 for name in grids if name.endswith('nodes'))


def test_the_sections_of_a_table_name_its_methods():
    assert {method for _, names in sparse_elm.SECTIONS for method in names} == set(
        sparse_elm.COMPARISON.methods(4, 2)) == set(sparse_elm.PAPER.methods(4, 3))


@pytest.mark.parametrize('kernel, choice', [('gaussian', {'sigma': [0.7]}), ('polynomial', {'degree': [2]})])
def test_svc_has_the_kernel_of_sparse_elm(kernel, choice):
    X, y = load_wine(return_X_y=True)
    X = X[y < 2] / X.max(axis=0)
    machine, choices = sparse_elm.make_svc(kernel, {'C': [1.0], **choice})
    machine.set_params(**{name: value for name, (value,) in choices.items()}).fit(X, y[y < 2])
    ours = make_kernel(kernel, 1.0, **{name: value for name, (value,) in choice.items()})
    values = ours.tile(X, machine.support_vectors_) @ machine.dual_coef_[0] + machine.intercept_[0]
    assert machine.decision_function(X) == pytest.approx(values)


def test_sets_that_are_not_there_are_downloaded_and_those_that_cannot_be_had_are_named(tmp_path, capsys, monkeypatch):
    def fetch(name, folder):
        if name == 'splice':
            raise OSError('could not fetch it')
        (tmp_path / 'new').mkdir(exist_ok=True)
        (tmp_path / 'new' / f'{name}.libsvm').write_text('1 1:1\n')
        return name

    monkeypatch.setattr(harness, 'download', fetch)
    monkeypatch.setenv('MR_ELM_DATA', str(tmp_path / 'old'))
    download_sets(['iris', 'nowhere', 'heart', 'splice'], str(tmp_path / 'new'))
    assert capsys.readouterr().err.splitlines() == ['downloaded heart', 'not downloaded: could not fetch it']
    assert [name for name in ('heart', 'splice') if harness.is_there(name)] == ['heart']


@pytest.mark.parametrize('table', [sparse_elm, sphere_svm])
def test_every_set_of_a_paper_can_be_downloaded(table):
    assert set(table.COMPARISON.sets) <= set(DATA_SETS)


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
    assert 'ionosphere' in first and '`python -m benchmarks.public ionosphere` brings it' in first
    assert 'nowhere' in second and 'no origin' in second and 'iris, trial 1' in others[0]


def test_a_set_of_genes_without_the_selection_of_genes_is_named_first(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(harness, 'find_spec', lambda name: None)
    comparison = Comparison(('wine', 'iris'), split_halves, methods, 'Halves.', genes=('wine',))
    run(comparison, tmp_path / 'table.md', n_trials=1)
    first, *others = capsys.readouterr().err.splitlines()
    assert 'wine needs scikit-lego' in first and 'iris, trial 1' in others[0]


def test_a_set_that_cannot_be_halved_is_named(tmp_path, monkeypatch):
    (tmp_path / 'single.libsvm').write_text('0 1:1\n0 1:2\n1 1:3\n')
    monkeypatch.setenv('MR_ELM_DATA', str(tmp_path))
    text = run(Comparison(('single', 'iris'), split_halves, methods, 'Halves.'), tmp_path / 'table.md', n_trials=1)
    assert '* single: ' in text.partition('Left out:')[2] and 'trials have not run' not in text
    assert {row['set'] for row in trials_of(tmp_path)} == {'iris'}


def test_a_set_with_too_few_rows_for_a_cross_validation_is_named_once(tmp_path, monkeypatch):
    (tmp_path / 'tiny.libsvm').write_text(''.join(f'{row % 2} 1:{row}\n' for row in range(16)))
    monkeypatch.setenv('MR_ELM_DATA', str(tmp_path))
    text = run(Comparison(('tiny',), split_halves, methods, 'Halves.'), tmp_path / 'table.md', n_trials=1)
    left_out = text.partition('Left out:')[2]
    assert left_out.count('tiny') == 1 and '* tiny: no class has more than 4 training rows' in left_out


def test_a_run_whose_time_is_up_names_what_is_left(tmp_path):
    comparison = Comparison(('iris',), split_halves, methods, 'Halves.')
    text = run(comparison, tmp_path / 'table.md', n_trials=2, minutes=1e-9)
    assert '4 trials have not run yet, on the sets iris' in text


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
    assert claim.value == 0 and claim.note == 'peer 90.00 %, ours 90.00 %, means of 1 sets'


def test_a_claim_without_its_peer_is_not_measured():
    claim, = judge(ours=(0.9,))
    assert claim.verdict == 'not measured'


@pytest.mark.parametrize('table', [everything, sparse_elm, sphere_svm])
def test_claims_are_about_methods_of_their_table(table):
    names = set(table.COMPARISON.methods(4, 2))
    assert table.COMPARISON.claims
    assert {name for claim in table.COMPARISON.claims for name in (claim.method, claim.peer)} <= names
