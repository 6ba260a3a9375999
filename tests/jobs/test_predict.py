"""predict writes one line a row, in input order, whatever the splits; the label is never looked at."""

import bz2
import gzip

import numpy as np
import pytest

N, D = 300, 3


@pytest.fixture
def table(rng):
    X = rng.normal(size=(N, D))
    return X, np.array(['low', 'mid', 'high'])[(X[:, 0] > -0.4) * 1 + (X[:, 0] > 0.4)]


@pytest.fixture
def model(trained, write, csv_of, table):
    """Train on the rows: the path of the model."""
    trained(write('train/rows.csv', csv_of(table[1], table[0])), '--nu', 100)
    return trained.path


@pytest.fixture
def expected(model_of, model):
    """Compute decision values and labels from the model file by numpy alone."""
    header, arrays = model_of(model)

    def compute(X):
        Z = (X - arrays['feature_offset']) * arrays['feature_scale']
        Phi = 1 / (1 + np.exp(-(Z @ arrays['hidden_weights'].T + arrays['hidden_biases'])))
        scores = np.c_[Phi, -np.ones(len(X))] @ arrays['output_weights']
        return scores, [header['classes'][k] for k in scores.argmax(axis=1)]

    return compute


@pytest.fixture
def predicted(elm, tmp_path):
    """Predict quietly: the lines written."""

    def predict(*arguments):
        out = tmp_path / 'predicted'
        assert elm('predict', *arguments, '-o', out, '-q', '--overwrite') == (0, '', '')
        text = out.read_text()
        assert text.endswith('\n')
        return text.split('\n')[:-1]

    return predict


def test_the_model_tells_the_classes_apart(expected, table):
    said = expected(table[0])[1]
    assert set(said) == {'low', 'mid', 'high'} and np.mean(said == table[1]) > 0.8


@pytest.mark.parametrize('n', [1, 2, 7])
def test_labels_come_in_input_order_for_any_splits(model, write, csv_of, table, expected, predicted, maps, n):
    path = write('rows.csv', csv_of(table[1], table[0]))
    assert predicted(model, path, *maps(n)) == expected(table[0])[1]


def test_labels_come_in_input_order_on_all_cores(model, write, csv_of, table, expected, predicted, maps):
    path = write('rows.csv', csv_of(table[1], table[0]))
    assert predicted(model, path, '-r', 'local', *maps(3)) == expected(table[0])[1]


@pytest.mark.parametrize('n', [1, 3, 11])
def test_several_files_follow_each_other_by_name(model, write, table, csv_of, expected, predicted, maps, n):
    X, labels = table
    lines = csv_of(labels, X).encode().splitlines(keepends=True)
    write('d/a.csv', b''.join(lines[:70]).replace(b'\n', b'\r\n'))
    members = b''.join(lines[70:90]), b'', b''.join(lines[90:150])
    write('d/b.csv.gz', b''.join(map(gzip.compress, members)))
    write('d/c.csv', b'label,a,b,c\n' + b'\n \n'.join(lines[150:200]) + b'\n\n')
    write('d/d.csv', b'')
    write('d/e.csv.bz2', bz2.compress(b''.join(lines[200:260])))
    last = write('d/f.csv', b'\xef\xbb\xbf' + b''.join(lines[260:]).rstrip())
    write('d/_SUCCESS', b'')
    assert predicted(model, last.parent, *maps(n)) == expected(X)[1]


@pytest.mark.parametrize('n', [1, 4])
def test_scores_are_the_decision_values(model, write, csv_of, table, expected, predicted, maps, n):
    path = write('r.csv', csv_of(table[1], table[0]))
    rows = [line.split('\t') for line in predicted(model, path, '--scores', *maps(n))]
    scores, labels = expected(table[0])
    assert [row[0] for row in rows] == labels
    assert np.allclose(np.array([row[1:] for row in rows], float), scores, rtol=0, atol=1e-10)


def test_two_classes_have_one_score_whose_sign_decides(trained, write, csv_of, table, predicted):
    X, _ = table
    path = write('two.csv', csv_of(np.where(X[:, 1] > 0, 'yes', 'no'), X))
    trained(path)
    rows = [line.split('\t') for line in predicted(trained.path, path, '--scores')]
    assert {len(row) for row in rows} == {2}
    assert all((float(score) > 0) == (label == 'yes') for label, score in rows)
    assert {label for label, _ in rows} == {'yes', 'no'}


def test_a_regression_writes_numbers_that_read_back_exactly(trained, write, csv_of, table, predicted, model_of):
    X, _ = table
    path = write('y.csv', csv_of((5 * X[:, 0] - X[:, 1]).tolist(), X))
    header, arrays = trained(path, '--task', 'regression', '--nu', 1e4)
    lines = predicted(trained.path, path)
    assert [repr(float(line)) for line in lines] == lines
    assert np.std(np.array(lines, float) - (5 * X[:, 0] - X[:, 1])) < 0.5


# Labels are not looked at


@pytest.mark.parametrize('label', ['?', 'unknown', '-17', '"a, b"', 'ñ'])
def test_any_label_is_ignored(model, write, table, expected, predicted, csv_of, label):
    path = write('rows.csv', csv_of([label] * N, table[0]))
    assert predicted(model, path) == expected(table[0])[1]


def test_words_as_labels_do_not_disturb_a_regression(trained, write, csv_of, table, predicted):
    X, labels = table
    trained(write('y.csv', csv_of(X[:, 0].tolist(), X)), '--task', 'regression')
    one, other = write('a.csv', csv_of(labels, X)), write('b.csv', csv_of(X[:, 0].tolist(), X))
    assert predicted(trained.path, one) == predicted(trained.path, other)


@pytest.mark.parametrize('n', [1, 4])
def test_rows_without_labels_are_read_on_demand(model, write, table, csv_of, expected, predicted, maps, n):
    X = table[0]
    path = write('rows.csv', csv_of(X[:, 0].tolist(), X[:, 1:]))
    assert predicted(model, path, '--no-label', *maps(n)) == expected(X)[1]


def test_the_label_is_where_it_was_in_the_training_or_where_the_user_says(trained, write, table, predicted):
    X, labels = table

    def text(position):
        rows = [
            [*map(repr, row[:position]), label, *map(repr, row[position:])]
            for row, label in zip(X.tolist(), labels, strict=True)
        ]
        return ''.join(','.join(row) + '\n' for row in rows)

    middle, last = write('middle.csv', text(1)), write('last.csv', text(D))
    trained(middle, '--label-column', 1)
    assert predicted(trained.path, middle) == predicted(trained.path, last, '--label-column', -1)


def test_packed_rows_are_predicted_in_order(elm, model, write, table, csv_of, expected, predicted, tmp_path, maps):
    path = write('rows.csv', csv_of(table[1], table[0]))
    elm('pack', path, '-o', tmp_path / 'pack', '--block-rows', 20, '-q', *maps(3))
    assert predicted(model, tmp_path / 'pack', *maps(5)) == expected(table[0])[1]


# Width


@pytest.fixture
def sparse_model(trained, write, libsvm_of, rng):
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.5)
    X[0, 5] = 1
    labels = np.where(X.sum(axis=1) > 0, 1, -1)
    trained(write('s.libsvm', libsvm_of(labels, X)))
    return trained.path, X, labels


def test_narrower_sparse_rows_end_in_zeros(sparse_model, write, libsvm_of, csv_of, predicted):
    path, X, labels = sparse_model
    X = X * [1, 1, 1, 0, 0, 0]
    narrow, dense = write('n.libsvm', libsvm_of(labels, X)), write('d.csv', csv_of(labels, X))
    assert predicted(path, narrow) == predicted(path, dense)


def test_a_wider_sparse_row_is_an_error_with_a_way_out(elm, sparse_model, write, libsvm_of, tmp_path, predicted):
    path, X, labels = sparse_model
    rows = write('n.libsvm', libsvm_of(labels, X)).read_text().splitlines()
    wide = write('w.libsvm', '\n'.join([*rows[:50], f'{rows[50]} 9:4', *rows[51:]]))
    done = elm('predict', path, wide, '-o', tmp_path / 'out', '-q')
    assert (done.status, done.out) == (1, '') and not (tmp_path / 'out').exists()
    assert f'{wide}, line 51: ' in done.err and '--ignore-extra-features' in done.err
    assert predicted(path, wide, '--ignore-extra-features') == predicted(path, tmp_path / 'n.libsvm')


@pytest.mark.parametrize(
    ('row', 'command', 'hint'),
    [
        ('1,2,3', 'predict', '--no-label'),
        ('1,2,3,4', 'predict --no-label', '--no-label'),
        ('1,2', 'predict', ''),
        ('1,2,3,4,5,6', 'predict', ''),
        ('1,2', 'evaluate', ''),
        ('1,2,3,4,5,6', 'evaluate', ''),
    ],
)
def test_rows_of_another_width_are_an_error(elm, model, write, tmp_path, row, command, hint):
    path = write('rows.csv', f'{row}\n' * 9)
    out = ['-o', tmp_path / 'out'] if 'predict' in command else []
    name, *options = command.split()
    done = elm(name, model, path, *options, *out, '-q')
    assert (done.status, done.out) == (1, '') and not (tmp_path / 'out').exists()
    assert str(path) in done.err and f'expected rows of {D} features' in done.err and hint in done.err


@pytest.mark.parametrize('runner', ['inline', 'local'])
def test_packed_rows_of_another_width_are_an_error_on_every_runner(elm, model, write, tmp_path, runner):
    elm('pack', write('rows.csv', '1,2,3\n2,3,4\n'), '-o', tmp_path / 'pack', '-q')
    done = elm('predict', model, tmp_path / 'pack', '-o', tmp_path / 'out', '-q', '-r', runner)
    assert (done.status, done.out) == (1, '') and not (tmp_path / 'out').exists()
    assert f'{tmp_path / "pack"}/part-00000.parquet: expected rows of 3 features, found rows of 2' in done.err


# Bad rows


@pytest.mark.parametrize('n', [1, 4])
def test_a_bad_row_stops_before_anything_is_written(elm, model, write, table, csv_of, tmp_path, maps, n):
    lines = csv_of(table[1], table[0]).splitlines()
    lines[271] = 'low,1,nan,3'
    path, out = write('rows.csv', '\n'.join(lines)), write('out', 'old')
    done = elm('predict', model, path, '-o', out, '--overwrite', '-q', *maps(n))
    assert done == (
        1,
        '',
        f'mr-elm: {path}, line 272: missing value: column 2 (counted from 0) has no value (--encode auto takes the '
        'mean instead, --drop leaves the column out); --bad-rows skip leaves such rows out\n',
    )
    assert out.read_text() == 'old' and sorted(p.name for p in tmp_path.glob('out*')) == ['out']


@pytest.mark.parametrize('n', [1, 4])
def test_skipped_rows_have_no_line(elm, model, write, table, csv_of, expected, tmp_path, maps, n):
    lines = csv_of(table[1], table[0]).splitlines()
    path = write('rows.csv', '\n'.join([*lines[:20], 'low,1', *lines[20:], 'low,x,1,1', '']))
    done = elm('predict', model, path, '-o', tmp_path / 'out', '--bad-rows', 'skip', *maps(n))
    assert done.status == 0 and '1 not a number, 1 wrong width' in done.err
    assert (tmp_path / 'out').read_text().splitlines() == expected(table[0])[1]


def test_an_output_that_exists_is_refused_before_the_model_is_read(elm, write):
    out = write('out', 'old')
    done = elm('predict', 'no-such-model', 'no-such-rows', '-o', out)
    assert done.status == 1 and '--overwrite' in done.err and out.read_text() == 'old'


@pytest.mark.parametrize('junk', ['nan', '', 'inf', '"a word"'])
def test_any_label_is_passed_over(model, write, csv_of, table, expected, predicted, junk):
    lines = csv_of(table[1], table[0]).splitlines()
    lines[1] = junk + lines[1][lines[1].index(',') :]
    assert predicted(model, write('rows.csv', '\n'.join(lines))) == expected(table[0])[1]


def test_a_model_of_packed_rows_knows_where_the_label_stood(elm, trained, write, table, expected, predicted, tmp_path):
    last = '\n'.join(','.join([*map(repr, row), label]) for row, label in zip(table[0].tolist(), table[1], strict=True))
    path = write('rows.csv', last)
    assert elm('pack', path, '--label-column', -1, '-o', tmp_path / 'packed').status == 0
    trained(tmp_path / 'packed')
    assert len(predicted(trained.path, path)) == N
    assert elm('evaluate', trained.path, path, '--json').status == 0


def test_rows_left_out_are_listed_beside_the_predictions(elm, model, write, csv_of, table, tmp_path):
    path = write('rows.csv', csv_of(table[1], table[0]) + 'low,word,2,3\n')
    assert elm('predict', model, path, '-o', tmp_path / 'out', '--bad-rows', 'skip').status == 0
    assert len((tmp_path / 'out').read_text().splitlines()) == N
    assert (tmp_path / 'out.rejected').read_text().split('\t')[1] == str(N + 1)


def test_an_output_called_minus_is_standard_output(model, write, csv_of, table, expected, elm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = elm('predict', model, write('some.csv', csv_of(*table[::-1])), '-o', '-')
    assert done.status == 0 and done.out.splitlines() == expected(table[0])[1]
    assert 'predictions: ' in done.err and not (tmp_path / '-').exists()


def test_bad_rows_need_a_file_beside_the_predictions(model, write, elm):
    done = elm('predict', model, write('some.csv', 'a,1\n'), '-o', '-', '--bad-rows', 'skip')
    assert done.status == 2 and done.out == '' and 'OUT.rejected' in done.err
