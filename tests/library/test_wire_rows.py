"""Lines of blocks between stages: they come back bit for bit, with the records about their rows."""

import numpy as np
import pytest

from mr_elm.errors import DataFormatError
from mr_elm.rows.inputs import sniff
from mr_elm.rows.options import RowOptions
from mr_elm.rows.wire import WireProtocol, make_key
from mr_elm.rows.wire_rows import WireReader, write_block

X = np.array([[-0.0, 5e-324], [1.5, 1e308], [2, 3]])
COUNTS = WireProtocol().write(make_key('counts', 0, 7), {'used': 3})


def read(*lines, **place):
    reader = WireReader(RowOptions('wire'), 'part-0', **place)
    return list(reader.blocks([b''.join(line + b'\n' for line in lines)])), reader


def test_blocks_records_and_counts_come_back():
    (first, second), reader = read(write_block(X, 'U', 4), COUNTS, write_block(X[:1]))
    assert first.X.tobytes() == X.tobytes() and first.names == ('U 000000000004',) and not first.codes.any()
    assert second.X.tobytes() == X[:1].tobytes() and not second.labelled
    assert reader.packing == [{'kind': 'counts', 'place': [0, 7], 'used': 3}]
    assert (reader.counts.records, reader.counts.lines, reader.counts.used) == (3, 4, 4)


def test_the_lines_of_rows_are_counted_through_all_blocks():
    reader = WireReader(RowOptions('wire'), 'part-0')
    lines = [write_block(X) + b'\n', COUNTS + b'\n', write_block(X[:2]) + b'\n']
    assert [[*reader.row_lines] for block in reader.read(lines) if block] == [[0, 1, 2], [3, 4]]


@pytest.mark.parametrize('line', [write_block(X, 1), COUNTS])
def test_their_first_line_tells_what_they_are(line):
    assert sniff([line.decode()], 'rows.csv', RowOptions(), 0).kind == 'wire'


@pytest.mark.parametrize(
    'bad',
    [
        b'1,2,3',
        write_block(X)[:-9] + b'0' * 9,
        write_block(X).replace(b'block', b'blocl'),
        WireProtocol().write('block', [X, X]),
        WireProtocol().write('block', [X[0]]),
    ],
)
def test_a_damaged_line_is_named(bad):
    with pytest.raises(DataFormatError, match='part-0, record 2 behind byte 77: '):
        read(write_block(X), bad, start=77)


@pytest.mark.parametrize('place', [('a',), ('9' * 5000,)])
def test_a_record_whose_place_is_no_number_is_named(place):
    with pytest.raises(DataFormatError, match=r'part-0, record 1 behind byte 0: expected rows \('):
        read(WireProtocol().write(make_key('counts', *place), {'used': 3}))
