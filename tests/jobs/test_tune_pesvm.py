"""Tuning PESVM: the grid is scored from one pass, the same for any splits; what it chooses is the model it writes."""

import numpy as np
import pytest
from reference.files import LOCAL
from sklearn.metrics import accuracy_score, balanced_accuracy_score

N = 300
GRID = ('--weight-scale', '0.5,2', '--nu', '0.1,10', '--hidden', '5,20', '--folds', 3)


@pytest.fixture
def tune(tune_with):
    """Tune these nodes."""
    return tune_with(GRID)


def test_the_best_cell_is_printed_and_its_model_is_that_of_training(elm, tune, packed_classes, tmp_path, model_of):
    best, table = tune(packed_classes, '--map', 'sigmoid,rff', '--figure', tmp_path / 'f.png')
    assert 'kernel' not in best and 'kernel' not in table[0]  # these nodes have none
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


@pytest.mark.parametrize('words', [(), ('--class-weight', 'balanced')], ids=['plain', 'balanced'])
@pytest.mark.parametrize('options', [('1',), ('5',), ('2', *LOCAL)], ids=' '.join)
def test_splits_and_runners_do_not_show(tune, packed_classes, model_of, options, maps, words):
    n, *runner = options
    whole, (_, arrays) = tune(packed_classes, *words), model_of(tune.model)
    assert tune(packed_classes, *words, *maps(n), *runner) == whole
    again = model_of(tune.model)[1]
    assert [name for name in arrays if arrays[name].tobytes() != again[name].tobytes()] == []


def test_a_row_of_weight_three_counts_as_three_equal_rows(tune, write, three_classes, rng):
    X, labels = three_classes
    weights = rng.integers(1, 4, N)
    lines = [f'{label},{w},{",".join(map(repr, x))}' for label, w, x in zip(labels, weights, X.tolist(), strict=True)]
    weighted = write('weighted.csv', '\n'.join(lines) + '\n')
    repeated = write('repeated.csv', '\n'.join(np.repeat(lines, weights)) + '\n')
    best, cells = tune(weighted, '--weight-column', 1)
    same, others = tune(repeated, '--drop', 1)
    assert best['accuracy'] == pytest.approx(same['accuracy'], rel=1e-12) and best['hidden'] == same['hidden']
    assert [float(row['error']) for row in cells] == pytest.approx([float(row['error']) for row in others], rel=1e-6)


def test_splits_do_not_show_in_sums_of_weights(tune, write, three_classes, maps, rng):
    X, labels = three_classes
    rows = zip(labels, rng.uniform(0.1, 2, N).tolist(), X.tolist(), strict=True)
    path = write('w.csv', ''.join(f'{label},{w!r},{",".join(map(repr, x))}\n' for label, w, x in rows))
    whole = tune(path, '--weight-column', 1)[0]['accuracy']
    assert {tune(path, '--weight-column', 1, *maps(n))[0]['accuracy'] for n in ('2', '5', '9')} == {whole}


def test_the_model_chosen_lives(elm, tune, packed_classes, tmp_path, model_of):
    tune(packed_classes, '--hidden', '5,20', '--nu', '10')
    elm('update', tune.model, packed_classes, '--model', tmp_path / 'twice.npz', '-q')
    elm('forget', tmp_path / 'twice.npz', packed_classes, '--model', tmp_path / 'once.npz', '-q')
    one, other = (model_of(path)[1] for path in (tune.model, tmp_path / 'once.npz'))
    assert [name for name in one if one[name].tobytes() != other[name].tobytes()] == []


@pytest.mark.parametrize('balanced', [False, True], ids=['plain', 'balanced'])
@pytest.mark.parametrize('seed', [0, 3])
def test_errors_and_accuracies_are_those_of_rows_held_out(
    tune, packed_classes, three_classes, model_of, seed, balanced
):
    """Train on the rows of the other folds by numpy alone, on the nodes of the model."""
    from mr_elm.scores.selection import FOLD, fold_numbers

    X, labels = three_classes
    name, score, weights, words = 'accuracy', accuracy_score, np.ones((N, 1)), ()
    if balanced:
        weights, words = N / (3 * np.bincount(labels)[labels, None]), ('--class-weight', 'balanced')
        name, score = 'balanced_accuracy', balanced_accuracy_score
    best, cells = tune(packed_classes, '--seed', seed, *words)
    m = model_of(tune.model)[1]
    Z = (X - m['feature_offset']) * m['feature_scale'] @ m['hidden_weights'].T + m['hidden_biases']
    E, T = np.c_[1 / (1 + np.exp(-Z)), -np.ones(N)], np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    folds, F = fold_numbers(X, 3, seed + FOLD), np.zeros((N, 3))
    for fold in range(3):
        rest = folds != fold
        A = E[rest].T @ (weights * E)[rest] + np.eye(E.shape[1]) / best['nu']
        F[~rest] = E[~rest] @ np.linalg.solve(A, E[rest].T @ (weights * T)[rest])
    assert np.isclose(best['error'], (weights * (F - T) ** 2).sum() / (3 * weights.sum()), rtol=1e-8)
    assert np.isclose(best[name], score(labels, F.argmax(axis=1)), rtol=1e-15)
    assert best[name] == max(float(row[name]) for row in cells if row[name])
    (row,) = [row for row in cells if all(float(row[name]) == best[name] for name in ('weight_scale', 'nu', 'hidden'))]
    assert float(row['error']) == best['error']
    assert sum('accuracy' in key for key in best) == sum('accuracy' in key for key in row) == 1


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


def test_kernels_are_candidates_and_the_best_is_trained(tune, packed_classes, model_of):
    best, table = tune(packed_classes, '--map', 'sigmoid,nystrom', '--kernel', 'gaussian,laplacian')
    kinds = {(row['map'], row['kernel']) for row in table}
    assert kinds == {('sigmoid', ''), ('nystrom', 'gaussian'), ('nystrom', 'laplacian')} and len(table) == 3 * 2 * 2 * 2
    assert best['accuracy'] == max(float(row['accuracy']) for row in table if row['accuracy'])
    parameters = model_of(tune.model)[0]['parameters']
    assert (parameters['map'], parameters['nu'], parameters['n_hidden']) == (best['map'], best['nu'], best['hidden'])


def test_a_kernel_without_landmarks_is_wrong_usage(elm, packed_classes):
    assert elm('tune', 'pesvm', packed_classes, '--kernel', 'laplacian').status == 2
