"""Files whose values may mean something else: one line of a warning names what is in doubt, and the cure."""

import numpy as np
import pandas as pd
import pytest

N = 120
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {'label': np.arange(N) % 2, 'price': RNG.normal(50, 9, N).round(2), 'items': RNG.integers(1, 9, N)}
)
DAYS = pd.Series(pd.date_range('2020-01-01', periods=N).strftime('%Y-%m-%d'))
SECONDS = 1_600_000_000 + 86_400 * np.arange(N) + RNG.integers(0, 80_000, N)
IDS = RNG.choice(900_000, N, replace=False) + 100_000
MANY = np.arange(N) % 5 == 0
DOUBTFUL = {
    'ids': (TABLE.assign(customer_id=IDS), "'customer_id' is called like an id", '--drop'),
    'ids in capitals': (TABLE.assign(orderID=IDS), "'orderID' is called like an id", '--drop'),
    'few ids': (TABLE.assign(store_id=TABLE['items']), "'store_id' is called like an id", '--category'),
    'seconds': (TABLE.assign(ts=SECONDS), "'ts' holds numbers such as 16", 'write them like 2020-12-31'),
    'milliseconds': (TABLE.assign(ts=SECONDS * 1000), "'ts' holds numbers such as 16", 'write them like 2020-12-31'),
    'compact days': (
        TABLE.assign(day=DAYS.str.replace('-', '')),
        "'day' holds numbers such as 2020",
        'write them like',
    ),
    'huge marks': (TABLE.assign(a=np.where(MANY, 1e20, TABLE['price'])), "'a' holds 1e+20 in", 'leave these fields'),
}
DATES = {
    'never': '9999-12-31',
    'long ago': '1900-01-01',
    'the first': '0001-01-01',
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
        return [line for line in done.err.splitlines() if 'warning' in line and 'this machine gives' not in line]

    return train


@pytest.mark.parametrize('encode', ['refuse', 'auto'])
@pytest.mark.parametrize('kind', DOUBTFUL)
def test_numbers_that_may_be_something_else_are_named_once(warn, kind, encode):
    table, doubt, cure = DOUBTFUL[kind]
    found = warn(table, '--encode', encode)
    assert len(found) == 1 and doubt in found[0] and cure in found[0], found


@pytest.mark.parametrize('date', DATES.values(), ids=DATES)
def test_dates_that_stand_for_none_are_named(warn, date):
    [found] = warn(TABLE.assign(until=DAYS.where(~MANY, date)), '--encode', 'auto')
    assert f"column 'until' holds '{date}' in 24 rows" in found and 'leave these fields empty' in found


def test_a_row_of_totals_is_named(warn):
    total = TABLE.sum().to_frame().T.assign(label=0)
    [found] = warn(pd.concat([TABLE, total]))
    assert "column 'price' holds" in found and 'the sum of its other numbers: leave that row out' in found


def test_single_quotes_around_fields_are_named(warn):
    found = warn(TABLE.assign(label=TABLE['label'].map("'{}'".format)))
    assert len(found) == 1 and 'write double quotes' in found[0]


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
    ages = TABLE['items'].astype(object).where(~MANY, 'N/A')
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
