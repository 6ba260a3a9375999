"""Keep rows as binary blocks, one a line of text, so that Hadoop splits them and nobody parses them again.

    mr_elm-block TAB {header as JSON} TAB base64

The bytes behind the base64 are, little-endian and in this order: the features (dense rows; or data, indices and indptr
of CSR; or the numbers of an encoded table and the positions of its ones), the labels (codes, or numbers when the pack
was made for regression), the weights if there are any.
The header holds a checksum of both. A line `mr_elm-end TAB {counts} TAB checksum` closes what one task wrote; in older
packs it ends without one.
"""
import json
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.io.blocks import Block, take_rows
from mr_elm.io.encoded_rows import EncodedRows
from mr_elm.io.letters import decode_base64, encode_base64

BLOCK_MARK = b'mr_elm-block'
END_MARK = b'mr_elm-end'
MANIFEST = '_manifest.json'
SHORT = 1 << 15  # features, up to which the positions of ones are 16-bit integers
MAX_RECORD = 8 << 20  # bytes of features, so that a line stays below 16 MB
DAMAGE = (ValueError, KeyError, TypeError, RecursionError)  # what a damaged header or payload raises


def count_record_rows(n_features: int, block_rows: int, itemsize: int = 8) -> int:
    """Return how many dense rows of this width fit a record, at most block_rows."""
    return max(1, min(block_rows, MAX_RECORD // (itemsize * max(n_features, 1))))


def cut_to_records(block: Block) -> Iterator[Block]:
    """Cut a block into pieces that fit a record; most blocks are one."""
    rows = -(-len(block) // max(1, -(-measure(block.X) // MAX_RECORD)))
    for start in range(0, len(block), rows):
        yield take_rows(block, slice(start, start + rows)) if rows < len(block) else block


def measure(X: Any) -> int:
    """Return the bytes of the features of a block."""
    if isinstance(X, EncodedRows):
        return 8 * X.numbers.size + 4 * X.ones.size
    return 12 * X.nnz if sp.issparse(X) else 8 * X.size


def encode_block(block: Block, dtype: str = 'float64') -> bytes:
    """Write a block as one line, without its end. dtype : float32 or float64, how the features are kept."""
    header = describe_block(block, dtype)
    payload = join_parts(block, header)
    header['crc32'] = checksum(header, payload)
    return b'\t'.join([BLOCK_MARK, json.dumps(header).encode(), encode_base64(payload)])


def describe_block(block: Block, dtype: str = 'float64') -> dict:
    """Return what a reader must know of the bytes of a block. dtype : as in `encode_block`."""
    labels = 'numbers' if block.targets is not None else 'none' if block.codes is None else 'codes'
    header = {'rows': len(block), 'columns': int(block.X.shape[1]), 'dtype': np.dtype(dtype).newbyteorder('<').str,
              'layout': 'dense', 'weights': block.weights is not None,
              'labels': labels, 'names': list(block.names)}
    if block.targets is not None and block.targets.ndim > 1:
        header['targets'] = block.targets.shape[1]
    if sp.issparse(block.X):
        header |= {'layout': 'csr', 'nonzeros': int(block.X.nnz)}
    elif isinstance(block.X, EncodedRows):
        header |= {'layout': 'encoded', 'number_columns': block.X.columns, 'ones': block.X.ones.shape[1]}
    return header


def join_parts(block: Block, header: dict) -> bytes:
    """Return the arrays of a block as bytes."""
    return b''.join(np.ascontiguousarray(part).astype(part_kind, copy=False).data
                    for part, part_kind in zip(list_parts(block, header), list_dtypes(header), strict=True))


def count_bytes(header: dict) -> int:
    """Return how many bytes `join_parts` makes of the block that a header describes."""
    return sum(np.dtype(kind).itemsize * size for kind, size in
               zip(list_dtypes(header), list_sizes(header), strict=True))


def read_parts(header: dict, payload: Any) -> Block:
    """Read the block whose bytes `join_parts` has made. Raises ValueError when it is cut short or altered."""
    parts, offset = [], 0
    for kind, size in zip(list_dtypes(header), list_sizes(header), strict=True):
        parts.append(np.frombuffer(payload, kind, size, offset))
        offset += parts[-1].nbytes
    return assemble(header, parts)


def list_parts(block: Block, header: dict) -> list[np.ndarray]:
    """List the arrays of a block in the order in which they are kept."""
    X = block.X
    layouts = {'csr': ('data', 'indices', 'indptr'), 'encoded': ('numbers', 'ones')}
    parts = [getattr(X, name) for name in layouts[header['layout']]] if header['layout'] in layouts else [X]
    if header['labels'] != 'none':
        parts.append(block.targets if header['labels'] == 'numbers' else block.codes)
    return parts + ([block.weights] if header['weights'] else [])


def list_dtypes(header: dict) -> list[str]:
    """List the dtypes of `list_parts`."""
    kinds = [header['dtype'], *{'csr': ['<i4', '<i4'], 'encoded': ['<i2' if header['columns'] <= SHORT else '<i4']}.get(
        header['layout'], [])]
    if header['labels'] != 'none':
        kinds.append('<f8' if header['labels'] == 'numbers' else '<i4')
    return kinds + (['<f8'] if header['weights'] else [])


def list_sizes(header: dict) -> list[int]:
    """List the lengths of `list_parts`."""
    n = header['rows']
    if header['layout'] == 'csr':
        sizes = [header['nonzeros'], header['nonzeros'], n + 1]
    elif header['layout'] == 'encoded':
        sizes = [n * len(header['number_columns']), n * header['ones']]
    else:
        sizes = [n * header['columns']]
    labels = [] if header['labels'] == 'none' else [n * header.get('targets', 1)]
    return sizes + labels + [n] * header['weights']


def checksum(header: dict, payload: bytes | memoryview = b'') -> int:
    """Return the CRC-32 of a header, all but its own crc32, and a payload, so that neither can change unseen."""
    plain = {key: value for key, value in header.items() if key != 'crc32'}
    return zlib.crc32(payload, zlib.crc32(json.dumps(plain, sort_keys=True).encode()))


def decode_block(line: bytes) -> Block:
    """Read one line that begins with BLOCK_MARK.

    Raises ValueError when it is cut short or altered.
    """
    try:
        text, data, more = cut_line(line)
        header, payload = json.loads(text), decode_base64(data)
        if more.strip():  # such as the next line, run into this one
            raise ValueError('expected only base64 after the header')
        if len(payload) < count_bytes(header):
            raise ValueError(f'expected {count_bytes(header):,} bytes, found {len(payload):,}')
        intact = header['crc32'] == checksum(header, payload)
    except DAMAGE as error:
        raise ValueError(f'a packed block is cut short or damaged ({error})') from None
    if not intact:
        raise ValueError('a packed block was altered: its checksum does not match')
    return read_parts(header, payload)


def cut_line(line: bytes) -> tuple[bytes, memoryview, bytes]:
    """Return the header of a block, its letters without their line end, and what follows; the letters are not copied.

    Raises ValueError when there is no header or nothing behind it.
    """
    start = line.index(b'\t') + 1
    middle = line.index(b'\t', start)
    end = line.find(b'\t', middle + 1)
    end = len(line) if end < 0 else end
    more = line[end:]
    while line[end - 1:end] == b'\r':
        end -= 1
    return line[start:middle], memoryview(line)[middle + 1:end], more


def encode_end(counts: dict) -> bytes:
    """Write what a packing task has counted, a dictionary, as one line, without its end."""
    text = json.dumps(counts).encode()
    return b'\t'.join([END_MARK, text, b'%08x' % zlib.crc32(text)])


def decode_end(line: bytes) -> dict:
    """Read what `encode_end` wrote, perhaps without a checksum. Raises ValueError when it is cut short or altered."""
    _, text, *checksums = line.rstrip(b'\t\r').split(b'\t')
    if checksums not in ([], [b'%08x' % zlib.crc32(text)]):
        raise ValueError('its checksum does not match')
    try:
        counts = json.loads(text)
    except RecursionError as error:
        raise ValueError(error) from None
    if not isinstance(counts, dict):
        raise ValueError('expected counts')
    return counts


def assemble(header: dict, parts: list[np.ndarray]) -> Block:
    """Make a Block of the arrays that were read; features become float64 again."""
    n, shape = header['rows'], (header['rows'], header['columns'])
    weights = parts.pop() if header['weights'] else None
    labels = parts.pop() if header['labels'] != 'none' else None
    data = parts[0].astype(np.float64, copy=False)
    X: Any
    if header['layout'] == 'csr':
        X = sp.csr_matrix((data, parts[1], parts[2]), shape=shape)
    elif header['layout'] == 'encoded':
        X = assemble_encoded(data, parts[1], header)
    else:
        X = data.reshape(shape)
    if header['labels'] == 'numbers' and labels is not None:
        return Block(X, weights=weights, targets=labels.reshape(n, -1) if 'targets' in header else labels)
    return Block(X, tuple(header['names']), labels, weights)


def assemble_encoded(numbers: np.ndarray, ones: np.ndarray, header: dict) -> EncodedRows:
    """Make the rows of an encoded table. Raises ValueError when a feature is none of them."""
    n, width, columns = header['rows'], header['columns'], header['number_columns']
    if max(columns, default=-1) >= width or min(columns, default=0) < 0 or ones.max(initial=-1) >= width:
        raise ValueError(f'expected positions of {width} features')
    return EncodedRows(numbers.reshape(n, len(columns)), tuple(columns), ones.reshape(n, header['ones']), width)
