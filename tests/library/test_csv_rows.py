"""Delimited text: what a row may look like, and why one is refused."""

import numpy as np
import pytest
from reference import rows as twin

from mr_elm.rows import csv_rows
from mr_elm.rows.columns import TextColumn
from mr_elm.rows.encoding import Column, Encoding
from mr_elm.rows.labels import read_labels
from mr_elm.rows.lines import LineReader
from mr_elm.rows.options import RowOptions


def read(lines, stop=False, **form):
    reader = LineReader(RowOptions('csv', **{'delimiter': ',', 'decimal': '.', **form}), stop=stop)
    return reader, list(reader.blocks(['\n'.join(lines).encode()]))


def labels_of(blocks):
    return [block.names[code] for block in blocks for code in block.codes]


@pytest.mark.parametrize('delimiter', [',', '\t', ';', '|', None])
@pytest.mark.parametrize('label, weight', [(0, None), (2, None), (1, 3), (3, 0), (None, None), (None, 2)])
def test_label_and_weight_may_stand_in_any_column(delimiter, label, weight):
    table = np.random.default_rng(0).uniform(0.5, 9, (20, 4))
    lines = [(delimiter or '  ').join(map(repr, row)) for row in table.tolist()]
    _, [block] = read(
        lines, delimiter=delimiter, n_columns=4, label_column=label, weight_column=weight, numeric_labels=True
    )
    features = [j for j in range(4) if j not in (label, weight)]
    assert np.array_equal(block.X, table[:, features])
    assert (block.weights is None) if weight is None else np.array_equal(block.weights, table[:, weight])
    if label is None:
        assert not block.labelled
    else:
        assert np.array_equal(block.targets, table[:, label])


def test_numbers_keep_every_bit():
    rng = np.random.default_rng(1)
    numbers = rng.standard_normal(3000) * 10.0 ** rng.integers(-300, 300, 3000)
    _, [block] = read([f'a,{x!r}' for x in numbers.tolist()], n_columns=2)
    assert np.array_equal(block.X[:, 0], numbers)


@pytest.mark.parametrize('longest', [20, 300])
def test_pieces_that_pyarrow_takes_do_not_show_even_if_a_line_is_longer(monkeypatch, longest):
    rng = np.random.default_rng(2)
    labels = [letter * (longest if k == 70 else 1 + k % 20) for k, letter in enumerate(rng.choice([*'abc'], 200))]
    numbers = rng.standard_normal(200)
    lines = [f'{label},{number!r}' for label, number in zip(labels, numbers.tolist(), strict=True)]
    monkeypatch.setattr(csv_rows, 'PIECE_BYTES', 64)
    monkeypatch.setattr(csv_rows, 'BYTES_A_COLUMN', 1)
    _, [block] = read(lines, n_columns=2)
    assert labels_of([block]) == labels and np.array_equal(block.X[:, 0], numbers)
    assert block.names == tuple(dict.fromkeys(labels))


@pytest.mark.parametrize('text', ['1', '+1', '-1', '1.', '.5', '1e3', '1E-3', ' 2 ', '"3"', '-0', '00012', '1e-320'])
def test_plain_decimal_numbers_are_read(text):
    _, [block] = read([f'a,{text}'], n_columns=2)
    assert block.X[0, 0] == float(text.strip(' "'))


@pytest.mark.parametrize('label', ['a', 'città', 'Å', 'à', 'naïve', '东京', 'два слова', '+1', '-1', '1_0', "o'b"])
@pytest.mark.parametrize('delimiter', [',', ';', '\t'])
def test_labels_are_utf_8_text_of_any_letters(label, delimiter):
    for text in (label, f'"{label}"', f' {label} '):
        _, blocks = read([f'{text}{delimiter}1'], n_columns=2, delimiter=delimiter)
        assert labels_of(blocks) == [label]


@pytest.mark.parametrize('label', ['città', 'Å', '东京'])
def test_labels_of_any_letters_stand_between_white_space_too(label):
    _, blocks = read([f'{label} \t 1 2', f'  {label}  3 4 '], n_columns=3, delimiter=None)
    assert labels_of(blocks) == [label, label]
    assert blocks[0].X.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    'names, kind',
    [
        (['1', '2'], 'i'),
        (['-1', '+1'], 'i'),
        (['1', '18446744073709551615'], 'u'),
        (['0.5', '1.50'], 'f'),
        (['0.5', '0.50000000000000000001'], 'U'),  # which no float holds
        (['2', '1'], 'U'),
        (['1', '1.0'], 'U'),
        (['1', 'b'], 'U'),
        (['a', 'b'], 'U'),
    ],
)
def test_names_of_classes_are_numbers_where_these_increase_and_one_type_holds_all(names, kind):
    labels, read = read_labels(names), {'i': int, 'u': int, 'f': float, 'U': str}[kind]
    assert labels.dtype.kind == kind and labels.tolist() == list(map(read, names))


def test_quoted_fields_may_hold_the_delimiter_and_doubled_quotes():
    _, blocks = read(['"Smith, J",1,2', '"say ""hi""","3",4', 'plain,5,6'], n_columns=3)
    assert labels_of(blocks) == ['Smith, J', 'say "hi"', 'plain']
    assert blocks[0].X.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize('fields', ['"a",1', 'a,"1"', '"",1', '"a, b",1', '"say ""x""",1', '"""x""",1'])
def test_lines_whose_quotes_enclose_fields_are_left_to_pyarrow(fields):
    line = f'{fields}\n'.encode()
    assert csv_rows.quotes_enclose_fields(line * 2, ',')


@pytest.mark.parametrize('fields', ['"a,1', 'a",1', '"a"b,1', 'x"y"z,1', '""x,1', ' "a",1', '"a" ,1', '"a""b,1'])
def test_lines_with_any_other_quotes_are_looked_at_one_by_one(fields):
    assert not csv_rows.quotes_enclose_fields(f'{fields}\n'.encode(), ',')


def test_carriage_returns_and_line_ends_in_quotes_do_not_make_up_for_each_other():
    reader, blocks = read(['1,"a', 'b",2', '3,4,5\r6,7,8', '9,9,9'], n_columns=3, encode='auto')
    assert labels_of(blocks) == ['9'] and len(reader.rejected) == 3


def test_a_second_carriage_return_at_the_end_of_a_line_belongs_to_the_line_end_behind_a_quote_too():
    reader, [block] = read(['0,1,"2"\r\r', '"1","3","4"\r\r'], n_columns=3, encode='auto')
    assert (len(block), reader.rejected) == (2, [])


def test_a_line_of_a_carriage_return_is_blank():
    reader, [block] = read(['a,1,2', '\r\r', 'b,3,4'], n_columns=3, label_column=None, encode='auto')
    assert (len(block), reader.counts.blank) == (2, 1)


def test_a_table_of_a_known_encoding_is_read_as_numbers_at_once_and_as_text_where_that_fails(monkeypatch):
    encoding = Encoding((Column('x', 'number', mean=9.0, missing=True), Column('y', 'category', categories=('1.50',))))
    read_as_text = []
    monkeypatch.setattr(csv_rows, 'TextColumn', lambda *given: read_as_text.append(given) or TextColumn(*given))
    form = RowOptions('csv', ',', '.', n_columns=3, encode='auto')
    reader = LineReader(form, encoding=encoding, block_rows=3)
    blocks = reader.blocks([b'a,1.50,1.50\nb,,1.5\na,NA,\n', b'a,2,x\nb,True,x\na, NaN ,1.50\n', b'a,4,1.50\n'])
    for rows, n_texts in [
        ([[1.5, 0, 1, 0], [9, 1, 0, 1], [9, 1, 0, 1]], 1),
        ([[2, 0, 0, 1], [1, 0, 0, 1], [9, 1, 1, 0]], 2),
        ([[4, 0, 1, 0]], 2),
    ]:
        read_as_text.clear()
        assert np.array_equal(next(blocks).X.spread(), rows)
        assert len(read_as_text) - 1 == n_texts  # one is the label


def test_a_column_is_known_if_a_block_of_the_split_has_a_known_value():
    encoding = Encoding(tuple(Column(name, 'category', categories=('a',)) for name in 'xyz'))
    reader = LineReader(RowOptions('csv', ',', '.', n_columns=4, encode='auto'), encoding=encoding, block_rows=1)
    assert len(list(reader.blocks([b'0,a,q,q\n1,q,a,q\n0,q,q,q\n']))) == 3
    assert reader.counts.known == ['x', 'y']


def test_quoted_fields_may_stand_between_runs_of_blanks():
    _, blocks = read(['"a b" 1 2 ', ' "c"   3  4'], n_columns=3, delimiter=None)
    assert labels_of(blocks) == ['a b', 'c'] and blocks[0].X.tolist() == [[1, 2], [3, 4]]


def test_windows_line_ends_do_not_count_where_lines_are_looked_at_one_by_one():
    _, [block] = read(['"a" ,1,2\r', 'b,3,4\r'], n_columns=3)
    assert labels_of([block]) == ['a', 'b'] and block.X.tolist() == [[1, 2], [3, 4]]


def test_a_text_among_numbers_with_signs_is_refused_by_the_name_of_its_column():
    reader, blocks = read(['a,$1,2', 'b,x,3', 'c,$4,5'], n_columns=3, styles=((1, '$', '', ''),), names=('cost', 'n'))
    assert np.vstack([block.X for block in blocks]).tolist() == [[1, 2], [4, 5]]
    assert reader.counts.rejected == {'not a number': 1}
    assert csv_rows.diagnose('b,x,3', reader.form).detail.startswith("column 'cost' holds 'x'")


REASONS = [
    ('a,1', 'wrong width'),
    ('a,1,2,3', 'wrong width'),
    ('a', 'wrong width'),
    ('a,1,x', 'not a number'),
    ('a,1,', 'missing value'),
    ('a,,1', 'missing value'),
    ('a,1,nan', 'missing value'),
    ('a,-inf,1', 'nan or infinite'),
    ('a,1e999,1', 'nan or infinite'),
    (',1,2', 'missing label'),
    ('  ,1,2', 'missing label'),
    ('"",1,2', 'missing label'),
    ('nan,1,2', 'missing label'),
    ('"NA",1,2', 'missing label'),
    ('a,1,\0', 'binary data'),
    ('a,1_0,2', 'not a number'),
    ('"a,1,2', 'bad quotes'),
    ('"a"b,1,2', 'bad quotes'),
    ('a,0x10,2', 'not a number'),
    ('a,1 2,3', 'not a number'),
    ('a,"1,2",3', 'not a number'),
    ('a,1,2\x00\x01', 'binary data'),
    ('a,1,2d5', 'not a number'),
    ('a,1\r,2', 'carriage return'),
    ('\ra,1,2', 'carriage return'),
]


@pytest.mark.parametrize('line, reason', REASONS)
def test_a_bad_row_is_refused_with_its_reason_among_good_ones(line, reason):
    reader, blocks = read(['g,1,2', line, 'h,3,4'], n_columns=3)
    assert labels_of(blocks) == ['g', 'h']
    assert [(row.ordinal, row.reason, row.line) for row in reader.rejected] == [(1, reason, line)]


@pytest.mark.parametrize(
    'text, reason',
    [
        ('0', 'weight is not positive'),
        ('-1', 'weight is not positive'),
        ('x', 'not a number'),
        ('inf', 'weight is not positive'),
        ('', 'weight is not positive'),
        ('1_0', 'not a number'),
    ],
)
def test_a_weight_is_a_positive_number(text, reason):
    reader, [block] = read([f'a,1,{text}', 'b,1,2'], n_columns=3, weight_column=2)
    assert [row.reason for row in reader.rejected] == [reason]
    assert block.weights.tolist() == [2.0]


@pytest.mark.parametrize('label, good', [('1.5', True), ('-2', True), ('x', False), ('1_0', False), ('nan', False)])
def test_labels_of_a_regression_are_numbers(label, good):
    reader, blocks = read([f'{label},1'], n_columns=2, numeric_labels=True)
    assert bool(blocks) == good and bool(reader.rejected) != good


def test_a_label_of_other_bytes_than_utf_8_is_refused():
    reader = LineReader(RowOptions('csv', ',', '.', n_columns=2), stop=False)
    assert list(reader.blocks([b'caf\xe9,1\n'])) == []
    assert reader.rejected[0].reason == 'not UTF-8' and reader.rejected[0].line.encode('latin-1') == b'caf\xe9,1'


def test_messages_show_little_and_nothing_that_could_steer_a_terminal():
    assert csv_rows.quote('\x1b[2J') == "'\\x1b[2J'"
    assert len(csv_rows.quote('x' * 10_000)) < 60


@pytest.mark.parametrize('seed', range(12))
def test_a_corrupted_file_keeps_the_rows_that_a_slow_reader_would_keep(seed):
    rng = np.random.default_rng(seed)
    lines = [f'{"abc"[i % 3]},{x:.4g},{y:.4g},{i}' for i, (x, y) in enumerate(rng.standard_normal((60, 2)) * 100)]
    lines = corrupted(lines, list('0123456789.,,+-eE_ "xn\0\x1c'), rng)
    rows, bad = twin.salvage(lambda line: twin.csv_row(line, ',', 4), lines)
    reader, blocks = read(lines, n_columns=4, delimiter=',')
    found = [row for block in blocks for row in block.X.tolist()]
    assert [row.ordinal for row in reader.rejected] == bad
    assert list(zip(labels_of(blocks), found, strict=True)) == rows
    assert 0 < len(bad) < len(lines)


def corrupted(lines, alphabet, rng):
    text = [list(line) for line in lines]
    for _ in range(60):
        line = text[rng.integers(len(text))]
        line[rng.integers(len(line)) :][:1] = []
        line[rng.integers(len(line))] = rng.choice(alphabet)
        line.insert(rng.integers(len(line)), rng.choice(alphabet))
    return [''.join(line) for line in text]
