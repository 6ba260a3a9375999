"""Rows as people have them: columns with names, in any order, with text and missing values."""

import csv
import io
import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from reference.by_hand import run_to_the_last
from reference.databases import DuckDB

from mr_elm.estimators import ESVMClassifier, ESVMRegressor
from mr_elm.model.file import read_model
from mr_elm.store import load_arrays

NAMES = ['id', 'age', 'city', 'income', 'label', 'times']
OPTIONS = ('--label-column', 'label', '--drop', 'id', '--weight-column', 'times', '--encode', 'auto', '--hidden', 40)
CITIES = ['Oslo', 'Rome', "L'Aquila", 'New York', 'Bogotá', '']


def make_table(n, seed):
    """Make rows with numbers, categories and missing values: a list of dictionaries."""
    generator = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        age, city = generator.uniform(20, 70), str(generator.choice(CITIES))
        rows.append(
            {
                'id': f'row {i}',
                'age': '' if generator.uniform() < 0.1 else f'{age:.1f}',
                'city': city,
                'income': f'{generator.normal(3, 1):.3f}' if generator.uniform() < 0.9 else 'NA',
                'label': 'yes' if (age > 45) != (city in ('Rome', 'Oslo')) else 'no',
                'times': str(generator.integers(1, 4)),
            }
        )
    return rows


def to_csv(rows, names=NAMES, header=True):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerows([names] * header + [[row[name] for name in names] for row in rows])
    return text.getvalue()


@pytest.fixture
def train(elm, tmp_path):
    """Train on files: the path of the model."""

    def run(*words, name='m.npz', method='pesvm'):
        done = elm('train', method, *words, '--model', tmp_path / name, '-q')
        assert done == (0, '', '')
        return tmp_path / name

    return run


@pytest.fixture
def predict(elm, tmp_path):
    """Predict files: the lines with the decision values."""

    def run(model, *words):
        done = elm('predict', model, *words, '-o', tmp_path / 'said', '--scores', '--overwrite', '-q')
        assert done == (0, '', '')
        return (tmp_path / 'said').read_text().splitlines()

    return run


@pytest.fixture
def refuse(elm, tmp_path):
    """Run a command that must fail with one sentence: its text."""

    def run(*words):
        done = elm(*words, *([] if words[0] == 'inspect' else ['-q']))
        assert done.status == 1 and done.out == '' and done.err.count('\n') == 1, done
        return done.err

    return run


# Columns by name


def test_columns_are_found_in_any_order(write, train, predict):
    model = train(write('a.csv', to_csv(make_table(300, 0))), *OPTIONS)
    later = make_table(50, 1)
    expected = predict(model, write('b.csv', to_csv(later)))
    for names in (
        ['label', 'city', 'times', 'income', 'id', 'age'],
        ['income', 'age', 'city'],
        ['id', 'city', 'age', 'income'],
        ['city', 'label', 'income', 'age'],
    ):
        assert predict(model, write('c.csv', to_csv(later, names))) == expected
    assert predict(model, write('c.csv', to_csv(later)), '--no-label') == expected


def test_files_of_one_data_set_may_have_columns_in_another_order(write, train):
    rows = make_table(200, 0)
    one = train(write('a.csv', to_csv(rows)), *OPTIONS)
    write('parts/1.csv', to_csv(rows[:90]))
    folder = write('parts/2.csv', to_csv(rows[90:], NAMES[::-1])).parent
    assert same_arrays(one, train(folder, *OPTIONS, name='n.npz'), 1e-9)


@pytest.mark.parametrize(
    'names, words',
    [
        (['age', 'income', 'label', 'times'], ["'city'", 'age, income']),
        (['age', 'city', 'income', 'label', 'times', 'id', 'height'], ["'height'", '--drop height']),
    ],
)
def test_a_missing_or_unknown_column_is_named(write, train, refuse, tmp_path, names, words):
    model = train(write('a.csv', to_csv(make_table(100, 0))), *OPTIONS)
    later = [{**row, 'height': '1'} for row in make_table(9, 1)]
    path = write('b.csv', to_csv(later, names))
    for command in (
        ['evaluate', model],
        ['predict', model, '-o', tmp_path / 'out'],
        ['update', model, '--model', tmp_path / 'n.npz'],
    ):
        text = refuse(command[0], command[1], path, *command[2:])
        assert str(path) in text and all(word in text for word in words)


def test_what_may_be_left_out_is_left_out(write, train, predict, refuse):
    model = train(write('a.csv', to_csv(make_table(100, 0))), *OPTIONS)
    later = [{**row, 'height': '1'} for row in make_table(9, 1)]
    path = write('b.csv', to_csv(later, [*NAMES, 'height']))
    assert predict(model, path, '--drop', 'height,id') == predict(model, write('c.csv', to_csv(later)))


def test_two_columns_of_one_name_are_refused(write, refuse, tmp_path):
    path = write('a.csv', 'y,a,a\n1,2,3\n0,3,4\n')
    assert "'a'" in refuse('train', 'pesvm', path, '--label-column', 'y', '--model', tmp_path / 'm.npz')


@pytest.mark.parametrize(
    'words', [['--columns', 'income,age'], ['--columns', '3,1'], ['--drop', 'id,city,times'], ['--drop', '0,2,-1']]
)
def test_features_are_chosen_by_name_or_index(write, train, words):
    model = train(
        write('a.csv', to_csv(make_table(100, 0))), '--label-column', 'label', '--encode', 'auto', '--hidden', 9, *words
    )
    given = load_arrays(model)[0]['parameters']['input']
    assert given['names'] == (['income', 'age'] if words[0] == '--columns' else ['age', 'income'])
    assert set(given['dropped']) == {'id', 'city', 'times'}


def test_rows_without_names_go_by_position(write, train, predict):
    rows = make_table(100, 0)
    named = train(write('a.csv', to_csv(rows)), *OPTIONS)
    plain = train(
        write('b.csv', to_csv(rows, header=False)),
        '--header',
        'no',
        '--label-column',
        4,
        '--drop',
        '0',
        '--weight-column',
        5,
        *OPTIONS[6:],
        name='n.npz',
    )
    later = make_table(20, 1)
    path = write('d.csv', to_csv(later, header=False))
    assert predict(plain, path, '--header', 'no') == predict(named, write('c.csv', to_csv(later)))
    assert predict(named, path, '--header', 'no') == predict(named, write('c.csv', to_csv(later)))


def test_the_label_of_a_model_without_a_name_for_it_is_asked_for(write, predict, refuse, elm, tmp_path):
    rows = make_table(60, 0)
    estimator = ESVMClassifier(n_hidden=9).fit(
        pd.DataFrame([{'a': float(row['times']), 'b': float(i)} for i, row in enumerate(rows)]),
        [row['label'] for row in rows],
    )
    estimator.to_model().save(tmp_path / 'm.npz')
    path = write('a.csv', 'a,b,label\n1,2,yes\n3,1,no\n')
    expected = estimator.predict(pd.DataFrame({'a': [1.0, 3.0], 'b': [2.0, 1.0]})).tolist()
    for words in (['--label-column', 'label'], ['--drop', 'label']):
        assert [line.split('\t')[0] for line in predict(tmp_path / 'm.npz', path, *words)] == expected
    assert '--label-column' in refuse('evaluate', tmp_path / 'm.npz', path)
    assert elm('evaluate', tmp_path / 'm.npz', path, '--label-column', 'label', '-q').status == 0


# The same model everywhere


def same_arrays(one, other, tolerance=0.0):
    a, b = (load_arrays(path)[1]['output_weights'] for path in (one, other))
    return a.shape == b.shape and abs(a - b).max() <= tolerance


@pytest.mark.parametrize(
    'method, options',
    [
        ('pesvm', OPTIONS),
        ('elm', OPTIONS),
        ('sparse-elm', OPTIONS[:4] + OPTIONS[6:8]),
        ('mr-kelm', OPTIONS[:4] + OPTIONS[6:8]),
    ],
)
def test_local_tasks_make_the_model_that_one_process_makes(write, train, predict, method, options):
    path = write('a b"c.csv', to_csv(make_table(200, 0)))
    later = write('later.csv', to_csv(make_table(40, 1)))
    drop = () if 'times' in options else ('--drop', 'id,times')
    lines = [
        predict(train(path, *options, *drop, *words, name=f'{i}.npz', method=method), later)
        for i, words in enumerate((['-r', 'inline'], ['-r', 'local', '-D', 'mapreduce.job.maps=3']))
    ]
    one, other = ([float(line.split('\t')[1]) for line in part] for part in lines)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)


def test_a_pack_keeps_names_and_categories(write, train, predict, elm, refuse, tmp_path):
    path, later = write('a.csv', to_csv(make_table(200, 0))), write('later.csv', to_csv(make_table(40, 1)))
    model = train(path, *OPTIONS)
    assert elm('pack', path, *OPTIONS[:-2], '-o', tmp_path / 'pack', '-q').status == 0
    packed = train(tmp_path / 'pack', '--hidden', 40, name='n.npz')
    np.testing.assert_allclose(load_arrays(packed)[1]['output_weights'], load_arrays(model)[1]['output_weights'], 1e-6)
    assert load_arrays(packed)[0]['encoding'] == load_arrays(model)[0]['encoding']
    done = elm('pack', later, '--like', model, '-o', tmp_path / 'like', '-q')
    assert done.status == 0 and 'holds only' not in done.err
    assert predict(model, tmp_path / 'like') == predict(model, later)
    assert elm('pack', later, *OPTIONS[:-2], '-o', tmp_path / 'other', '-q').status == 0
    assert '--like' in refuse('evaluate', model, tmp_path / 'other')


def test_a_training_by_hand_makes_the_same_model(write, train, elm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write('a.csv', to_csv(make_table(150, 0)))
    model = train(path, *OPTIONS)
    script = elm('train', 'pesvm', path, *OPTIONS, '--model', tmp_path / 'hand.npz', '--script').out
    assert 'mr-elm train' not in script.replace('# What `mr-elm train` does', '')
    assert elm(*run_to_the_last(script)).status == 0
    assert same_arrays(model, tmp_path / 'hand.npz') and (tmp_path / 'hand.values.1').exists()


def test_new_rows_join_a_model_of_categories(write, train, elm, predict, tmp_path):
    rows = make_table(300, 0)
    both = write('both.csv', to_csv(rows))
    model = train(both, *OPTIONS)
    part = train(write('a.csv', to_csv(rows[:200])), '--label-column', 'label', '--like', model, name='part.npz')
    assert elm('update', part, write('b.csv', to_csv(rows[200:])), '--model', tmp_path / 'all.npz', '-q').status == 0
    later = write('later.csv', to_csv(make_table(40, 1)))
    one, other = (
        [float(line.split('\t')[1]) for line in predict(path, later)] for path in (model, tmp_path / 'all.npz')
    )
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


# Rows that cannot be used


def test_text_and_gaps_are_refused_unless_asked_for(write, refuse, tmp_path):
    path = write('a.csv', to_csv(make_table(20, 0)))
    text = refuse('train', 'pesvm', path, '--label-column', 'label', '--drop', 'id', '--model', tmp_path / 'm.npz')
    assert str(path) in text and '--encode auto' in text


def test_a_column_that_turns_from_numbers_to_text_is_told(write, elm, tmp_path):
    path = write('a.csv', 'y,age\n' + ''.join(f'{i % 2},{i}\n' for i in range(40)) + '1,old\n')
    done = elm('train', 'pesvm', path, '--encode', 'auto', '--hidden', 5, '--model', tmp_path / 'm.npz')
    assert done.status == 0
    assert (
        "mr-elm: warning: column 'age' is a category of 41 different values in 41 rows, 1 of them with text such as "
        "'old', others such as '0': if its values should be numbers or dates, correct these fields, or leave them "
        "empty where values are missing, or leave the column out with --drop 'age'\n"
    ) in done.err
    assert done.err.count('warning') == 1


@pytest.mark.parametrize(
    'bad, reason',
    [
        ('row 9,inf,Oslo,1,yes,1\n', 'nan or infinite'),
        ('row 9,30,Oslo,1,yes\n', 'wrong width'),
        ('row 9,30,Oslo,1,,1\n', 'missing label'),
        ('row 9,30,Oslo,1,yes,0\n', 'weight is not positive'),
        ('row 9,30,"Oslo,1,yes,1\n', 'bad quotes'),
        (b'row 9,30,Osl\xf8,1,yes,1\n', 'not UTF-8'),
    ],
)
def test_a_bad_row_is_named_or_left_out_and_counted(write, elm, refuse, tmp_path, bad, reason):
    good = to_csv(make_table(250, 0)).encode()
    path = write('a.csv', good + (bad if isinstance(bad, bytes) else bad.encode()))
    words = ['train', 'pesvm', path, *OPTIONS, '--model', tmp_path / 'm.npz']
    text = refuse(*words)
    assert f'{path}, line 252: {reason}' in text
    assert elm(*words, '--bad-rows', 'skip', '-q').status == 0
    header = load_arrays(tmp_path / 'm.npz')[0]
    assert (header['n_rows_used'], header['n_rows_rejected']) == (250, 1)
    assert reason in (tmp_path / 'm.npz.rejected').read_bytes().decode('latin-1')


def test_text_in_a_column_of_numbers_is_a_bad_row_of_a_model(write, train, refuse, predict):
    model = train(write('a.csv', to_csv(make_table(60, 0))), *OPTIONS)
    later = make_table(9, 1)
    later[4]['age'] = 'old'
    path = write('b.csv', to_csv(later))
    assert f"{path}, line 6: not a number: column 'age' holds 'old'" in refuse('evaluate', model, path)
    assert len(predict(model, path, '--bad-rows', 'skip')) == 8


@pytest.mark.parametrize(
    'column, words',
    [
        ([f'{i} a' for i in range(10_100)], ["'x'", '10,000', "--drop 'x'"]),
        (['01/02/2026'] * 50, ["'x'", 'day-month-year or month-day-year', "--drop 'x'"]),
    ],
)
def test_columns_that_are_no_features_are_explained(write, refuse, tmp_path, column, words):
    text = 'y,x\n' + ''.join(f'{i % 2},{value}\n' for i, value in enumerate(column))
    said = refuse(
        'train', 'pesvm', write('a.csv', text), '--label-column', 'y', '--encode', 'auto', '--model', tmp_path / 'm.npz'
    )
    assert all(word in said for word in words)


def test_an_unseen_category_of_later_rows_is_other(write, train, predict):
    model = train(write('a.csv', to_csv(make_table(100, 0))), *OPTIONS, '--max-categories', 3)
    encoding = load_arrays(model)[0]['encoding']['columns']
    assert [len(column['categories']) for column in encoding] == [0, 3, 0]
    later = make_table(2, 1)
    for row, city in zip(later, ('Atlantis', 'Thule'), strict=True):
        row.update(later[0], city=city)
    first, second = predict(model, write('b.csv', to_csv(later)))
    assert first == second


# The model file


def test_a_reader_refuses_a_model_that_requires_what_it_does_not_know(write, train, refuse):
    path = train(write('a.csv', to_csv(make_table(60, 0))), *OPTIONS)
    header, arrays = load_arrays(path)
    header['requires'] = ['encoding', 'telepathy']
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    assert 'telepathy' in refuse('inspect', path)


@pytest.mark.parametrize(
    'change',
    [
        lambda columns: columns.pop(),
        lambda columns: columns[0].update(kind='colour'),
        lambda columns: columns[0].update(mean='big'),
        lambda columns: columns[1].pop('name'),
        lambda columns: columns[1].update(categories=[1, 2]),
    ],
)
def test_a_damaged_encoding_is_refused(write, train, refuse, change):
    path = train(write('a.csv', to_csv(make_table(60, 0))), *OPTIONS)
    header, arrays = load_arrays(path)
    change(header['encoding']['columns'])
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    assert 'expected a whole model' in refuse('inspect', path)


# Memory


@pytest.mark.parametrize('method', ['pesvm', 'pesvm --map nystrom', 'sparse-elm --kernel sigmoid --max-iter 5'])
def test_a_category_of_many_values_never_becomes_dense(method, elm, write, rng, tmp_path):
    n, n_values = 2048, 2000
    path = write(
        'a.csv',
        'y,x,city\n' + ''.join(f'{i // 2 % 2},{x:.3f},c{i % n_values}\n' for i, x in enumerate(rng.normal(size=n))),
    )
    name, *words = method.split()
    train = ['train', name, path, '--encode', 'auto', '--max-categories', n_values, '--hidden', 10, '-q', *words]
    assert elm(*train, '--model', tmp_path / 'warm.npz').status == 0  # imports and compiles what it needs
    for command in (
        [*train, '--model', tmp_path / 'm.npz'],
        ['evaluate', tmp_path / 'm.npz', path, '-q'],
        ['pack', path, '-o', tmp_path / 'pack', '--encode', 'auto', '--max-categories', n_values, '-q'],
    ):
        tracemalloc.start()
        assert elm(*command).status == 0
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * n * n_values / 3, command


# Dates


def make_dates(n, seed):
    """Make rows whose label a weekday and a month decide: a data frame."""
    generator = np.random.default_rng(seed)
    joined = pd.Series(pd.Timestamp('2019-01-01') + pd.to_timedelta(generator.integers(0, 1500, n), unit='D'))
    churns = joined.dt.day_of_week.isin((1, 5)) | (joined.dt.month > 8)
    joined[generator.uniform(size=n) < 0.05] = pd.NaT
    ages = generator.normal(40, 9, n).round(3)
    return pd.DataFrame({'churn': np.where(churns, 'yes', 'no'), 'joined': joined, 'age': ages})


def write_dates(frame, path, style):
    """Write a frame of `make_dates` with another style of dates: the path."""
    if style == 'parquet':
        frame.to_parquet(path)
    elif style == 'days':
        frame.assign(joined=frame['joined'].dt.date).to_parquet(path)
    else:
        frame.to_csv(path, index=False, date_format=style)
    return path


DATES = ('--label-column', 'churn', '--encode', 'auto', '--hidden', 60, '--nu', 100)


@pytest.mark.parametrize('style', ['%d/%m/%Y', '%b %d, %Y', 'parquet', 'days', 'pack'])
def test_dates_are_features_in_every_format(elm, train, predict, tmp_path, style):
    frame, later = make_dates(400, 0), make_dates(100, 1)
    model = train(write_dates(frame, tmp_path / 'a.csv', '%Y-%m-%d'), *DATES)
    expected = predict(model, write_dates(later, tmp_path / 'b.csv', '%Y-%m-%d'))
    assert np.mean([line.split('\t')[0] == label for line, label in zip(expected, later['churn'], strict=True)]) > 0.85
    name = 'a.parquet' if style in ('parquet', 'days') else 'other.csv'
    if style == 'pack':
        assert elm('pack', tmp_path / 'a.csv', '-o', tmp_path / 'packed', *DATES[:4], '-q').status == 0
        other = train(tmp_path / 'packed', *DATES[4:], name='n.npz')
        found = predict(other, tmp_path / 'b.csv')
    else:
        path = write_dates(frame, tmp_path / name, style)
        other = train(path, *DATES, '-D', 'mapreduce.job.maps=3', name='n.npz')
        found = predict(other, write_dates(later, tmp_path / f'b-{name}', style))
    values = [np.array([float(line.split('\t')[1]) for line in lines]) for lines in (expected, found)]
    np.testing.assert_allclose(*values, rtol=0, atol=1e-7)
    header = load_arrays(other)[0]
    assert header['requires'][:2] == ['encoding', 'dates'] and header['encoding']['columns'][0]['kind'] == 'date'


def test_a_daily_cycle_is_learned_and_exported(elm, train, predict, tmp_path):
    """Readings every 37 minutes, from CSV, a frame of pandas and Parquet: the hour tells what days do not."""
    make_sql = pytest.importorskip('mr_elm.export.sql').make_sql
    time = pd.Series(pd.date_range('2023-01-01', periods=900, freq='37min'))
    x = np.random.default_rng(0).standard_normal(900)
    y = 10 + 5 * np.sin(2 * np.pi * (time.dt.hour + time.dt.minute / 60) / 24) + x
    rows = pd.DataFrame({'y': y, 'time': time, 'x': x})
    rows[:600].to_csv(tmp_path / 'a.csv', index=False)
    rows[600:].to_csv(tmp_path / 'b.csv', index=False)
    rows[600:].assign(time=time.dt.tz_localize('UTC').dt.tz_convert('Asia/Kolkata')).to_parquet(tmp_path / 'b.parquet')
    words = '--task', 'regression', '--label-column', 'y', '--encode', 'auto', '--hidden', 200
    model = train(tmp_path / 'a.csv', *words)
    assert json.loads(elm('evaluate', model, tmp_path / 'b.csv', '--json', '-q').out)['r2'] > 0.9
    header = load_arrays(model)[0]
    assert header['requires'] == ['encoding', 'dates', 'hours']
    assert header['encoding']['columns'][0]['categories'] == sorted(map(str, range(24)))
    wanted = np.loadtxt(predict(model, tmp_path / 'b.csv'))
    np.testing.assert_array_equal(np.loadtxt(predict(model, tmp_path / 'b.parquet')), wanted)
    features = rows[['time', 'x']]
    fitted = ESVMRegressor(encode='auto', n_hidden=200).fit(features[:600], y[:600])
    np.testing.assert_allclose(fitted.predict(features[600:]), wanted, rtol=0, atol=1e-6)
    query = make_sql(read_model(model), keep=['time'])
    for kind in 'TIMESTAMP', 'VARCHAR':
        found = DuckDB().ask(query, features[600:], time=kind).sort_values('time')
        np.testing.assert_allclose(found['label'], wanted, rtol=0, atol=1e-6)


def test_rows_at_other_hours_are_named(elm, train, tmp_path):
    rows = pd.DataFrame({'y': np.arange(40) % 2, 'at': pd.date_range('2023-01-01 06:00', periods=40, freq='h')})
    rows['at'] = rows['at'].mask(rows['at'].dt.hour < 6)
    rows.to_csv(tmp_path / 'a.csv', index=False)
    model = train(tmp_path / 'a.csv', '--encode', 'auto')
    rows.assign(at=pd.date_range('2023-01-03', periods=40, freq='D')).to_csv(tmp_path / 'b.csv', index=False)
    said = elm('evaluate', model, tmp_path / 'b.csv', '-q').err
    assert "column 'at hour' holds only missing or unknown values, none of those of the training, such as '7'" in said


def test_a_model_of_dates_is_used_as_any_other(elm, train, predict, refuse, tmp_path):
    paths = [write_dates(make_dates(300, seed), tmp_path / f'{seed}.csv', '%m/%d/%Y') for seed in range(3)]
    model = train(paths[0], *DATES)
    assert elm('update', model, paths[1], '--model', tmp_path / 'both.npz', '-q').status == 0
    encoding = load_arrays(model)[0]['encoding']
    assert load_arrays(tmp_path / 'both.npz')[0]['encoding'] == encoding
    assert json.loads(elm('evaluate', tmp_path / 'both.npz', paths[2], '--json', '-q').out)['accuracy'] > 0.85
    shown = json.loads(elm('inspect', model, '--json').out)
    assert shown['encoding'] == encoding and encoding['columns'][0]['order'] == 'month-day-year'
    assert 'month-day-year' in elm('inspect', model).out
    known, later = (make_dates(300, seed) for seed in (0, 2))
    fitted = ESVMClassifier(encode='auto', n_hidden=60, nu=100).fit(known.drop(columns='churn'), known['churn'])
    scores = [float(line.split('\t')[1]) for line in predict(model, paths[2])]
    np.testing.assert_allclose(fitted.decision_function(later.drop(columns='churn')), scores, rtol=0, atol=1e-7)
    assert elm('export', model, '-o', tmp_path / 'm.onnx').status == 0
    damaged = tmp_path / 'bad.csv'
    damaged.write_text('joined,age\n01/31/2020,4\n31/01/2020,4\n')
    said = refuse('predict', model, damaged, '-o', tmp_path / 'none')
    assert f"{damaged}, line 3: not a date: column 'joined' holds '31/01/2020'" in said
    assert "column 'joined' holds dates" in refuse(
        'train', 'pesvm', paths[0], *DATES, '--dates', 'refuse', '--model', tmp_path / 'r.npz'
    )
