"""Any table in Parquet becomes its rows, or bad rows by name, however it is cut; damaged bytes are refused."""

import io
import itertools
import math
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.texts import damage

from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_files import read_parts
from mr_elm.rows.columns import count_values, look_up
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.options import RowOptions

PARQUET = find_kind('parquet')
labels = st.none() | st.sampled_from(['a', 'b', 'città', '', '1', 'nan'])
numbers = st.none() | st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -0.0, 5e-324])
words = st.none() | st.sampled_from(['Oslo', 'Rome', '', 'NA', '1', 'two words', '\x00'])
tables = st.lists(st.tuples(labels, numbers, words), min_size=1, max_size=12)


def write(rows, group):
    """Write rows of a label, a number and a text to Parquet."""
    columns = zip(('y', 'x', 'city'), zip(*rows, strict=True), (pa.string(), pa.float64(), pa.string()), strict=True)
    table, out = pa.table({name: pa.array(values, type) for name, values, type in columns}), io.BytesIO()
    pq.write_table(table, out, row_group_size=group)
    return out.getvalue()


def read(data, cuts=(), block_rows=3, **options):
    """Read all splits between the cuts: (list of rows, reasons of the rejected ones, number of lines)."""
    rows, reasons, n_lines = [], Counter(), 0
    for start, end in itertools.pairwise(sorted({0, *cuts, len(data)})):
        parts = PARQUET.open(io.BytesIO(data), 'f')
        form = parts.choose_format(RowOptions(label_column='y', **options), ())
        reader = PARQUET.reader(form, 'f', start, stop=False)
        batches = read_parts(parts, len(data), form, (start, end - start), block_rows)
        for block in reader.blocks(batch for _, batch in batches):
            rows += rows_of(block)
        reasons.update(reader.counts.rejected)
        n_lines += reader.counts.lines
    return rows, reasons, n_lines


def rows_of(block):
    """List the rows of a table as (label, number, text)."""
    number, city = block.X.columns
    names = list(count_values(city))
    texts = (names[code] for code in look_up(city, {name: i for i, name in enumerate(names)}.get))
    return [
        (block.names[code], repr(x), text)
        for code, x, text in zip(block.codes, number.numbers().tolist(), texts, strict=True)
    ]


def expected(rows):
    """Return what `read` must find, row by row."""
    good = [
        (label, repr(math.nan if x is None else x), '' if text in (None, 'NA') else text)
        for label, x, text in rows
        if label not in (None, '', 'nan')
    ]
    bad = Counter('missing label' for label, _, _ in rows if label in (None, '', 'nan'))
    return good, bad, len(rows)


@settings(max_examples=100)
@given(tables, st.integers(1, 5), st.lists(st.integers(0, 900), max_size=3), st.integers(1, 7))
def test_a_table_is_read_row_by_row_however_it_is_cut(rows, group, cuts, block_rows):
    data = write(rows, group)
    found = read(data, [cut for cut in cuts if cut < len(data)], block_rows, encode='auto')
    assert found == expected(rows)


@settings(max_examples=100)
@given(tables, st.integers(1, 5), st.data())
def test_damaged_bytes_are_refused_or_every_row_is_accounted_for(rows, group, data):
    damaged = data.draw(damage(write(rows, group)))
    try:
        found, reasons, n_lines = read(damaged, encode='auto')
    except DataFormatError as error:
        assert str(error).startswith('f')
        return
    assert len(found) + sum(reasons.values()) == n_lines


def test_text_that_is_not_utf8_is_damage():
    wrong = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b'\0\0\0\0\3\0\0\0'), pa.py_buffer(b'M\xfcn')])
    out = io.BytesIO()
    pq.write_table(pa.table({'y': ['a'], 'x': [1.0], 'city': wrong}), out)
    with pytest.raises(DataFormatError, match='f: the file is cut short or damaged .*utf-8'):
        read(out.getvalue(), encode='auto')
