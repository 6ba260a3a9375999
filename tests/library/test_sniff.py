"""The first lines of a file decide how all of it is read."""

import re
from argparse import ArgumentTypeError

import numpy as np
import pytest

from mr_elm.errors import DataFormatError
from mr_elm.rows.inputs import sniff, take_first_lines
from mr_elm.rows.options import (
    RowOptions,
    read_charset,
    read_columns,
    read_delimiter,
    read_header,
    read_separator,
    read_texts,
)
from mr_elm.rows.wire_rows import write_block


def sniffed(data, path='rows', **options):
    data = data if isinstance(data, bytes) else data.encode()
    lines, blank_bytes = take_first_lines([data])
    return sniff(lines, path, RowOptions(**options), blank_bytes)


@pytest.mark.parametrize('delimiter', [',', '\t', ';', '|', ' ', '   '])
@pytest.mark.parametrize('header', [True, False])
def test_delimiter_width_and_header_are_found(delimiter, header):
    rows = [['class', 'first', 'second']] * header + [['a', '1.5', '-2'], ['b', '3', '1e5']]
    form = sniffed('\n'.join(delimiter.join(row) for row in rows))
    assert (form.kind, form.delimiter, form.header, form.n_columns) == ('csv', delimiter.strip(' ') or None, header, 3)


@pytest.mark.parametrize('delimiter', [';', '\t', '|', ' '])
def test_quoted_fields_do_not_hide_the_delimiter(delimiter):
    rows = [['"fixed acidity"', '"p, H"'], ['"a"', '1'], ['"b"', '2']]
    form = sniffed('\n'.join(delimiter.join(row) for row in rows))
    assert (form.delimiter, form.header, form.n_columns) == (None if delimiter == ' ' else delimiter, True, 2)


@pytest.mark.parametrize(
    'data, header',
    [
        ('a,b\n1,2\n', True),
        ('1,2\n3,4\n', False),
        ('cat,2\ndog,4\n', False),
        ('label,x\ncat,1\n', True),
        ('\ufefflabel,x\n1,2\n', True),
        ('\n\nlabel,x\n1,2\n', True),
        ('"label","x"\n1,2\n', True),
        ('nan,1\n1,2\n', False),
    ],
)
def test_a_header_is_a_first_line_without_numbers_above_numbers(data, header):
    assert sniffed(data).header is header


@pytest.mark.parametrize(
    'known, header', [({}, False), ({'names': ('city', 'size')}, True), ({'label_column': 'y'}, True)]
)
def test_a_first_line_with_the_known_names_is_a_header_above_text_too(known, header):
    assert sniffed('y,city,size\na,Oslo,big\nb,Rome,small\n', encode='auto', **known).header is header


def test_a_line_with_bytes_of_zero_is_left_to_the_tasks_where_others_are_text():
    assert sniffed('y,a\n1,2\n1,\0\n3,4\n').n_columns == 2
    for data in ('\0y,a\n1,2\n3,4\n', 'y,a\n1,\0\n2,\0\n'):
        with pytest.raises(DataFormatError, match='found binary data'):
            sniffed(data)


@pytest.mark.parametrize('answer', [True, False])
def test_the_user_knows_better_whether_there_is_a_header(answer):
    assert sniffed('1,2\n3,4\n', header=answer).header is answer


@pytest.mark.parametrize(
    'column, place', [(0, 0), (2, 2), (-1, 2), (-3, 0), ('1', 1), ('-1', 2), ('x', 0), ('Größe', 1), ('class', 2)]
)
def test_the_label_column_is_a_position_from_either_end_or_a_name(column, place):
    assert sniffed('x,Größe,class\n1,2,a\n3,4,b\n', label_column=column).label_column == place


@pytest.mark.parametrize('column', [3, -4, 'X', 'weight'])
@pytest.mark.parametrize('what', ['label_column', 'weight_column'])
def test_a_column_that_is_not_there_is_named(column, what):
    with pytest.raises(DataFormatError, match=f'rows: .*{column}'):
        sniffed('x,y,class\n1,2,a\n', **{what: column})
    with pytest.raises(DataFormatError, match='no header' if isinstance(column, str) else str(column)):
        sniffed('1,2,3\n1,2,4\n', **{what: column})


def test_weight_column_and_rows_without_labels():
    form = sniffed('y,w,x\n1,2,3\n', weight_column='w')
    assert (form.label_column, form.weight_column, form.width) == (0, 1, 1)
    form = sniffed('y,w,x\n1,2,3\n', labelled=False)
    assert (form.label_column, form.width) == (None, 3)


def test_label_and_weight_are_two_columns():
    with pytest.raises(DataFormatError, match='one is given twice'):
        sniffed('1,2,3\n1,2,4\n', weight_column=0)


@pytest.mark.parametrize(
    'data, path, kind',
    [
        ('1 1:2 3:4\n', 'rows', 'libsvm'),
        ('1\n-1 3:4\n', 'rows', 'libsvm'),
        ('1,2\n3,4\n', 'rows', 'csv'),
        ('1 2\n3 4\n', 'rows', 'csv'),
        ('1\n2\n', 'a.svm', 'libsvm'),
        ('1\n2\n', 'a.LIBSVM.gz', 'libsvm'),
        ('1 1:2\n2 2:3\n', 'rows.csv', 'csv'),
        (write_block(np.ones((1, 2))).decode(), 'rows.csv', 'wire'),
    ],
)
def test_kinds_are_told_apart_by_content_and_name(data, path, kind):
    assert sniffed(data, path).kind == kind


def test_the_user_may_say_the_kind():
    assert sniffed('1 1:2\n', kind='csv').kind == 'csv'
    assert sniffed('1,2\n2,3\n', 'x.csv', kind='libsvm', n_features=7).n_features == 7


@pytest.mark.parametrize(
    'data, message',
    [
        (b'\x7fELF\0\0', 'binary'),
        ('a,b\n', 'only a header'),
        ('1\n2\n', 'at least one feature'),
        ('"a,1\n"b,2\n', 'bad quotes'),
        ('1,2,3\n4,5,6\n', 'expected rows of 5 features, found rows of 2'),
    ],
)
def test_what_holds_no_rows_is_refused_by_name(data, message):
    with pytest.raises(DataFormatError, match=f'rows: .*{message}'):
        sniffed(data, n_features=5 if 'rows of 5' in message else None)


def test_one_column_too_few_or_many_hints_at_the_label():
    with pytest.raises(DataFormatError, match='--no-label'):
        sniffed('1,2,3\n4,5,6\n', n_features=3)
    with pytest.raises(DataFormatError, match='expected rows of 2 features, found rows of 3'):
        sniffed('1,2,3\n4,5,6\n', n_features=2, labelled=False)


def test_first_lines_are_the_first_that_are_not_blank(monkeypatch):
    chunks = [b'\xef\xbb\xbf\n \na\n', b'\n\r\nb\nc\n', b'd\n']
    assert take_first_lines(chunks) == (['a', 'b', 'c', 'd'], 6)
    assert take_first_lines([b'\n \n', b'\r\n  a\n', b'\nb\n']) == (['  a', 'b'], 5)
    monkeypatch.setattr('mr_elm.rows.inputs.MAX_LINES', 2)
    assert take_first_lines(chunks) == (['a', 'b'], 6)


def test_of_lines_of_megabytes_three_are_enough():
    chunks = iter([b'1' + b',1' * 1_200_000 + b'\n'] * 50)
    lines, _ = take_first_lines(chunks)
    assert len(lines) == 3 and len(list(chunks)) == 47


def test_a_format_survives_json():
    form = RowOptions('csv', None, '.', header=True, n_columns=5, positions=(0, 4), numeric_labels=True)
    assert RowOptions.from_json(form.to_json()) == form


def test_names_that_are_numbers_make_a_header_when_the_label_alone_says_so():
    lines = ['label,0,1,2', '1,0.5,2,3', '0,0.5,2,3']
    assert sniff(lines, 'rows.csv', RowOptions()).header
    assert not sniff(['a,0,1,2', '1,0.5,2,3', 'b,1,2,3'], 'rows.csv', RowOptions()).header


def test_a_word_among_the_features_of_the_first_row_makes_no_header():
    assert not sniff(['1,two,3', '1,2,3', '0,2,3'], 'rows.csv', RowOptions()).header


def test_a_named_column_asks_for_a_header():
    form = sniff(['1,y,2', '1,0,2'], 'rows.csv', RowOptions(label_column='y'))
    assert form.header and form.label_column == 1


@pytest.mark.parametrize('names', ['label,x', 'label,x,y,z'])
def test_a_header_of_another_width_than_the_rows_is_refused(names):
    with pytest.raises(DataFormatError, match=r'f\.csv: expected a header line of 3 names'):
        sniff([names, '1,2,3', '2,3,4'], 'f.csv', RowOptions())


@pytest.mark.parametrize(
    'reader, text, value',
    [
        (read_header, 'auto', None),
        (read_header, 'yes', True),
        (read_header, 'no', False),
        (read_delimiter, 'auto', 'auto'),
        (read_delimiter, 'space', None),
        (read_delimiter, 'tab', '\t'),
        (read_delimiter, '\\t', '\t'),
        (read_delimiter, ';', ';'),
        (read_charset, 'utf8', None),
        (read_charset, 'ASCII', None),
        (read_charset, 'Latin-1', 'iso8859-1'),
        (read_separator, ' ; ', ';'),
        (read_columns, 'a, "b,c",2', ('a', 'b,c', '2')),
        (read_texts, '', ('',)),
        (read_texts, 'none, "a,b" ,', ('none', 'a,b', '')),
    ],
)
def test_the_command_line_says_how_rows_are_written(reader, text, value):
    assert reader(text) == value


@pytest.mark.parametrize(
    'reader, text, message',
    [
        (read_header, 'maybe', 'one of auto, yes, no'),
        (read_delimiter, ', ', 'one character of ASCII but a quote, tab or space'),
        (read_delimiter, '"', 'one character of ASCII but a quote, tab or space'),
        (read_delimiter, 'ä', 'one character of ASCII but a quote, tab or space'),
        (read_delimiter, '\n', 'one character of ASCII but a quote, tab or space'),
        (read_charset, 'klingon', 'the name of an encoding of text, such as cp1252'),
        (read_charset, 'base64', 'the name of an encoding of text, such as cp1252'),
        (read_separator, ' ', 'a character that stands between labels, such as ";"'),
        (read_columns, '', 'names or indexes of columns, with commas between'),
        (read_columns, 'a,,b', 'names or indexes of columns, with commas between'),
    ],
)
def test_what_says_nothing_of_rows_is_refused_with_what_was_expected(reader, text, message):
    with pytest.raises(ArgumentTypeError, match=f'^expected {re.escape(message)}, found {re.escape(repr(text))}$'):
        reader(text)


def test_a_category_is_a_feature():
    data = 'y,a,b\nx,1,2\nz,3,4\n'
    assert sniffed(data, category=('b', 'a'), encode='auto').header
    for column in ('y', '0'):
        with pytest.raises(DataFormatError, match="expected columns that are features, --category names column 'y'"):
            sniffed(data, category=(column,), encode='auto')


@pytest.mark.parametrize('label, header', [(0, True), (3, False)])
def test_a_label_that_is_text_above_numbers_makes_a_header_whatever_the_features_are_called(label, header):
    data = 'y,7,3,9\n' + ''.join(f'{k % 2},{k * 5 % 7},{k * 3 % 8},{k * k % 11}\n' for k in range(20))
    assert sniffed(data, label_column=label).header is header


@pytest.mark.parametrize(
    'names, idle',
    [(',y,x', (0,)), ('Unnamed: 0.2,Unnamed: 0.1,Unnamed: 0,,y,x', (0, 1, 2, 3)), (',y', ()), ('y,,x', ())],
)
def test_columns_that_number_the_rows_are_left_out_unless_label_and_feature_need_them(names, idle):
    width = names.count(',') + 1
    rows = (','.join([str(k)] * (width - 2) + [str(k % 3), f'{k % 7}.5']) for k in range(20))
    assert sniffed('\n'.join([names, *rows])).idle == idle
