"""Files of Arrow, packs, kept rows, lines of blocks and manifests whose bytes are damaged are refused or read right."""

import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.texts import damage

from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_files import read_parts
from mr_elm.rows.blocks import Block, EncodedRows, spread
from mr_elm.rows.columns import Table
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.lines import LineReader
from mr_elm.rows.options import RowOptions
from mr_elm.rows.packs import FORMAT, MANIFEST, NEEDED, PackWriter, load_manifest, sum_footer, write_manifest
from mr_elm.rows.parsed_rows import ParsedRows
from mr_elm.rows.wire_rows import WireReader, write_block

DENSE = np.array([[1.5, -0.0], [5e-324, 1e308], [0.1, -2]])
SPARSE = sp.csr_matrix(([1.0, 2.5, -3.0], [4, 0, 6], [0, 1, 1, 3]), shape=(3, 7))
ENCODED = EncodedRows(np.array([[0.5], [1.5], [2.5]]), (0,), np.array([[1, 4], [2, -1], [3, 5]], np.int32), 6)
NAMES, CODES, WEIGHTS = ('a', 'città'), np.array([0, 1, 0], np.int32), np.array([1.0, 2, 0.5])
BLOCKS = [
    Block(DENSE, NAMES, CODES, WEIGHTS),
    Block(DENSE, targets=DENSE),
    Block(SPARSE, NAMES, CODES),
    Block(ENCODED, targets=WEIGHTS),
    Block(DENSE),
]
TABLE = pa.table(
    {
        'y': pa.array(['a', 'b', None]).dictionary_encode(),
        'x': [1.5, None, 3],
        'city': ['u', None, 'w'],
        'l': pa.array([[1.0, 2], None, [3.0, 4]], pa.list_(pa.float64(), 2)),
        't': [True, None, False],
    }
)
TEXTS = [
    (RowOptions('csv', ',', '.', n_columns=3), b'a,1,2\nb,x,4\nb,0.1,1e22\na,5,6\n'),
    (RowOptions('libsvm', n_features=9), b'+1 2:1.5 9:2\n-1\n-1 0:7\n+1 1:1\n'),
]


def shown(block):
    """Return all that a block holds, to the bit; only the number of rows of a table."""
    if isinstance(block.X, Table):
        return len(block)
    X = sp.csr_matrix(spread(block.X))
    labels = [block.names[code] for code in block.codes] if block.codes is not None else block.targets
    return [
        X.shape,
        *(None if part is None else np.asarray(part).tobytes() for part in (X.toarray(), labels, block.weights)),
    ]


def read_or_refuse(read, *given, **options):
    """Return what a reader finds, None where it refuses the bytes; any other exception is a failure."""
    try:
        return read(*given, **options)
    except DataFormatError:
        return None


def read_file(kind_name, data, **options):
    """Read all rows of a file that is no text: (blocks, number of rows, counts of the rejected ones)."""
    kind = find_kind(kind_name)
    parts = kind.open(io.BytesIO(data), 'f')
    reader = kind.reader(parts.choose_format(RowOptions(**options), ()), 'f', 0, stop=False)
    batches = read_parts(parts, len(data), reader.form, (0, len(data)))
    blocks = [shown(block) for block in reader.blocks(batch for _, batch in batches)]
    return blocks, reader.counts


@cache
def write_pack(k):
    """Write one of `BLOCKS` twice to a file of a pack."""
    with tempfile.TemporaryDirectory() as folder:
        writer = PackWriter(f'{folder}/p')
        writer.write(BLOCKS[k])
        writer.write(BLOCKS[k])
        writer.close()
        return Path(folder, 'p').read_bytes()


@settings(max_examples=200)
@given(st.sampled_from(range(len(BLOCKS))), st.data())
def test_a_damaged_file_of_a_pack_is_refused_or_gives_its_rows(k, data):
    block, whole = BLOCKS[k], write_pack(k)
    options = {'numeric_labels': block.targets is not None, 'labelled': block.labelled}
    damaged = data.draw(damage(whole))
    found = read_or_refuse(read_file, 'packed', damaged, **options)
    if found is not None and sum_footer(io.BytesIO(damaged)) == sum_footer(io.BytesIO(whole)):
        assert found[0] == [shown(block)] * 2


@settings(max_examples=200)
@given(st.sampled_from([pa.ipc.new_file, pa.ipc.new_stream]), st.sampled_from([None, 'lz4', 'zstd']), st.data())
def test_a_damaged_file_of_arrow_is_refused_or_all_its_rows_are_accounted_for(opened, compression, data):
    out = io.BytesIO()
    with opened(out, TABLE.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(TABLE, 2)
    found = read_or_refuse(read_file, 'arrow', data.draw(damage(out.getvalue())), label_column='y', encode='auto')
    if found is not None:
        _, counts = found
        assert counts.lines == counts.used + sum(counts.rejected.values())


@settings(max_examples=200)
@given(st.sampled_from(TEXTS), st.data())
def test_damaged_kept_rows_are_refused_or_are_rows(form_and_text, data):
    form, text = form_and_text

    def read(path):
        reader = ParsedRows(LineReader(form, 'f', stop=False, block_rows=2), str(path), len(text), lambda n: None)
        return [shown(block) for block in reader.blocks([text])], dict(vars(reader.counts))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'rows')
        whole = read(path)
        kept = path.read_bytes()
        assert read(path) == whole
        damaged = data.draw(damage(kept))
        path.write_bytes(damaged)
        found = read_or_refuse(read, path)
        assert found is None or len(found[0]) == len(whole[0])


@given(st.data())
def test_damaged_lines_of_blocks_are_refused_or_give_their_rows(data):
    lines = [write_block(DENSE, 'a'), write_block(DENSE), write_block(DENSE[:0], 'b', 3)]

    def read(text):
        return [shown(block) for block in WireReader(RowOptions('wire'), 'f').blocks([text])]

    text = b''.join(line + b'\n' for line in lines)
    damaged = data.draw(damage(text))
    found, whole = read_or_refuse(read, damaged), read(text)
    assert found is None or found == whole or text.startswith(damaged) and found == whole[: len(found)]


@given(
    st.dictionaries(
        st.sampled_from(sorted(NEEDED)), st.integers() | st.lists(st.text(max_size=3), max_size=2), min_size=len(NEEDED)
    ),
    st.data(),
)
def test_a_damaged_manifest_is_refused_or_says_the_same(facts, data):
    with tempfile.TemporaryDirectory() as folder:
        write_manifest(folder, facts)
        path = Path(folder, MANIFEST)
        whole = load_manifest(folder)
        assert whole == {**FORMAT, **facts, 'crc32': whole['crc32']}
        path.write_bytes(data.draw(damage(path.read_bytes())))
        found = read_or_refuse(load_manifest, folder)
        assert found is None or found == whole


MAGIC = {'packed': b'PAR1', 'parquet': b'PAR1', 'arrow': b'ARROW1\0\0'}


@given(st.sampled_from([*MAGIC, 'stream']), st.binary(max_size=200), st.binary(max_size=8))
def test_any_bytes_behind_the_first_ones_of_a_kind_are_refused(kind, middle, end):
    begin = MAGIC.get(kind, b'\xff\xff\xff\xff')
    for tail in (end, begin[:6], (len(middle) % 251).to_bytes(4, 'little') + begin[:6]):
        with pytest.raises(DataFormatError):
            read_file(kind.replace('stream', 'arrow'), begin + middle + tail)
