"""evaluate scores the probabilities that predict writes, in one pass, whatever the splits and the runner."""

import json

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from reference.files import LOCAL
from sklearn import metrics as oracle

N, D = 300, 3


@pytest.fixture(params=[2, 3])
def table(request, rng):
    """Draw rows of two or three classes that overlap: (X, labels)."""
    X = rng.normal(size=(N, D))
    return X, np.minimum((X[:, 0] + rng.normal(size=N) > 0) * 1 + (X[:, 1] > 0.4), request.param - 1)


@pytest.fixture
def model(elm, dense, tmp_path):
    path = tmp_path / 'm.npz'
    assert elm('train', 'pesvm', dense, '--hidden', 20, '--probabilities', '--model', path, '-q').status == 0
    return path


@pytest.fixture
def scored(elm):
    """Evaluate quietly: the object printed."""

    def evaluate(*arguments):
        done = elm('evaluate', *arguments, '--json', '-q')
        assert (done.status, done.err) == (0, '')
        return json.loads(done.out)

    return evaluate


def expected(P, y, w):
    """Return what scikit-learn says of probabilities."""
    two = P.shape[1] == 2
    areas = [oracle.roc_auc_score(y == k, P[:, k], sample_weight=w) for k in range(P.shape[1])]
    said = P.argmax(axis=1)
    return {
        'log_loss': oracle.log_loss(y, P, sample_weight=w),
        'auc': areas[1] if two else np.mean(areas),
        'brier': oracle.brier_score_loss(y, P[:, 1] if two else P, sample_weight=w),
        'accuracy': oracle.accuracy_score(y, said, sample_weight=w),
        'balanced_accuracy': oracle.balanced_accuracy_score(y, said, sample_weight=w),
        'matthews': oracle.matthews_corrcoef(y, said, sample_weight=w),
    }


@pytest.mark.parametrize('weighted', [False, True])
def test_scores_are_those_of_scikit_learn_on_every_runner(
    elm, model, dense, table, write, csv_of, scored, rng, maps, tmp_path, weighted
):
    X, y = table
    w = rng.uniform(0.3, 3, N) if weighted else np.ones(N)
    rows = write('weighted.csv', csv_of(y, np.c_[w, X])) if weighted else dense
    weight = ['--weight-column', 1] if weighted else []
    assert elm('predict', model, dense, '--probabilities', '-o', tmp_path / 'said', '-q').status == 0
    P = np.array([line.split('\t')[1:] for line in (tmp_path / 'said').read_text().splitlines()], float)
    wanted = expected(P, y, w)
    for where in ((), maps(4), (*LOCAL, *maps(3))):
        found = scored(model, rows, *weight, *where)
        assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=1e-9)
        assert found['rows'] == N


def test_leave_one_out_probabilities_are_less_sure(elm, model, dense, scored):
    assert scored(model, dense, '--leave-one-out')['log_loss'] > scored(model, dense)['log_loss']


def test_labels_that_are_no_class_are_errors_but_have_no_log_loss(elm, model, write, csv_of, table, scored):
    X, y = table
    other = write('other.csv', csv_of([*y[:200], *['9'] * 100], X))
    few = write('few.csv', csv_of(y[:200], X[:200]))
    done, wanted = elm('evaluate', model, other, '--json', '-q'), scored(model, few)
    assert done.status == 0 and 'found others, which count as errors: 9 in 100 row(s)' in done.err
    found = json.loads(done.out)
    assert found['log_loss'] == pytest.approx(wanted['log_loss']) and found['auc'] == pytest.approx(wanted['auc'])
    assert found['accuracy'] == pytest.approx(wanted['accuracy'] * 2 / 3) and found['rows'] == N


def test_a_figure_is_drawn_of_probabilities(elm, model, trained, dense, tmp_path):
    done = elm('evaluate', model, dense, '--figure', tmp_path / 'f.png', '-q')
    assert done.status == 0 and (tmp_path / 'f.png').read_bytes().startswith(b'\x89PNG')
    assert elm('evaluate', model, dense, '--figure', tmp_path / 'f.png', '-q').status == 1
    assert elm('evaluate', model, dense, '--figure', tmp_path / 'f.png', '--overwrite', '-q').status == 0
    trained(dense)
    done = elm('evaluate', trained.path, dense, '--figure', tmp_path / 'g.png', '-q')
    assert done.status == 1 and 'trained with --probabilities' in done.err and not (tmp_path / 'g.png').exists()


def test_errors_of_a_regression_count_by_the_weights_of_their_rows(
    elm, trained, write, csv_of, table, rng, scored, tmp_path
):
    X, w = table[0], rng.uniform(0.3, 3, N)
    y = X[:, 0] ** 2
    path = write('weighted.csv', csv_of(y.tolist(), np.c_[w, X]))
    trained(path, '--task', 'regression', '--weight-column', 1)
    assert elm('predict', trained.path, path, '-o', tmp_path / 'said', '-q').status == 0
    said = np.loadtxt(tmp_path / 'said')
    found = scored(trained.path, path)
    assert found['rmse'] == pytest.approx(np.sqrt(oracle.mean_squared_error(y, said, sample_weight=w)), rel=1e-9)
    assert found['mae'] == pytest.approx(oracle.mean_absolute_error(y, said, sample_weight=w), rel=1e-9)
    assert found['r2'] == pytest.approx(oracle.r2_score(y, said, sample_weight=w), rel=1e-8) and found['rows'] == N


def test_a_figure_of_a_regression_has_the_targets_and_the_predictions(
    elm, trained, write, csv_of, table, tmp_path, monkeypatch
):
    X, drawn = table[0], []
    y = X[:, 0] ** 2
    path = write('rows.csv', csv_of(y.tolist(), X))
    trained(path, '--task', 'regression')
    elm('predict', trained.path, path, '-o', tmp_path / 'said', '-q')
    done = elm('evaluate', trained.path, path, '--figure', tmp_path / 'f.png', '-q')
    assert done.status == 0 and (tmp_path / 'f.png').read_bytes().startswith(b'\x89PNG')
    monkeypatch.setattr('mr_elm.figures.residuals.draw', lambda *pair: drawn.append(pair[:2]))
    elm('evaluate', trained.path, path, '--figure', tmp_path / 'f.png', '--overwrite', '-q')
    np.testing.assert_array_equal(drawn[0], [y, np.loadtxt(tmp_path / 'said')])
    done = elm('evaluate', trained.path, path, '--leave-one-out', '--figure', tmp_path / 'p.png', '-q')
    assert done.status == 1 and 'cannot be used with --leave-one-out' in done.err


def test_a_figure_of_a_regression_is_the_same_for_each_kind_of_rows(elm, trained, rng, tmp_path, monkeypatch):
    """The target is the last column, is missing in a row, and rows have weights, text and some row groups."""
    x = rng.normal(size=(90, 2))
    columns = {'w': rng.uniform(1, 2, 90), 'a': x[:, 0], 'kind': ['even', 'odd'] * 45, 'y': x.sum(axis=1)}
    frame = pd.DataFrame(columns)
    frame.loc[40, 'y'] = np.nan
    frame.to_csv(tmp_path / 'rows.csv', index=False)
    frame.to_parquet(tmp_path / 'rows.parquet', index=False, row_group_size=35)
    frame.to_feather(tmp_path / 'rows.feather')
    words = ('--label-column', 'y', '--weight-column', 'w', '--task', 'regression', '--encode', 'auto')
    trained(tmp_path / 'rows.csv', *words, '--bad-rows', 'skip', '--intervals')
    packed = elm('pack', tmp_path / 'rows.csv', *words, '--bad-rows', 'skip', '-o', tmp_path / 'rows.pack', '-q')
    assert packed.status == 0

    def evaluate(rows, figure):
        done = elm('evaluate', trained.path, tmp_path / rows, '--bad-rows', 'skip', '--figure', tmp_path / figure, '-q')
        assert done.status == 0

    kinds = 'csv', 'parquet', 'feather', 'pack'
    for kind in kinds:
        evaluate(f'rows.{kind}', f'{kind}.png')
        np.testing.assert_array_equal(imread(tmp_path / 'csv.png'), imread(tmp_path / f'{kind}.png'))
    drawn = []
    monkeypatch.setattr('mr_elm.figures.residuals.draw', lambda *pair: drawn.append(pair))
    assert elm('predict', trained.path, tmp_path / 'rows.csv', '-o', tmp_path / 'said', '-q').status == 0
    said = np.delete(np.loadtxt(tmp_path / 'said'), 40)
    for kind in kinds:
        evaluate(f'rows.{kind}', 'f.png')
        actual, predicted, _, (_, shares), _ = drawn.pop()
        np.testing.assert_array_equal(actual, frame['y'].dropna())
        np.testing.assert_allclose(predicted, said, rtol=1e-12)
        assert shares[-1] > 0.9


def test_the_rows_of_a_figure_lie_evenly_among_all_that_can_be_used(elm, trained, write, rng, tmp_path, monkeypatch):
    """Rows are read in blocks of 4,096; rows of LIBSVM may be narrower than the model."""
    lines = [f'{k} 1:{x}\n' for k, x in enumerate(rng.normal(size=9001))]
    trained(write('wide.svm', '1 1:2 2:3\n2 1:1\n' * 20), '--task', 'regression', n_hidden=3)
    rows, drawn = write('rows.svm', ''.join([*lines[:100], '? 1:1\n', *lines[100:]])), []
    monkeypatch.setattr('mr_elm.figures.residuals.draw', lambda *pair: drawn.append(pair[:2]))
    words = ('--bad-rows', 'skip', '--figure', tmp_path / 'f.png', '-q')
    assert elm('evaluate', trained.path, rows, *words).status == 0
    actual, predicted = drawn[0]
    np.testing.assert_array_equal(actual, range(0, 9001, 5))
    assert elm('predict', trained.path, rows, '--bad-rows', 'skip', '-o', tmp_path / 'said', '-q').status == 0
    said = np.loadtxt(tmp_path / 'said')
    np.testing.assert_allclose(predicted, said[np.arange(len(said)) != 100][::5], rtol=1e-12)


def test_the_targets_of_a_figure_are_found_by_name(elm, trained, write, table, tmp_path, monkeypatch):
    X, drawn = table[0][:40, :2].round(6), []
    y = (X[:, 0] ** 2).round(6)
    one = write('one.csv', 'y,a,b\n' + ''.join(f'{t},{a},{b}\n' for t, (a, b) in zip(y, X, strict=True)))
    two = write('two.csv', 'b,a,y\n' + ''.join(f'{b},{a},{t}\n' for t, (a, b) in zip(y, X, strict=True)))
    trained(one, '--task', 'regression', '--label-column', 'y')
    monkeypatch.setattr('mr_elm.figures.residuals.draw', lambda *pair: drawn.append(pair[:2]))
    assert elm('evaluate', trained.path, one, two, '--figure', tmp_path / 'f.png', '-q').status == 0
    np.testing.assert_array_equal(drawn[0][0], [*y, *y])


@pytest.mark.parametrize(('wanted', 'texts'), [('points', '"$1,{:03}.50"'), ('commas', '1.{:03},50')])
def test_a_figure_reads_targets_as_the_training_does(elm, trained, write, table, tmp_path, monkeypatch, wanted, texts):
    drawn, delimiter = [], {'points': ',', 'commas': ';'}[wanted]
    x = np.arange(30)
    lines = [f'{texts.format(i)}{delimiter}{i % 11}{delimiter}{i % 7}\n' for i in x]
    path = write(f'{wanted}.csv', delimiter.join(['price', 'a', 'b']) + '\n' + ''.join(lines))
    trained(path, '--task', 'regression')
    assert elm('predict', trained.path, path, '-o', tmp_path / 'said', '-q').status == 0
    monkeypatch.setattr('mr_elm.figures.residuals.draw', lambda *pair: drawn.append(pair[:2]))
    assert elm('evaluate', trained.path, path, '--figure', tmp_path / 'f.png', '-q').status == 0
    np.testing.assert_array_equal(drawn[0], [1000.5 + x, np.loadtxt(tmp_path / 'said')])
