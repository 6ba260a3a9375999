"""Files and rows that cannot be used: the same sentence from every runner, no model."""

import bz2
import gzip
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.files import FEW, GOOD, SPARSE

from mr_elm.rows.splits import SplitReader


def lines_with(text, at):
    lines = GOOD.splitlines()
    return '\n'.join([*lines[: at - 1], text, *lines[at - 1 :]]) + '\n'


BAD = {  # name: (content, what the message holds)
    'width.csv': (lines_with('1,2', 57), 'line 57: wrong width: expected 3 fields, found 2'),
    'wide.csv': (lines_with('1,2,3,4', 58), 'line 58: wrong width: expected 3 fields, found 4'),
    'word.csv': (
        lines_with('1,two,3', 61),
        "line 61: not a number: column 1 (counted from 0) holds 'two' (--label-column names the label, --encode",
    ),
    'gap.csv': (lines_with('1,,3', 2), 'line 2: missing value: column 1 (counted from 0)'),
    'nan.csv': (lines_with('1,3,nan', 60), 'line 60: missing value: column 2 (counted from 0) has no value'),
    'inf.csv': (lines_with('0,1e999,3', 59), 'line 59: nan or infinite: column 1 (counted from 0) holds inf'),
    'no-label.csv': (lines_with(',1,3', 55), 'line 55: missing label'),
    'nul.csv': (lines_with('1,2,3', 300) + GOOD * 5 + '1,2\0,3\n', 'line 362: binary data'),
    'crlf.csv': (lines_with('1,2', 50).replace('\n', '\r\n'), 'line 50: wrong width'),
    'header.csv': ('y,a,b\n\n' + lines_with('1,2', 57), 'line 59: wrong width'),
    'zero.libsvm': (SPARSE + '1 0:3 1:2\n', 'line 41: index below 1'),
    'descend.libsvm': (SPARSE + '1 3:3 1:2\n', 'line 41: indices not rising'),
    'huge.libsvm': (SPARSE + '1 1:3 999999999999:2\n', 'line 41: index too large'),
    'pair.libsvm': (SPARSE + '1 1:3 x:2\n', 'line 41: not index:value'),
    'no-label.libsvm': (SPARSE + '1:3 2:4\n', 'line 41: missing label'),
    'many.csv': (''.join(f'{i / 7:.4f},{i % 5}\n' for i in range(60)), '--task regression'),
    'excel.csv': ('sep=;\ny;a;b\n' + '1;2;3\n0;3;4\n' * 20, 'leave out what stands above the names'),
    'excel-two.csv': ('sep=;\ny;a\n' + '1;2\n0;3\n' * 20, 'leave out what stands above the names'),
    'one-class.csv': ('1,2,3\n1,3,4\n' * 20, "every row has the label '1'"),
    'empty.csv': ('', 'the file is empty'),
    'blank.csv': ('\n \n\n', 'the file is empty'),
    'header-only.csv': ('y,a,b\n', 'only a header line'),
    'binary.csv': (bytes(range(256)) * 40, 'binary data'),
    'cut.csv.gz': (gzip.compress(GOOD.encode() * 50)[:-40], 'cut short or damaged'),
    'cut.csv.bz2': (bz2.compress(GOOD.encode() * 50)[:-40], 'cut short or damaged'),
    'fake.csv.gz': (GOOD, 'damaged'),
    'label-only.csv': ('1\n2\n' * 9, 'at least one feature'),
}


def check_refusal(done, path, what, tmp_path):
    assert (done.status, done.out) == (1, '')
    assert re.fullmatch(r'mr-elm: [^\n]*\n', done.err) and str(path) in done.err and what in done.err
    assert not list(tmp_path.glob('m.npz*'))


@pytest.mark.parametrize('n', [1, 4])
@pytest.mark.parametrize('name', BAD)
def test_a_bad_file_is_refused_with_its_line(elm, write, tmp_path, maps, name, n):
    path = write(name, BAD[name][0])
    done = elm('train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '-q', *maps(n))
    check_refusal(done, path, BAD[name][1], tmp_path)


@pytest.mark.parametrize('name', ['word.csv', 'huge.libsvm'])
def test_the_program_says_the_same_on_all_cores(elm, program, write, tmp_path, name):
    path = write(name, BAD[name][0])
    options = ['train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '-q']
    done = program(*options, '-r', 'local', '--num-cores', 2)
    check_refusal(done, path, BAD[name][1], tmp_path)
    assert done.err == elm(*options).err


@pytest.mark.parametrize('name', ['width.csv', 'empty.csv'])
def test_the_program_prints_one_sentence_and_nothing_else(program, write, tmp_path, name):
    path = write(name, BAD[name][0])
    done = program('train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '-q')
    check_refusal(done, path, BAD[name][1], tmp_path)


@pytest.mark.parametrize('n', [1, 4])
def test_the_first_of_several_bad_rows_is_named(elm, write, tmp_path, maps, n):
    good = GOOD.splitlines()
    path = write('rows.csv', '\n'.join([*good[:20], '1,x,2', *good[20:40], '1', *good[40:], '1,nan,2']))
    done = elm('train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '-q', *maps(n))
    check_refusal(done, path, 'line 21: not a number', tmp_path)


@pytest.mark.parametrize('kind', ['csv', 'parquet', 'arrow', 'pack'])
def test_a_bad_row_ends_the_job_when_it_is_met(elm, tmp_path, maps, monkeypatch, kind):
    """The third of six tasks meets two of them together; a pack has no bad rows, so its text is skipped before."""
    rows = [[float(i % 2), float(i), float(i * i % 7)] for i in range(600)]
    rows[250][1] = rows[251][1] = np.nan
    path = tmp_path / f'rows.{kind}'
    table = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=['y', 'a', 'b'])
    if kind == 'parquet':
        pq.write_table(table, path, row_group_size=100)
    elif kind == 'arrow':
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    else:
        path = tmp_path / 'rows.csv'
        path.write_text('\n'.join(','.join(map(str, row)) for row in rows))
    opened, read = [], SplitReader.open
    monkeypatch.setattr(SplitReader, 'open', lambda self, *words: opened.append(words) or read(self, *words))
    target = ('pack', path, '-o', tmp_path / 'p') if kind == 'pack' else ('train', 'pesvm', path, *FEW)
    out = () if kind == 'pack' else ('--model', tmp_path / 'm.npz')
    done = elm(*target, *out, '-q', '-r', 'inline', *maps(6))
    unit = 'line' if path.suffix == '.csv' else 'row'
    assert done.status == 1 and f'{path}, {unit} 251: ' in done.err and done.err.count('\n') == 1, done.err
    assert '2 bad rows so far' in done.err and len(opened) == 3


@pytest.mark.parametrize(
    'words',
    [('update', '{}', 'rows.csv', '--model', 'n.npz'), ('predict', '{}', 'rows.csv', '-o', 'o'), ('inspect', '{}')],
)
def test_a_model_that_is_not_there_is_named_as_what_it_is(elm, tmp_path, words):
    done = elm(*(word.format(tmp_path / 'm.npz') for word in words))
    assert done.status == 1
    assert done.err == f'mr-elm: {tmp_path}/m.npz: expected a model file of mr-elm train, found no such file\n'


def test_the_bad_file_of_several_is_named(elm, write, tmp_path, maps):
    folder = write('d/a.csv', GOOD).parent
    bad = write('d/b.csv', lines_with('1,2', 30))
    write('d/c.csv', GOOD)
    done = elm('train', 'pesvm', folder, *FEW, '--model', tmp_path / 'm.npz', '-q', *maps(5))
    check_refusal(done, bad, 'line 30: ', tmp_path)


def test_the_wrong_column_as_label_is_explained(elm, rows, tmp_path):
    done = elm('train', 'pesvm', rows, '--label-column', 1, *FEW, '--model', tmp_path / 'm.npz', '-q')
    check_refusal(done, rows, '--label-column', tmp_path)
    assert '--task regression' in done.err


@pytest.mark.parametrize(
    ('options', 'what'),
    [
        (['--label-column', '3'], 'rows have 3 fields'),
        (['--label-column', 'y'], "a column named 'y'"),
        (['--weight-column', '-4'], 'rows have 3 fields'),
        (['--n-features', '7'], 'expected rows of 7 features'),
        (['--task', 'regression', '--label-column', 'z'], "a column named 'z'"),
    ],
)
def test_columns_that_are_not_there_are_an_error(elm, rows, tmp_path, options, what):
    done = elm('train', 'pesvm', rows, *options, *FEW, '--model', tmp_path / 'm.npz', '-q')
    check_refusal(done, rows, what, tmp_path)


@pytest.mark.parametrize('weight', ['0', '-1', 'nan', 'x', ''])
def test_weights_must_be_positive_numbers(elm, write, tmp_path, weight):
    path = write('rows.csv', '0,1,2\n1,1,3\n' * 9 + f'1,{weight},3\n')
    done = elm('train', 'pesvm', path, '--weight-column', 1, *FEW, '--model', tmp_path / 'm.npz', '-q')
    check_refusal(done, path, 'line 19: ', tmp_path)


@pytest.mark.parametrize('bad', ['1 3:1 50:abc', '1 3:1 50:nan', '1 50:1 4:1', '1 70:1 3'])
def test_both_passes_give_the_same_reason_for_a_row_that_is_also_too_wide(elm, write, tmp_path, bad):
    good = ''.join(f'{i % 2} 1:{i} 10:{i * i % 7}\n' for i in range(40))
    path = write('rows.libsvm', good + bad + '\n')
    said = elm('train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '--bad-rows', 'skip')
    assert said.status == 0 and (tmp_path / 'm.npz.rejected').read_bytes().endswith(bad.encode() + b'\n')


def test_rows_left_out_are_listed_in_their_own_bytes(elm, write, tmp_path, model_of):
    bad = '\u5317\u4eac,1,2\n'
    path = write('rows.csv', ''.join(f'{i / 7},{i},{i * i % 7}\n' for i in range(40)) + bad)
    said = elm(
        'train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '--bad-rows', 'skip', '--task', 'regression'
    )
    assert said.status == 0 and (tmp_path / 'm.npz').exists()
    assert (tmp_path / 'm.npz.rejected').read_text(encoding='utf-8').endswith(bad)
