"""Labels: which texts are one class, which row has none, and which class is probably a mistake."""

import json
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.by_hand import run_to_the_last

from mr_elm.estimators import ESVMClassifier, to_estimator
from mr_elm.model.file import read_model

NEIGHBOURS = 2**53, 2**53 + 1, 2**63 + 2, 2**63 + 3
METHODS = {
    'pesvm': ('--hidden', 20),
    'elm': ('--hidden', 20),
    'sparse-elm': (),
    'oelm': ('--kernel', 'gaussian'),
    'sphere-svm': (),
    'mr-kelm': (),
}


def write_csv(labels, X, path):
    lines = [','.join([str(label), *map(repr, row)]) for label, row in zip(labels, X.tolist(), strict=True)]
    path.write_text('\n'.join([*lines, '']))


def write_libsvm(labels, X, path):
    lines = [
        f'{label} ' + ' '.join(f'{j}:{x!r}' for j, x in enumerate(row, 1))
        for label, row in zip(labels, X.tolist(), strict=True)
    ]
    path.write_text('\n'.join([*lines, '']))


def write_parquet(labels, X, path, type=None):
    columns = {'label': pa.array(labels, type), **{f'x{j}': column for j, column in enumerate(X.T)}}
    pq.write_table(pa.table(columns), path)


WRITERS = {
    'csv': write_csv,
    'libsvm': write_libsvm,
    'parquet': write_parquet,
    'decimal': partial(write_parquet, type=pa.decimal128(38, 0)),
}


def draw_rows(labels, seed=0):
    """Draw rows that are far from those of other labels."""
    known = sorted(set(labels))
    X = np.random.default_rng(seed).normal(scale=0.1, size=(len(labels), 3))
    X[:, 0] += [3.0 * known.index(label) for label in labels]
    X[:, 1] += [3.0 * (known.index(label) % 2) for label in labels]
    return X


@pytest.fixture
def score(elm):
    def run(*words):
        done = elm('evaluate', *words, '--json', '-q')
        assert (done.status, done.err) == (0, ''), done.err
        return json.loads(done.out)

    return run


@pytest.fixture
def train(elm, tmp_path, model_of):
    """Train, and return (header, what was said)."""

    def run(path, *words, method='pesvm'):
        options = METHODS[method]
        done = elm('train', method, path, *options, *words, '--model', tmp_path / 'm.npz', '--overwrite')
        assert done.status == 0, done.err
        return model_of(tmp_path / 'm.npz')[0], done.err

    return run


# Integers that float64 cannot tell apart


def draw_integers(seed):
    """Draw some integers, neighbours near 2^53 or 2^63 among them; all fit int64, or all fit uint64."""
    rng = np.random.default_rng(seed)
    low, high = (0, 2**64) if seed % 2 else (-(2**63), 2**63)
    wide = [int(number) * 2**32 + int(rng.integers(2**32)) for number in rng.integers(low >> 32, high >> 32, 3)]
    near = ([2**53, 2**63, 2**64 - 4] if seed % 2 else [2**53, -(2**53), 2**62])[rng.integers(3)]
    return sorted({*wide, *(near + int(step) for step in rng.integers(0, 4, 3))})


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('name', WRITERS)
def test_integers_are_classes_in_their_exact_order_in_every_format(name, seed, train, tmp_path):
    numbers, dtype = draw_integers(seed), np.uint64 if seed % 2 else np.int64
    labels = [number for number in numbers for _ in range(4)]
    values = [Decimal(label) for label in labels] if name == 'decimal' else np.array(labels, dtype)
    WRITERS[name](values, X := draw_rows(labels), tmp_path / f'rows.{name}')
    assert [int(label) for label in train(tmp_path / f'rows.{name}')[0]['classes']] == numbers
    for y in (np.array(labels, dtype), labels, pd.Series(labels, dtype='UInt64' if seed % 2 else 'Int64')):
        assert ESVMClassifier(n_hidden=5).fit(X, y).classes_.tolist() == numbers


@pytest.mark.parametrize('method', METHODS)
def test_neighbours_are_told_apart_by_every_method(method, elm, train, score, tmp_path):
    labels = [label for label in NEIGHBOURS for _ in range(12)]
    X, path, wrong = draw_rows(labels), tmp_path / 'rows.csv', tmp_path / 'wrong.csv'
    write_csv(labels, X, path)
    write_csv([label ^ 1 for label in labels], X, wrong)
    assert train(path, '--nu' if method == 'pesvm' else '--C', 1000, method=method)[0]['classes'] == list(
        map(str, NEIGHBOURS)
    )
    model = tmp_path / 'm.npz'
    assert score(model, path)['accuracy'] == 1 and score(model, wrong)['accuracy'] == 0
    elm('predict', model, path, '-o', tmp_path / 'labels', '-q', '--overwrite')
    assert (tmp_path / 'labels').read_text().split() == list(map(str, labels))
    assert to_estimator(read_model(model)).predict(X).tolist() == labels


def test_two_classes_may_be_neighbours(elm, train, tmp_path):
    labels = [2**60, 2**60 + 1] * 10
    write_csv(labels, draw_rows(labels), tmp_path / 'rows.csv')
    assert train(tmp_path / 'rows.csv')[0]['classes'] == [str(2**60), str(2**60 + 1)]
    write_csv([2**60] * 20, draw_rows(labels), tmp_path / 'one.csv')
    done = elm('train', 'pesvm', tmp_path / 'one.csv', '--model', tmp_path / 'one.npz')
    assert done.status == 1 and f"expected at least two classes, every row has the label '{2**60}'" in done.err


def test_neighbours_stay_apart_in_packs_updates_merges_and_when_rows_leave(elm, train, score, tmp_path, model_of):
    labels = [label for label in NEIGHBOURS for _ in range(20)]
    X = draw_rows(labels)
    parts = {name: tmp_path / f'{name}.csv' for name in ('first', 'second')}
    write_csv(labels[:40], X[:40], parts['first'])
    write_csv(labels[40:], X[40:], parts['second'])
    assert elm('pack', *parts.values(), '-o', tmp_path / 'pack', '-q').status == 0
    assert train(tmp_path / 'pack')[0]['classes'] == list(map(str, NEIGHBOURS))
    train(parts['first'], '--nu', 1000)
    words = ('--model', tmp_path / 'both.npz', '--overwrite', '-q')
    done = elm('update', tmp_path / 'm.npz', parts['second'], *words)
    assert done.status == 0 and 'gets new ones: 9223372036854775810, 9223372036854775811' in done.err
    assert model_of(tmp_path / 'both.npz')[0]['classes'] == list(map(str, NEIGHBOURS))
    assert (
        elm(
            'train', 'pesvm', parts['second'], '--like', tmp_path / 'm.npz', '--model', tmp_path / 'second.npz', '-q'
        ).status
        == 0
    )
    assert elm('merge', tmp_path / 'm.npz', tmp_path / 'second.npz', *words) == (0, '', '')
    assert model_of(tmp_path / 'both.npz')[0]['classes'] == list(map(str, NEIGHBOURS))
    write_csv(labels[20:40], X[20:40], tmp_path / 'leaving.csv')
    assert elm('forget', tmp_path / 'both.npz', tmp_path / 'leaving.csv', '--model', tmp_path / 'left.npz', '-q') == (
        0,
        '',
        '',
    )
    left = [label for label in NEIGHBOURS if label != 2**53 + 1]
    assert model_of(tmp_path / 'left.npz')[0]['classes'] == list(map(str, left))


def test_numbers_of_floats_are_the_integers_that_they_hold(train, score, tmp_path):
    labels = [2.0**60, 2.0**60 + 2**10, 0.5] * 8
    X = draw_rows(labels)
    for name in ('parquet',):
        WRITERS[name](labels, X, tmp_path / 'floats')
        header, _ = train(tmp_path / 'floats', '--nu', 1000)
        assert list(map(Fraction, header['classes'])) == sorted(map(Fraction, set(labels)))
        write_csv([int(label) if label > 1 else label for label in labels], X, tmp_path / 'rows.csv')
        assert score(tmp_path / 'm.npz', tmp_path / 'floats')['accuracy'] == 1
    whole = np.where(np.array(labels) < 1, 0.0, labels)
    model = ESVMClassifier(n_hidden=20, nu=1000).fit(X, whole).to_model()
    assert list(map(Fraction, model.classes)) == sorted(map(Fraction, set(whole.tolist())))


def test_labels_that_are_not_all_finite_numbers_are_text(elm, train, write):
    rows = ''.join(f'{label},{i},{i % 7}\n' for i, label in enumerate(['10', '9', '1e400', 'inf'] * 5))
    assert train(write('text.csv', rows))[0]['classes'] == ['10', '1e400', '9', 'inf']
    assert train(write('numbers.csv', rows.replace('inf', '-1e400')))[0]['classes'] == ['-1e400', '9', '10', '1e400']
    done = elm('train', 'pesvm', write('text.csv', rows), '--task', 'regression', '--model', 'm.npz')
    assert done.status == 1 and "text.csv, line 3: nan or infinite: the target is 'inf'" in done.err


def test_equal_numbers_that_text_makes_two_classes_are_named(train, write):
    rows = ''.join(f'{label},{i},{i % 7}\n' for i, label in enumerate(['1', '1.0', '0', 'x'] * 5))
    said = train(path := write('rows.csv', rows))[1]
    assert (
        "warning: the labels '1' and '1.0' are two classes although they are equal numbers: all labels are "
        f"compared as text, because 'x' ({path}, line 4) is no finite number"
    ) in said
    assert 'two classes' not in train(write('same.csv', rows.replace('1.0', '1')))[1]


# Missing labels


MISSING = ['', 'NA', '<NA>', 'NaN', 'nan', 'null', 'NULL', 'None']
NAMES = ['a', 'b'] * 10


def table_with(label, tmp_path, form):
    """Write rows of which the fifth has this label, in a format."""
    labels = [*NAMES[:4], label, *NAMES[5:]]
    X = draw_rows(NAMES)
    if form == 'quoted':
        write_csv([f'"{text}"' for text in labels], X, tmp_path / 'rows.csv')
        return tmp_path / 'rows.csv'
    WRITERS[form](labels, X, tmp_path / f'rows.{form}')
    return tmp_path / f'rows.{form}'


@pytest.mark.parametrize('form', ['csv', 'quoted', 'libsvm', 'parquet'])
def test_a_missing_label_is_a_bad_row_in_every_format(form, elm, train, write, tmp_path):
    for text in MISSING:
        path = table_with(text, tmp_path, form)
        words = ('train', 'pesvm', path, '--hidden', 5, '--header', 'no', '--model', tmp_path / 'n.npz')
        done = elm(*words)
        assert (
            done.status == 1
            and 'missing label: ' in done.err
            and (f'{path}, line 5: ' in done.err or f'{path}, row 5: ' in done.err)
        )
    header, said = train(path, '--bad-rows', 'skip', '--header', 'no')
    assert header['classes'] == ['a', 'b'] and header['n_rows_rejected'] == 1
    assert 'rows left out: 1 missing label' in said
    assert "\tmissing label: the label is 'None'" in (tmp_path / 'm.npz.rejected').read_text()


@pytest.mark.parametrize(
    'labels',
    [
        pa.array(['a', 'b', None, 'a', 'b'] * 4),
        pa.array([1.5, 2, float('nan'), 1.5, 2] * 4),
        pa.array([1, 2, None, 1, 2] * 4),
        pa.array([None, 2, 1, 2, 1] * 4, pa.uint64()),
        pa.array([True, None, False, True, False] * 4),
        pa.array(['a', 'b', None, 'a', 'b'] * 4).dictionary_encode(),
    ],
)
@pytest.mark.parametrize('words', [(), ('--missing-labels', 'b2')])
def test_a_null_or_nan_is_a_missing_label_whatever_texts_are(labels, words, train, tmp_path):
    write_parquet(labels, np.arange(40.0).reshape(20, 2), tmp_path / 'rows.parquet')
    header, said = train(tmp_path / 'rows.parquet', '--bad-rows', 'skip', *words)
    assert header['n_rows_used'] == 16 and 'rows left out: 4 missing label' in said and len(header['classes']) == 2


@pytest.mark.parametrize('form', ['csv', 'libsvm', 'parquet'])
def test_a_regression_has_missing_targets_too(form, train, tmp_path):
    labels, X = [*map(float, range(18)), float('nan'), 19.0], draw_rows(NAMES)
    WRITERS[form](labels if form != 'csv' else [*labels[:18], 'NA', 19.0], X, tmp_path / 'rows')
    header, said = train(tmp_path / 'rows', '--task', 'regression', '--bad-rows', 'skip')
    assert header['n_rows_used'] == 19 and 'rows left out: 1 missing target' in said


def test_a_label_of_a_set_may_be_missing_and_a_set_may_be_empty(train, write):
    rows = ''.join(f'{label},{i},{i % 7}\n' for i, label in enumerate(['a', 'a;b', '', 'a;NA', 'null', 'b'] * 4))
    header, said = train(write('sets.csv', rows), '--labels-separator', ';', '--bad-rows', 'skip', '--header', 'no')
    assert header['classes'] == ['a', 'b'] and header['n_rows_used'] == 16 and '8 missing label' in said


def test_other_texts_may_stand_for_a_missing_label_and_stay_in_the_model(elm, train, score, tmp_path, model_of):
    labels = [*['a', 'NA'] * 10, '?', '-']
    write_csv(labels, draw_rows(labels), path := tmp_path / 'rows.csv')
    options = '--missing-labels', '?,-', '--bad-rows', 'skip'
    header, said = train(path, *options, '--header', 'no')
    assert header['classes'] == ['NA', 'a'] and header['parameters']['input']['missing_labels'] == ['?', '-']
    assert 'rows left out: 2 missing label' in said
    model = tmp_path / 'm.npz'
    done = elm('evaluate', model, path)
    assert done.status == 1 and "line 21: missing label: the label is '?', a missing one (--missing" in done.err
    assert score(model, path, '--bad-rows', 'skip')['rows'] == 20
    done = elm('evaluate', model, path, '--missing-labels', '', '--json')
    assert json.loads(done.out)['rows'] == 22 and 'count as errors: - in 1 row(s), ? in 1 row(s)' in done.err
    assert elm('evaluate', model, path, '--missing-labels', 'NA').status == 1
    assert elm('predict', model, path, '-o', tmp_path / 'labels', '-q').status == 0
    assert len((tmp_path / 'labels').read_text().splitlines()) == 22
    part = tmp_path / 'part.csv'
    part.write_text(''.join(path.read_text().splitlines(keepends=True)[:4] + ['?,1,2,3\n']))
    for command in ('update', 'forget'):
        done = elm(command, model, part, '--bad-rows', 'skip', '--model', tmp_path / f'{command}.npz')
        assert '1 missing label' in done.err


@pytest.mark.parametrize('form', ['csv', 'libsvm', 'parquet'])
def test_a_number_may_stand_for_a_missing_label(form, train, tmp_path):
    labels = [0.0, 1.0, 2.0, -9.0] * 5
    WRITERS[form](labels, draw_rows(labels), tmp_path / 'rows')
    for words in ((), ('--task', 'regression')):
        header, _ = train(tmp_path / 'rows', '--missing-labels=-9,?', '--bad-rows', 'skip', *words)
        assert (header['n_rows_used'], header['n_rows_rejected'], len(header['classes'])) == (15, 5, 0 if words else 3)


def test_a_pack_has_the_missing_labels_that_it_was_packed_with(elm, train, tmp_path):
    labels = ['a', 'NA'] * 10
    write_csv(labels, draw_rows(labels), path := tmp_path / 'rows.csv')
    words = ('pack', path, '-o', tmp_path / 'pack', '-q', '--header', 'no')
    assert elm(*words).status == 1
    assert elm(*words, '--missing-labels', '').status == 0
    header, _ = train(tmp_path / 'pack')
    assert header['classes'] == ['NA', 'a'] and header['parameters']['input']['missing_labels'] == ['']
    done = elm('train', 'pesvm', tmp_path / 'pack', '--missing-labels', 'NA,?', '--model', tmp_path / 'n.npz')
    assert done.status == 1 and "without the missing label 'NA', the pack has some" in done.err


@pytest.mark.parametrize(
    'text, labels', [('', ('',)), (',NA', ('', 'NA')), ('NA', ('NA',)), ('"a,b",c ', ('a,b', 'c'))]
)
def test_missing_labels_are_written_like_csv(text, labels, parse):
    words = parse(['train', 'pesvm', 'rows.csv', '--model', 'm.npz', f'--missing-labels={text}'])
    assert words.missing_labels == labels


def test_stages_by_hand_know_missing_labels(elm, tmp_path, model_of, monkeypatch):
    labels = ['a', 'NA'] * 10 + ['?']
    write_csv(labels, draw_rows(labels), tmp_path / 'rows.csv')
    monkeypatch.chdir(tmp_path)
    words = 'pesvm', 'rows.csv', '--header', 'no', '--missing-labels', ',?', '--bad-rows', 'skip', '--hidden', 5
    assert "'--missing-labels=,?'" in elm('layer', *words, '--model', 'm.npz').err
    assert elm(*run_to_the_last(elm('train', *words, '--model', 'm.npz', '--script').out)).status == 0
    assert elm('train', *words, '--model', 'whole.npz', '-q').status == 0
    (header, _), (expected, _) = model_of('m.npz'), model_of('whole.npz')
    assert header['classes'] == expected['classes'] == ['NA', 'a']


def test_a_first_row_without_a_label_is_no_header(train, write):
    rows = ''.join(f'{label},{i},{i % 7}\n' for i, label in enumerate([0, 1] * 10))
    for first in ('NA,1.5,2', ',1.5,2', 'null,7,8'):
        header, _ = train(write('rows.csv', f'{first}\n{rows}'), '--bad-rows', 'skip')
        assert (header['n_rows_used'], header['n_rows_rejected']) == (20, 1)
    for first in ('label,1.5,2', ',0,1'):  # pandas writes the second
        header, _ = train(write('rows.csv', f'{first}\n{rows}'))
        assert (header['n_rows_used'], header['n_rows_rejected']) == (20, 0)


@pytest.mark.parametrize('value', [None, float('nan'), np.nan, pd.NA, pd.NaT])
def test_an_estimator_refuses_a_missing_label(value):
    X = draw_rows(NAMES)
    for labels in (
        [*NAMES[:19], value],
        np.array([*NAMES[:19], value], object),
        pd.Series([*NAMES[:19], value]),
        [*range(19), value],
        pd.Series([*[0, 1] * 9, 1, None], dtype='Int64'),
    ):
        with pytest.raises(ValueError, match='Input y contains NaN'):
            ESVMClassifier(n_hidden=5).fit(X, labels)


def test_an_estimator_keeps_words_that_files_take_for_missing_labels(score, tmp_path):
    labels = ['NA', 'None', 'x'] * 8
    X = draw_rows(labels)
    ESVMClassifier(n_hidden=20, nu=1000).fit(X, labels).to_model().save(tmp_path / 'm.npz')
    write_csv(labels, X, tmp_path / 'rows.csv')
    assert score(tmp_path / 'm.npz', tmp_path / 'rows.csv', '--header', 'no')['accuracy'] == 1


def test_an_estimator_joins_labels_of_other_types_exactly():
    X = draw_rows([0, 1] * 10)
    first, second = np.array([2**53, 2**53 + 1] * 10), np.array([2**53 + 1, 2**53 + 2] * 10, np.uint64)
    model = ESVMClassifier(n_hidden=5).partial_fit(X, first).partial_fit(X, second)
    assert model.classes_.tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    assert model.forget(X, second).classes_.tolist() == [2**53, 2**53 + 1]
    with pytest.raises(ValueError, match='give labels as text'):
        ESVMClassifier(n_hidden=5).partial_fit(X, -first).partial_fit(X, np.array([2**63, 2**64 - 1] * 10, np.uint64))
    with pytest.raises(ValueError, match='int64 or uint64'):
        ESVMClassifier(n_hidden=5).fit(X, [-1, 2**64 - 1] * 10)


# Classes of one row


@pytest.fixture
def many(write, libsvm_of, csv_of):
    """Write 1,200 rows of two classes with others among them: (format, {line: label}) -> path."""
    X, labels = np.random.default_rng(0).normal(size=(1200, 2)), ['a', 'b'] * 600

    def file(form, others, above=''):
        mixed = [others.get(line, label) for line, label in enumerate(labels, 1)]
        text = (csv_of if form == 'csv' else libsvm_of)(mixed, X)
        return write(f'rows.{form}', above + text)

    return file


@pytest.mark.parametrize('words', [(), ('-r', 'local', '-D', 'mapreduce.job.maps=5')])
def test_a_class_of_one_row_is_named_with_its_line(words, many, train, elm, tmp_path):
    path = many('csv', {701: '?'}, 'y,x1,x2\n\n\n')
    _, said = train(path, *words)
    assert said.count('warning') == 1
    assert (
        f"warning: expected many rows of each class, found a single one of '?' ({path}, line 704) among 1,200 rows: is "
        'it a label?'
    ) in said
    path = many('libsvm', {701: '?'}, '# a comment\n')
    _, said = train(path, *words)
    assert f"'?' ({path}, line 702) among 1,200 rows" in said


def test_bad_rows_in_front_of_it_count_as_lines(many, train):
    path = many('csv', {5: '', 12: 'NA', 701: '?', 1100: ''})
    assert f"'?' ({path}, line 701) among 1,197 rows" in train(path, '--bad-rows', 'skip')[1]


def test_several_classes_of_one_row_are_counted_and_three_are_shown(many, train):
    path = many('csv', {1000: 'c', 20: '0.5', 30: '2', 40: '-'})
    assert (
        f"found a single one of '0.5' ({path}, line 20), '2' ({path}, line 30), '-' ({path}, line 40), 1 more among "
        '1,200 rows: is it a label?'
    ) in train(path)[1]


def test_counts_that_were_taken_for_classes_are_a_regression(write, train):
    counts = [*range(1, 21)] * 60 + [281, 300]
    path = write('counts.csv', ''.join(f'{count},{k % 7}\n' for k, count in enumerate(counts)))
    question = 'these are numbers: to predict numbers, use --task regression, or a regressor in Python'
    assert (
        f"single one of '281' ({path}, line 1201), '300' ({path}, line 1202) among 1,202 rows: {question}"
        in train(path)[1]
    )
    with pytest.warns(UserWarning, match='to predict numbers, use task regression, or a regressor in Python'):
        ESVMClassifier(n_hidden=5).fit(np.arange(1202)[:, None] % 7, counts)


def test_few_rows_and_small_classes_are_no_mistake(many, train, write):
    path = many('csv', {71: 'c', 72: 'c'})
    assert 'warning' not in train(path)[1]
    few = write('few.csv', '\n'.join(path.read_text().splitlines()[:71]))
    assert 'warning' not in train(few)[1]


def test_packs_and_updates_name_it_too(many, elm, tmp_path, train):
    path = many('csv', {701: '?'})
    done = elm('pack', path, '-o', tmp_path / 'pack')
    assert "a single one of '?'" in done.err and ', row 701)' in done.err
    assert f"a single one of '?' ({tmp_path}/pack/" in train(tmp_path / 'pack')[1]
    train(many('csv', {}))
    done = elm('update', tmp_path / 'm.npz', many('csv', {9: '?', 10: 'b'}), '--model', tmp_path / 'u.npz')
    assert done.status == 0 and f"'?' ({path}, line 9) among 1,200 rows" in done.err


def test_tables_that_are_kept_between_passes_name_it_too(write, train):
    rows = ''.join(f'{"no" if i % 2 else "yes"},{i % 7},{"uv"[i % 2]}\n' for i in range(1200))
    path = write('rows.csv', 'label,x,word\n' + rows + 'maybe,1,u\n')
    assert f"'maybe' ({path}, line 1202) among 1,201 rows" in train(path, '--encode', 'auto')[1]


def test_an_estimator_warns_of_a_class_of_one_row():
    X = np.random.default_rng(0).normal(size=(1200, 2))
    y = np.where(np.arange(1200) == 700, '?', np.where(X[:, 0] > 0, 'a', 'b'))
    with pytest.warns(UserWarning, match=r"found a single one of '\?' \(row 700 of y\) among 1,200 rows"):
        ESVMClassifier(n_hidden=5).fit(X, y)


@pytest.mark.parametrize(('task', 'what'), [('classification', 'label'), ('regression', 'target')])
def test_a_message_about_a_missing_label_says_what_helps(task, what, elm, write, tmp_path):
    path = write('rows.csv', '1,2,3\n,3,4\n0,4,5\n')
    done = elm('train', 'pesvm', path, '--task', task, '--model', tmp_path / 'm.npz', '-q')
    said = f'line 2: missing {what}: the {what} is empty; --bad-rows skip leaves such rows out\n'
    assert done.status == 1 and done.err.endswith(said)


def test_a_column_of_words_that_was_taken_for_the_target_is_named(elm, write, tmp_path):
    path = write('names.csv', 'name,size,price\n' + ''.join(f'house {k},{k},{k * 2.5}\n' for k in range(40)))
    done = elm('train', 'pesvm', path, '--task', 'regression', '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and "line 2: target is not a number: the target is 'house 0'" in done.err
    assert "(it is column 'name': name another one with --label-column)" in done.err
