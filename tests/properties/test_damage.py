"""A line of the wire or of a pack in which one byte is another, is new or is gone is refused, or reads as it was."""

import io
import json
import tempfile
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from properties.texts import damage

from mr_elm.cli import main
from mr_elm.errors import DataFormatError
from mr_elm.features.landmarks import rows_from_arrays, rows_to_arrays
from mr_elm.rows.wire import WireProtocol, make_key
from mr_elm.sums.gram import merge_pairs
from mr_elm.sums.statistics import ColumnStatistics

WIRE = WireProtocol()
floats = st.floats(width=64) | st.sampled_from([0.0, -0.0, 5e-324, 1e308])
keys = st.builds(make_key, st.sampled_from(['gram', 'sum', 'counts']), st.integers(0, 10**6), st.text(max_size=3))
shapes = arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
matrices = arrays_of.arrays('<f8', shapes, elements=floats)
records = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
values = st.lists(matrices, min_size=1, max_size=3) | st.dictionaries(st.text(max_size=3), records, max_size=3)


def shown(value):
    """Return what tells two values of the wire apart, to the bit."""
    return json.dumps(value) if isinstance(value, dict) else [(part.shape, part.tobytes()) for part in value]


def read_lines(data):
    """Read lines as a job does: a list of (key, value), or None where one is refused."""
    try:
        return [(key, shown(value)) for key, value in map(WIRE.read, data.removesuffix(b'\n').split(b'\n'))]
    except DataFormatError:
        return None


@settings(max_examples=400)
@given(st.lists(st.tuples(keys, values), min_size=1, max_size=2), st.data())
def test_damaged_lines_of_the_wire_are_refused_or_read_as_they_were(pairs, data):
    text = b''.join(WIRE.write(*pair) + b'\n' for pair in pairs)
    whole = [(key, shown(value)) for key, value in pairs]
    assert read_lines(text) == whole
    damaged = data.draw(damage(text))
    found = read_lines(damaged)
    if damaged == text[: len(damaged)]:  # the end is missing, perhaps with a checksum
        assert found is None or found == whole[: len(found)] or is_cut_between_arrays(found, whole)
    else:
        assert found is None or found == whole


def is_cut_between_arrays(found, whole):
    """Tell whether lines miss nothing but arrays at the end of the last one."""
    (key, last), (wanted_key, wanted) = found[-1], whole[len(found) - 1]
    return (
        found[:-1] == whole[: len(found) - 1]
        and key == wanted_key
        and 0 < len(last) < len(wanted)
        and (last == wanted[: len(last)])
    )


@pytest.mark.parametrize(
    'arrays, read',
    [
        ([np.ones(3), np.zeros(3)], lambda arrays: merge_pairs([arrays])),
        ([np.ones(3), np.zeros(3)], lambda arrays: merge_pairs([[np.ones(3), np.ones(3)], arrays])),
        (ColumnStatistics.of(np.eye(3)).to_arrays(), ColumnStatistics.from_arrays),
        (rows_to_arrays(sp.eye(3, format='csr')), rows_from_arrays),
    ],
)
def test_who_reads_several_arrays_misses_those_that_were_cut_away(arrays, read):
    read(arrays)
    for n in range(len(arrays)):
        with pytest.raises(DataFormatError, match='expected .* arrays|expected rows'):
            read(arrays[:n])


@given(st.tuples(keys, values), st.data())
def test_lines_of_other_programs_need_no_checksum_and_are_read_or_refused(pair, data):
    line = WIRE.write(*pair).rpartition(b'\t')[0]
    assert read_lines(line) == [(pair[0], shown(pair[1]))]
    read_lines(data.draw(damage(line)))


pieces = st.sampled_from(
    [
        b'gram 000000000000',
        b'\t',
        b'2:',
        b'-1:',
        b'1_0:',
        b',',
        b'{',
        b'}',
        b'"a":',
        b'NaN',
        b'A' * 11 + b'=',
        b'[' * 5000,
        b' ',
        b'00000000',
    ]
)


@given(st.lists(pieces | st.binary(max_size=4)).map(b''.join))
def test_any_bytes_are_a_line_of_the_wire_or_refused(line):
    read_lines(line.replace(b'\n', b''))


@pytest.fixture(scope='module')
def pack(tmp_path_factory):
    """Pack few rows in several blocks: the bytes of its files, by name."""
    folder = tmp_path_factory.mktemp('pack')
    (folder / 'rows.csv').write_text(''.join(f'{i % 2},{i},{i * i % 7}\n' for i in range(12)))
    assert run('pack', folder / 'rows.csv', '-o', folder / 'pack', '--block-rows', 5) == (0, '')
    return {path.name: path.read_bytes() for path in (folder / 'pack').iterdir()}


def run(*arguments):
    """Run the command line: its status and what it prints as an error."""
    with redirect_stderr(io.StringIO()) as said:
        status = main([*map(str, arguments), '-q'])
    return status, said.getvalue()


def train(files):
    """Write a pack and train on it: the weights, or None where it is refused by name and leaves no model."""
    with tempfile.TemporaryDirectory() as folder:
        pack, model = Path(folder, 'pack'), Path(folder, 'm.npz')
        pack.mkdir()
        for name, content in files.items():
            (pack / name).write_bytes(content)
        status, said = run('train', 'pesvm', pack, '--hidden', 3, '--model', model)
        if status:
            assert status == 1 and said.count('\n') == 1 and str(pack) in said and not model.exists()
            return None
        with np.load(model, allow_pickle=False) as arrays:
            return {name: arrays[name].tobytes() for name in arrays if name != 'header'}


@settings(max_examples=40)
@given(st.data())
def test_a_damaged_pack_trains_the_same_model_or_none(pack, data):
    name = data.draw(st.sampled_from(sorted(pack)))
    found = train({**pack, name: data.draw(damage(pack[name]))})
    assert found is None or found == train(pack)
