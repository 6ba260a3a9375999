"""Hold blocks of rows as record batches of Arrow, and get them back bit for bit.

Dense rows are lists `x` of one size; CSR rows are lists `index` and `value`; rows of an encoded table are lists
`numbers`, and `ones` of the positions of features that are 1. `label` is text by number, or a target, or a list of
several; `weight` is a number. The metadata of the schema are facts as JSON: `columns`, the width of the rows, and
`number_columns` of encoded tables.
"""
import json
from importlib import import_module
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.io.blocks import Block
from mr_elm.io.encoded_rows import EncodedRows

FACTS = b'mr_elm'


def to_batch(block: Block, **facts: Any) -> Any:
    """Return a block as a pyarrow.RecordBatch. facts : more of the metadata, what JSON can hold."""
    arrow, X = import_module('pyarrow'), block.X
    facts['columns'] = int(X.shape[1])
    columns: dict[str, Any] = {}
    if sp.issparse(X):
        ends = X.indptr.astype(np.int32, copy=False)
        columns['index'] = arrow.ListArray.from_arrays(ends, X.indices.astype(np.int32, copy=False))
        columns['value'] = arrow.ListArray.from_arrays(ends, X.data)
    elif isinstance(X, EncodedRows):
        facts['number_columns'] = list(X.columns)
        columns |= {name: to_lists(values) for name, values in (('numbers', X.numbers), ('ones', X.ones))
                    if values.shape[1]}
    else:
        columns['x'] = to_lists(X)
    if block.codes is not None:
        columns['label'] = arrow.DictionaryArray.from_arrays(block.codes.astype(np.int32, copy=False),
                                                             arrow.array(block.names, arrow.string()))
    elif block.targets is not None:
        columns['label'] = arrow.array(block.targets) if block.targets.ndim == 1 else to_lists(block.targets)
    if block.weights is not None:
        columns['weight'] = arrow.array(block.weights)
    fields = [arrow.field(name, array.type, nullable=False) for name, array in columns.items()]
    return arrow.RecordBatch.from_arrays(list(columns.values()), schema=arrow.schema(fields, write_facts(facts)))


def from_batch(batch: Any) -> Block:
    """Return the block of a record batch that `to_batch` has made; its arrays are those of the batch."""
    facts, columns = read_facts(batch.schema), dict(zip(batch.schema.names, batch.columns, strict=True))
    X: Any
    if 'index' in columns:
        ends = columns['index'].offsets.to_numpy()
        parts = (columns[name].flatten().to_numpy() for name in ('value', 'index'))
        X = sp.csr_matrix((*parts, ends - ends[0]), shape=(len(batch), facts['columns']))
    elif 'number_columns' in facts:
        numbers, ones = (from_lists(columns[name]) if name in columns else np.empty((len(batch), 0), kind)
                         for name, kind in (('numbers', float), ('ones', np.int32)))
        X = EncodedRows(numbers, tuple(facts['number_columns']), ones, facts['columns'])
    else:
        X = from_lists(columns['x'])
    weights = columns['weight'].to_numpy() if 'weight' in columns else None
    label: Any = columns.get('label')
    if hasattr(label, 'dictionary'):
        return Block(X, tuple(label.dictionary.to_pylist()), label.indices.to_numpy(), weights)
    if label is not None and hasattr(label.type, 'list_size'):
        return Block(X, weights=weights, targets=from_lists(label))
    return Block(X, weights=weights, targets=None if label is None else label.to_numpy())


def to_lists(values: np.ndarray) -> Any:
    """Return a matrix as a column of lists of one size."""
    arrow = import_module('pyarrow')
    items = arrow.array(np.ascontiguousarray(values).ravel())
    item = arrow.field('element', items.type, nullable=False)
    return arrow.FixedSizeListArray.from_arrays(items, type=arrow.list_(item, values.shape[1]))


def from_lists(column: Any) -> np.ndarray:
    """Return a column of lists of one size as a matrix."""
    return column.flatten().to_numpy().reshape(len(column), column.type.list_size)


def write_facts(facts: dict[str, Any]) -> dict[bytes, bytes]:
    """Return facts as the metadata of a schema."""
    return {FACTS: json.dumps(facts).encode()}


def read_facts(schema: Any) -> dict[str, Any]:
    """Return what `write_facts` has written."""
    return json.loads(schema.metadata[FACTS])
