"""--positive says which of two classes threshold, F1, precision, recall and curves are about, and changes no score."""

import json
from contextlib import contextmanager

import numpy as np
import pytest
from reference.files import LOCAL, copy_model
from sklearn import metrics as oracle
from sklearn.calibration import calibration_curve

from mr_elm.engines.spark.batches import predict_rows
from mr_elm.estimators import to_estimator
from mr_elm.figures import reliability
from mr_elm.model.file import read_model
from mr_elm.spark import make_options

N, D = 300, 3
CLASSES = ['churned', 'stayed']  # in class order; the rare one is the first
METHODS = {
    'pesvm': ('--hidden', 15, '--nu', 5),
    'elm': ('--hidden', 15),
    'mr-kelm': ('--sigma', 2),
    'sparse-elm': ('--sigma', 2),
    'oelm': ('--kernel', 'sigmoid', '--hidden', 12),
    'sphere-svm': ('--sigma', 2),
}


@pytest.fixture
def table(rng):
    """Draw rows of which few are of the first class: (X, labels)."""
    X = rng.normal(size=(N, D))
    return X, np.where(X[:, 0] + 0.8 * rng.normal(size=N) > 1, *CLASSES)


@pytest.fixture
def train(elm, dense, tmp_path, model_of):
    """Train quietly: the path of the model."""

    def run(method, *words, rows=dense):
        run.count += 1
        path = tmp_path / f'm{run.count}.npz'
        done = elm('train', method, rows, *METHODS[method], *words, '--model', path)
        assert done.status == 0, done.err
        run.said = done.err
        return path

    run.count = 0
    return run


@pytest.fixture
def say(elm, dense, tmp_path):
    """Predict: (labels, what stands behind them)."""

    def run(model, *words, rows=dense):
        done = elm('predict', model, rows, *words, '-o', tmp_path / 'said', '-q', '--overwrite')
        assert done.status == 0, done.err
        lines = [line.split('\t') for line in (tmp_path / 'said').read_text().splitlines()]
        return np.array([line[0] for line in lines]), np.array([line[1:] for line in lines], float)

    return run


@pytest.fixture
def scored(elm, dense):
    """Evaluate quietly: the object printed."""

    def run(model, *words, rows=dense):
        done = elm('evaluate', model, rows, *words, '--json', '-q')
        assert (done.status, done.err) == (0, '')
        return json.loads(done.out)

    return run


def expected(labels, said, values, positive, weights=None):
    """Return what scikit-learn says of the positive class. values : larger where a row is rather of this class."""
    true, found, w = labels == positive, said == positive, {'sample_weight': weights}
    return {
        'f1': oracle.f1_score(true, found, **w),
        'precision': oracle.precision_score(true, found, **w),
        'recall': oracle.recall_score(true, found, **w),
        'auc': oracle.roc_auc_score(true, values, **w),
        'average_precision': oracle.average_precision_score(true, values, **w),
    }


@pytest.mark.parametrize('method', METHODS)
def test_it_changes_the_threshold_and_nothing_else(train, say, model_of, method):
    models = {
        label: train(method, '--probabilities', '--threshold', 4, *words)
        for label, words in (('churned', ['--positive', 'churned']), ('stayed', ['--positive', 'stayed']), ('', []))
    }
    (first, arrays), (last, others), (default, _) = map(model_of, models.values())
    assert first['classes'] == last['classes'] == CLASSES and 'positive' not in first['requires']
    assert [head['positive'] for head in (first, last, default)] == ['churned', 'stayed', 'stayed']
    assert default['threshold'] == last['threshold']
    assert {name: array.tobytes() for name, array in arrays.items() if name != 'header'} == {
        name: array.tobytes() for name, array in others.items() if name != 'header'
    }
    for k, label in enumerate(CLASSES):
        said, P = say(models[label], '--probabilities')
        threshold = model_of(models[label])[0]['threshold']
        assert 0 < threshold < 0.5  # a missed row of this class costs four times as much as a false one
        assert ((said == label) == (P[:, k] > threshold)).all()


@pytest.mark.parametrize('positive', CLASSES)
@pytest.mark.parametrize(
    'words',
    [(), ('--probabilities',), ('--probabilities', '--threshold', 'f1')],
    ids=['scores', 'probabilities', 'threshold'],
)
def test_its_scores_are_those_of_scikit_learn(train, say, scored, table, write, csv_of, rng, maps, positive, words):
    X, labels = table
    w = rng.choice([0.5, 1, 3], N)
    weighted = write('weighted.csv', csv_of(labels, np.c_[w, X]))
    model, k = train('pesvm', *words, '--positive', positive), CLASSES.index(positive)
    said, values = say(model, '--probabilities' if words else '--scores')
    values = values[:, k] if words else values[:, 0] * (2 * k - 1)
    wanted = expected(labels, said, values, positive, w)
    for where in ((), maps(4), (*LOCAL, *maps(3))):
        found = scored(model, '--weight-column', 1, *where, rows=weighted)
        assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=1e-9)
        assert found['positive'] == positive
    assert {name: scored(model)[name] for name in wanted} == pytest.approx(
        expected(labels, said, values, positive), abs=1e-9
    )


@pytest.mark.parametrize('method', ['mr-kelm', 'sphere-svm'])
def test_decision_values_rank_rows_where_there_are_no_probabilities(train, say, scored, table, method):
    said, values = say(model := train(method), '--scores')
    wanted = expected(table[1], said, -values[:, 0], 'churned')
    found = scored(model, '--positive', 'churned')
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize('positive', CLASSES)
def test_averaged_machines_have_one_too(elm, dense, say, scored, table, tmp_path, model_of, positive):
    model = tmp_path / 'auto.npz'
    done = elm(
        'train',
        'auto',
        dense,
        '--budget',
        100,
        '--probabilities',
        '--threshold',
        'f1',
        '--positive',
        positive,
        '--model',
        model,
        '-q',
    )
    assert done.status == 0 and model_of(model)[0]['members']
    said, P = say(model, '--probabilities')
    k = CLASSES.index(positive)
    assert ((said == positive) == (P[:, k] > model_of(model)[0]['threshold'])).all()
    wanted = expected(table[1], said, P[:, k], positive)
    assert {name: scored(model)[name] for name in wanted} == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize('positive', CLASSES)
def test_a_probability_of_the_threshold_is_not_above_it(train, say, scored, table, positive):
    model, k = train('pesvm', '--probabilities', '--positive', positive), CLASSES.index(positive)
    P = say(model, '--probabilities')[1][:, k]
    for threshold in np.sort(P)[[-1, N // 2]].tolist():  # each the probability of a row
        said = say(model, '--threshold', repr(threshold))[0]
        assert ((said == positive) == (threshold < P)).all()
        counts = scored(model, '--threshold', repr(threshold))['confusion']['rows']
        assert counts == [[int(((table[1] == true) & (said == name)).sum()) for name in CLASSES] for true in CLASSES]
    assert scored(model, '--threshold', repr(threshold), *LOCAL)['confusion']['rows'] == counts


def test_evaluate_may_ask_for_the_other_class_and_keeps_the_labels(train, say, scored, table):
    model = train('pesvm', '--probabilities', '--threshold', 'f1', '--positive', 'churned')
    said, P = say(model, '--probabilities')
    own, other = scored(model), scored(model, '--positive', 'stayed')
    assert own['confusion'] == other['confusion'] and own['auc'] == other['auc'] and other['positive'] == 'stayed'
    wanted = expected(table[1], said, P[:, 1], 'stayed')
    assert {name: other[name] for name in wanted} == pytest.approx(wanted, abs=1e-9)
    found = scored(model, '--positive', 'stayed', '--threshold', 0.8)
    said = np.where(P[:, 1] > 0.8, 'stayed', 'churned')
    wanted = expected(table[1], said, P[:, 1], 'stayed')
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize('label', ['1', '+1', '1.0', '1e0'])
def test_equal_numbers_name_one_class(train, table, write, csv_of, model_of, scored, label):
    rows = write('numbers.csv', csv_of(np.where(table[1] == 'churned', '-1', '+1'), table[0]))
    model = train('pesvm', '--positive', label, rows=rows)
    assert model_of(model)[0]['positive'] == '+1'
    assert scored(model, '--positive', label, rows=rows)['positive'] == '+1'
    assert scored(model, '--positive', '-1.0', rows=rows)['positive'] == '-1'


def test_people_read_which_class_it_is(train, elm, dense, model_of):
    model = train('sparse-elm', '--probabilities', '--threshold', 'f1', '--positive', 'churned')
    threshold = model_of(model)[0]['threshold']
    assert f"threshold: 'churned' where its probability is above {threshold:.6g}\n" in train.said
    lines = elm('inspect', model).out.splitlines()
    assert 'positive      churned' in lines
    assert any(line.startswith(f'threshold     {threshold} ') and "'churned'" in line for line in lines)
    assert json.loads(elm('inspect', model, '--json').out)['threshold'] == threshold
    assert {'positive', 'f1', 'precision', 'recall', 'average_precision'} <= {
        line.split()[0] for line in elm('evaluate', model, dense, '-q').out.splitlines() if line
    }
    train('mr-kelm', '--probabilities', '--threshold', 'balanced')
    assert "threshold: 'stayed' where" in train.said


@pytest.mark.parametrize('words, positive', [((), 'stayed'), (('--positive', 'churned'), 'churned')])
def test_the_figure_is_about_it(train, elm, dense, table, say, tmp_path, monkeypatch, words, positive):
    panels = []

    @contextmanager
    def keep(*paths, open_figure=reliability.open_figure, **look):
        with open_figure(*paths, **look) as (figure, axes):
            panels.extend(axes)
            yield figure, axes

    monkeypatch.setattr(reliability, 'open_figure', keep)
    model = train('pesvm', '--probabilities')
    assert elm('evaluate', model, dense, '--figure', tmp_path / 'f.png', *words, '-q').status == 0
    calibration, _, precision = panels
    (named,) = precision.get_legend().get_texts()
    assert named.get_text().startswith(f'{positive}: ')
    P = say(model, '--probabilities')[1][:, CLASSES.index(positive)]
    assert calibration.get_xlabel() == f'probability of class {positive}'
    wanted = calibration_curve(table[1] == positive, P, n_bins=15)
    assert P.min() < 0.3 and np.allclose(calibration.lines[1].get_data(), wanted[::-1])
    wanted = oracle.precision_recall_curve(table[1] == positive, P)
    recall, found = precision.lines[0].get_data()
    assert np.allclose(found, wanted[0][:-1][::-1]) and np.allclose(recall, wanted[1][:-1][::-1])


def test_python_says_the_same(train, say, table, tmp_path, model_of):
    for positive in CLASSES:
        model = train('pesvm', '--probabilities', '--threshold', 'f1', '--positive', positive)
        said = say(model)[0].tolist()
        estimator = to_estimator(read_model(model))
        assert estimator.predict(table[0]).tolist() == said
        estimator.to_model().save(tmp_path / f'{positive}.npz')
        assert say(tmp_path / f'{positive}.npz')[0].tolist() == said
        assert model_of(tmp_path / f'{positive}.npz')[0]['positive'] == positive
        assert predict_rows(read_model(model), table[0])['prediction'].tolist() == said
    options = make_options('mr-kelm', {'positive': 'churned', 'probabilities': True, 'threshold': 5.0})
    assert (options.positive, options.threshold) == ('churned', 5.0)


def test_it_stays_until_there_is_a_third_class(train, elm, dense, write, tmp_path, model_of):
    model, changed = train('pesvm', '--positive', 'churned'), tmp_path / 'u.npz'
    for words in (('update', model, dense), ('merge', model, copy_model(model))):
        assert elm(*words, '--model', changed, '--overwrite', '-q').status == 0
        assert model_of(changed)[0]['positive'] == 'churned'
    third = write('third.csv', 'unknown,1,2,3\nunknown,3,2,1\n')
    assert elm('update', model, third, '--model', changed, '--overwrite', '-q').status == 0
    assert model_of(changed)[0]['positive'] is None
    done = elm('train', 'pesvm', dense, '--like', model, '--positive', 'churned', '--model', changed, '--overwrite')
    assert done.status == 0 and model_of(changed)[0]['positive'] == 'churned'


@pytest.mark.parametrize(
    'words',
    [('pesvm', '--hidden', 10, '--nu', 1), ('mr-kelm', '--sigma', 2, '--C', 1), ('sparse-elm', '--sigma', 2, '--C', 1)],
)
def test_tune_writes_a_model_that_has_it(elm, dense, tmp_path, model_of, words):
    done = elm(
        'tune',
        *words[:1],
        dense,
        *words[1:],
        '--probabilities',
        '--threshold',
        3,
        '--positive',
        'churned',
        '--model',
        tmp_path / 't.npz',
        '-q',
    )
    assert done.status == 0, done.err
    header = model_of(tmp_path / 't.npz')[0]
    assert header['positive'] == 'churned' and 0 < header['threshold'] < 0.5


@pytest.mark.parametrize('method', METHODS)
def test_a_label_that_is_no_class_is_refused(elm, dense, tmp_path, method):
    done = elm('train', method, dense, '--positive', 'gone', '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and not (tmp_path / 'm.npz').exists()
    assert done.err == (f"mr-elm: {dense}: --positive: expected 'churned' or 'stayed', the classes, found 'gone'\n")


def test_several_classes_numbers_and_sets_have_none(elm, write, trained, tmp_path, model_of):
    three, numbers = write('three.csv', 'a,1\nb,2\nc,3\n' * 9), write('numbers.csv', '1.5,1\n2.5,2\n' * 9)
    sets = write('sets.csv', 'a;b,1\nb,2\n' * 9)
    for method in METHODS:
        done = elm('train', method, three, '--positive', 'a', '--model', tmp_path / 'm.npz', '-q')
        assert done.status == 1 and '--positive: expected two classes, found 3' in done.err
    for method in ('pesvm', 'elm', 'mr-kelm'):
        done = elm('train', method, numbers, '--task', 'regression', '--positive', '1.5', '--model', tmp_path / 'm.npz')
        assert done.status == 2 and '--positive: cannot be used with --task regression' in done.err
        done = elm('train', method, sets, '--labels-separator', ';', '--positive', 'a', '--model', tmp_path / 'm.npz')
        assert done.status == 1 and '--positive: expected one label in each row' in done.err
    for rows, words in ((three, ()), (numbers, ('--task', 'regression')), (sets, ('--labels-separator', ';'))):
        trained(rows, *words)
        assert model_of(trained.path)[0]['positive'] is None
        assert 'f1' not in json.loads(elm('evaluate', trained.path, rows, '--json', '-q').out)
        done = elm('evaluate', trained.path, rows, '--positive', 'a', '-q')
        assert done.status == 1 and done.err.startswith('mr-elm: --positive: expected ') and done.err.count('\n') == 1


@pytest.mark.parametrize('threshold', ['1.5', '-0.1', 'nan'])
def test_a_threshold_that_is_no_probability_is_refused(elm, train, dense, tmp_path, threshold):
    model = train('pesvm', '--probabilities')
    for words in (('predict', model, dense, '-o', tmp_path / 'said'), ('evaluate', model, dense)):
        done = elm(*words, '--threshold', threshold)
        assert done.status == 1 and '--threshold: expected a probability, from 0 to 1' in done.err


def test_a_threshold_needs_probabilities(elm, train, dense):
    done = elm('evaluate', train('pesvm'), dense, '--threshold', 0.5)
    assert done.status == 1 and 'trained with --probabilities' in done.err


def test_what_no_row_has_and_nobody_says_has_no_score(train, scored, write):
    model = train('pesvm', '--nu', 1e-6)  # everybody stays
    found = scored(model, '--positive', 'churned', rows=write('few.csv', 'stayed,0,0,0\nstayed,1,0,0\n'))
    assert (found['f1'], found['precision'], found['recall'], found['average_precision']) == (0, None, None, None)


@pytest.mark.parametrize('positive', ['gone', 7, None, ['churned']])
def test_a_header_that_names_another_class_is_refused(train, elm, model_of, positive):
    model = train('pesvm')
    header, arrays = model_of(model)
    text = json.dumps({**header, 'positive': positive})
    np.savez(model, **{**{k: v for k, v in arrays.items() if k != 'header'}, 'header': np.array(text)})
    done = elm('inspect', model)
    assert (done.status, done.err == '') == ((0, True) if positive is None else (1, False))
    assert positive is None or 'positive' in done.err
