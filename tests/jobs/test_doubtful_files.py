"""Files whose values may mean something else: one line of a warning names what is in doubt, and the cure."""

import json
import re

import numpy as np
import pandas as pd
import pytest

N = 120
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {'label': np.arange(N) % 2, 'price': RNG.normal(50, 9, N).round(2), 'items': RNG.integers(1, 9, N)}
)
IDS = RNG.choice(900_000, N, replace=False) + 100_000
MANY = np.arange(N) % 5 == 0
DOUBTFUL = {
    'ids': (TABLE.assign(customer_id=IDS), "'customer_id' seems to name"),
    'ids in capitals': (TABLE.assign(orderID=IDS), "'orderID' seems to name"),
    'mrn': (TABLE.assign(MRN=IDS), "'MRN' seems to name"),
    'numbers of patients': (TABLE.assign(patient_no=IDS), "'patient_no' seems to name"),
    'few ids': (TABLE.assign(store_id=TABLE['items']), "'store_id' seems to name"),
    'numbers of rows': (TABLE.assign(n=np.arange(N)), "'n' seems to name or number the rows"),
}


@pytest.fixture
def warn(elm, tmp_path):
    """Train on a table, or on a text: the lines of its warnings of the rows."""

    def train(table, *words):
        path = tmp_path / 'rows.csv'
        text = table if isinstance(table, str) else table.to_csv(index=False)
        path.write_text(text)
        done = elm('train', 'elm', path, '--hidden', 3, '--model', tmp_path / 'm.npz', '--overwrite', *words)
        assert done.status == 0, done
        return [line for line in done.err.splitlines() if 'warning' in line and 'this machine says' not in line]

    return train


@pytest.mark.parametrize('encode', ['refuse', 'auto'])
@pytest.mark.parametrize('kind', DOUBTFUL)
def test_numbers_that_may_be_something_else_are_named_once(warn, kind, encode):
    table, doubt = DOUBTFUL[kind]
    found = warn(table, '--encode', encode)
    assert len(found) == 1 and doubt in found[0] and '--drop' in found[0] and '--category' in found[0], found


@pytest.mark.parametrize(
    'values',
    [
        ['<0', '0<=X<200', '>=200', 'no checking'],
        ['<18', '18-25', '26-35', '36-65', '65+'],
        ['1 room', '2 rooms', '3 rooms'],
        ['1st', '2nd', '2nd', '2nd'],
        ['08:00-12:00', '10:00-18:00', 'closed'],
        ['unemployed', '<1', '1<=X<4', '>=7'],
    ],
)
def test_usual_categories_that_hold_digits_are_not_in_doubt(warn, values):
    assert warn(TABLE.assign(kind=[values[k % len(values)] for k in range(N)]), '--encode', 'auto') == []


@pytest.mark.parametrize('n', [60, 80, 120])
def test_ages_are_no_numbers_of_rows_where_some_rows_are_held_out(warn, n):
    table = pd.DataFrame({'label': np.arange(n) % 2, 'age': RNG.integers(18, 80, n), 'share': RNG.integers(0, 101, n)})
    assert warn(table, '--test', 0.2) == []


@pytest.mark.parametrize('share', [0.1, 0.3])
def test_numbers_of_rows_are_named_although_some_rows_are_held_out(warn, share):
    table = pd.DataFrame({'label': np.arange(2000) % 2, 'n': np.arange(2000), 'a': RNG.integers(1, 3000, 2000)})
    [found] = warn(table, '--test', share)
    assert "'n' seems to name or number the rows: " in found


@pytest.mark.parametrize('odd', ['k.A.', 'n. v.', 'see below'])
@pytest.mark.parametrize('form', ['{:,.2f}', '{:,.2f} €', '${:,.2f}', '{:.1f}'])
def test_the_values_that_make_a_column_of_numbers_categories_are_named(warn, odd, form):
    money = pd.Series([form.format(value * 50) for value in TABLE['price']]).where(np.arange(N) % 20 > 0, odd)
    found = warn(TABLE.assign(paid=money), '--encode', 'auto')
    assert len(found) == 1 and f"{N // 20} of them with text such as '{odd}', others such as " in found[0], found
    assert 'correct these fields' in found[0]


def test_all_typing_errors_of_a_column_of_numbers_are_counted(warn):
    values = TABLE['price'].astype(str)
    values[[3, 50]] = '12,8', '?'
    [found] = warn(TABLE.assign(hb=values), '--encode', 'auto')
    assert "2 of them with text such as '12,8', others such as '" in found


@pytest.mark.parametrize('encode', ['refuse', 'auto'])
def test_usual_columns_are_not_in_doubt(warn, encode):
    table = TABLE.assign(
        paid=TABLE['items'], humid=TABLE['price'], price_index=TABLE['items'], big=10_000_000_000 + IDS, year=2020
    )
    table.loc[::7, 'year'] = 1999
    assert warn(table, '--encode', encode) == []


def test_usual_dates_and_words_are_not_in_doubt(warn):
    table = TABLE.assign(born=pd.date_range('1900-01-02', periods=N).strftime('%Y-%m-%d'))
    table['who'] = np.where(MANY, "o'neill", "d'arc's")
    assert warn(table, '--encode', 'auto') == []


def test_quiet_commands_print_each_warning_once_with_one_prefix(elm, tmp_path):
    flats = [f'{m2} m²' if m2 % 3 == 0 else m2 for m2 in RNG.integers(30, 300, N)]
    ages = TABLE['items'].astype(object).where(~MANY, 'n.a.')
    table = TABLE.assign(area=flats, age=ages, n=np.arange(N), zip='02139', label=TABLE['price'] / 7)
    table.to_csv(tmp_path / 'rows.csv', index=False)
    words = ('--encode', 'auto', '--task', 'regression', '--target', 'auto', '--hidden', 3, '-q')
    log = tmp_path / 'log'
    done = elm('train', 'pesvm', tmp_path / 'rows.csv', *words, '--model', tmp_path / 'm.npz', '--log-file', log)
    assert done.status == 0
    lines = done.err.splitlines()
    assert all(line.startswith('mr-elm: warning: column ') for line in lines)
    assert sorted(line.split()[3] for line in lines) == ["'age'", "'area'", "'n'", "'zip'"]
    assert [line.partition(' ')[2] for line in log.read_text().splitlines()] == lines


@pytest.mark.parametrize(
    'title, words',
    [
        ('Report of 2023\nall shops\n\n', ()),
        ('Report of 2023,,\nall shops,,\n,,\n', ()),
        ('Report, 2023\n', ()),
        ('2023\n\n', ()),
        ('Report of 2023\nall shops\n\n', ('--label-column', 'label')),
        ('Report, 2023\nall shops\n', ('--label-column', 'label')),
        ('2023\n\n', ('--label-column', 'label')),
    ],
)
def test_a_title_above_the_names_is_named_at_once(elm, write, tmp_path, title, words):
    path = write('rows.csv', title + TABLE.to_csv(index=False))
    done = elm('train', 'elm', path, *words, '--hidden', 3, '--model', tmp_path / 'm.npz')
    assert done.status == 1 and len(done.err.splitlines()) == 1
    assert 'leave out what stands above the names' in done.err


@pytest.mark.parametrize('names', [True, False])
def test_a_new_column_is_left_out_beside_those_of_the_training(elm, write, tmp_path, names):
    columns = ['y', 'customer', 'a', 'b']
    rows = [[k % 2, 100 + k, k % 5, k * k % 7] for k in range(40)]

    def save(name, *lines):
        return write(name, ''.join(','.join(map(str, line)) + '\n' for line in lines))

    new = '--drop', 'foo' if names else '4'
    old = save('old.csv', *[columns][:names], *rows)
    wide = save('new.csv', *[[*columns, 'foo']][:names], *([*row, row[2] + 0.5] for row in rows))
    model, grown = tmp_path / 'm.npz', ('--model', tmp_path / 'grown.npz', '-q')
    assert (
        elm('train', 'pesvm', old, '--drop', columns[1] if names else '1', '--hidden', 5, '--model', model).status == 0
    )
    said = [elm('predict', model, path, *words, '-o', '-', '-q').out for path, words in ((old, ()), (wide, new))]
    assert said[0] == said[1] != ''
    assert elm('evaluate', model, wide, *new, '-q').out == elm('evaluate', model, old, '-q').out
    assert elm('update', model, wide, *new, *grown).status == 0
    assert elm('predict', tmp_path / 'grown.npz', wide, *new, '-o', '-', '-q').status == 0


def test_the_encoding_that_a_message_recommends_reads_the_euro_sign(elm, write, tmp_path):
    text = 'price,kind\n' + ''.join(f'{k},{"€ café"[k % 2 * 2 :]}\n' for k in range(20))
    path, model = write('rows.csv', text.encode('cp1252')), tmp_path / 'm.npz'
    words = ('train', 'pesvm', path, '--label-column', 'kind', '--hidden', 5, '--model', model)
    done = elm(*words)
    hint = re.search(r'--encoding \S+(?=\))', done.err)
    assert done.status == 1 and 'not UTF-8' in done.err and hint
    assert elm(*words, *hint[0].split()).status == 0
    assert elm('predict', model, path, '-o', '-', '-q').out.splitlines()[0] in ('€ café', 'café')
    assert json.loads(elm('inspect', model, '--json').out)['classes'] == ['café', '€ café']


@pytest.mark.parametrize('sign', ['{}%', '${}'])
def test_numbers_with_a_sign_in_the_training_alone_or_in_new_rows_alone_are_named(elm, write, tmp_path, sign):
    signed = write('signed.csv', TABLE.assign(price=TABLE['price'].map(sign.format)).to_csv(index=False))
    plain, model = write('plain.csv', TABLE.to_csv(index=False)), tmp_path / 'm.npz'
    bare = f'without a sign, such as {TABLE["price"][0]}, and in the training numbers with {sign.strip("{}")!r}'
    with_sign = (
        f'with {sign.strip("{}")!r}, such as {sign.format(TABLE["price"][0])}, and in the training numbers without'
    )
    for rows, other, said in ((signed, plain, bare), (plain, signed, with_sign)):
        assert elm('train', 'elm', rows, '--hidden', 3, '--overwrite', '--model', model, '-q').status == 0
        for words in (('predict', model, other, '-o', '-'), ('evaluate', model, other), ('update', model, other)):
            done = elm(*words, *(('--model', tmp_path / 'new.npz', '--overwrite') * (words[0] == 'update')))
            assert done.status == 0 and f"warning: column 'price' has numbers {said}" in done.err
            assert "numbers of column 'price' with" not in done.err
        assert 'warning: column' not in elm('predict', model, rows, '-o', '-', '-q').err
    half = write('half.csv', signed.read_text().replace(sign.format(TABLE['price'][5]), str(TABLE['price'][5])))
    assert elm('train', 'elm', signed, '--hidden', 3, '--overwrite', '--model', model, '-q').status == 0
    assert 'warning: column' not in elm('predict', model, half, '-o', '-', '-q').err
