"""Files as people have them: other encodings, line ends, archives, other formats; read rightly, or refused by name."""

import gzip
import io
import re
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from mr_elm.errors import DataFormatError, UnsuitableWarning
from mr_elm.rows.columns import TextColumn
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.splits import SplitReader, plan_splits, read_stream
from mr_elm.sums.values import ColumnValues, choose_column

TEXT = 'kind,größe,x\n' + ''.join(f'{"süß" if k % 2 else "sauer"},{k}.5,{k * k}\n' for k in range(40))
X = np.array([[k + 0.5, k * k] for k in range(40)])


def zipped(*names):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, TEXT)
    return stream.getvalue()


def zstd(data):
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, 'zstd') as out:
        out.write(data)
    return stream.getvalue().to_pybytes()


FILES = {
    'plain.csv': TEXT.encode(),
    'mark.csv': TEXT.encode('utf-8-sig'),
    'windows.csv': TEXT.replace('\n', '\r\n').encode(),
    'old mac.csv': TEXT.replace('\n', '\r').encode(),
    'utf16.csv': TEXT.encode('utf-16'),
    'big.csv': '\ufeff'.encode('utf-16-be') + TEXT.encode('utf-16-be'),
    'ROWS.CSV.GZ': gzip.compress(TEXT.encode()),
    'rows.csv.zst': zstd(TEXT.encode()),
    'rows.zip': zipped('rows.csv'),
    'mac.zip': zipped('a.csv', '__MACOSX/a.csv'),
    'utf16.csv.gz': gzip.compress(TEXT.replace('\n', '\r\n').encode('utf-16')),
}


def read(path, n_maps=1, **options):
    """Read a file in splits of at most n_maps tasks: (labels, matrix, plan)."""
    plan = plan_inputs([str(path)], RowOptions(**options))
    source = SplitReader(plan, None, stop=True, block_rows=4096)
    labels, blocks = [], []
    for task in plan_splits(plan, n_maps):
        for split in task:
            reader, chunks = source.open(*split, lambda n: None)
            for block in reader.blocks(chunks):
                labels += [block.names[code] for code in block.codes]
                blocks.append(block.X)
            assert reader.rejected == []
    return labels, np.vstack(blocks), plan


@pytest.mark.parametrize('name', FILES)
@pytest.mark.parametrize('n_maps', [1, 3, 50])
def test_encodings_line_ends_and_archives_are_read(name, n_maps, tmp_path):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    labels, found, plan = read(path, n_maps)
    assert labels == ['sauer', 'süß'] * 20 and np.array_equal(found, X)
    assert plan.files[0].format.names == ('größe', 'x')


@pytest.mark.parametrize('charset', ['latin-1', 'cp1252', 'utf-16-le', 'mac-roman'])
def test_any_encoding_is_read_where_it_is_named(charset, tmp_path):
    path = tmp_path / 'rows.csv'
    path.write_bytes(TEXT.encode(charset))
    labels, found, _ = read(path, charset=charset)
    assert labels[1] == 'süß' and np.array_equal(found, X)


def test_a_model_keeps_the_encoding_of_its_rows(tmp_path):
    path, trained = tmp_path / 'rows.csv', RowOptions('csv', charset='cp1252')
    path.write_bytes(TEXT.encode('cp1252'))
    assert read(path, trained=trained)[0][1] == 'süß'
    path.write_bytes(TEXT.encode())  # where it does not fit
    assert read(path, trained=trained)[0][1] == 'süß'


def test_bytes_that_are_no_text_of_the_named_encoding_are_refused(tmp_path):
    path = tmp_path / 'rows.csv'
    path.write_bytes(TEXT.encode() + b'\xff\xfe,1,2\n')
    with pytest.raises(DataFormatError, match=r'rows.csv: expected text in ascii.*--encoding'):
        read(path, charset='ascii')


@pytest.mark.parametrize(
    'ending, data', [('.zst', zstd(TEXT.encode())), ('.zip', zipped('a.csv')), ('.GZ', gzip.compress(TEXT.encode()))]
)
@pytest.mark.parametrize('part', [0.5, 0.95])
def test_an_archive_that_is_cut_is_refused(ending, data, part):
    with pytest.raises(DataFormatError, match='cut short or damaged'):
        list(read_stream(io.BytesIO(data[: int(part * len(data))]), f'rows{ending}'))


def test_an_archive_of_several_files_is_refused_by_their_names(tmp_path):
    path = tmp_path / 'rows.zip'
    path.write_bytes(zipped('a.csv', 'b.csv'))
    with pytest.raises(DataFormatError, match=r'one file, it holds 2: a.csv, b.csv'):
        read(path)


@pytest.mark.parametrize(
    'data, said',
    [
        (b'% by me\n@RELATION x\n@attribute a numeric\n@data\n1,2\n', 'ARFF'),
        (b'{"a": 1}\n', 'JSON'),
        (b'[{"a": 1},\n{"a": 2}]\n', 'JSON'),
        (b'<!DOCTYPE html>\n<html>\n', 'web page'),
        (b'<?xml version="1.0"?>\n', 'XML'),
        (b'PK\x03\x04\x14\0\x06\0xl/workbook.xml', 'Excel'),
        (b'\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0', 'Excel'),
        (b'\x1f\x8b\x08\0\0\0', 'ends in .gz'),
        (b'\x28\xb5\x2f\xfd\0\0', 'ends in .zst'),
        (b'\x93NUMPY\x01\0', 'numpy'),
        (b'\x89HDF\r\n\x1a\n\0', 'another program'),
        (b'SQLite format 3\0', 'binary data'),
        (b'\x80\x04\x95\0\0', 'binary data'),
    ],
)
def test_files_of_other_formats_are_named_with_what_to_do(data, said, tmp_path):
    path = tmp_path / 'rows'
    path.write_bytes(data)
    with pytest.raises(DataFormatError, match=said) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_a_uri_of_a_file_is_its_path(tmp_path):
    path = tmp_path / 'größe & more.csv'
    path.write_bytes(TEXT.encode())
    assert read(path.as_uri())[2].files[0].path == str(path)


def write_csv(path, *columns, delimiter=','):
    """Write a table of three columns, a label, a number and others, and return its path."""
    rows = [['y', 'x', 'v'], *([f'{"ab"[i % 2]}', f'{i % 7}', text] for i, text in enumerate(columns))]
    path.write_text(''.join(delimiter.join(row) + '\n' for row in rows))
    return path


def warnings_of(caught):
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ('text', 'other'),
    [('{}.{:03}', 'reads thousands, --decimal . fractions'), ('{},{:03}', '--decimal . reads thousands')],
)
def test_a_column_that_may_be_thousands_is_named_with_the_options(text, other, tmp_path):
    texts = [text.format(i + 1, (i * 37) % 1000) for i in range(30)]
    path = write_csv(tmp_path / 'rows.csv', *texts, delimiter=';')
    with pytest.warns(UnsuitableWarning, match=re.escape(other)):
        assert read(path)[1][3, 1] == 4.111
    decimal = {'.': ',', ',': '.'}[text[2]]
    assert read(path, decimal=decimal)[1][3, 1] == 4111


def test_fractions_beside_other_fractions_are_not_in_doubt(tmp_path, recwarn):
    path = tmp_path / 'rows.csv'
    path.write_text('y;x;v\n' + ''.join(f'{"ab"[i % 2]};{i / 7:.4f};{i + 1}.{i:03}\n' for i in range(30)))
    assert read(path)[1][3, 1] == 4.003 and not any('thousands' in text for text in warnings_of(recwarn))


@pytest.mark.parametrize('text', ['{}/7', '{} days 00:00:00', '[{}, 1]', '{}h 3m', '({}.00)', 'CHF {}', '12 Oak St {}'])
def test_many_texts_that_may_be_numbers_are_named(text):
    with pytest.warns(UnsuitableWarning, match='without signs, if they are numbers'):
        choose_column('v', ColumnValues.of(TextColumn([text.format(i % 30) for i in range(90)])))
