"""Tuning PESVM: the grid is scored from one pass, the same for any splits; what it chooses is the model it writes."""

import json

import numpy as np
import pytest
from reference.files import LOCAL

N = 300
GRID = ('--weight-scale', '0.5,2', '--nu', '0.1,10', '--hidden', '5,20', '--folds', 3)


@pytest.fixture
def tune(tune_with):
    """Tune these nodes."""
    return tune_with(GRID)


def test_the_best_cell_is_printed_and_its_model_is_that_of_training(elm, tune, packed_classes, tmp_path, model_of):
    best, table = tune(packed_classes, '--map', 'sigmoid,rff', '--figure', tmp_path / 'f.png')
    assert len(table) == 2 * 2 * 2 * 2 and all(row['trusted'] == 'True' for row in table)
    counted = [float(row['accuracy']) for row in table if row['accuracy']]
    assert len(counted) == 10 and best['accuracy'] == max(counted)
    assert (tmp_path / 'f.png').read_bytes().startswith(b'\x89PNG')
    elm(
        'train',
        'pesvm',
        packed_classes,
        '--map',
        best['map'],
        '--weight-scale',
        best['weight_scale'],
        '--nu',
        best['nu'],
        '--hidden',
        best['hidden'],
        '--model',
        tmp_path / 'plain.npz',
        '-q',
    )
    (tuned, one), (plain, other) = model_of(tune.model), model_of(tmp_path / 'plain.npz')
    assert np.abs(one['output_weights'] - other['output_weights']).max() < 1e-8
    assert tuned['parameters'].keys() == plain['parameters'].keys() and tuned['n_rows_used'] == N


@pytest.mark.parametrize('options', [('1',), ('5',), ('2', *LOCAL)], ids=' '.join)
def test_splits_and_runners_do_not_show(tune, packed_classes, model_of, options, maps):
    n, *runner = options
    whole, (_, arrays) = tune(packed_classes), model_of(tune.model)
    assert tune(packed_classes, *maps(n), *runner) == whole
    again = model_of(tune.model)[1]
    assert [name for name in arrays if arrays[name].tobytes() != again[name].tobytes()] == []


def test_the_model_chosen_lives(elm, tune, packed_classes, tmp_path, model_of):
    tune(packed_classes, '--hidden', '5,20', '--nu', '10')
    elm('update', tune.model, packed_classes, '--model', tmp_path / 'twice.npz', '-q')
    elm('forget', tmp_path / 'twice.npz', packed_classes, '--model', tmp_path / 'once.npz', '-q')
    one, other = (model_of(path)[1] for path in (tune.model, tmp_path / 'once.npz'))
    assert [name for name in one if one[name].tobytes() != other[name].tobytes()] == []


@pytest.mark.parametrize('seed', [0, 3])
def test_errors_and_accuracies_are_those_of_rows_held_out(tune, packed_classes, three_classes, model_of, seed):
    """Train on the rows of the other folds by numpy alone, on the nodes of the model."""
    from mr_elm.scores.selection import FOLD, fold_numbers

    best, cells = tune(packed_classes, '--seed', seed)
    X, labels = three_classes
    m = model_of(tune.model)[1]
    Z = (X - m['feature_offset']) * m['feature_scale'] @ m['hidden_weights'].T + m['hidden_biases']
    E, T = np.c_[1 / (1 + np.exp(-Z)), -np.ones(N)], np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    folds, F = fold_numbers(X, 3, seed + FOLD), np.zeros((N, 3))
    for fold in range(3):
        rest = folds != fold
        A = E[rest].T @ E[rest] + np.eye(E.shape[1]) / best['nu']
        F[~rest] = E[~rest] @ np.linalg.solve(A, E[rest].T @ T[rest])
    assert np.isclose(best['error'], ((F - T) ** 2).mean(), rtol=1e-8)
    assert best['accuracy'] == (F.argmax(axis=1) == labels).mean()
    (row,) = [row for row in cells if all(float(row[name]) == best[name] for name in ('weight_scale', 'nu', 'hidden'))]
    assert float(row['error']) == best['error']


def test_a_regression_is_chosen_by_its_error(tune, write, csv_of, three_classes, model_of):
    X, _ = three_classes
    best, cells = tune(write('y.csv', csv_of((3 * X[:, 0] + 50).tolist(), X)), '--task', 'regression')
    assert best['accuracy'] is None and best['error'] == min(float(row['error']) for row in cells)
    assert model_of(tune.model)[0]['parameters']['nu'] == best['nu']


def test_a_sample_chooses_and_all_rows_train(tune, packed_classes, model_of):
    tune(packed_classes, '--sample', 150, '--map', 'nystrom')
    header, arrays = model_of(tune.model)
    assert header['n_rows_used'] == N and arrays['counts'].sum() == N


def test_a_nu_too_large_is_marked_and_not_chosen(tune, packed_classes):
    best, cells = tune(packed_classes, '--nu', '1,1e14')
    assert {row['trusted'] for row in cells if float(row['nu']) > 1} == {'False'} and best['nu'] == 1


@pytest.mark.parametrize(
    'options, said', [(('--map', 'cubic'), 'cubic'), (('--folds', 1), '--folds'), (('--hidden', '5,0'), '--hidden')]
)
def test_wrong_grids_are_wrong_usage(elm, packed_classes, options, said):
    done = elm('tune', 'pesvm', packed_classes, *options)
    assert done.status == 2 and said in done.err


def test_sums_that_do_not_fit_are_refused(elm, packed_classes):
    done = elm('tune', 'pesvm', packed_classes, '--memory', 10, '-q')
    assert done.status == 1 and '--memory' in done.err


def test_metrics_and_kernels_are_candidates_and_the_best_is_trained(tune, packed_classes, model_of):
    best, table = tune(
        packed_classes,
        '--map',
        'sigmoid,nystrom',
        '--kernel',
        'gaussian,laplacian',
        '--metric',
        'none,diagonal,full',
    )
    kinds = {(row['map'], row['kernel'], row['metric']) for row in table}
    assert len(kinds) == 9 and len(table) == 9 * 2 * 2 * 2
    assert best['accuracy'] == max(float(row['accuracy']) for row in table if row['accuracy'])
    parameters = model_of(tune.model)[0]['parameters']
    assert (parameters['map'], parameters['nu'], parameters['n_hidden']) == (best['map'], best['nu'], best['hidden'])


def test_cells_without_a_metric_stay_as_they_are_beside_others(tune, packed_classes):
    both, alone = (tune(packed_classes, '--metric', names)[1] for names in ('none,diagonal', 'none'))
    for row in (*both, *alone):
        del row['accuracy']  # only of the best ones
    assert [row for row in both if row['metric'] == 'none'] == alone


@pytest.mark.parametrize('options', [('4',), ('2', *LOCAL)], ids=' '.join)
def test_splits_and_runners_do_not_show_in_a_metric(elm, tune, write, csv_of, rng, model_of, options, maps, tmp_path):
    X, path = rng.normal(size=(N, 12)), tmp_path / 'noisy.packed'
    table = write('noisy.csv', csv_of((X[:, 0] > 0) * 1 + (X[:, 1] > 0) * 1, X))
    elm('pack', table, '-o', path, '--block-rows', 40, '-q')
    n, *runner = options
    words = '--metric', 'diagonal', '--nu', '1'
    whole, (header, arrays) = tune(path, *words), model_of(tune.model)
    assert header['parameters']['metric'] == 'diagonal' and tune(path, *words, *maps(n), *runner) == whole
    again = model_of(tune.model)[1]
    assert [name for name in arrays if arrays[name].tobytes() != again[name].tobytes()] == []


def test_errors_behind_a_metric_are_those_of_rows_that_it_has_not_seen(tune, packed_classes, three_classes, model_of):
    """Learn the metric of each fold by the library, and train by numpy alone."""
    from mr_elm.features.hidden import HiddenLayer
    from mr_elm.features.metric import FeatureColumns
    from mr_elm.machines.choose import learn_fold_metrics
    from mr_elm.machines.grid_task import Folds
    from mr_elm.machines.sample import SampleRows
    from mr_elm.scores.selection import FOLD, fold_numbers
    from mr_elm.sums.statistics import ColumnStatistics

    best, _ = tune(packed_classes, '--metric', 'diagonal', '--hidden', 20, '--weight-scale', 2, '--nu', 10)
    X, labels = three_classes
    m = model_of(tune.model)[1]
    layer = HiddenLayer(
        'sigmoid', *(m[name] for name in ('hidden_weights', 'hidden_biases', 'feature_offset', 'feature_scale'))
    )
    columns = FeatureColumns.of(ColumnStatistics.of(X), None)
    sample = SampleRows.of(X, labels, 3, None, columns)
    learned = learn_fold_metrics(layer, sample, 'diagonal', Folds(3, 3, 1.0, 0, None, None))
    T, folds, F = np.where(labels[:, None] == np.arange(3), 1.0, -1.0), fold_numbers(X, 3, FOLD), np.zeros((N, 3))
    for fold, metric in enumerate(each.metric for each in learned):
        rest = folds != fold
        A = np.ones(X.shape[1]) if metric is None else metric
        Z = (X - layer.offset) * layer.scale * A @ layer.weights.T + layer.biases
        E = np.c_[1 / (1 + np.exp(-Z)), -np.ones(N)]
        B = np.linalg.solve(E[rest].T @ E[rest] + np.eye(E.shape[1]) / 10, E[rest].T @ T[rest])
        F[~rest] = E[~rest] @ B
    assert any(each.metric is not None for each in learned)
    assert np.isclose(best['error'], ((F - T) ** 2).mean(), rtol=1e-6)
    assert best['accuracy'] == (F.argmax(axis=1) == labels).mean()


@pytest.mark.parametrize('options', [('--metric', 'diagonal', '--map', 'hardlimit'), ('--kernel', 'laplacian')])
def test_a_metric_without_slopes_and_a_kernel_without_landmarks_are_wrong_usage(elm, packed_classes, options):
    assert elm('tune', 'pesvm', packed_classes, *options).status == 2


def test_a_metric_finds_the_features_of_a_regression(elm, write, csv_of, rng, tmp_path, model_of):
    X = rng.normal(size=(400, 12))
    path = write('y.csv', csv_of(np.sin(2 * X[:, 0]).tolist(), X))
    done = elm(
        'tune',
        'pesvm',
        path,
        '--task',
        'regression',
        '--metric',
        'none,diagonal',
        '--hidden',
        60,
        '--nu',
        '1,100',
        '--folds',
        3,
        '--weight-scale',
        1,
        '--model',
        tmp_path / 'm.npz',
        '-q',
    )
    assert json.loads(done.out)['metric'] == 'diagonal'
    metric = model_of(tmp_path / 'm.npz')[1]['feature_metric']
    assert (metric**2).argmax() == 0 and metric[0] ** 2 > 0.8 * (metric**2).sum()
