"""What a file of delimited text is, is decided from its first lines: rightly, or with a sentence that says what to do.

Each file is made of a table whose separators, header and styles are known.
"""

import csv
import io
import warnings

import numpy as np
import pytest

from mr_elm.errors import UnsuitableWarning
from mr_elm.rows.inputs import sniff, take_first_lines
from mr_elm.rows.lines import LineReader
from mr_elm.rows.options import RowOptions

RNG = np.random.default_rng(0)
N = 60
DELIMITERS = [',', ';', '\t', '|']


def word(values):
    return RNG.choice(list(values), N).tolist()


def fractions(decimals=2, decimal='.'):
    return [f'{x:.{decimals}f}'.replace('.', decimal) for x in RNG.normal(0, 10, N)]


def whole(largest=100):
    return list(map(str, RNG.integers(0, largest, N)))


TABLES = {
    'numbers': {'label': whole(2), 'length': fractions(), 'width': fractions(4), 'age': whole()},
    'text': {
        'play': word(['yes', 'no']),
        'outlook': word(['sunny', 'rain', 'cloudy']),
        'wind': word(['weak', 'strong']),
    },
    'letters': {'class': word('ep'), 'cap': word('bcxfks'), 'surface': word('fgys'), 'odor': word('alcyfmnps')},
    'text and numbers': {'label': word(['a', 'b']), 'city': word(['Oslo', 'Rome', 'Lima']), 'size': fractions()},
    'dates': {
        'label': word(['a', 'b']),
        'day': [f'{d:02d}/0{m}/2021' for d, m in RNG.integers(1, 9, (N, 2))],
        'wind': word(['weak', 'strong']),
    },
    'codes': {
        'label': word(['a', 'b']),
        'code': [f'{a}{n:03d}' for a, n in zip(word('AB'), RNG.integers(0, 999, N), strict=True)],
        'size': whole(),
    },
    'categories with digits': {
        'state': word(['well', 'ill']),
        'x': fractions(3),
        **{f'c{k}': word([f'v{i}' for i in range(12)]) for k in range(22)},
    },
    'names': {
        'label': word(['a', 'b']),
        'name': [
            f'{a} {b}{i}'
            for i, (a, b) in enumerate(zip(word(['Ann', 'Bob', 'Eve']), word(['Smith', 'Jones']), strict=True))
        ],
        'size': whole(),
    },
    'wavelengths': {'label': word(['a', 'b']), **{str(w): fractions(3) for w in range(400, 470, 10)}},
    'numbered columns': {'label': whole(2), **{str(k): fractions(3) for k in range(5)}},
    'pixels': {'label': whole(10), **{str(k): whole(256) for k in range(30)}},
    'only wavelengths': {str(w): fractions(3) for w in range(400, 500, 10)},
    'years': {'country': word(['NO', 'IT', 'PE']), **{str(y): fractions(1) for y in range(1990, 2000)}},
}


def write(table, delimiter=',', header=True):
    """Write a table of text as a file: its bytes."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator='\n')
    writer.writerows([[*table]] * header + list(zip(*table.values(), strict=True)))
    return stream.getvalue().encode()


def decide(data, **options):
    """Decide how bytes are read, as text and numbers: (RowOptions, what was warned of)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        lines, blank = take_first_lines([data])
        form = sniff(lines, 'rows.csv', RowOptions(**{'encode': 'auto', **options}), blank)
    return form, [str(warning.message) for warning in caught if warning.category is UnsuitableWarning]


def matrix(data, form):
    """Read numbers: the matrix of all rows, none of which is bad."""
    reader = LineReader(form)
    X = np.vstack([block.X for block in reader.blocks([data])])
    assert reader.rejected == []
    return X


@pytest.mark.parametrize('name', TABLES)
@pytest.mark.parametrize('delimiter', DELIMITERS)
@pytest.mark.parametrize('header', [True, False])
def test_delimiter_and_header_are_found_or_named_as_doubtful(name, delimiter, header):
    form, said = decide(write(TABLES[name], delimiter, header))
    assert (form.delimiter, form.n_columns, form.decimal) == (delimiter, len(TABLES[name]), '.')
    if form.header is not header:
        assert said and '--header' in said[0]
    if form.header and header:
        assert form.names == tuple(TABLES[name])[1:]


@pytest.mark.parametrize(
    'name',
    [
        'numbers',
        'text',
        'letters',
        'text and numbers',
        'dates',
        'wavelengths',
        'pixels',
        'categories with digits',
        'numbered columns',
        'only wavelengths',
        'years',
    ],
)
@pytest.mark.parametrize('header', [True, False])
def test_most_tables_leave_no_doubt(name, header):
    form, said = decide(write(TABLES[name], header=header))
    assert form.header is header and not said


@pytest.mark.parametrize('header', [True, False])
@pytest.mark.parametrize('delimiter', [';', '\t', '|'])
@pytest.mark.parametrize('columns', [1, 4])
def test_decimal_commas_are_found(delimiter, header, columns):
    table = {'label': word(['raw', 'ripe']), **{f'x{k}': fractions(2, ',') for k in range(columns)}}
    data = write(table, delimiter, header)
    form, said = decide(data, encode='refuse')
    assert (form.delimiter, form.decimal, form.header, said) == (delimiter, ',', header, [])
    expected = [[float(text.replace(',', '.')) for text in values] for values in list(table.values())[1:]]
    assert np.array_equal(matrix(data, form), np.transpose(expected))


@pytest.mark.parametrize('row', [0, 5])
@pytest.mark.parametrize('name', ['numbers', 'text', 'text and numbers'])
@pytest.mark.parametrize('header', [True, False])
def test_a_missing_value_changes_nothing(name, header, row):
    table = {column: list(values) for column, values in TABLES[name].items()}
    for column in list(table)[1:]:
        table[column][row] = ''
    form, _ = decide(write(table, header=header))
    assert (form.header, form.delimiter) == (header, ',')


@pytest.mark.parametrize(
    'style, decimal, signs',
    [
        ('${:,.2f}', '.', ('$', '', ',')),
        ('{:,.1f}', '.', ('', '', ',')),
        ('{:.1f}%', '.', ('', '%', '')),
        ('{:.2f} €', '.', ('', '€', '')),
    ],
)
def test_numbers_with_signs_are_numbers_where_all_agree(style, decimal, signs):
    numbers = np.round(RNG.uniform(900, 99_000, N), 1)
    data = write({'label': word(['a', 'b']), 'price': [style.format(x) for x in numbers], 'size': fractions()})
    form, _ = decide(data, encode='refuse')
    assert form.styles == ((1, *signs),)
    assert np.array_equal(matrix(data, form)[:, 0], numbers)


def test_thousands_and_decimal_commas():
    numbers = np.round(RNG.uniform(900, 99_000, N), 1)
    texts = [f'{x:,.1f}'.translate(str.maketrans(',.', '.,')) for x in numbers]
    data = write({'label': word(['a', 'b']), 'price': texts, 'size': fractions(2, ',')}, ';')
    form, _ = decide(data, encode='refuse')
    assert (form.decimal, form.styles) == (',', ((1, '', '', '.'),))
    assert np.array_equal(matrix(data, form)[:, 0], numbers)


def test_the_numbers_of_rows_and_what_stands_behind_a_last_delimiter_are_left_out():
    table = {'': list(map(str, range(N))), **TABLES['text and numbers']}
    form, _ = decide(write(table))
    assert (form.label_name, form.names, form.idle) == ('label', ('city', 'size'), (0,))
    data = b''.join(line + b',\n' for line in write(TABLES['text and numbers']).splitlines())
    form, _ = decide(data)
    assert (form.names, form.idle) == (('city', 'size'), (3,))
    assert decide(data, label_column='city')[0].names == ('label', 'size')


def test_two_columns_of_one_name_are_dropped_by_position_in_later_files_too():
    data = b'y,a,a,b\n' + b''.join(b'1,2,3,%d\n0,3,4,5\n' % k for k in range(9))
    form, _ = decide(data, drop=('2',))
    assert (form.names, form.dropped) == (('a', 'b'), (2,))
    later, _ = decide(data, names=form.names, label_name='y', dropped=form.dropped)
    assert later.feature_positions == form.feature_positions == (1, 3)


def test_one_shifted_row_changes_nothing():
    lines = write(TABLES['text and numbers']).splitlines()
    lines[7] = b',' + lines[7]
    form, said = decide(b'\n'.join(lines))
    assert (form.header, form.n_columns, said) == (True, 3, [])


def test_a_file_of_the_training_is_read_as_it_was_there():
    trained = RowOptions('csv', ';', ',', header=True, n_columns=3, styles=((1, '$', '', '.'),))
    data = b'y;a;b\n1;$2;3\n'
    form, said = decide(data, trained=trained)
    assert (form.delimiter, form.decimal, form.header, form.styles, said) == (';', ',', True, ((1, '$', '', '.'),), [])
    form, _ = decide(b'y,a,b\n1,2,3\n', trained=trained)  # it does not fit
    assert (form.delimiter, form.decimal) == (',', '.')


@pytest.mark.parametrize('delimiter', [';', '\t'])
def test_decimal_commas_are_no_delimiter_of_the_training(delimiter):
    trained = RowOptions('csv', ',', '.', header=True, n_columns=3)
    rows = [['y', 'a', 'b'], *([label, '0,5', '-1,25'] for label in 'uvuv')]
    form, said = decide('\n'.join(map(delimiter.join, rows)).encode(), trained=trained)
    assert (form.delimiter, form.decimal, form.header, form.n_columns, said) == (delimiter, ',', True, 3, [])
    form, _ = decide(b'y,a,b\nu;v,0.5,1\nu,2,3\nv;u,1,2\n', trained=trained)  # labels of several classes
    assert (form.delimiter, form.decimal) == (',', '.')


def test_a_table_that_does_not_tell_is_asked_about():
    form, said = decide(b'a,b\nc,d\ne,f\n')
    assert not form.header and len(said) == 1 and '--header yes' in said[0]
    assert decide(b'a,b\nc,d\ne,f\n', header=True)[1] == []


def test_a_header_that_comes_again_is_a_header():
    data = write(TABLES['text'])
    form, said = decide(data + data)
    assert (form.header, form.names, said) == (True, ('outlook', 'wind'), [])
    reader = LineReader(form)
    blocks = list(reader.blocks([data + data]))
    assert [row.reason for row in reader.rejected] == ['repeated header'] and sum(map(len, blocks)) == 0


def test_a_value_that_is_called_like_its_column_is_a_value():
    table = {'spam': word(['spam', 'ham']), 'wind': word(['weak', 'wind']), 'size': fractions()}
    form, _ = decide(write(table), header=True)
    reader = LineReader(form)
    assert sum(map(len, reader.blocks([write(table)]))) == N and reader.rejected == []


@pytest.mark.parametrize('names', [['a', 'class'], ['sex', 'Target']])
def test_a_column_named_like_a_label_is_mentioned(names):
    table = dict(zip(names, (whole(5), word('xy')), strict=True))
    form, said = decide(write(table))
    assert form.label_name == names[0] and f'--label-column {names[1]}' in said[0]
    assert decide(write(table), label_column=names[1])[1] == decide(write(table), label_name=names[0])[1] == []


def test_points_between_thousands_are_mentioned():
    numbers = [7, 120, 999, *RNG.integers(1000, 99_999, N - 3)]
    table = {'label': word(['a', 'b']), 'price': [f'{x:,}'.replace(',', '.') for x in numbers], 'size': whole()}
    _, said = decide(write(table, ';'))
    assert len(said) == 1 and "'price'" in said[0] and '--decimal ,' in said[0]
    form, said = decide(write(table, ';'), decimal=',', encode='refuse')
    assert said == [] and np.array_equal(matrix(write(table, ';'), form)[:, 0], numbers)
    assert decide(write({**table, 'price': fractions(3)}, ';'))[1] == []


def test_a_first_row_that_is_alone_with_its_label_is_doubtful():
    table = {'land': word(['NO', 'IT']), '2019': whole(), '2020': whole()}
    form, said = decide(write(table))
    assert not form.header and '--header yes' in said[0]
