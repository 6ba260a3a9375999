"""--targets and --labels-separator: several numbers, or a set of labels, of a row in one solve."""

import json
from contextlib import contextmanager

import numpy as np
import pytest
from reference.by_hand import run_to_the_last
from reference.files import LOCAL
from sklearn.metrics import f1_score, hamming_loss, r2_score, root_mean_squared_error
from sklearn.preprocessing import MultiLabelBinarizer

from mr_elm.figures import residuals

N, NAMES = 240, ['cat', 'dark green', 'red']
METHODS = [('pesvm',), ('elm', '--C', 50), ('pesvm', '--solver', 'passes', '--tolerance', 1e-10), ('mr-kelm',)]


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 3))


@pytest.fixture
def Y(X):
    return np.column_stack([X[:, 0] ** 2 + X[:, 1], 100 * np.sin(X[:, 2])])


@pytest.fixture
def tags(X):
    """Return the labels of each row: some have none, some have all."""
    return [';'.join(name for name, has in zip(NAMES, row, strict=True) if has) for row in X > [0, 0.3, -0.3]]


@pytest.fixture
def targets(write, X, Y):
    """Write rows with the targets y1 and y2 around the features a, b, c."""
    lines = [','.join(map(repr, [y[0], *x, y[1]])) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    return write("it's a folder/rows.csv", '\n'.join(['y1,a,b,c,y2', *lines, '']))


@pytest.fixture
def labels(write, csv_of, X, tags):
    return write('tags.csv', 'tags,a,b,c\n' + csv_of(tags, X))


@pytest.fixture
def train(elm, tmp_path):
    """Train quietly: the path of the model."""

    def run(*words):
        run.count += 1
        path = tmp_path / f'{run.count}.npz'
        hidden = [] if {'mr-kelm', '--like'} & {*map(str, words)} else ['--hidden', 30]
        assert elm('train', *words, *hidden, '--model', path, '-q') == (0, '', '')
        return path

    run.count = 0
    return run


@pytest.fixture
def say(elm):
    """Predict quietly: the lines."""

    def run(*words):
        done = elm('predict', *words, '-o', '-', '-q')
        assert (done.status, done.err) == (0, '')
        return done.out.splitlines()

    return run


@pytest.fixture
def refuse(elm, tmp_path):
    """Train, which must fail: (exit status, what was said)."""

    def run(*words):
        done = elm('train', *words, '--model', tmp_path / 'none.npz', '-q')
        assert not (tmp_path / 'none.npz').exists()
        return done.status, done.err

    return run


def numbers(lines, first=0):
    return np.array([line.split('\t')[first:] for line in lines], float)


def of_targets(*words):
    return (*words, '--task', 'regression', '--targets', 'y1,y2')


@pytest.mark.parametrize('method', METHODS, ids=lambda words: words[0] + str(len(words)))
def test_several_targets_in_one_solve_are_as_many_single_ones(method, train, say, targets, write, csv_of, X, Y):
    both = numbers(say(train(*of_targets(method[0], targets, *method[1:])), targets))
    for k in range(2):
        alone = write(f'{k}.csv', csv_of(Y[:, k], X))
        model = train(method[0], alone, *method[1:], '--task', 'regression')
        np.testing.assert_allclose(both[:, k], numbers(say(model, alone))[:, 0], rtol=0, atol=1e-6)


@pytest.mark.parametrize('method', METHODS, ids=lambda words: words[0] + str(len(words)))
def test_several_labels_in_one_solve_are_as_many_regressions_of_zero_and_one(
    method, train, say, labels, write, csv_of, X, tags
):
    model = train(method[0], labels, *method[1:], '--labels-separator', ';')
    lines = say(model, labels, '--scores')
    scores = numbers(lines, 1)
    for k, name in enumerate(NAMES):
        alone = write(f'{k}.csv', csv_of([int(name in tag.split(';')) for tag in tags], X))
        single = train(method[0], alone, *method[1:], '--task', 'regression', '--no-center')
        np.testing.assert_allclose(scores[:, k], numbers(say(single, alone))[:, 0], rtol=0, atol=1e-6)
    sets = [';'.join(name for name, score in zip(NAMES, row, strict=True) if score > 0.5) for row in scores]
    assert [line.split('\t')[0] for line in lines] == sets and '' in sets


def test_any_form_of_the_rows_and_any_number_of_splits_gives_the_same_model(
    train, say, elm, targets, labels, tmp_path, maps
):
    arrow = pytest.importorskip('pyarrow')
    csv, parquet = (pytest.importorskip(f'pyarrow.{name}') for name in ('csv', 'parquet'))
    convert = csv.ConvertOptions(strings_can_be_null=True)
    for path, words in ((targets, of_targets()), (labels, ('--labels-separator', ';'))):
        rows, pack = tmp_path / f'{path.stem}.parquet', tmp_path / f'{path.stem}.packed'
        parquet.write_table(csv.read_csv(path, convert_options=convert), rows, row_group_size=50)
        assert elm('pack', path, *words, '-o', pack, '--block-rows', 50, '-q').status == 0
        task = words[:2] if '--task' in words else ()
        first = say(train('pesvm', path, *words), path, '--scores')
        for given in ((rows, *words), (pack, *task), (pack, *task, *LOCAL), (path, *words, *maps(3))):
            model = train('pesvm', *given)
            for unseen in (path, rows, pack):
                said = say(model, unseen, '--scores')
                assert [line.split('\t')[0] for line in said] == [line.split('\t')[0] for line in first] or (
                    '--task' in words
                )
                np.testing.assert_allclose(
                    numbers(said, '--task' not in words), numbers(first, '--task' not in words), rtol=0, atol=1e-8
                )
    assert arrow


def test_columns_without_names_are_targets_by_their_position(train, say, targets, write):
    plain = write('plain.csv', targets.read_text().partition('\n')[2])
    model = train('pesvm', plain, '--task', 'regression', '--targets', '0,-1')
    assert say(model, plain) == say(train(*of_targets('pesvm', targets)), targets)
    features = write(
        'features.csv',
        ''.join(line.partition(',')[2].rpartition(',')[0] + '\n' for line in plain.read_text().splitlines()),
    )
    assert say(model, features, '--no-label') == say(model, plain)


def test_rows_to_predict_need_no_targets_where_columns_have_names(train, say, targets, write):
    model = train(*of_targets('elm', targets))
    rows = [line.split(',') for line in targets.read_text().splitlines()]
    some = write('some.csv', ''.join(','.join([row[2], row[4], row[1], row[3]]) + '\n' for row in rows))
    assert say(model, some) == say(model, targets)
    none = write('none.csv', ''.join(','.join(row[1:4]) + '\n' for row in rows))
    assert say(model, none, '--no-label') == say(model, targets)


def test_rows_that_come_and_leave_again_leave_the_model_as_it_was(train, elm, say, targets, labels, write, tmp_path):
    for path, words in ((targets, of_targets()), (labels, ('--labels-separator', ';'))):
        head, *lines = path.read_text().splitlines()
        old, new = (
            write(f'{path.stem}{k}.csv', '\n'.join([head, *part, '']))
            for k, part in enumerate((lines[:150], [line.replace('red', 'new') for line in lines[150:]]))
        )
        first, grown, back, merged = train('pesvm', old, *words), *(tmp_path / f'{path.stem}{k}.npz' for k in range(3))
        assert elm('update', first, new, '--model', grown, '-q').status == 0
        assert elm('forget', grown, new, '--model', back, '-q').status == 0
        assert say(back, path, '--scores') == say(first, path, '--scores')
        assert elm('merge', first, train('pesvm', new, '--like', first), '--model', merged, '-q').status == 0
        assert say(merged, path, '--scores') == say(grown, path, '--scores')
        if path == labels:
            assert json.loads(elm('inspect', grown, '--json').out)['classes'] == ['cat', 'dark green', 'new', 'red']


def test_evaluate_gives_each_target_and_the_mean_as_scikit_learn_has_them(train, say, elm, targets, Y, maps):
    model = train(*of_targets('pesvm', targets))
    said = numbers(say(model, targets))
    found = json.loads(elm('evaluate', model, targets, '--json', '-q', *maps(3)).out)
    assert found['rmse'] == pytest.approx(root_mean_squared_error(Y, said))
    assert found['r2'] == pytest.approx(r2_score(Y, said))
    assert found['per_target']['y2']['rmse'] == pytest.approx(root_mean_squared_error(Y[:, 1], said[:, 1]))
    assert found['rows'] == N


def test_evaluate_gives_the_scores_of_sets_as_scikit_learn_has_them(train, say, elm, labels, tags, write, maps):
    model = train('elm', labels, '--labels-separator', ';', '--C', 1)
    seen = write('seen.csv', labels.read_text().replace('cat', 'mouse', 20))
    said = [line.split(';') if line else [] for line in say(model, seen)]
    true = [[label for label in line.split(',')[0].split(';') if label] for line in seen.read_text().splitlines()[1:]]
    true_sets, said_sets = (MultiLabelBinarizer(classes=[*NAMES, 'mouse']).fit_transform(sets) for sets in (true, said))
    done = elm('evaluate', model, seen, '--json', '-q', *maps(3))
    assert 'found others, which count as errors: mouse in 20 row(s)' in done.err
    found = json.loads(done.out)
    assert found['hamming_loss'] == pytest.approx(hamming_loss(true_sets, said_sets))
    for kind in ('micro', 'macro'):
        assert found[f'f1_{kind}'] == pytest.approx(f1_score(true_sets, said_sets, average=kind))
    assert found['subset_accuracy'] == pytest.approx((true_sets == said_sets).all(axis=1).mean())
    assert found['per_label']['mouse']['recall'] == 0


def test_leave_one_out_of_sets_is_a_training_without_the_row(train, say, elm, labels, write):
    head, *lines = labels.read_text().splitlines()
    few = write('few.csv', '\n'.join([head, *lines[:9], '']))
    model, right = train('elm', few, '--labels-separator', ';', '--scale', 'none'), 0
    for i, line in enumerate(lines[:9]):
        rest = write('rest.csv', '\n'.join([head, *lines[:i], *lines[i + 1 : 9], '']))
        one = write('one.csv', f'{head}\n{line}\n')
        right += say(train('elm', rest, '--labels-separator', ';', '--scale', 'none'), one) == [line.split(',')[0]]
    found = json.loads(elm('evaluate', model, few, '--leave-one-out', '--json', '-q').out)
    assert found['subset_accuracy'] == pytest.approx(right / 9)


def test_spaces_around_labels_and_labels_said_twice_do_not_count(train, say, labels, write):
    words = ('--labels-separator', ';')
    odd = write('odd.csv', labels.read_text().replace('cat;', ' cat ;cat; '))
    assert say(train('pesvm', odd, *words), labels) == say(train('pesvm', labels, *words), labels)


def test_libsvm_rows_have_labels_with_commas_between(train, say, libsvm_of, write, X):
    rows = write('rows.libsvm', libsvm_of(['1,3' if x[0] > 0 else '2' for x in X], X))
    assert set(say(train('pesvm', rows, '--labels-separator', ','), rows)) >= {'1,3', '2'}


def test_inspect_names_targets_and_what_separates_labels(train, elm, targets, labels):
    shown = json.loads(elm('inspect', train(*of_targets('elm', targets)), '--json').out)
    assert (shown['requires'], shown['targets']) == (['targets'], {'names': ['y1', 'y2']})
    shown = json.loads(elm('inspect', train('elm', labels, '--labels-separator', ';'), '--json').out)
    assert (shown['requires'], shown['targets'], shown['classes']) == (['targets'], {'separator': ';'}, NAMES)


def test_one_target_is_the_label(train, say, targets):
    words = ('--task', 'regression', '--drop', 'y2')
    model = train('elm', targets, '--targets', 'y1', *words)
    assert say(model, targets) == say(train('elm', targets, '--label-column', 'y1', *words), targets)


@pytest.mark.parametrize(
    'value, reason',
    [
        ('', "missing target: the target in column 'y2' is empty"),
        ('nan', "missing target: the target in column 'y2' is empty"),
        ('inf', 'nan or infinite'),
        ('many', "target is not a number: the target in column 'y2' is 'many'"),
    ],
)
def test_a_row_without_a_number_for_each_target_is_a_bad_row(value, reason, refuse, elm, targets, write, tmp_path):
    lines = targets.read_text().splitlines()
    lines[7] = lines[7].rpartition(',')[0] + ',' + value
    bad = write('bad.csv', '\n'.join([*lines, '']))
    status, said = refuse(*of_targets('pesvm', bad))
    assert status == 1 and f'bad.csv, line 8: {reason}' in said
    done = elm('train', *of_targets('pesvm', bad, '--bad-rows', 'skip'), '--model', tmp_path / 'm.npz')
    assert done.status == 0 and f'{N - 1} rows' in done.err


@pytest.mark.parametrize(
    'words, status, said',
    [
        (('--targets', 'y1,none', '--task', 'regression'), 1, "column named 'none', its 5 columns are y1, a, b, c, y2"),
        (('--targets', 'y1,y1', '--task', 'regression'), 1, 'one is given twice'),
        (('--targets', 'y1,y2', '--columns', 'a,y2', '--task', 'regression'), 1, "column 'y2' is the label"),
        (
            ('--targets', 'y1,y2', '--weight-column', 'y2', '--task', 'regression'),
            1,
            'labels, weight and parts in columns',
        ),
        (('--targets', 'y1,y2'), 2, '--targets: expected --task regression'),
        (('--targets', 'y1,y2', '--label-column', 'y1', '--task', 'regression'), 2, 'found both'),
        (('--labels-separator', ';', '--task', 'regression'), 2, 'see --targets'),
        (of_targets('--intervals'), 1, 'leave --intervals out'),
        (of_targets('--metric', 'diagonal'), 1, 'leave --metric out'),
    ],
)
def test_what_contradicts_several_targets_is_refused(words, status, said, refuse, targets):
    found = refuse('pesvm', targets, *words)
    assert found[0] == status and said in found[1]


@pytest.mark.parametrize('method', ['sparse-elm', 'oelm', 'sphere-svm'])
def test_a_dual_method_refuses_several_labels(method, refuse, labels):
    status, said = refuse(method, labels, '--labels-separator', ';')
    assert status == 1 and 'found several labels: train pesvm, elm and mr-kelm take these' in said


def test_no_pass_is_made_where_the_words_tell_that_rows_have_several_labels(elm, labels, targets, tmp_path):
    sets = labels, '--labels-separator', ';', '--encode', 'auto'
    for words in (('auto', *sets), ('pesvm', *sets, '--probabilities'), of_targets('mr-kelm', targets, '--intervals')):
        done = elm('train', *words, '--model', tmp_path / 'm.npz')
        assert done.status == 1 and 'found several' in done.err
        assert 'values:' not in done.err and 'statistics:' not in done.err


def test_there_is_no_figure_for_several_labels(train, elm, labels, tmp_path):
    model = train('pesvm', labels, '--labels-separator', ';')
    done = elm('evaluate', model, labels, '--figure', tmp_path / 'f.png', '-q')
    assert done.status == 1 and '--figure: expected one label in each row' in done.err


@pytest.mark.parametrize('n_targets', [2, 11])
def test_a_figure_has_panels_of_each_of_the_first_nine_targets(
    train, elm, write, tmp_path, X, Y, monkeypatch, n_targets
):
    drawn = []

    @contextmanager
    def keep(*paths, open_figure=residuals.open_figure, **look):
        with open_figure(*paths, **look) as (figure, axes):
            drawn.extend([figure, axes])
            yield figure, axes

    monkeypatch.setattr(residuals, 'open_figure', keep)
    names = [f'y{k}' for k in range(n_targets)]
    table = np.column_stack([np.resize(Y.T, (n_targets, N)).T, X]).tolist()
    rows = write('rows.csv', '\n'.join([','.join([*names, 'a,b,c']), *(','.join(map(repr, row)) for row in table), '']))
    model = train('pesvm', rows, '--task', 'regression', '--targets', ','.join(names))
    assert elm('evaluate', model, rows, '--figure', tmp_path / 'f.png', '-q').status == 0
    assert elm('predict', model, rows, '-o', tmp_path / 'said', '-q').status == 0
    figure, axes = drawn
    said = np.loadtxt(tmp_path / 'said')
    assert axes.shape == (min(n_targets, 9), 2)
    for k, (left, right) in enumerate(axes):
        assert left.get_title() == names[k]
        np.testing.assert_allclose(left.lines[1].get_data(), [Y[:, k % 2], said[:, k]])
        np.testing.assert_allclose(right.lines[1].get_data(), [said[:, k], Y[:, k % 2] - said[:, k]], atol=1e-9)
    assert figure.get_suptitle() == ('the first 9 of 11 targets' if n_targets == 11 else '')


def test_rows_of_other_targets_do_not_change_a_model(train, elm, targets, labels, tmp_path, write, csv_of, X):
    model = train(*of_targets('pesvm', targets))
    pack = tmp_path / 'pack'
    assert elm('pack', write('one.csv', csv_of(X[:, 0], X)), '--task', 'regression', '-o', pack, '-q').status == 0
    done = elm('update', model, pack, '--model', tmp_path / 'no.npz', '-q')
    assert done.status == 1 and 'mr-elm pack --targets y1, y2, found none' in done.err


def test_a_script_of_stages_makes_the_same_model(train, elm, labels, tmp_path, monkeypatch, say):
    monkeypatch.chdir(tmp_path)
    words = ('--labels-separator', ';')
    script = elm('train', 'pesvm', labels, *words, '--hidden', 30, '--model', 'm.npz', '--script', '-q').out
    assert elm(*run_to_the_last(script)).status == 0
    np.testing.assert_allclose(
        numbers(say('m.npz', labels, '--scores'), 1),
        numbers(say(train('pesvm', labels, *words), labels, '--scores'), 1),
        rtol=0,
        atol=1e-8,
    )
