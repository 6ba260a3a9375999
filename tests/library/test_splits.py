"""Splits: every line of a file belongs to exactly one, by Hadoop's rule; compressed files are read to their end."""

import bz2
import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.lines import hadoop_split

from mr_elm.errors import DataFormatError
from mr_elm.rows import splits as splits
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.options import RowOptions
from mr_elm.rows.splits import SplitReader, find_ending, find_file, hadoop_cuts, plan_splits, read_stream

FILES = {
    'plain': b'1,2\n3,4\n5,6\n',
    'no last line end': b'1,2\n3,4\n5',
    'crlf': b'1,2\r\n3,4\r\n5\r\n',
    'empty lines': b'\n\n1\n\n\n2\n\n',
    'one line': b'123456789',
    'one line, ended': b'123456789\n',
    'a long line': b'1\n' + b'2' * 20 + b'\n3\n',
    'nothing': b'',
    'a line end': b'\n',
    'crlf, none last': b'a\r\n\r\nb',
}
ROWS = [b'%d,%d\n' % (i, i * i) for i in range(3000)]


def read_split(path, start=0, length=None):
    with open(path, 'rb') as stream:
        yield from read_stream(stream, str(path), start, length)


def lines_of(path, start=0, length=None):
    return b''.join(read_split(path, start, length)).splitlines(keepends=True)


@pytest.mark.parametrize('name', FILES)
@pytest.mark.parametrize('chunk', [1, 3, 1 << 20])
def test_every_line_belongs_to_exactly_one_split_for_any_two_cuts(name, chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(splits, 'CHUNK_BYTES', chunk)
    path, data = tmp_path / 'rows', FILES[name]
    path.write_bytes(data)
    for a, b in itertools.combinations_with_replacement(range(len(data) + 1), 2):
        pieces = [(start, stop - start) for start, stop in [(0, a), (a, b), (b, len(data))] if stop > start]
        found = [b''.join(read_split(path, *piece)) for piece in pieces]
        assert found == [b''.join(hadoop_split(data, *piece)) for piece in pieces], (a, b)
        assert b''.join(found) == data


@pytest.mark.parametrize('chunk', [1, 2, 5, 100])
def test_chunks_end_with_whole_lines(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(splits, 'CHUNK_BYTES', chunk)
    path = tmp_path / 'rows'
    path.write_bytes(b''.join(ROWS[:50]))
    chunks = list(read_split(path))
    assert b''.join(chunks) == b''.join(ROWS[:50]) and all(piece.endswith(b'\n') for piece in chunks)


def test_a_split_behind_the_end_of_the_file_is_empty(tmp_path):
    (tmp_path / 'rows').write_bytes(b'1\n2\n')
    assert lines_of(tmp_path / 'rows', 4, 10) == lines_of(tmp_path / 'rows', 100, 10) == []


COMPRESS = {'.gz': gzip.compress, '.bz2': bz2.compress}


@pytest.mark.parametrize('ending', COMPRESS)
@pytest.mark.parametrize('cuts', [(), (1,), (1000, 2000), (0, 0, 7, 3000)])
def test_a_compressed_file_is_read_to_its_last_member(ending, cuts, tmp_path):
    path = tmp_path / f'rows{ending}'
    parts = [ROWS[a:b] for a, b in itertools.pairwise([0, *cuts, len(ROWS)])]
    path.write_bytes(b''.join(COMPRESS[ending](b''.join(part)) for part in parts))
    assert find_ending(path) == ending and lines_of(path) == ROWS


@pytest.mark.parametrize('ending', ['', *COMPRESS])
def test_the_bytes_that_are_counted_are_those_of_the_file(ending, tmp_path):
    """So the share that is done is that of the rows, compressed or not."""
    path, rng, counted = tmp_path / f'rows.csv{ending}', np.random.default_rng(0), []
    text = ''.join(f'{a:.17g},{b:.17g}\n' for a, b in rng.normal(size=(300_000, 2)))
    path.write_bytes(COMPRESS.get(ending, bytes)(text.encode()))
    form = RowOptions('csv', n_columns=2, delimiter=',')
    plan = InputPlan([InputFile(str(path), path.stat().st_size, form)])
    for n, _ in enumerate(SplitReader(plan, None, True, 4096).read(0, 0, path.stat().st_size, counted.append)):
        assert n == len(counted) - 1
    assert n > 1 and sum(counted) == pytest.approx(path.stat().st_size, rel=0.01)
    assert max(counted) < sum(counted) / 4


@pytest.mark.parametrize('ending', COMPRESS)
def test_a_line_may_go_on_in_the_next_member(ending, tmp_path):
    path = tmp_path / f'rows{ending}'
    path.write_bytes(COMPRESS[ending](b'1,2\n3,') + COMPRESS[ending](b'4\n5'))
    assert lines_of(path) == [b'1,2\n', b'3,4\n', b'5']


@pytest.mark.parametrize('ending', COMPRESS)
def test_a_cut_file_is_an_error_wherever_it_is_cut(ending, tmp_path):
    path = tmp_path / f'rows{ending}'
    first, second = COMPRESS[ending](b''.join(ROWS[:40])), COMPRESS[ending](b''.join(ROWS[40:80]))
    for length in range(1, len(first + second)):
        path.write_bytes((first + second)[:length])
        if length == len(first):
            assert lines_of(path) == ROWS[:40]
            continue
        with pytest.raises(DataFormatError, match='cut short or damaged'):
            lines_of(path)


@pytest.mark.parametrize('ending', COMPRESS)
@pytest.mark.parametrize('member', [0, 1])
def test_damage_never_loses_rows_silently_in_any_member(ending, member, tmp_path):
    path = tmp_path / f'rows{ending}'
    members = [COMPRESS[ending](b''.join(ROWS[:40])), COMPRESS[ending](b''.join(ROWS[40:80]))]
    for place in range(0, len(members[member]), 3):
        damaged = [bytearray(part) for part in members]
        damaged[member][place] ^= 0x55
        path.write_bytes(b''.join(damaged))
        try:
            assert lines_of(path) == ROWS[:80]  # a byte of the header that says nothing about the rows
        except DataFormatError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize('ending', COMPRESS)
def test_what_is_not_compressed_is_no_compressed_file(ending, tmp_path):
    (tmp_path / f'rows{ending}').write_bytes(b'1,2\n3,4\n')
    with pytest.raises(DataFormatError):
        lines_of(tmp_path / f'rows{ending}')


@pytest.mark.parametrize('ending', COMPRESS)
def test_an_empty_compressed_file_has_no_lines(ending, tmp_path):
    (tmp_path / f'rows{ending}').write_bytes(b'')
    assert lines_of(tmp_path / f'rows{ending}') == []


@pytest.mark.parametrize('name', ['rows', 'rows.gz', 'rows.bz2'])
def test_a_missing_file_is_said_to_be_missing(name, tmp_path):
    with pytest.raises(FileNotFoundError):
        lines_of(tmp_path / name)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(1, 40))
def test_tasks_share_all_bytes_in_order_and_none_has_more_than_its_share(sizes, n_maps):
    files = [InputFile(f'part-{number}', size, RowOptions('csv')) for number, size in enumerate(sizes)]
    tasks = plan_splits(InputPlan(files), n_maps)
    share = -(-sum(sizes) // n_maps)
    assert len(tasks) <= n_maps
    assert all(0 < sum(length for *_, length in task) <= share for task in tasks)
    pieces = [piece for task in tasks for piece in task]
    assert all(length > 0 for *_, length in pieces)
    taken = [(number, byte) for number, start, length in pieces for byte in range(start, start + length)]
    assert taken == [(number, byte) for number, size in enumerate(sizes) for byte in range(size)]


@pytest.mark.parametrize(
    'uri, number',
    [
        ('hdfs:///a/rows.csv', 0),
        ('hdfs://name-node:9000/a/rows.csv', 0),
        ('hdfs:///a/the%20other.csv', 1),
        ('s3a://bucket/b/rows.csv', 2),
        ('file:/c/rows.csv', 3),
        ('file:///c/rows.csv', 3),
    ],
)
def test_a_file_is_found_by_what_hadoop_calls_it(uri, number):
    names = ['hdfs:///a/rows.csv', 'hdfs:///a/the other.csv', 's3://bucket/b/rows.csv']
    files = [InputFile(name, 1, RowOptions('csv')) for name in names]
    files.append(InputFile('rows.csv', 1, RowOptions('csv'), uri='file:///c/rows.csv'))
    assert find_file(files, uri) == number
    with pytest.raises(DataFormatError, match='hdfs:///rows.csv: expected one of the planned input files'):
        find_file(files, 'hdfs:///rows.csv')


@pytest.mark.parametrize(
    'path, charset, reads',
    [
        ('rows.csv', None, True),
        ('rows.csv.gz', None, True),
        ('rows.csv.bz2', None, True),
        ('rows.csv.zst', None, False),
        ('rows.zip', None, False),
        ('rows.csv', 'utf-16', False),
        ('rows.csv.gz', 'cp1252', False),
    ],
)
def test_hadoop_reads_lines_of_utf_8_also_of_archives_that_it_knows(path, charset, reads):
    assert hadoop_cuts(path, charset) == reads
