"""Odd files as people have them, small and written here: what each holds, or the words of its refusal."""

import bz2
import gzip
import io
import zipfile
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = '1,0.5,2\n0,1.5,3\n1,-2,4e1\n'
READ = [['1', 0.5, 2.0], ['0', 1.5, 3.0], ['1', -2.0, 40.0]]  # its rows: label, features
SPARSE = '1 1:0.5 3:2\n-1 2:1.5\n'
SPARSE_READ = [['1', 0.5, 0.0, 2.0], ['-1', 0.0, 1.5, 0.0]]
NAMED = 'y,a,b\n' + ROWS


def field(text):
    """Return rows of which one has a text as its first feature."""
    return f'1,0.5,2\n0,{text},3\n1,-2,4e1\n'


def value(number):
    """Return what these rows hold where the text is a number."""
    return [READ[0], ['0', number, 3.0], READ[2]]


def labels(*texts):
    """Return a row for each label."""
    return ''.join(f'{text},{k},2\n' for k, text in enumerate(texts))


def classes(*names):
    """Return what these rows hold."""
    return [[name, float(k), 2.0] for k, name in enumerate(names)]


def zipped(**files):
    """Return an archive of zip."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace('_', '.'), text)
    return stream.getvalue()


def with_password(archive):
    """Mark the files of an archive as encrypted."""
    marked = bytearray(archive)
    for mark, flags in ((b'PK\x03\x04', 6), (b'PK\x01\x02', 8)):
        marked[marked.find(mark) + flags] |= 1
    return bytes(marked)


def zstd(text):
    """Return a file of zstandard."""
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, 'zstd') as out:
        out.write(text.encode())
    return stream.getvalue().to_pybytes()


def parquet(**columns):
    """Return a file of Parquet."""
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def arrow(**columns):
    """Return a file of Arrow."""
    table, stream = pa.table(columns), io.BytesIO()
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


def archive_of_numpy():
    """Return an npz."""
    stream = io.BytesIO()
    np.savez(stream, x=np.eye(3))
    return stream.getvalue()


def with_column(array):
    """Return a table of Parquet with a column of another type."""
    return parquet(y=['1', '0', '1'], a=array, b=[2.0, 3.0, 40.0])


def with_value(*numbers):
    """Return what it holds."""
    return [[name, number, b] for name, number, b in zip('101', numbers, (2.0, 3.0, 40.0), strict=True)]


LONG = '9' * 400
# file name -> (contents, options of RowOptions, rows, or words of the refusal)
TEXTS = {
    'plain.csv': (ROWS, {}, READ),
    'mark.csv': ('\ufeff' + ROWS, {}, READ),
    'mark and header.csv': ('\ufeff' + NAMED, {}, READ),
    'marks within.csv': ('\ufeff' + NAMED + '\ufeff' + ROWS, {}, READ + READ),
    'windows.csv': (ROWS.replace('\n', '\r\n'), {}, READ),
    'old mac.csv': (ROWS.replace('\n', '\r'), {}, READ),
    'mixed ends.csv': ('1,0.5,2\r\n0,1.5,3\n1,-2,4e1\r\n', {}, READ),
    'no last end.csv': (ROWS.rstrip(), {}, READ),
    'blank lines.csv': ('\n\n' + ROWS.replace('\n', '\n\n  \n'), {}, READ),
    'spaces at the ends.csv': (ROWS.replace('\n', '  \n'), {}, READ),
    'spaces around.csv': (ROWS.replace(',', ' , '), {}, READ),
    'header.csv': (NAMED, {}, READ),
    'header of numbers.csv': ('1,2,3\n' + ROWS, {'header': True}, READ),
    'semicolons.csv': (ROWS.replace(',', ';'), {}, READ),
    'tabs.tsv': (ROWS.replace(',', '\t'), {}, READ),
    'bars.csv': (ROWS.replace(',', '|'), {}, READ),
    'columns of spaces.txt': (ROWS.replace(',', '   '), {}, READ),
    'spaces in front.txt': ('  ' + ROWS.replace(',', ' ').replace('\n', '\n  ').rstrip(' '), {}, READ),
    'quotes.csv': ('"1","0.5","2"\n"0","1.5","3"\n"1","-2","4e1"\n', {}, READ),
    'single quotes.csv': (field("'1.5'"), {}, 'not a number'),
    'delimiter in a quote.csv': (labels('"a, b"', 'c', '"a, b"'), {}, classes('a, b', 'c', 'a, b')),
    'quote in a quote.csv': (labels('"say ""a"""', 'c'), {}, classes('say "a"', 'c')),
    'line end in a quote.csv': (labels('"a\nb"', 'c'), {}, 'bad quotes'),
    'open quote.csv': (labels('"a', 'c'), {}, 'bad quotes'),
    'quotes behind backslashes.csv': (r'1,"{\"a\": 1}",2' + '\n' + r'0,"{\"a\": 2}",3' + '\n', {}, 'bad quotes'),
    'quote inside a field.csv': (field('1"5'), {}, 'not a number'),
    'trailing delimiters.csv': (ROWS.replace('\n', ',\n'), {}, READ),
    'trailing delimiter in a row.csv': ('1,0.5,2\n0,1.5,3,\n', {}, 'wrong width'),
    'header of one name more.csv': ('i,y,a,b\n' + ROWS, {}, 'found 4'),
    'index of pandas.csv': (',y,a\n0,1,0.5\n1,0,1.5\n', {'label_column': 'y'}, [['1', 0.5], ['0', 1.5]]),
    'index in any order.csv': (',y,a\n7,1,0.5\n3,0,1.5\n', {}, [['1', 0.5], ['0', 1.5]]),
    'two indexes.csv': ('Unnamed: 0.1,Unnamed: 0,y,a\n3,7,1,0.5\n2,5,0,1.5\n', {}, [['1', 0.5], ['0', 1.5]]),
    'names of rows.csv': ('"","y","a"\n"Mazda",1,0.5\n"Fiat",0,1.5\n', {}, [['1', 0.5], ['0', 1.5]]),
    'names of rows without a name.csv': ('"y","a"\n"1",1,0.5\n"2",0,1.5\n', {}, 'row.names=FALSE'),
    'no delimiter behind the names.csv': ('y,a,b\n' + ROWS.replace('\n', ',\n'), {}, READ),
    'years above fractions.csv': ('1,2,3\n' + ROWS, {'header': False}, [['1', 2.0, 3.0], *READ]),
    'names of years.csv': (
        'land,2019,2020\n' + 5 * 'NO,0.5,1.5\nIT,1.5,2.5\n',
        {},
        5 * [['NO', 0.5, 1.5], ['IT', 1.5, 2.5]],
    ),
    'units.csv': ('y,a,b\n,m,kg\n' + ROWS, {}, 'units or types'),
    'types.csv': ('y,a,b\nint,float,float\n' + 5 * ROWS, {}, 'units or types'),
    'names in two lines.csv': ('y,size,weight\nclass,mean,mean\n' + 5 * ROWS, {}, 'a second line of names'),
    'header twice.csv': (NAMED + NAMED, {}, 'repeated header'),
    'same names.csv': ('y,a,a\n' + ROWS, {}, 'different names'),
    'same name of the label.csv': ('y,a,y\n' + ROWS, {'label_column': 'y'}, 'y'),
    'decimal commas.csv': ('1;0,5;2\n0;1,5;3\n1;-2;4e1\n', {}, READ),
    'decimal commas, tabs.tsv': ('1\t0,5\t2\n0\t1,5\t3\n1\t-2\t4e1\n', {}, READ),
    'thousands.csv': ('y,a,b\n1,"1,234.5",2\n0,"2,000.0",3\n', {}, [['1', 1234.5, 2.0], ['0', 2000.0, 3.0]]),
    'German thousands.csv': ('y;a;b\n1;1.234,5;2\n0;2.000,0;3\n', {}, [['1', 1234.5, 2.0], ['0', 2000.0, 3.0]]),
    'Swiss thousands.csv': ("y,a,b\n1,1'234.5,2\n0,2'000.0,3\n", {}, [['1', 1234.5, 2.0], ['0', 2000.0, 3.0]]),
    'Swiss quotes.csv': ('y,a,b\n1,1’234.5,2\n0,2’000.0,3\n', {}, [['1', 1234.5, 2.0], ['0', 2000.0, 3.0]]),
    'French thousands.csv': (
        'y;a;b\n1;1\u202f234,5;2\n0;2\u202f000,0;3\n',
        {},
        [['1', 1234.5, 2.0], ['0', 2000.0, 3.0]],
    ),
    'quoted decimal commas.csv': ('y,a,b\n1,"0,5",2\n0,"1,5",3\n1,-2,"4e1"\n', {}, READ),
    'three decimals behind a comma.csv': ('y,a\n1,"0,125"\n0,"1,250"\n', {}, [['1', 0.125], ['0', 1.25]]),
    'quoted thousands.csv': ('y,a\n1,"1,125"\n0,"2,250"\n', {}, [['1', 1125.0], ['0', 2250.0]]),
    'per cent.csv': ('y,a,b\n1,5%,2\n0,7.5%,3\n', {}, [['1', 5.0, 2.0], ['0', 7.5, 3.0]]),
    'currency.csv': ('y,a,b\n1,$5.00,2\n0,$7.50,3\n', {}, [['1', 5.0, 2.0], ['0', 7.5, 3.0]]),
    'brackets of accountants.csv': (field('(5)'), {}, 'not a number'),
    'comments with commas.csv': ('# made, by, me\ny,a,b\n' + 5 * ROWS, {}, 'leave out what stands above the names'),
    'comments.csv': ('# made today\n' + ROWS + '# the end\n', {}, 'leave out what stands above the names'),
    'comment behind a row.csv': ('1,0.5,2\n0,1.5,3 # why\n', {}, 'not a number'),
    'comments of Matlab.csv': ('% made today\n' + ROWS, {}, 'leave out what stands above the names'),
    'total.csv': (NAMED + 'total,2,45\n', {'numeric_labels': True}, 'target is not a number'),
    'sep of Excel.csv': ('sep=;\n' + ROWS.replace(',', ';'), {}, 'leave out what stands above the names'),
    'end of DOS.csv': (ROWS + '\x1a', {}, 'wrong width'),
    'bytes of 0.csv': (field('1\x005'), {}, 'binary data'),
    'latin-1.csv': (labels('süß', 'x').encode('latin-1'), {'charset': 'latin-1'}, classes('süß', 'x')),
    'latin-1 unsaid.csv': (labels('süß', 'x').encode('latin-1'), {}, 'UTF-8'),
    'utf-16.csv': (ROWS.encode('utf-16'), {}, READ),
    'utf-16 be.csv': (('\ufeff' + ROWS).encode('utf-16-be'), {}, READ),
    'utf-16 without mark.csv': (ROWS.encode('utf-16-le'), {}, '--encoding utf-16-le'),
    'utf-32.csv': (ROWS.encode('utf-32'), {}, READ),
    'emoji.csv': (labels('🙂', 'x'), {}, classes('🙂', 'x')),
    'two forms of é.csv': (labels('\u00e9', 'e\u0301'), {}, classes('\u00e9', 'e\u0301')),
    'line separator in a label.csv': (labels('a\u2028b', 'x'), {}, classes('a\u2028b', 'x')),
    'form feed.csv': (ROWS + '\f\n', {}, READ),
    'empty.csv': ('', {}, 'empty'),
    'mark alone.csv': ('\ufeff', {}, 'empty'),
    'blank.csv': ('\n \n', {}, 'empty'),
    'header alone.csv': ('y,a,b\n', {}, 'only a header'),
    'one column.csv': ('1\n0\n', {}, 'at least one feature'),
    'carets.csv': (ROWS.replace(',', '^'), {}, '--delimiter says'),
    'two colons.dat': (ROWS.replace(',', '::'), {}, '--delimiter says'),
    'times.data': ('10:00,0.5\n11:00,1.5\n', {'label_column': 1}, 'not a number'),
    '1e400.csv': (field('1e400'), {}, 'infinite'),
    '1e-400.csv': (field('1e-400'), {}, value(0.0)),
    'inf.csv': (field('-inf'), {}, 'infinite'),
    'infinity.csv': (field('Infinity'), {}, 'infinite'),
    'nan.csv': (field('nan'), {}, 'nan'),
    'hexadecimal.csv': (field('0x10'), {}, 'not a number'),
    'hexadecimal float.csv': (field('0x1p3'), {}, 'not a number'),
    'underscores.csv': (field('1_000'), {}, 'not a number'),
    'exponent of Fortran.csv': (field('1d5'), {}, 'not a number'),
    'minus sign.csv': (field('\u22125'), {}, 'not a number'),
    'digits of Arabic.csv': (field('\u0661\u0662'), {}, 'not a number'),
    'wide digits.csv': (field('１２'), {}, 'not a number'),
    'narrow space.csv': (field('1\u202f234'), {}, value(1234.0)),
    'short floats.csv': ('1,.5,2.\n0,+1.5,3\n', {}, READ[:2]),
    'exponent alone.csv': (field('1e'), {}, 'not a number'),
    'huge integer.csv': (field(LONG[:30]), {}, value(1e30)),
    'longer than float64.csv': (field(LONG), {}, 'infinite'),
    'many digits.csv': (field('0.1000000000000000055511151231257827021181583404541015625'), {}, value(0.1)),
    'nearest float.csv': (field('9007199254740993'), {}, value(9007199254740992.0)),
    'leading zeros.csv': (field('0007'), {}, value(7.0)),
    'missing.csv': (field(''), {}, 'missing value'),
    'missing quoted.csv': (field('""'), {}, 'missing value'),
    'NA.csv': (field('NA'), {}, 'missing value'),
    'date.csv': (field('2024-02-29'), {}, 'not a number'),
    'time.csv': (field('12:30'), {}, 'not a number'),
    'boolean.csv': (field('true'), {}, 'not a number'),
    'label missing.csv': (labels('a', '', 'b'), {}, 'missing label'),
    'label NA.csv': (labels('a', 'NA', 'b'), {}, 'missing label'),
    'label of spaces.csv': (labels('a', '  ', 'b'), {}, 'missing label'),
    'label with spaces.csv': (labels('New York', ' x '), {}, classes('New York', 'x')),
    'label in two cases.csv': (labels('A', 'a'), {}, classes('A', 'a')),
    'label of a regression.csv': (labels('1.5', 'x'), {'numeric_labels': True}, 'x'),
    'infinite target.csv': (labels('1.5', '1e999'), {'numeric_labels': True}, 'infinite'),
    'no label.csv': ('0.5,2\n1.5,3\n', {'labelled': False}, [[None, 0.5, 2.0], [None, 1.5, 3.0]]),
    'a line of 300,000 digits.csv': (field('0.' + LONG * 750), {}, value(1.0)),
    'short row.csv': ('1,0.5,2\n0,1.5\n', {}, 'wrong width'),
    'long row.csv': ('1,0.5,2\n0,1.5,3,4\n', {}, 'wrong width'),
    'weight of 0.csv': (ROWS, {'weight_column': 2}, [['1', 0.5], ['0', 1.5], ['1', -2.0]]),
    'negative weight.csv': ('1,0.5,2\n0,1.5,-3\n', {'weight_column': 2}, 'weight'),
    'plain.libsvm': (SPARSE, {}, SPARSE_READ),
    'signs.libsvm': ('+' + SPARSE, {}, [['+1', *SPARSE_READ[0][1:]], SPARSE_READ[1]]),
    'unsorted.libsvm': (SPARSE + '1 3:1 2:1\n', {}, 'indices not rising'),
    'index twice.libsvm': (SPARSE + '1 2:1 2:1\n', {}, 'indices not rising'),
    'index 0.libsvm': (SPARSE + '1 0:1 2:1\n', {}, 'index below 1'),
    'negative index.libsvm': (SPARSE + '1 -2:1\n', {}, 'index below 1'),
    'huge index.libsvm': (SPARSE + '1 99999999999999999999:1\n', {}, 'index too large'),
    'index of a float.libsvm': (SPARSE + '1 1.5:1\n', {}, 'not index:value'),
    'several labels.libsvm': ('1,2' + SPARSE[1:], {}, '--labels-separator'),
    'qid.libsvm': ('1 qid:3 1:0.5 3:2\n-1 qid:3 2:1.5\n', {}, SPARSE_READ),
    'comments.libsvm': ('# first\n' + SPARSE.replace('\n', ' # why 7:7\n'), {}, SPARSE_READ),
    'tabs.libsvm': (SPARSE.replace(' ', '\t'), {}, SPARSE_READ),
    'spaces.libsvm': (SPARSE.replace(' ', '   ').replace('\n', '  \r\n'), {}, SPARSE_READ),
    'label alone.libsvm': (SPARSE + '1\n', {}, [*SPARSE_READ, ['1', 0.0, 0.0, 0.0]]),
    'value missing.libsvm': (SPARSE + '1 1:\n', {}, 'not a number'),
    'space in a pair.libsvm': (SPARSE + '1 1: 2\n', {}, 'not a number'),
    'nan.libsvm': (SPARSE + '1 1:nan\n', {}, 'nan'),
    '1e400.libsvm': (SPARSE + '1 1:1e400\n', {}, 'nan or infinite'),
    'zeros.libsvm': ('1 1:0.5 2:0 3:2\n-1 2:1.5 3:0\n', {}, SPARSE_READ),
    'too wide.libsvm': (SPARSE, {'n_features': 2}, 'index too large'),
    'rows.csv.gz': (gzip.compress(ROWS.encode()), {}, READ),
    'two members.csv.gz': (gzip.compress(ROWS.encode()[:10]) + gzip.compress(ROWS.encode()[10:]), {}, READ),
    'cut.csv.gz': (gzip.compress(ROWS.encode())[:-9], {}, 'cut short or damaged'),
    'zeros behind.csv.gz': (gzip.compress(ROWS.encode()) + bytes(512), {}, 'damaged'),
    'rubbish behind.csv.gz': (gzip.compress(ROWS.encode()) + b'rubbish', {}, 'damaged'),
    'no gzip.csv.gz': (ROWS, {}, 'damaged'),
    'gzip without its name.csv': (gzip.compress(ROWS.encode()), {}, 'found gzip data'),
    'gzip of gzip.csv.gz': (gzip.compress(gzip.compress(ROWS.encode())), {}, 'found gzip data'),
    'two members.csv.bz2': (bz2.compress(ROWS.encode()[:10]) + bz2.compress(ROWS.encode()[10:]), {}, READ),
    'cut.csv.bz2': (bz2.compress(ROWS.encode())[:-9], {}, 'cut short or damaged'),
    'rows.csv.zst': (zstd(ROWS), {}, READ),
    'cut.csv.zst': (zstd(ROWS)[:-5], {}, 'cut short or damaged'),
    'rows.csv.zip': (zipped(rows_csv=ROWS), {}, READ),
    'cut.csv.zip': (zipped(rows_csv=ROWS)[:-30], {}, 'cut short or damaged'),
    'cut in front.csv.zip': (zipped(rows_csv=ROWS)[1:], {}, 'cut short or damaged'),
    'password.csv.zip': (with_password(zipped(rows_csv=ROWS)), {}, 'password required'),
    'two files.zip': (zipped(a_csv=ROWS, b_csv=ROWS), {}, 'it holds 2'),
    'empty.zip': (zipped(), {}, 'it holds 0'),
    'excel.xlsx': (zipped(content_xml='<xml/>', workbook_xml='<xml/>'), {}, 'save a workbook as csv'),
    'web.csv': ('<!DOCTYPE html>\n<html><body>404</body></html>\n', {}, 'found a web page'),
    'lines.json': ('{"y": 1, "a": 0.5}\n{"y": 0, "a": 1.5}\n', {}, 'found JSON'),
    'no relation.arff': ('@attribute a numeric\n@data\n1,2\n', {}, 'found an ARFF file'),
    'rows.vw': ('1 |f a:1 b:0.5\n-1 |f a:2\n', {}, 'Vowpal Wabbit'),
    'pointer.csv': ('version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n', {}, 'git lfs pull'),
    'sas.xpt': ('HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!0000\n', {}, 'of another program'),
    'data.sav': (b'$FL2@(#) SPSS' + bytes(100), {}, 'of another program'),
    'data.dta': (b'<stata_dta><header>' + bytes(100), {}, 'of another program'),
    'data.mat': (b'MATLAB 5.0 MAT-file' + bytes(100), {}, 'of another program'),
    'rows.7z': (b'7z\xbc\xaf\x27\x1c' + bytes(100), {}, 'binary data'),
    'rows.rar': (b'Rar!\x1a\x07' + bytes(100), {}, 'binary data'),
    'rows.arff': ('@relation r\n@attribute a numeric\n@data\n1,2\n', {}, 'found an ARFF file'),
    'page.pdf': (b'%PDF-1.7\n%\xe2\xe3\n1 0 obj\n', {}, 'of another program'),
    'data.sqlite': (b'SQLite format 3\0' + bytes(100), {}, 'binary data'),
    'data.h5': (b'\x89HDF\r\n\x1a\n' + bytes(100), {}, 'of another program'),
    'arrays.npz': (archive_of_numpy(), {}, 'or numpy arrays'),
    'array.npy': (b'\x93NUMPY\x01\0v\0' + bytes(100), {}, 'found a numpy array'),
    'thing.pkl': (b'\x80\x04\x95\x10\0\0\0\0\0\0\0]\x94.', {}, 'binary data'),
    'noise.csv': (bytes(range(256)), {}, 'binary data'),
}
TABLES = {
    'plain.parquet': (parquet(y=['1', '0', '1'], a=[0.5, 1.5, -2.0], b=[2, 3, 40]), {}, READ),
    'parquet.csv': (parquet(y=['1', '0', '1'], a=[0.5, 1.5, -2.0], b=[2, 3, 40]), {}, READ),
    'index of csv.parquet': (
        parquet(**{'Unnamed: 0': [3, 1, 2], 'y': ['1', '0', '1'], 'a': [0.5, 1.5, -2.0], 'b': [2, 3, 40]}),
        {},
        READ,
    ),
    'label without a name.parquet': (parquet(**{'': ['u', 'v'], 'a': [1.0, 2.0]}), {}, [['u', 1.0], ['v', 2.0]]),
    'cut.parquet': (with_column([0.5, 1.5, -2.0])[:-20], {}, 'cut short or damaged'),
    'cut in front.parquet': (with_column([0.5, 1.5, -2.0])[20:], {}, 'found binary data'),
    'no rows.parquet': (parquet(y=pa.array([], 'string'), a=pa.array([], 'double')), {}, 'empty'),
    'booleans.parquet': (with_column([True, False, True]), {}, with_value(1.0, 0.0, 1.0)),
    'float16.parquet': (with_column(np.array([0.5, 1.5, -2], np.float16)), {}, with_value(0.5, 1.5, -2.0)),
    'uint64.parquet': (with_column(np.array([1, 2, 2**63], np.uint64)), {}, with_value(1.0, 2.0, 2.0**63)),
    'decimals.parquet': (
        with_column([Decimal('0.5'), Decimal('1.5'), Decimal('-2.0')]),
        {},
        with_value(0.5, 1.5, -2.0),
    ),
    'words.parquet': (with_column(['u', 'v', 'u']), {}, 'a'),
    'numbers as words.parquet': (with_column(['0.5', '1.5', '-2']), {}, 'found string'),
    'a null.parquet': (with_column([0.5, None, -2.0]), {}, 'missing value'),
    'a nan.parquet': (with_column([0.5, float('nan'), -2.0]), {}, 'missing value'),
    'infinite.parquet': (with_column([0.5, float('inf'), -2.0]), {}, 'infinite'),
    'all null.parquet': (with_column(pa.nulls(3)), {}, 'missing value'),
    'dates.parquet': (with_column([date(2024, 2, 29)] * 3), {}, 'found date32'),
    'structs.parquet': (with_column([{'u': 1}] * 3), {}, 'found struct'),
    'binary.parquet': (with_column([b'u'] * 3), {}, 'found binary'),
    'lists.parquet': (with_column([[1.0, 2.0]] * 3), {}, 'one fixed size'),
    'classes of words.parquet': (
        parquet(y=pa.array(['u', 'v', 'u']).dictionary_encode(), a=[1.0, 2.0, 3.0]),
        {},
        [['u', 1.0], ['v', 2.0], ['u', 3.0]],
    ),
    'huge labels.parquet': (
        parquet(y=[2**53, 2**53 + 1], a=[1.0, 2.0]),
        {},
        [['9007199254740992', 1.0], ['9007199254740993', 2.0]],
    ),
    'a label of null.parquet': (parquet(y=['u', None, 'v'], a=[1.0, 2.0, 3.0]), {}, 'missing label'),
    'plain.arrow': (arrow(y=['1', '0', '1'], a=[0.5, 1.5, -2.0], b=[2, 3, 40]), {}, READ),
    'cut.arrow': (arrow(y=['1', '0'], a=[0.5, 1.5])[:-20], {}, 'cut short or damaged'),
}
