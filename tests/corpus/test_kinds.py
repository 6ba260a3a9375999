"""Odd files by kind: the right rows, or a refusal in one sentence that names the file."""

import pytest
from corpus.kinds import TABLES, TEXTS

from mr_elm.errors import DataFormatError
from mr_elm.rows.blocks import spread
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.splits import SplitReader, plan_splits

KINDS = {**TEXTS, **TABLES}


def read(path, options, n_tasks):
    """Read a file in so many tasks: a list of rows, the label first. Raises DataFormatError for the first bad row."""
    plan = plan_inputs([str(path)], RowOptions(**options))
    source = SplitReader(plan, None, stop=True, block_rows=4096)
    rows = []
    for task in plan_splits(plan, n_tasks):
        for split in task:
            reader, chunks = source.open(*split, lambda n: None)
            for block in reader.blocks(chunks):
                X = spread(block.X)
                X = X.toarray() if hasattr(X, 'toarray') else X
                names = [None] * len(block) if block.codes is None else [block.names[code] for code in block.codes]
                rows += [[name, *features] for name, features in zip(names, X.tolist(), strict=True)]
            for row in reader.rejected:
                raise DataFormatError(f'{path}: {row.reason}: {row.detail}')
    width = max(map(len, rows), default=0)  # rows of LIBSVM end in zeros
    return [row + [0.0] * (width - len(row)) for row in rows]


@pytest.mark.parametrize('name', KINDS)
def test_a_file_is_read_rightly_or_refused_in_a_sentence(tmp_path, name):
    contents, options, expected = KINDS[name]
    path = tmp_path / name
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    if isinstance(expected, list):
        assert read(path, options, 1) == read(path, options, 3) == expected
        return
    with pytest.raises(DataFormatError) as refusal:
        read(path, options, 3)
    message = str(refusal.value)
    assert expected in message and name in message and '\n' not in message
