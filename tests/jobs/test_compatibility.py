"""Models that were written once are read for ever: the same predictions, and sums that still live."""

from pathlib import Path

import numpy as np
import pytest

OLD = Path(__file__).parents[1] / 'models'
NAMES = sorted(path.stem for path in OLD.glob('*.npz') if not path.stem.endswith('.sums'))


def table(path):
    """Read predictions: (labels, scores); of a regression the labels are the scores."""
    rows = [line.split('\t') for line in path.read_text().splitlines()]
    return [row[0] for row in rows], np.array([row[1:] or row for row in rows], dtype=float)


def demand_same(found, expected):
    """Demand the same labels and, but for the rounding of another processor's BLAS, the same scores."""
    (labels, scores), (old_labels, old_scores) = table(found), table(expected)
    np.testing.assert_allclose(scores, old_scores, rtol=1e-11, atol=1e-11)
    assert labels == old_labels or scores.shape[1] == 1


def test_there_is_a_model_of_each_method(model_of):
    methods = {model_of(OLD / f'{name}.npz')[0]['method'] for name in NAMES}
    assert methods == {'pesvm', 'elm', 'sparse-elm', 'oelm', 'sphere-svm', 'mr-kelm'}
    assert {model_of(OLD / f'{name}.npz')[0]['version'] for name in NAMES} == {1}


@pytest.mark.parametrize('name', NAMES)
def test_an_old_model_predicts_what_it_predicted(elm, tmp_path, name):
    done = elm('predict', OLD / f'{name}.npz', OLD / 'later.csv', '--scores', '-o', tmp_path / 'out', '-q')
    assert done == (0, '', '')
    demand_same(tmp_path / 'out', OLD / f'{name}.scores')


def test_an_old_model_is_updated_as_it_was(elm, tmp_path):
    model = tmp_path / 'm.npz'
    assert elm('update', OLD / 'pesvm.npz', OLD / 'later.csv', '--model', model, '-q').status == 0
    assert elm('predict', model, OLD / 'later.csv', '--scores', '-o', tmp_path / 'out', '-q').status == 0
    demand_same(tmp_path / 'out', OLD / 'updated.scores')


@pytest.mark.parametrize('name', ['pesvm', 'pesvm-landmarks'])
def test_rows_leave_an_old_model_as_if_they_had_never_come(elm, tmp_path, model_of, name):
    model = tmp_path / 'm.npz'
    assert elm('update', OLD / f'{name}.npz', OLD / 'later.csv', '--model', model, '-q').status == 0
    assert elm('forget', model, OLD / 'later.csv', '--model', model, '--overwrite', '-q').status == 0
    (_, old), (_, new) = model_of(OLD / f'{name}.npz'), model_of(model)
    assert all(new[part].tobytes() == old[part].tobytes() for part in ('counts', 'hidden_weights') if part in old)
    np.testing.assert_allclose(new['output_weights'], old['output_weights'], rtol=1e-9, atol=1e-11)


def test_an_old_model_is_an_estimator(model_of):
    from mr_elm.estimators import to_estimator
    from mr_elm.model.file import read_model

    X = np.loadtxt(OLD / 'later.csv', delimiter=',', usecols=(1, 2, 3))
    for name in NAMES:
        estimator = to_estimator(read_model(OLD / f'{name}.npz'))
        labels, scores = table(OLD / f'{name}.scores')
        predicted = estimator.predict(X)
        if predicted.dtype.kind == 'f':
            np.testing.assert_allclose(predicted, scores[:, 0], rtol=1e-11)
        else:
            assert predicted.tolist() == labels
