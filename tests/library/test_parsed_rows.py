"""Rows that a pass has parsed come back to the next pass as they were, with the accounts of their text."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.errors import DataFormatError
from mr_elm.rows.lines import LineReader
from mr_elm.rows.options import RowOptions
from mr_elm.rows.parsed_rows import ParsedRows

CSV = RowOptions('csv', ',', '.', header=True, n_columns=4, weight_column=3)
TEXTS = {
    'csv': (CSV, b'label,x,y,weight\ncitt\xc3\xa0,1,2.5,3\n\nb,-1e-300,4,0.5\nb,not a number,4,1\nb,0.1,1e22,2\n'),
    'no labels': (RowOptions('csv', ',', '.', n_columns=2, label_column=None, labelled=False), b'1,2\n3,4\nx,6\n'),
    'libsvm': (RowOptions('libsvm'), b'# one\n+1 2:1.5 9:2\n-1\n-1 1:7\n+1 0:bad\n'),
}


def reader_of(form, path, count=lambda n: None, **options):
    reader = LineReader(form, 'f', **{'stop': False, 'block_rows': 2} | options)
    return ParsedRows(reader, str(path), len(TEXTS['csv'][1]), count)


def read(form, path, chunks, **options):
    reader = reader_of(form, path, **options)
    return list(reader.blocks(chunks)), reader


def text_is_not_read():
    raise AssertionError('the text was read again')
    yield


def values(block):
    X = block.X.toarray() if sp.issparse(block.X) else block.X
    return [
        X.tobytes(),
        X.shape,
        block.names,
        *(None if part is None else part.tolist() for part in (block.codes, block.weights)),
    ]


@pytest.mark.parametrize('form, text', TEXTS.values(), ids=TEXTS)
def test_the_second_pass_reads_the_same_blocks_and_accounts_without_the_text(form, text, tmp_path):
    parsed, first = read(form, tmp_path / 'rows', [text])
    again, second = read(form, tmp_path / 'rows', text_is_not_read())
    assert list(map(values, again)) == list(map(values, parsed)) and parsed
    assert second.counts == first.counts
    assert second.rejected == first.rejected and len(first.rejected) == 1


def test_the_bytes_of_the_text_are_counted_as_its_blocks_are_read(tmp_path):
    form, text = TEXTS['csv']
    read(form, tmp_path / 'rows', [text])
    counted = []
    list(reader_of(form, tmp_path / 'rows', counted.append).blocks(text_is_not_read()))
    assert sum(counted) == len(text)


def test_sparse_rows_have_the_width_that_was_found_meanwhile(tmp_path):
    form, text = TEXTS['libsvm']
    read(form, tmp_path / 'rows', [text])
    blocks, _ = read(RowOptions('libsvm', n_features=12), tmp_path / 'rows', text_is_not_read())
    assert {block.X.shape[1] for block in blocks} == {12}


def test_a_pass_that_was_interrupted_keeps_nothing(tmp_path):
    form, text = TEXTS['csv']
    blocks = reader_of(form, tmp_path / 'rows').blocks([text])
    next(blocks)
    blocks.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('share', [0.3, 0.6, 0.9])
def test_a_file_that_was_cut_is_an_error(share, tmp_path):
    form, text = TEXTS['csv']
    read(form, tmp_path / 'rows', [text])
    kept = (tmp_path / 'rows').read_bytes()
    (tmp_path / 'rows').write_bytes(kept[: int(share * len(kept))])
    with pytest.raises(DataFormatError, match='its rows as they were kept: the file is cut short'):
        read(form, tmp_path / 'rows', [text])


def test_codes_and_features_have_their_types(tmp_path):
    form, text = TEXTS['csv']
    read(form, tmp_path / 'rows', [text])
    block = read(form, tmp_path / 'rows', [])[0][0]
    assert (block.X.dtype, block.codes.dtype) == (np.float64, np.int32)


@pytest.mark.skipif(not os.path.exists('/proc/self/smaps'), reason='only Linux tells which pages are in memory')
def test_of_a_long_split_only_the_last_blocks_stay_in_memory(tmp_path):
    text = b'a,0.25,0.5,1\n' * 200_000
    list(reader_of(CSV, tmp_path / 'rows', block_rows=4096).blocks([text]))
    resident = []
    for _ in reader_of(CSV, tmp_path / 'rows').blocks(text_is_not_read()):
        maps = Path('/proc/self/smaps').read_text().split(str(tmp_path / 'rows'))
        resident.append(int(re.search(r'^Rss: +(\d+) kB', maps[1], re.M)[1]))
    assert 0 < resident[-1] < (tmp_path / 'rows').stat().st_size / 1024 / 4
