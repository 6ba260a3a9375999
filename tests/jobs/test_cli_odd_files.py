"""Files that are merely odd: they are read whole, under any name."""

import bz2
import gzip
import os
import re

import numpy as np
import pytest
from reference.files import FEW, GOOD, LOCAL, SPARSE

ODD = 'a [1] $(touch touched);\'"#*é.x'
ODD_FILES = {
    'crlf.csv': (GOOD.replace('\n', '\r\n'), 60),
    'bom.csv': (b'\xef\xbb\xbf' + GOOD.encode(), 60),
    'bom-header.csv': (b'\xef\xbb\xbfy,a,b\r\n' + GOOD.replace('\n', '\r\n').encode(), 60),
    'header.csv': ('y,a,b\n' + GOOD, 60),
    'blank-header.csv': ('\n\ny,a,b\n' + GOOD, 60),
    'blank-splits.csv': ('\n' * 900 + 'y,a,b\n' + GOOD, 60),
    'blank.csv': ('\n' + GOOD.replace('\n', '\n\n') + ' \n\n', 60),
    'no-newline.csv': (GOOD.rstrip(), 60),
    'semicolons.csv': (GOOD.replace(',', ';'), 60),
    'spaces.csv': (GOOD.replace(',', ' '), 60),
    'tabs.tsv': (GOOD.replace(',', '\t'), 60),
    'no-ending': (GOOD, 60),
    'words.csv': (re.sub('^(.)', r'"class, \1"', GOOD, flags=re.MULTILINE), 60),
    'accents.csv': (re.sub('^0', 'voilà', GOOD, flags=re.MULTILINE).replace('\n1,', '\nÅ,'), 60),
    'two.csv.gz': (gzip.compress(GOOD.encode()) * 2, 120),
    'three.csv.bz2': (bz2.compress(GOOD.encode()) * 3, 180),
    'comments.libsvm': ('# one\n\n' + SPARSE.replace(' 4:1', ' 4:1 # two').replace('-1', '-1 qid:7'), 40),
    'no-features.libsvm': (SPARSE + '1\n-1 \n', 42),
}


@pytest.mark.parametrize('n', [1, 3])
@pytest.mark.parametrize('name', ODD_FILES)
def test_odd_files_are_read_whole(trained, write, maps, name, n):
    content, n_rows = ODD_FILES[name]
    header, arrays = trained(write(name, content), *maps(n))
    assert (header['n_rows_used'], len(header['classes'])) == (n_rows, 2)
    assert arrays['counts'].tolist() == [n_rows / 2] * 2


def test_class_names_are_kept_as_they_are_written(trained, write):
    assert trained(write('accents.csv', ODD_FILES['accents.csv'][0]))[0]['classes'] == ['voilà', 'Å']
    assert trained(write('words.csv', ODD_FILES['words.csv'][0]))[0]['classes'] == ['class, 0', 'class, 1']


def test_spellings_of_a_number_are_one_class(trained, write):
    spelled = ['+1', '-1', '1', '-1.0', '1.0', '-1e0']
    header, arrays = trained(write('rows.csv', ''.join(f'{spelled[i % 6]},{i % 50}\n' for i in range(60))))
    assert header['classes'] == ['-1', '+1'] and arrays['counts'].tolist() == [30, 30]


@pytest.mark.parametrize('runner', [('-r', 'inline'), LOCAL])
def test_any_name_will_do_for_inputs_models_and_outputs(elm, write, tmp_path, monkeypatch, runner):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / f'f {ODD}'
    rows, model = write(folder / f'rows {ODD}', GOOD), folder / f'model {ODD}.npz'
    quiet = ['-q', *runner]
    assert elm('train', 'pesvm', rows, *FEW, '--model', model, *quiet) == (0, '', '')
    assert elm('predict', model, rows, '-o', folder / f'out {ODD}', *quiet) == (0, '', '')
    assert elm('evaluate', model, rows, '--json', *quiet).status == 0
    assert elm('pack', rows, '-o', folder / f'pack {ODD}', *quiet) == (0, '', '')
    names = [f'{kind} {ODD}' for kind in ('rows', 'out', 'pack')]
    assert sorted(os.listdir(folder)) == sorted([*names, f'model {ODD}.npz', f'model {ODD}.sums.npz'])
    assert len((folder / f'out {ODD}').read_text().splitlines()) == 60
    assert os.listdir(tmp_path) == [folder.name]


def test_names_of_bytes_that_are_no_text_will_do(elm, tmp_path):
    rows = tmp_path / os.fsdecode(b'rows\xff.csv')
    rows.write_text(GOOD + '1,2\n')
    done = elm('train', 'pesvm', rows, *FEW, '--model', tmp_path / 'm.npz', '-q', '--bad-rows', 'skip')
    assert done == (0, '', '')
    assert (tmp_path / 'm.npz.rejected').read_bytes().startswith(os.fsencode(rows) + b'\t61\twrong width')


def test_a_pattern_in_quotes_finds_the_files(trained, write, tmp_path):
    for name in 'ab':
        write(f'{name}.csv', GOOD)
    assert trained(tmp_path / '*.csv')[0]['n_rows_used'] == 120


def test_splits_of_bare_labels_count_as_rows_of_zeros(elm, write, tmp_path, model_of):
    path = write('a.libsvm', ''.join(f'{i % 2} 1:{i} 2:{i * i % 7}\n' for i in range(1, 41)))
    bare = write('b.libsvm', '1\n0\n' * 20)
    said = elm('train', 'pesvm', path, bare, *FEW, '--model', tmp_path / 'm.npz', '-D', 'mapreduce.job.maps=2')
    assert said.status == 0
    X = np.r_[[[i, i * i % 7] for i in range(1, 41)], np.zeros((40, 2))]
    assert np.allclose(model_of(tmp_path / 'm.npz')[1]['feature_offset'], X.mean(axis=0))
