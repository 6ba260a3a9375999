"""The wire: arrays and keys come out of a shuffle with the bits they went in with."""

import struct
import zlib

import numpy as np
import pytest

from mr_elm.errors import DataFormatError
from mr_elm.rows.wire import WireProtocol, decode_arrays, encode_arrays, make_key, split_key

WIRE = WireProtocol()
DENORMAL = 5e-324
VALUES = [
    [np.array([0.0, -0.0, DENORMAL, -DENORMAL, 1.7976931348623157e308, np.inf, -np.inf, np.nan])],
    [np.array(3.5)],
    [np.array(-0.0), np.array(2.0)],
    [np.zeros(0)],
    [np.zeros((3, 0))],
    [np.zeros((0, 3))],
    [np.arange(24.0).reshape(2, 3, 4)],
    [np.arange(6.0).reshape(2, 3).T],
    [np.arange(10.0)[::3]],
    [np.frombuffer(struct.pack('<d', float('nan')).replace(b'\0\0', b'\1\2', 1))],
    [np.arange(5)],
]


@pytest.mark.parametrize('arrays', VALUES)
def test_arrays_keep_their_bits_and_shapes(arrays):
    _, found = WIRE.read(WIRE.write('key', arrays))
    assert [a.shape for a in found] == [a.shape for a in arrays]
    assert [a.tobytes() for a in found] == [np.ascontiguousarray(a, '<f8').tobytes() for a in arrays]


@pytest.mark.parametrize(
    'name', ['', ' ', 'a b', 'a\tb', 'a\nb\r', '%', '%20', 'città', '{', '"', '0', '-1', '\x1f', '😀']
)
def test_any_label_travels_in_a_key(name):
    line = WIRE.write(make_key('sum', 7, name), [np.ones(2)])
    assert line.count(b'\t') == 2 and b'\n' not in line and line.isascii()
    key, [value] = WIRE.read(line + b'\n')
    assert split_key(key) == ('sum', ['000000000007', name]) and value.tolist() == [1, 1]


def test_keys_sort_as_their_numbers():
    places = [(i, j) for i in (0, 2, 10, 999, 10**11) for j in (0, 9, 10, 123456)]
    assert sorted(make_key('gram', *place) for place in reversed(places)) == [make_key('gram', *p) for p in places]


def test_different_coordinates_never_share_a_key():
    keys = [make_key('k', *c) for c in [('a', 'b'), ('a b',), ('a%20b',), ('a', '', 'b'), ('a', 'b', '')]]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize('value', [{}, {'a': [1, None, 'x\ty\n']}, {'città': {'b': 1.5}}, {'n': 2**53 + 1}])
@pytest.mark.parametrize('end', [b'', b'\n', b'\r\n', b'\t\n'])
def test_dictionaries_travel_as_json_and_a_trailing_tab_does_no_harm(value, end):
    line = WIRE.write('counts', value)
    assert line.count(b'\t') == 2 and b'\n' not in line
    assert WIRE.read(line + end) == ('counts', value)


@pytest.mark.parametrize('arrays', [[np.arange(3.0)], [np.ones((2, 2)), np.zeros(4)]])
def test_a_cut_line_is_refused_wherever_it_is_cut(arrays):
    text = encode_arrays(arrays)
    whole = [len(b' '.join(text.split(b' ')[:k])) for k in range(1, len(arrays))]  # nothing but fewer arrays
    for length in set(range(len(text))) - set(whole):
        with pytest.raises(ValueError, match='damaged'):
            decode_arrays(text[:length])


@pytest.mark.parametrize('value', [[np.arange(3.0), np.zeros((2, 2))], {'rows': 5, 'name': 'a'}])
def test_a_line_in_which_a_byte_is_another_is_refused(value):
    line = WIRE.write('sum a', value)
    for place in range(len(line)):
        for flip in (1, 2, 0x20):
            with pytest.raises(DataFormatError, match='damaged'):
                WIRE.read(line[:place] + bytes([line[place] ^ flip]) + line[place + 1 :])


@pytest.mark.parametrize('value', [[np.arange(3.0)], [np.array(0.5), np.zeros((0, 2))], {'a': 1}])
def test_lines_of_other_programs_need_no_checksum(value):
    line, _, checksum = WIRE.write('sum a', value).rpartition(b'\t')
    assert checksum == b'%08x' % zlib.crc32(line)
    for end in (b'', b'\t', b'\t\n'):
        assert WIRE.write(*WIRE.read(line + end)).startswith(line + b'\t')


@pytest.mark.parametrize(
    'text',
    [
        b'3:',
        b'-1:AAAAAAAAAAA=',
        b'1_0:' + b'A' * 107 + b'=',
        b'+1:AAAAAAAAAAA=',
        b'x:AAAA',
        b'2,2:' + b'A' * 11,
        b'1:!!!!',
        b'AAAAAAAAAAA=',
        b'1:AAAAAAAAAAA=A',
        b'1:AAAA\x08AAAAAAA=',
        b'(1,):AAAAAAAAAAA=',
    ],
)
def test_what_is_no_array_is_refused(text):
    with pytest.raises(ValueError, match='damaged'):
        decode_arrays(text)


def test_pickles_are_never_read():
    with pytest.raises(ValueError, match='damaged'):
        WIRE.read(b'key\t' + b'\x80\x04\x95cos\nsystem\n')
