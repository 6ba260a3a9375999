"""evaluate counts what predict says against the labels, whatever the splits."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest

N, D = 400, 3


@pytest.fixture
def table(rng):
    X = rng.normal(size=(N, D))
    return X, np.array(['0', '1', '2'])[(X[:, 0] + rng.normal(size=N) > -0.4) * 1 + (X[:, 1] > 0.4)]


@pytest.fixture
def model(trained, write, csv_of, table):
    trained(write('train.csv', csv_of(table[1], table[0])))
    return trained.path


@pytest.fixture
def scored(elm):
    """Evaluate quietly: the object printed."""

    def evaluate(*arguments):
        done = elm('evaluate', *arguments, '--json', '-q')
        assert (done.status, done.err) == (0, '') and done.out.count('\n') == 1
        return json.loads(done.out)

    return evaluate


@pytest.fixture
def said(elm, tmp_path):
    """Predict: the lines written."""

    def predict(model, path):
        assert elm('predict', model, path, '-o', tmp_path / 'said', '-q', '--overwrite').status == 0
        return (tmp_path / 'said').read_text().splitlines()

    return predict


@pytest.mark.parametrize('n', [1, 2, 7])
def test_scores_are_counted_from_the_predictions(model, write, csv_of, table, scored, said, maps, n):
    X, labels = table
    path = write('rows.csv', csv_of(labels, X))
    scores, pairs = scored(model, path, *maps(n)), Counter(zip(labels, said(model, path), strict=True))
    classes = ['0', '1', '2']
    assert scores['rows'] == N and scores['accuracy'] == sum(pairs[c, c] for c in classes) / N
    assert scores['confusion'] == {
        'true': classes,
        'predicted': classes,
        'rows': [[pairs[a, b] for b in classes] for a in classes],
    }
    for c in classes:
        found, true = sum(pairs[a, c] for a in classes), sum(pairs[c, b] for b in classes)
        assert scores['per_class'][c] == {'precision': pairs[c, c] / found, 'recall': pairs[c, c] / true, 'rows': true}


def test_all_cores_give_the_same_object(model, write, csv_of, table, scored, maps):
    path = write('rows.csv', csv_of(table[1], table[0]))
    assert scored(model, path) == scored(model, path, '-r', 'local', *maps(2))


def test_labels_may_be_spelled_as_numbers_are(model, write, csv_of, table, scored):
    X, labels = table
    other = [{'0': '-0', '1': '+1', '2': '2.0e0'}[label] for label in labels]
    one, two = write('one.csv', csv_of(labels, X)), write('two.csv', csv_of(other, X))
    assert scored(model, one) == scored(model, two)


@pytest.mark.parametrize('runner', ['inline', 'local'])
def test_labels_that_are_no_class_count_as_errors(elm, model, write, csv_of, table, said, runner):
    X, labels = table
    labels = labels.copy()
    labels[:50], labels[50] = '7', 'x'
    path = write('rows.csv', csv_of(labels, X))
    done = elm('evaluate', model, path, '--json', '-q', '-r', runner)
    assert (
        done.status == 0
        and done.err.count('warning') == 1
        and (
            f'{path}: expected labels that are classes of the model (0, 1, 2), found others, which count as errors: '
            '7 in 50 row(s), x in 1 row(s)'
        )
        in done.err
    )
    labels[50] = '7'
    write('rows.csv', csv_of(labels, X))
    scores = json.loads(elm('evaluate', model, path, '--json', '-q').out)
    assert scores['accuracy'] == np.mean(labels == said(model, path)) and scores['rows'] == N
    assert scores['confusion']['true'] == ['0', '1', '2', '7'] and sum(scores['confusion']['rows'][3]) == 51


@pytest.mark.parametrize('spelling', [{'Yes': 'yes', 'No': 'no'}, {'Yes': '1', 'No': '0'}])
def test_rows_without_any_class_of_the_model_are_not_scored(elm, write, csv_of, table, tmp_path, spelling):
    X, labels = table[0], np.where(table[0][:, 0] > 0, 'Yes', 'No')
    rows, model = write('train.csv', csv_of(labels, X)), tmp_path / 'm.npz'
    other = write('other.csv', csv_of([spelling[label] for label in labels], X))
    said = (
        f'{other}: none of the labels is a class of the model (No, Yes): found {", ".join(sorted(spelling.values()))}; '
    )
    train = ('train', 'pesvm', rows, '--hidden', 20, '--overwrite', '--model', model)
    assert elm(*train).status == 0
    for words in (('evaluate', model, other), ('evaluate', model, other, '-r', 'local'), (*train, '--test', other)):
        done = elm(*words)
        assert (done.status, done.out) == (1, '') and said in done.err
    done = elm('inspect', model, '--permutation', other)
    assert done.status == 1 and 'the classes of the model are No, Yes' in done.err


def test_a_class_that_is_never_said_has_no_precision(elm, write, scored, tmp_path):
    train = write('train.csv', ''.join(f'{i % 10 // 9},{i % 3},{i % 7}\n' for i in range(60)))
    model = tmp_path / 'm.npz'
    assert elm('train', 'pesvm', train, '--hidden', 20, '--nu', 1e-6, '--model', model).status == 0
    per_class = scored(model, write('rows.csv', '0,1,1\n0,2,3\n'))['per_class']
    assert per_class['1'] == {'precision': None, 'recall': None, 'rows': 0}
    assert per_class['0'] == {'precision': 1.0, 'recall': 1.0, 'rows': 2}


@pytest.mark.parametrize('n', [1, 2, 7])
def test_a_regression_is_scored_by_its_errors(trained, write, csv_of, table, scored, said, maps, n):
    X, _ = table
    y = 1e4 + X[:, 0] * 3
    path = write('rows.csv', csv_of(y.tolist(), X))
    trained(path, '--task', 'regression', '--nu', 1e3)
    scores, errors = scored(trained.path, path, *maps(n)), np.array(said(trained.path, path), float) - y
    wanted = {
        'rmse': np.sqrt(np.mean(errors**2)),
        'mae': np.abs(errors).mean(),
        'r2': 1 - (errors**2).sum() / ((y - y.mean()) ** 2).sum(),
        'rows': N,
    }
    assert scores.keys() == wanted.keys()
    assert all(np.isclose(scores[name], value, rtol=1e-9) for name, value in wanted.items())


def test_the_table_tells_the_same(elm, model, write, csv_of, table, scored):
    path = write('rows.csv', csv_of(table[1], table[0]))
    scores, done = scored(model, path), elm('evaluate', model, path, '-q')
    assert done.status == 0 and f'{scores["accuracy"]:.6g}' in done.out
    for row in scores['confusion']['rows']:
        assert any(line.split()[1:] == [str(n) for n in row] for line in done.out.splitlines())


def test_of_many_classes_the_table_tells_which_are_confused_most(elm, trained, write, csv_of, scored, rng):
    x = rng.normal(size=(400, 1))
    labels = [f'c{k:02}' for k in (3 * x[:, 0] + rng.normal(size=400)).clip(-12, 12).astype(int) + 12]
    path = write('many.csv', csv_of([*labels, *2 * [f'c{k:02}' for k in range(25)]], np.vstack([x, np.zeros((50, 1))])))
    trained(path)
    true, predicted, counts = scored(trained.path, path)['confusion'].values()
    assert len(counts) == len(true) == 25
    pairs = [(n, *pair) for pair, n in zip(product(true, predicted), sum(counts, []), strict=True)]
    wanted = sorted((each for each in pairs if each[0] and each[1] != each[2]), key=lambda pair: -pair[0])
    title, *table = elm('evaluate', trained.path, path, '-q').out.rpartition('\n\n')[2].splitlines()
    assert title == 'the classes that are confused most (`mr-elm evaluate --json` prints the whole matrix)'
    assert table[0].split() == ['true', 'predicted', 'rows'] and len(wanted) > 20
    assert [line.split() for line in table[1:]] == [[a, b, str(n)] for n, a, b in wanted[:20]]


def test_many_classes_without_errors_have_no_table_of_them(elm, trained, write, csv_of):
    path = write('right.csv', csv_of([f'c{k % 25:02}' for k in range(250)], np.eye(25)[np.arange(250) % 25]))
    trained(path)
    assert elm('evaluate', trained.path, path, '-q').out.rstrip().endswith('\n\nno row has a wrong class')


@pytest.mark.parametrize('label', ['', 'nan', 'NA'])
def test_a_row_without_a_usable_label_cannot_be_scored(elm, model, write, label):
    path = write('rows.csv', f'1,2,3,4\n{label},2,3,4\n')
    done = elm('evaluate', model, path, '-q')
    assert (done.status, done.out) == (1, '') and f'{path}, line 2: ' in done.err


def test_a_word_as_target_of_a_regression_cannot_be_scored(elm, trained, write, csv_of, table):
    X, _ = table
    trained(write('rows.csv', csv_of(X[:, 0].tolist(), X)), '--task', 'regression')
    path = write('words.csv', '1,2,3,4\nlow,2,3,4\n')
    done = elm('evaluate', trained.path, path, '-q')
    assert (done.status, done.out) == (1, '') and f'{path}, line 2: target is not a number' in done.err


@pytest.mark.parametrize('runner', ['inline', 'local'])
def test_packed_rows_without_labels_cannot_be_scored(elm, model, write, tmp_path, runner):
    elm('pack', write('rows.csv', '2,3,4\n5,6,7\n'), '--no-label', '-o', tmp_path / 'pack', '-q')
    done = elm('evaluate', model, tmp_path / 'pack', '-q', '-r', runner)
    assert (done.status, done.out) == (1, '') and 'expected labels' in done.err


def test_skipped_rows_are_not_scored(elm, model, write, csv_of, table, scored):
    text = csv_of(table[1], table[0])
    good, bad = write('good.csv', text), write('bad.csv', text + '0,1\n')
    assert elm('evaluate', model, bad, '-q').status == 1
    assert scored(model, bad, '--bad-rows', 'skip') == {**scored(model, good), 'rows_rejected': 1}


def test_nothing_left_to_score_is_an_error(elm, model, write):
    path = write('rows.csv', '0,x,1,1\n')
    done = elm('evaluate', model, path, '--bad-rows', 'skip', '--header', 'no', '-q')
    assert (done.status, done.out) == (1, '') and str(path) in done.err
