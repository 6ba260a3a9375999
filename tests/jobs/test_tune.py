"""Tuning scores every candidate on rows held out, the same for any splits."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from reference.files import LOCAL
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from mr_elm.estimators import OELMClassifier, SparseELMClassifier, SphereSVMClassifier
from mr_elm.figures import heatmap
from mr_elm.scores import selection
from mr_elm.scores.selection import FOLD, fold_numbers

GRID = ('--sigma', '0.5,2', '--C', '0.5,5,50', '--folds', 3)


@pytest.fixture
def table(rng):
    """Draw rows of three classes that overlap: (X, labels)."""
    X = rng.normal(size=(180, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=180) > 0.3) * 1 + (X[:, 2] > 0) * 1


@pytest.fixture
def tune(elm, tmp_path):
    """Tune quietly: (what is printed, the table without seconds)."""

    def run(path, *options):
        out = tmp_path / 'table.csv'
        done = elm('tune', 'sparse-elm', path, *GRID, '--table', out, '--overwrite', '-q', *options)
        assert (done.status, done.err) == (0, '')
        with open(out) as stream:
            return json.loads(done.out), [[float(cell) for cell in line[:-1]] for line in list(csv.reader(stream))[1:]]

    return run


def test_the_best_of_the_table_is_printed_and_trained(tune, dense, tmp_path, model_of):
    best, table = tune(dense, '--model', tmp_path / 'm.npz', '--figure', tmp_path / 'map.png')
    assert [line[:2] for line in table] == [[sigma, C] for sigma in (0.5, 2.0) for C in (0.5, 5.0, 50.0)]
    assert best['accuracy'] == max(line[2] for line in table)
    parameters = model_of(tmp_path / 'm.npz')[0]['parameters']
    assert (parameters['sigma'], parameters['C']) == (best['sigma'], best['C'])
    assert (tmp_path / 'map.png').read_bytes().startswith(b'\x89PNG')


def test_splits_and_runners_do_not_show(tune, dense, maps):
    one = tune(dense)
    assert tune(dense, *maps(4)) == one
    assert tune(dense, *LOCAL, *maps(2)) == one


def test_a_sample_is_a_part_of_the_rows(tune, dense):
    assert tune(dense, '--sample', 1000) == tune(dense)
    assert tune(dense, '--sample', 90)[1] != tune(dense)[1]


def test_rows_too_many_for_a_kernel_matrix_are_refused(elm, dense):
    done = elm('tune', 'sparse-elm', dense, *GRID, '--memory', 0.1, '-q')
    assert done.status == 1 and 'at most 111 rows' in done.err and '--sample 111' in done.err


@pytest.mark.parametrize('rule', ['coordinate', 'block'])
def test_random_nodes_are_tuned_over_C(elm, dense, table, tmp_path, model_of, maps, rule):
    path, out = tmp_path / 'm.npz', tmp_path / 'nodes.csv'
    grid = ('--kernel', 'sine', '--weight-scale', 0.5, '--hidden', 40, '--C', '1,10', '--folds', 3)
    done = elm(
        'tune',
        'oelm' if rule == 'coordinate' else 'sparse-elm',
        dense,
        *grid,
        '--rule',
        rule,
        '--table',
        out,
        '--figure',
        tmp_path / 'map.png',
        '--model',
        path,
        '-q',
        *maps(2),
    )
    assert (done.status, done.err) == (0, '')
    best = json.loads(done.out)
    with open(out) as stream:
        lines = list(csv.DictReader(stream))
    assert [float(line['C']) for line in lines] == [1.0, 10.0]
    assert best['accuracy'] == max(float(line['accuracy']) for line in lines) > 0.6
    header, arrays = model_of(path)
    given = header['parameters']
    names = ('map', 'weight_scale', 'n_hidden', 'C', 'solver')
    assert [given[name] for name in names] == ['sine', 0.5, 40, best['C'], rule]
    assert (tmp_path / 'map.png').read_bytes().startswith(b'\x89PNG')


def test_the_accuracy_of_nodes_is_that_of_an_estimator_on_rows_held_out(elm, dense, table, tmp_path):
    """Scaling and the size of normal weights see all rows: here there is no scaling, and weights are uniform."""
    words = (
        '--kernel',
        'sigmoid',
        '--weight-scale',
        2,
        '--hidden',
        15,
        '--C',
        5,
        '--folds',
        3,
        '--scale',
        'none',
        '--weights',
        'uniform',
    )
    done = elm('tune', 'sparse-elm', dense, *words, '--eps', 1e-6, '-q')
    X, labels = table
    folds, correct = fold_numbers(X, 3, FOLD), 0
    for fold in range(3):
        fitted = SparseELMClassifier(
            kernel='sigmoid', n_hidden=15, weight_scale=2, C=5, tol=1e-6, scale='none', weights='uniform'
        )
        fitted.fit(X[folds != fold], labels[folds != fold])
        correct += (fitted.predict(X[folds == fold]) == labels[folds == fold]).sum()
    assert json.loads(done.out)['accuracy'] == correct / len(X)


@pytest.mark.parametrize('method', ['sparse-elm', 'oelm', 'sphere-svm'])
def test_accuracies_count_rows_by_their_weights(elm, write, rng, method):
    """The rows of the rare class weigh as much as all others: on noise no accuracy is above chance."""
    labels = np.arange(200) % 10 == 0
    rows = zip(labels, rng.normal(size=(200, 2)).tolist(), strict=True)
    path = write('noise.csv', ''.join(f'{int(y)},{9 if y else 1},{a},{b}\n' for y, (a, b) in rows))
    words = '--sigma', '0.05,5', '--C', '1', '-q'
    assert 0.3 < json.loads(elm('tune', method, path, '--weight-column', 1, *words).out)['accuracy'] < 0.65
    assert json.loads(elm('tune', method, path, '--drop', 1, *words).out)['accuracy'] > 0.85


@pytest.mark.parametrize('method', ['sparse-elm', 'oelm', 'sphere-svm'])
def test_balanced_classes_are_chosen_by_balanced_accuracy(elm, write, csv_of, rng, tmp_path, method):
    """A narrow kernel misses the rare class and has the higher accuracy."""
    X = rng.normal(size=(220, 2)) + np.repeat([[0.0], [1.0]], (200, 20), axis=0)
    labels, grid, out = np.repeat([0, 1], (200, 20)), ('--sigma', '0.2,2', '--C', 1), tmp_path / 'table.csv'
    words = (write('rare.csv', csv_of(labels, X)), *grid, '--folds', 3, '--scale', 'none', '--eps', 1e-7, '-q')
    words = ('tune', method, *words, '--class-weight', 'balanced', '--table', out, '--figure', tmp_path / 'map.png')
    best = json.loads(elm(*words).out)
    estimators = {'sparse-elm': SparseELMClassifier, 'oelm': OELMClassifier, 'sphere-svm': SphereSVMClassifier}
    folds, accuracies = fold_numbers(X, 3, FOLD), []
    with open(out) as stream:
        for line in csv.DictReader(stream):
            predicted = np.empty(220)
            for fold in range(3):
                rest = folds != fold
                machine = estimators[method](
                    sigma=float(line['sigma']), C=1, tol=1e-7, scale='none', class_weight={0: 0.55, 1: 5.5}
                )
                predicted[~rest] = machine.fit(X[rest], labels[rest]).predict(X[~rest])
            assert float(line['balanced_accuracy']) == pytest.approx(balanced_accuracy_score(labels, predicted), 1e-15)
            accuracies.append(accuracy_score(labels, predicted))
    assert best['sigma'] == 2 and accuracies[0] > accuracies[1] and 'accuracy' not in best


@pytest.mark.parametrize(
    'options, said',
    [
        (('--kernel', 'sine', '--sigma', '1'), '--sigma'),
        (('--folds', 1), '--folds'),
        (('--C', '1,x'), '--C'),
        (('--sigma', '0'), '--sigma'),
        (('--degree', '2'), '--degree'),
    ],
)
def test_wrong_grids_are_wrong_usage(elm, dense, options, said):
    done = elm('tune', 'sparse-elm', dense, *options)
    assert done.status == 2 and said in done.err


def test_json_is_taken_and_changes_nothing(tune, dense):
    assert tune(dense, '--json') == tune(dense)


def test_the_title_of_a_figure_of_one_size_is_not_cut_off(tmp_path, monkeypatch):
    class Score(SimpleNamespace):
        kind, n_hidden = SimpleNamespace(describe=lambda: 'map rbf --weight-scale 1'), 50
        trusted, accuracy = True, 0.9

    def save(figure, *words, **options):
        title = figure.axes[0].title
        extent = title.get_window_extent()
        inside.append(figure.bbox.x0 <= extent.x0 and extent.x1 <= figure.bbox.x1)
        titles.append(title.get_text())

    inside, titles = [], []
    monkeypatch.setattr(heatmap, 'NodeScore', Score)
    monkeypatch.setattr(Figure, 'savefig', save)
    scores = [Score(nu=nu, error=nu) for nu in (1.0, 10.0)]
    heatmap.draw(scores, scores[0], tmp_path / 'map.png', 'balanced accuracy')
    others = [selection.Score({'sigma': sigma}, 1.0, accuracy) for sigma, accuracy in ((1.0, 0.9), (2.0, 0.8))]
    heatmap.draw(others, others[0], tmp_path / 'map.png', 'balanced accuracy')
    assert inside == [True, True]
    assert titles[0].endswith('ring: best balanced accuracy\nof ten finalists')
    assert titles[1] == 'held-out balanced accuracy,\nbest 0.9000'
