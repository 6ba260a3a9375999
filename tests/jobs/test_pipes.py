"""A pipe or a device as an output is written into and never replaced; links are followed."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from reference.files import copy_model

from mr_elm.estimators import ESVMClassifier
from mr_elm.model.file import read_model
from mr_elm.spark import SparkModel
from mr_elm.store import find_descriptor, is_stream

PROGRAM = Path(sys.executable).with_name('mr-elm')


@pytest.fixture
def model(trained, rows):
    """Train on the rows, with probabilities: the path of the model."""
    trained(rows, '--probabilities')
    return trained.path


@pytest.fixture
def listen(tmp_path):
    """Make a named pipe with a reader, and give its path; `listen.hear()` returns what came and that it is a pipe."""

    def start(name='pipe'):
        path = tmp_path / name
        os.mkfifo(path)
        process = subprocess.Popen(['cat', path], stdout=subprocess.PIPE)
        timer = threading.Timer(60, process.kill)
        timer.daemon = True
        timer.start()

        def hear():
            assert stat.S_ISFIFO(os.lstat(path).st_mode)
            return process.communicate()[0]

        start.hear = hear
        return path

    return start


@pytest.mark.parametrize('more', [(), ('--overwrite',)])
def test_a_pipe_gets_the_predictions(elm, model, rows, listen, tmp_path, more):
    assert elm('predict', model, rows, '-o', tmp_path / 'file', '-q').status == 0
    assert elm('predict', model, rows, '-o', listen(), '-q', *more) == (0, '', '')
    assert listen.hear() == (tmp_path / 'file').read_bytes()


def test_a_pipe_gets_parquet(elm, model, rows, listen, tmp_path):
    assert elm('predict', model, rows, '-o', listen('rows.parquet'), '-q').status == 0
    assert pyarrow.parquet.read_table(pyarrow.BufferReader(listen.hear())).num_rows == 60


@pytest.mark.parametrize(
    'words',
    [
        ('train', 'pesvm', 'ROWS', '--hidden', 10, '--model'),
        ('train', 'sparse-elm', 'ROWS', '--overwrite', '--model'),
        ('tune', 'mr-kelm', 'ROWS', '--model'),
        ('update', 'MODEL', 'ROWS', '--model'),
        ('merge', 'MODEL', 'COPY', '--model'),
    ],
)
def test_a_pipe_gets_the_model(elm, model, rows, listen, tmp_path, words):
    words = [{'ROWS': rows, 'MODEL': model, 'COPY': copy_model(model)}.get(word, word) for word in words]
    assert elm(*words, listen(), '-q').status == 0
    (tmp_path / 'heard').write_bytes(listen.hear())
    assert read_model(tmp_path / 'heard').n_features == read_model(model).n_features


def test_a_pipe_gets_models_from_python(model, listen):
    known = read_model(model)
    ESVMClassifier(n_hidden=5).fit([[0.0], [1.0]], [0, 1]).to_model().save(listen('one'))
    assert listen.hear().startswith(b'PK')
    SparkModel(known).save(listen('two'))
    assert listen.hear() == model.read_bytes()


@pytest.mark.parametrize(
    'words, start',
    [
        (('evaluate', 'MODEL', 'ROWS', '--figure'), b'\x89PNG'),
        (('tune', 'mr-kelm', 'ROWS', '--table'), b'sigma,C,'),
        (('tune', 'mr-kelm', 'ROWS', '--figure'), b'\x89PNG'),
        (('generate', 'blobs', '--rows', 5, '--features', 2, '-o'), b''),
    ],
)
def test_a_pipe_gets_figures_tables_and_rows(elm, model, rows, listen, words, start):
    words = [{'ROWS': rows, 'MODEL': model}.get(word, word) for word in words]
    assert elm(*words, listen(), '-q').status == 0
    heard = listen.hear()
    assert heard.startswith(start) and heard.count(b'\n') >= 5


def test_a_pipe_gets_the_rows_that_were_left_out(elm, write, listen, tmp_path):
    path = write('bad.csv', '1,2\n0,x\n1,3\n0,4\n')
    listen('m.npz.rejected')
    done = elm('train', 'pesvm', path, '--hidden', 5, '--bad-rows', 'skip', '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 0 and listen.hear().endswith(b'\t0,x\n')


def test_a_pipe_of_rows_that_were_left_out_is_not_removed(elm, rows, tmp_path):
    os.mkfifo(tmp_path / 'm.npz.rejected')
    words = ('train', 'pesvm', rows, '--hidden', 5, '--model', tmp_path / 'm.npz', '--overwrite', '-q')
    assert elm(*words).status == 0 and is_stream(tmp_path / 'm.npz.rejected')


@pytest.mark.parametrize(
    'shell',
    [
        '{model} {rows} -o /dev/stdout | cat > {out}',
        '{model} {rows} -o /dev/stdout > {out}',
        '{model} {rows} -o /dev/fd/5 5> {out}',
        '{model} {rows} -o {link} > {out}',
    ],
)
def test_the_standard_output_by_its_name_is_written_to(elm, model, rows, tmp_path, shell):
    assert elm('predict', model, rows, '-o', tmp_path / 'file', '-q').status == 0
    (tmp_path / 'link').symlink_to('/dev/stdout')
    words = shell.format(model=model, rows=rows, out=tmp_path / 'out', link=tmp_path / 'link')
    subprocess.run(f'{PROGRAM} predict -q {words}', shell=True, check=True, timeout=120)
    assert (tmp_path / 'out').read_text() == (tmp_path / 'file').read_text()
    assert os.readlink(tmp_path / 'link') == '/dev/stdout'


def test_what_others_have_written_to_the_standard_output_stays(model, rows, tmp_path):
    command = f'(echo first; {PROGRAM} predict {model} {rows} -q -o /dev/stdout; echo last) >> {tmp_path}/out'
    subprocess.run(command, shell=True, check=True, timeout=120)
    lines = (tmp_path / 'out').read_text().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ('first', 'last', 62)


@pytest.mark.parametrize(
    'words',
    [('predict', 'MODEL', 'ROWS', '-o'), ('train', 'elm', 'ROWS', '--model'), ('generate', 'blobs', '--rows', 5, '-o')],
)
def test_a_link_to_a_device_stays_one(elm, model, rows, tmp_path, words):
    words = [{'ROWS': rows, 'MODEL': model}.get(word, word) for word in words]
    (tmp_path / 'null').symlink_to('/dev/null')
    assert elm(*words, tmp_path / 'null', '--overwrite').status == 0
    assert os.readlink(tmp_path / 'null') == '/dev/null' and stat.S_ISCHR(os.stat('/dev/null').st_mode)


def test_a_device_stays_one(elm, model, rows, tmp_path):
    try:
        os.mknod(tmp_path / 'null', stat.S_IFCHR | 0o666, os.makedev(1, 3))
        open(tmp_path / 'null', 'wb').close()
    except PermissionError:
        pytest.skip('only root makes devices')
    assert elm('predict', model, rows, '-o', tmp_path / 'null', '--overwrite', '-q').status == 0
    assert elm('train', 'pesvm', rows, '--hidden', 5, '--model', tmp_path / 'null', '-q').status == 0
    assert stat.S_ISCHR(os.stat(tmp_path / 'null').st_mode)


def test_what_needs_a_file_beside_the_output_refuses_a_device(elm, model, rows):
    done = elm('predict', model, rows, '-o', '/dev/null', '--bad-rows', 'skip')
    assert done.status == 1 and done.err.startswith('mr-elm: --bad-rows skip: expected the name of a file')
    assert '--resume: no unfinished run' in elm('predict', model, rows, '-o', '/dev/null', '--resume').err


def test_a_reader_that_leaves_is_an_error(model, elm, write, tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    rows = write('many.csv', '1,2\n0,3\n' * 50_000)
    elm('train', 'pesvm', rows, '--hidden', 2, '--model', tmp_path / 'm.npz')
    reader = subprocess.Popen(['head', '-c', '10', tmp_path / 'pipe'], stdout=subprocess.DEVNULL)
    done = elm('predict', tmp_path / 'm.npz', rows, '-o', tmp_path / 'pipe', '-q')
    reader.wait()
    assert done.status == 1 and 'expected a reader of this pipe' in done.err


def test_a_link_to_a_file_is_followed_and_what_is_not_whole_leaves_no_trace(elm, model, rows, tmp_path):
    (tmp_path / 'sub').mkdir()
    (tmp_path / 'link').symlink_to('sub/file')
    assert elm('predict', model, rows, '-o', tmp_path / 'link', '-q').status == 0
    assert (tmp_path / 'link').is_symlink() and os.listdir(tmp_path / 'sub') == ['file']
    assert elm('predict', model, rows, '-o', tmp_path / 'link', '-q').status == 1
    before = (tmp_path / 'sub/file').read_text()
    assert elm('predict', model, tmp_path / 'no-rows', '-o', tmp_path / 'link', '-q', '--overwrite').status == 1
    assert (tmp_path / 'sub/file').read_text() == before and os.listdir(tmp_path / 'sub') == ['file']


def test_descriptors_are_known_by_their_names(tmp_path):
    (tmp_path / '1').write_text('')
    (tmp_path / 'loop').symlink_to('loop')
    names = [
        '/dev/stdout',
        '/dev/fd/2',
        '/proc/self/fd/0',
        f'/proc/{os.getpid()}/fd/7',
        tmp_path / '1',
        tmp_path / 'loop',
        '/dev/null',
    ]
    assert [find_descriptor(name) for name in names] == [1, 2, 0, 7, None, None, None]
    assert np.array_equal([is_stream(name) for name in names], [True] * 4 + [False, False, True])
