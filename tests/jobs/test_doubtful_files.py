"""Files whose values may mean something else: one line of a warning names what is in doubt, and the cure."""

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
    'few ids': (TABLE.assign(store_id=TABLE['items']), "'store_id' seems to name"),
    'numbers of rows': (TABLE.assign(n=np.arange(N)), "'n' seems to name or number the rows, from 0 to 119"),
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
    table, doubt = DOUBTFUL[kind]
    found = warn(table, '--encode', encode)
    assert len(found) == 1 and doubt in found[0] and '--drop' in found[0] and '--category' in found[0], found


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
