"""Any bytes are rows, or are refused by name; every line is accounted for, however the file is cut."""

import bz2
import gzip
import io
import itertools
import zipfile
from collections import Counter

import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from properties.texts import damage, files
from reference import rows as twin

from mr_elm.errors import DataFormatError, RowError
from mr_elm.rows import splits as splits
from mr_elm.rows.blocks import spread
from mr_elm.rows.columns import Table, count_values
from mr_elm.rows.encoding import Column, Encoding
from mr_elm.rows.inputs import sniff, take_first_lines
from mr_elm.rows.lines import LineReader, split_chunk
from mr_elm.rows.options import RowOptions
from mr_elm.rows.wire_rows import WireReader

PATHS = ['f', 'f.csv', 'f.libsvm']
columns = st.sampled_from([0, 0, 0, 0, 1, -1, 3, '0', '-2', 'a', 'y', ''])
options = st.builds(
    RowOptions,
    kind=st.sampled_from(['auto', 'auto', 'csv', 'libsvm']),
    delimiter=st.sampled_from(['auto'] * 6 + [',', ' ', None, '"', '1']),
    header=st.sampled_from([None, None, None, True, False]),
    label_column=columns,
    weight_column=st.none() | st.none() | columns,
    labelled=st.sampled_from([True, True, True, False]),
    ignore_label=st.booleans(),
    numeric_labels=st.booleans(),
    n_features=st.sampled_from([None, None, None, 1, 2, 12]),
    ignore_extra=st.booleans(),
)


def sniffed(data, path, options):
    """Return the RowOptions that the driver decides on, or None where it refuses the file."""
    try:
        lines, blank_bytes = take_first_lines(splits.read_stream(io.BytesIO(data), path))
        return sniff(lines, path, options, blank_bytes) if lines else None
    except DataFormatError as error:
        assert path in str(error)
        return None


def read(data, form, cuts=(), block_rows=4096, stop=False, encoding=None):
    """Read all splits between the cuts: (list of rows, list of rejected ones, totals of the counts), or an error."""
    rows, rejected, totals = [], [], Counter()
    for start, end in itertools.pairwise(sorted({0, *cuts, len(data)})):
        reader = LineReader(form, 'f', start, stop=stop, block_rows=block_rows, encoding=encoding)
        for block in reader.blocks(splits.read_stream(io.BytesIO(data), 'f', start, end - start)):
            rows += rows_of(block)
        rejected += [(row.reason, row.detail, row.line) for row in reader.rejected]
        totals.update(totals_of(reader.counts))
    return rows, rejected, totals


def rows_of(block):
    """List the rows of a block as what does not depend on other rows: label, weight and features, zeros left out."""
    labels = [None] * len(block) if block.codes is None else [block.names[code] for code in block.codes]
    weights = [None] * len(block) if block.weights is None else block.weights.tolist()
    if isinstance(block.X, Table):
        return list(zip(labels, weights, *(values_of(column, len(block)) for column in block.X.columns), strict=True))
    X = sp.csr_matrix(spread(block.X))
    parts = zip(X.indptr, X.indptr[1:], strict=False)
    features = [tuple(zip(X.indices[a:b].tolist(), map(repr, X.data[a:b].tolist()), strict=True)) for a, b in parts]
    return list(zip(labels, weights, features, strict=True))


def values_of(column, n_rows):
    """List the values of a column of a table: the text of each, and its number if it is one."""
    return [(*count_values(value), number_of(value)) for value in (column.take(slice(i, i + 1)) for i in range(n_rows))]


def number_of(value):
    try:
        return repr(value.numbers().tolist())
    except RowError as error:
        return error.detail


def totals_of(counts):
    """Return what a split adds to the totals of its file."""
    kinds = {name: getattr(counts, name) for name in ('records', 'lines', 'headers', 'comments', 'blank', 'used')}
    return {**kinds, **{f'rejected as {reason}': n for reason, n in counts.rejected.items()}}


@settings(max_examples=150)
@given(
    files,
    st.sampled_from(PATHS),
    options,
    st.lists(st.integers(0, 300), max_size=3),
    st.integers(1, 7),
    st.integers(1, 99),
)
def test_a_file_is_refused_or_every_line_is_accounted_for_however_it_is_cut(data, path, options, cuts, rows, chunk):
    form = sniffed(data, path, options)
    if form is None or form.kind == 'wire':
        return
    used, rejected, totals = whole = read(data, form)
    assert totals['lines'] == totals['records'] == data.count(b'\n') + (not data.endswith(b'\n'))
    assert totals['used'] == len(used) and len(rejected) == sum(n for kind, n in totals.items() if 'rejected' in kind)
    assert totals['lines'] == len(used) + len(rejected) + sum(totals[kind] for kind in ('headers', 'comments', 'blank'))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, 'CHUNK_BYTES', chunk)
        assert read(data, form, [cut for cut in cuts if cut < len(data)], rows) == whole
    assert read(data, form, block_rows=rows, stop=True)[1] == rejected[:1]


@given(files, st.sampled_from([',', ';', '\t']), st.integers(2, 5))
@example(b'0,0\n\r0,0\n', ',', 2)
@example(b'0,"\n1,0\r\r\n', ',', 2)
def test_csv_rows_are_those_of_a_slow_reader(data, delimiter, n_columns):
    rows, rejected, _ = read(data, RowOptions('csv', delimiter, '.', n_columns=n_columns))
    lines = [line for line in split_chunk(data) if line and not line.isspace()]
    good, bad = twin.salvage(lambda line: twin.csv_row(line, delimiter, n_columns), lines)
    assert [line for _, _, line in rejected] == [lines[i] for i in bad]
    assert rows == [(label, None, tuple((j, repr(x)) for j, x in enumerate(row) if x)) for label, row in good]


@settings(max_examples=150)
@given(
    files,
    st.sampled_from([',', ';', '\t']),
    st.integers(1, 5),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, None, 2]),
    st.booleans(),
    st.booleans(),
)
@example(b'0,0\n\n\r\r\n', ',', 2, None, None, False, True)
@example(b'1,"a\nb",2\n3,4,5\r6,7,8\n', ',', 3, 0, None, False, True)
@example(b'0\r\r\n\x01', ',', 1, None, None, False, False)
def test_rows_read_together_are_those_read_alone(data, delimiter, n_columns, label, weight, header, table):
    label, weight = (None if j is None or j >= n_columns else j for j in (label, weight))
    form = RowOptions(
        'csv',
        delimiter,
        '.',
        n_columns=n_columns,
        label_column=label,
        weight_column=weight,
        header=header,
        encode='auto' if table else 'refuse',
    )
    expected = read(data, form, block_rows=1)
    assert read(data, form) == expected
    assert read(data, form, stop=True)[1] == expected[1][:1]


@settings(max_examples=150)
@given(files, st.sampled_from([',', ';', '\t']), st.integers(2, 5), st.sampled_from(['nccn', 'cnnn']))
def test_rows_encoded_together_are_those_encoded_alone(data, delimiter, n_columns, kinds):
    columns = (
        {'n': Column('x', 'number', 2.5, True), 'c': Column('x', 'category', categories=('', 'a'))}[kind]
        for kind in kinds[: n_columns - 1]
    )
    form = RowOptions('csv', delimiter, '.', n_columns=n_columns, encode='auto')
    encoding = Encoding(tuple(columns))
    expected = read(data, form, block_rows=1, encoding=encoding)
    assert read(data, form, encoding=encoding) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encoding, 'find_numbers', lambda *_: ())
        assert read(data, form, encoding=encoding) == expected


@given(files)
def test_libsvm_rows_are_those_of_a_slow_reader(data):
    data = data.translate(None, b'\x1c\x1d\x1e\x1f')  # these separate a label from its pairs, but not pairs
    rows, rejected, _ = read(data, RowOptions('libsvm'))
    lines = [line for line in split_chunk(data) if line and not line.isspace()]
    lines = [line for line in lines if not line.lstrip().startswith('#')]
    good, bad = twin.salvage(lambda line: twin.libsvm_row(line, 10_000_000), lines)
    assert [line for _, _, line in rejected] == [lines[i] for i in bad]
    assert rows == [(label, None, tuple((j - 1, repr(x)) for j, x in row.items())) for label, row in good]


COMPRESS = {'.gz': gzip.compress, '.bz2': bz2.compress}


@given(st.binary(min_size=1, max_size=200), st.data())
def test_a_damaged_archive_is_refused_or_read_whole(content, data):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr('rows.csv', content)
    try:
        found = b''.join(splits.read_stream(io.BytesIO(data.draw(damage(stream.getvalue()))), 'f.zip'))
    except DataFormatError as error:
        assert 'f.zip' in str(error) and '\n' not in str(error)
        return
    assert found == content


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=3), st.sampled_from(sorted(COMPRESS)), st.data())
def test_a_damaged_compressed_file_is_refused_or_read_whole(members, ending, data):
    content = b''.join(map(COMPRESS[ending], members))
    damaged = data.draw(damage(content))
    try:
        found = b''.join(splits.read_stream(io.BytesIO(damaged), f'f{ending}'))
    except DataFormatError as error:
        assert f'f{ending}' in str(error)
        return
    wholes = [b''.join(members[:k]) for k in range(len(members) + 1)]
    assert found == b''.join(members) or len(damaged) < len(content) and found in wholes


@given(
    st.lists(
        st.sampled_from([b'block\t', b'counts\t', b'{"rows": 1}', b'1,1:AAAA', b'\n', b'[' * 5000])
        | st.binary(max_size=9),
        max_size=6,
    ).map(b''.join)
)
def test_text_that_is_no_line_of_the_wire_is_refused(data):
    reader = WireReader(RowOptions('wire'), 'f')
    try:
        assert sum(map(len, reader.blocks([data]))) == reader.counts.used == reader.counts.lines
    except DataFormatError as error:
        assert 'f, record' in str(error)
