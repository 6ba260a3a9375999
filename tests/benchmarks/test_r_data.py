"""Data that R has saved: rows and labels of every form are read, of every compression, and nothing else."""

import bz2
import gzip
import lzma
import struct

import pytest

from benchmarks.public.convert import Recipe, to_libsvm
from benchmarks.public.r_data import read_rows
from mr_elm.errors import DataFormatError

ROWS = [['a', '1:1.5'], ['b', '1:0.25', '2:-3.0']]


# A writer of R's serialization, from chapter 1.8 of R Internals


def item(kind, body, attributes=None):
    """Write an item of a kind, with attributes."""
    flags = kind | (0x200 if attributes else 0) | (0x100 if 'class' in (attributes or {}) else 0)
    return struct.pack('>i', flags) + body + (pairs(attributes) if attributes else b'')


def text(word):
    return item(9, struct.pack('>i', len(word)) + word.encode())


def pairs(named):
    """Write a list of pairs, each name as a new symbol."""
    written = (struct.pack('>i', 2 | 0x400) + item(1, text(name)) + value for name, value in named.items())
    return b''.join(written) + struct.pack('>i', 254)


def numbers(values, code='d', **attributes):
    return item(14 if code == 'd' else 13, struct.pack(f'>i{len(values)}{code}', len(values), *values), attributes)


def strings(*words):
    return item(16, struct.pack('>i', len(words)) + b''.join(map(text, words)))


def named_list(parts, **attributes):
    body = struct.pack('>i', len(parts)) + b''.join(parts.values())
    return item(19, body, {'names': strings(*parts), **attributes})


def frame(**columns):
    return named_list(columns, **{'class': strings('data.frame'), 'row.names': strings('1', '2')})


def save(**objects):
    """Write objects as R's save does, version 2."""
    return b'RDX2\nX\n' + struct.pack('>3i', 2, 0x30000, 0x20300) + pairs(objects)


FACTOR = numbers([1, 2], 'i', levels=strings('a', 'b'), **{'class': strings('factor')})
X = numbers([1.5, 0.25, 0.0, -3.0], dim=numbers([2, 2], 'i'))  # column by column
SPARSE = item(
    25,
    b'',
    {
        'ra': numbers([1.5, 0.25, -3.0]),
        'ja': numbers([1, 1, 2], 'i'),
        'ia': numbers([1, 2, 4], 'i'),
        'dimension': numbers([2, 2], 'i'),
        'class': strings('matrix.csr'),
    },
)


@pytest.mark.parametrize(
    'name, value',
    [
        ('dense', named_list({'x': X, 'y': FACTOR})),
        ('sparse', named_list({'X': SPARSE, 'Y': FACTOR})),
        ('frame', frame(p=numbers([1.5, 0.25]), q=strings('0', '-3'), kind=FACTOR)),
    ],
)
def test_rows_of_every_form_are_read(name, value):
    assert list(read_rows(save(**{name: value}))) == ROWS


def test_a_matrix_has_its_labels_first():
    matrix = numbers([7.0, 8.0, 1.5, 0.25, 0.0, -3.0], dim=numbers([2, 3], 'i'))
    assert list(read_rows(save(matrix=matrix))) == [['7', *ROWS[0][1:]], ['8', *ROWS[1][1:]]]


def test_objects_are_read_in_the_order_asked_for():
    other = numbers([9.0, 2.0], dim=numbers([1, 2], 'i'))
    content = save(test=other, unused=text('words'), train=named_list({'x': X, 'y': FACTOR}))
    assert list(read_rows(content, ('train', 'test'))) == [*ROWS, ['9', '1:2.0']]


@pytest.mark.parametrize('compress', [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_data_of_r_become_text_whatever_compresses_them(compress):
    content = compress(save(data=named_list({'x': X, 'y': FACTOR})))
    recipe = Recipe('libsvm', {'a': '+1', 'b': '-1'}, label_column=0)
    assert to_libsvm(content, recipe) == b'+1 1:1.5\n-1 1:0.25 2:-3\n'


@pytest.mark.parametrize(
    'content',
    [
        save(data=strings('no', 'rows')),
        save(data=named_list({'x': X, 'y': FACTOR}))[:-40],
        save(data=item(24, b'\0' * 8)),
    ],
    ids=['words', 'cut', 'unknown type'],
)
def test_other_data_are_refused(content):
    with pytest.raises(DataFormatError, match='rows and labels that R has saved'):
        list(read_rows(content))


@pytest.mark.parametrize('compress', [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_that_is_cut_short_is_refused(compress):
    content = compress(save(data=named_list({'x': X, 'y': FACTOR})))[:-20]
    with pytest.raises(DataFormatError, match='rows and labels that R has saved'):
        to_libsvm(content, Recipe('libsvm', ()))
