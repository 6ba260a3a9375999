"""Lines become blocks: every line is accounted for, and good rows survive among bad ones."""

from dataclasses import replace

import numpy as np
import pytest

from mr_elm.rows.kinds import find_kind
from mr_elm.rows.lines import LineReader, group_lines, split_chunk
from mr_elm.rows.options import RowOptions

FORM = RowOptions('csv', ',', '.', n_columns=3)


def read(data, form=FORM, start=0, chunk=1 << 20, **options):
    reader = LineReader(form, 'f.csv', start, **options)
    lines = data.splitlines(keepends=True)
    chunks = [b''.join(lines[i : i + chunk]) for i in range(0, len(lines), chunk)]
    return reader, list(reader.blocks(chunks))


def rows_of(blocks):
    return [(block.names[code], *row) for block in blocks for code, row in zip(block.codes, block.X, strict=True)]


def accounted(counts):
    return counts.headers + counts.comments + counts.blank + counts.used + counts.rejected.total()


@pytest.mark.parametrize('chunk', [1, 3, 100])
@pytest.mark.parametrize('block_rows', [1, 4, 29, 30])
def test_blocks_hold_all_rows_in_order_and_the_last_may_be_short(chunk, block_rows):
    data = b''.join(b'%d,%d,%d\n' % (i % 3, i, -i) for i in range(29))
    _, blocks = read(data, chunk=chunk, block_rows=block_rows)
    full, rest = divmod(29, block_rows)
    assert [len(block) for block in blocks] == [block_rows] * full + [rest] * (rest > 0)
    assert rows_of(blocks) == [(str(i % 3), i, -i) for i in range(29)]


@pytest.mark.parametrize(
    'data',
    [
        b'a,1,2\r\nb,3,4\r\n',
        b'a,1,2\nb,3,4',
        b'\xef\xbb\xbfa,1,2\nb,3,4\n',
        b'\n\na,1,2\n  \n\t\nb,3,4\n\n',
        b'a,1,2\r\n\r\nb,3,4',
        b' a , 1,2 \n"b","3", 4\n',
    ],
)
def test_line_ends_byte_order_marks_and_blank_lines_leave_the_rows_as_they_are(data):
    reader, blocks = read(data)
    assert rows_of(blocks) == [('a', 1, 2), ('b', 3, 4)]
    lines = data.count(b'\n') + (not data.endswith(b'\n'))
    assert reader.counts.lines == reader.counts.records == accounted(reader.counts) == lines


def test_a_byte_order_mark_in_front_of_a_line_is_dropped_whatever_the_split():
    mark = b'\xef\xbb\xbf'
    _, whole = read(mark + b'a,1,2\n' + mark + b'b,3,4\n')
    _, second = read(mark + b'b,3,4\n', start=7)
    assert rows_of(whole) == [('a', 1, 2), ('b', 3, 4)]
    assert rows_of(second) == rows_of(whole)[1:]


@pytest.mark.parametrize('above', [b'', b'\n', b' \r\n\n'])
def test_the_header_is_the_first_line_that_is_not_blank(above):
    reader, blocks = read(above + b'label,x,y\na,1,2\n', RowOptions('csv', ',', '.', n_columns=3, header=True))
    assert rows_of(blocks) == [('a', 1, 2)]
    assert (reader.counts.headers, reader.counts.blank) == (1, above.count(b'\n'))


def test_only_the_split_at_the_start_of_a_file_has_its_header():
    reader, blocks = read(b'a,1,2\nb,3,4\n', RowOptions('csv', ',', '.', n_columns=3, header=True), start=50)
    assert len(rows_of(blocks)) == 2 and reader.counts.headers == 0


@pytest.mark.parametrize('start, headers', [(0, 1), (1, 1), (49, 1), (50, 0), (51, 0)])
def test_blank_lines_above_the_header_may_fill_whole_splits(start, headers):
    form = RowOptions('csv', ',', '.', n_columns=3, header=True, blank_bytes=50)
    reader, blocks = read(b'\n\n' + b'label,x,y\n' * headers + b'a,1,2\n', form, start)
    assert rows_of(blocks) == [('a', 1, 2)] and reader.counts.headers == headers


def test_an_empty_split_yields_nothing():
    reader, blocks = read(b'')
    assert blocks == [] and reader.counts.lines == 0
    assert read(b'\n \n')[1] == []


def test_skipping_keeps_exactly_the_good_rows_of_a_mixed_block():
    rng = np.random.default_rng(0)
    good = rng.random(500) < 0.8
    lines = [b'%d,%d,%d' % (i % 3, i, i) if ok else b'%d,%d,x' % (i, i) for i, ok in enumerate(good)]
    reader, blocks = read(b'\n'.join(lines), stop=False, block_rows=64)
    assert rows_of(blocks) == [(str(i % 3), i, i) for i in np.flatnonzero(good)]
    assert [row.ordinal for row in reader.rejected] == list(np.flatnonzero(~good))
    assert [row.line for row in reader.rejected] == [lines[i].decode() for i in np.flatnonzero(~good)]
    assert reader.counts.lines == 500 == accounted(reader.counts)
    assert reader.counts.rejected == {'not a number': (~good).sum()}


def test_weights_stay_with_their_rows_where_others_are_left_out():
    weights = np.random.default_rng(1).permutation(100) + 1.0
    lines = [b'%d,%g,%s' % (i % 3, weight, b'x' if i % 7 == 3 else b'%d' % i) for i, weight in enumerate(weights)]
    form = RowOptions('csv', ',', '.', n_columns=3, weight_column=1)
    _, blocks = read(b'\n'.join(lines), form, stop=False, block_rows=64)
    good = np.flatnonzero(np.arange(100) % 7 != 3)
    assert rows_of(blocks) == [(str(i % 3), i) for i in good]
    assert np.concatenate([block.weights for block in blocks]).tolist() == weights[good].tolist()


def test_a_block_of_bad_rows_alone_yields_nothing():
    reader, blocks = read(b'a,x,1\nb,y,1\nc,3,4\n', stop=False, block_rows=2)
    assert [len(block) for block in blocks] == [1] and len(reader.rejected) == 2


def test_stopping_names_the_first_bad_row_alone_and_reads_no_further():
    reader, blocks = read(b'a,1,2\n' * 6 + b'a,x,2\na,1,y\n' + b'a,1,2\n' * 50, block_rows=4, stop=True)
    assert [len(block) for block in blocks] == [4]
    assert [(row.ordinal, row.reason) for row in reader.rejected] == [(6, 'not a number')]


def test_labels_that_first_appear_behind_a_bad_row_keep_their_rows():
    _, blocks = read(b'a,1,2\nb,1\nc,3,4\na,5,6\nd,7,8\n', stop=False)
    assert rows_of(blocks) == [('a', 1, 2), ('c', 3, 4), ('a', 5, 6), ('d', 7, 8)]


@pytest.mark.parametrize(
    'data, lines',
    [
        (b'a\nb\n', ['a', 'b']),
        (b'a\n\nb', ['a', '', 'b']),
        (b'\n', ['']),
        (b'a\r\nb\r\n', ['a', 'b']),
        (b'', []),
        (b'\xe9\n', ['\xe9']),
    ],
)
def test_a_chunk_splits_at_its_line_ends(data, lines):
    assert split_chunk(data) == lines


def test_long_lines_are_grouped_by_size_and_none_is_lost(monkeypatch):
    monkeypatch.setattr('mr_elm.rows.lines.MAX_TEXT', 100)
    chunks = [b'%d' % i * 60 + b'\n' for i in range(7)]
    groups = list(group_lines(chunks, 1000))
    assert len(groups) == 4
    assert b''.join(groups) == b''.join(chunks)


@pytest.mark.parametrize('every', [2, 7])
def test_a_block_is_parsed_three_times_at_most_however_many_of_its_rows_are_bad(monkeypatch, every):
    lines = b''.join(b'a,%d,%s\n' % (i, b'' if i % every == 0 else b'1') for i in range(200))
    reader, parsed = LineReader(FORM, 'f.csv', stop=False), []
    kind = find_kind(FORM.kind)
    watched = replace(kind, parse=lambda text, form: parsed.append(text) or kind.parse(text, form))
    monkeypatch.setattr('mr_elm.rows.lines.find_kind', lambda name: watched)
    assert sum(map(len, reader.blocks([lines]))) == 200 - len(reader.rejected) == 200 - -(-200 // every)
    assert len(parsed) == 3
