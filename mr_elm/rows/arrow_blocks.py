"""Hold blocks of rows as record batches of Arrow, and get them back bit for bit.

Dense rows are lists `x` of one size; CSR rows are lists `index` and `value`; rows of an encoded table are lists
`numbers`, and `ones` of the positions of features that are 1. `label` is text by number, or a target, or a list of
several; `weight` is a number, and `part` the text of the part of a row. The metadata of the schema are facts as JSON:
`columns`, the width of the rows, and `number_columns` of encoded tables.
"""

import json
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.rows.arrow_arrays import from_array, to_array, to_texts
from mr_elm.rows.blocks import Block, EncodedRows

FACTS = b'mr_elm'


def to_batch(block: Block, **facts: Any) -> Any:
    """Return a block as a pyarrow.RecordBatch. facts : more of the metadata, what JSON can hold."""
    import pyarrow as arrow

    X = block.X
    facts['columns'] = int(X.shape[1])
    columns = {}
    if sp.issparse(X):
        ends, indices = (to_array(part.astype(np.int32)) for part in (X.indptr, X.indices))
        columns['index'] = arrow.ListArray.from_arrays(ends, indices)
        columns['value'] = arrow.ListArray.from_arrays(ends, to_array(X.data))
    elif isinstance(X, EncodedRows):
        facts['number_columns'] = list(X.columns)
        columns |= {
            name: to_lists(values) for name, values in (('numbers', X.numbers), ('ones', X.ones)) if values.shape[1]
        }
    else:
        columns['x'] = to_lists(X)
    if block.codes is not None:
        codes = to_array(block.codes.astype(np.int32))
        columns['label'] = arrow.DictionaryArray.from_arrays(codes, to_texts(block.names))
    elif block.targets is not None:
        columns['label'] = to_lists(block.targets)
    if block.weights is not None:
        columns['weight'] = to_array(block.weights)
    if block.parts is not None:
        columns['part'] = to_texts(block.parts.tolist()).dictionary_encode()
    fields = [arrow.field(name, array.type, nullable=False) for name, array in columns.items()]
    return arrow.RecordBatch.from_arrays(list(columns.values()), schema=arrow.schema(fields, write_facts(facts)))


def from_batch(batch: Any, facts: dict[str, Any]) -> Block:
    """Return the block of a record batch that `to_batch` has made, of float64; its arrays are those of the batch.

    Raises an exception of pyarrow, numpy or Python where damaged bytes are no block.
    """
    batch.validate(full=True)
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    X: Any
    if 'index' in columns:
        ends = from_array(columns['index'].offsets)
        value, index = (from_array(columns[name].flatten()) for name in ('value', 'index'))
        shape = len(batch), facts['columns']
        demand_positions(index, 0, shape[1])
        X = sp.csr_matrix((value.astype(float, copy=False), index, ends - ends[0]), shape=shape)
    elif 'number_columns' in facts:
        numbers, ones = (
            from_lists(columns[name]) if name in columns else np.empty((len(batch), 0), kind)
            for name, kind in (('numbers', float), ('ones', np.int32))
        )
        demand_positions(ones, -1, facts['columns'])
        demand_positions(np.array(facts['number_columns'], int), 0, facts['columns'])
        if numbers.shape[1] != len(facts['number_columns']):
            raise ValueError(f'expected {len(facts["number_columns"])} numbers a row, found {numbers.shape[1]}')
        X = EncodedRows(numbers.astype(float, copy=False), tuple(facts['number_columns']), ones, facts['columns'])
    else:
        X = from_lists(columns['x']).astype(float, copy=False)
    values: dict[str, Any] = {}
    if 'weight' in columns:
        values['weights'] = from_array(columns['weight'])
    if 'part' in columns:
        values['parts'] = np.array(columns['part'].to_pylist(), str)
    label: Any = columns.get('label')
    if hasattr(label, 'dictionary'):
        values |= {'names': tuple(label.dictionary.to_pylist()), 'codes': from_array(label.indices)}
    elif label is not None:
        values['targets'] = from_lists(label)
    return Block(X, **values)


def demand_positions(positions: np.ndarray, least: int, width: int) -> None:
    """Raise ValueError where a position is none of a row: compiled code would read or write there."""
    if positions.size and not least <= positions.min() <= positions.max() < width:
        raise ValueError(f'expected positions below {width}')


def to_lists(values: np.ndarray) -> Any:
    """Return a matrix as a column of lists of one size, and a vector as one of numbers."""
    import pyarrow as arrow

    items = to_array(values.ravel())
    if values.ndim == 1:
        return items
    item = arrow.field('element', items.type, nullable=False)
    return arrow.FixedSizeListArray.from_arrays(items, type=arrow.list_(item, values.shape[1]))


def from_lists(column: Any) -> np.ndarray:
    """Undo `to_lists`."""
    if not hasattr(column.type, 'list_size'):
        return from_array(column)
    return from_array(column.flatten()).reshape(len(column), column.type.list_size)


def write_facts(facts: dict[str, Any]) -> dict[bytes, bytes]:
    """Return facts as the metadata of a schema."""
    return {FACTS: json.dumps(facts).encode()}


def read_facts(metadata: dict[bytes, bytes]) -> dict[str, Any]:
    """Return what `write_facts` has written."""
    return json.loads(metadata[FACTS])
