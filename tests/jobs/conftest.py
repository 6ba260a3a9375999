"""Tools for testing jobs: the command line in this process and as a program, files of rows, numpy's view of a model."""

import csv
import json
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from reference.by_hand import fill_folder
from reference.files import GOOD

from mr_elm.cli import main
from mr_elm.cli.options import Parser
from mr_elm.engines import make_engine
from mr_elm.engines.local import Local
from mr_elm.engines.tasks import Pool

Result = namedtuple('Result', 'status out err')
PROGRAM = Path(sys.executable).with_name('mr-elm')


OF_PROCESSES = ('test_pool.py', 'test_progress.py', 'test_runner.py')  # which look at how processes begin and end


def describe_process():
    """Return what a process has from the one that starts it: its folder and its variables."""
    return os.getcwd(), {name: value for name, value in os.environ.items() if name != 'PYTEST_CURRENT_TEST'}


@pytest.fixture(scope='session')
def kept_pool():
    """Keep processes for tasks, and how they were started."""
    pool = Pool()
    yield pool, describe_process()
    pool.close()


@pytest.fixture(scope='module', autouse=True)
def tasks_in_kept_processes(request, kept_pool):
    """Run tasks of `-r local` in the same processes for all commands in this process: to start one takes a second."""
    pool, start = kept_pool

    def find_pool(engine):
        return pool if describe_process() == start else engine.__dict__.setdefault('pool', Pool())

    with pytest.MonkeyPatch.context() as patch:
        if request.path.name not in OF_PROCESSES:
            patch.setattr(Local, 'pool', property(find_pool))
        yield


@pytest.fixture
def elm(capsys):
    """Run the command line in this process."""

    def run(*arguments):
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        return Result(status, *capsys.readouterr())

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder of rows, see `fill_folder`."""
    folder = fill_folder(tmp_path)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def tune_with(elm, tmp_path):
    """Give a function that tunes PESVM quietly: (what is printed, the table), the model at its `model`."""

    def make(common):
        def run(path, *options):
            out, words = tmp_path / 'table.csv', (*common, '--model', run.model, '--overwrite', '-q')
            done = elm('tune', 'pesvm', path, *words, '--table', out, *options)
            assert (done.status, done.err) == (0, '')
            with open(out) as stream:
                return json.loads(done.out), list(csv.DictReader(stream))

        run.model = tmp_path / 'm.npz'
        return run

    return make


class Stopped(BaseException):
    """Where a command stops: with its Parser, and what that is to read."""


@pytest.fixture
def parser_of(monkeypatch):
    """Give the Parser that a command line makes, and what that would read."""

    def stop(parser, argv):
        raise Stopped(parser, argv)

    def find(argv):
        with monkeypatch.context() as patch, pytest.raises(Stopped) as stopped:
            patch.setattr(Parser, 'parse', stop)
            main(argv)
        return stopped.value.args

    return find


@pytest.fixture
def parse(parser_of, monkeypatch):
    """Read a command line as its command does, and do nothing; there need be no cluster."""

    def read(argv):
        parser, rest = parser_of(argv)
        with monkeypatch.context() as patch:
            patch.setattr('mr_elm.cli.options.make_engine', lambda *_: make_engine('inline'))
            return parser.parse(rest)

    return read


@pytest.fixture
def program():
    """Run the installed program."""

    def run(*arguments, **options):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def write(tmp_path):
    """Write a file of text or bytes below the test's folder."""

    def file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


@pytest.fixture
def rows(write):
    """Write 60 rows of two classes as CSV."""
    return write('rows.csv', GOOD)


@pytest.fixture
def dense(write, csv_of, table):
    """Write the test's own `table` of (X, labels) as CSV."""
    return write('rows.csv', csv_of(table[1], table[0]))


@pytest.fixture
def packed(elm, dense, tmp_path):
    """Pack the same rows into a few blocks."""
    assert elm('pack', dense, '-o', tmp_path / 'pack', '--block-rows', 32, '-q').status == 0
    return tmp_path / 'pack'


@pytest.fixture
def three_classes(rng):
    """Draw 300 rows of three classes: (X, labels)."""
    X = rng.normal(size=(300, 3))
    return X, (X[:, 0] > 0.3) * 1 + (X[:, 1] * X[:, 2] > 0) * 1


@pytest.fixture
def packed_classes(elm, write, csv_of, three_classes, tmp_path):
    """Pack these rows in blocks of 40."""
    X, labels = three_classes
    elm('pack', write('rows.csv', csv_of(labels, X)), '-o', tmp_path / 'pack', '--block-rows', 40, '-q')
    return tmp_path / 'pack'


@pytest.fixture
def trained(elm, tmp_path, model_of):
    """Train quietly with few nodes: (header, arrays), and the path as `trained.path`."""

    def train(*arguments, n_hidden=20):
        train.count += 1
        train.path = tmp_path / f'model-{train.count}.npz'
        done = elm('train', 'pesvm', *arguments, '--hidden', n_hidden, '--model', train.path, '-q')
        assert done == Result(0, '', '')
        return model_of(train.path)

    train.count = 0
    return train


@pytest.fixture
def rng():
    """Draw the same numbers in every run."""
    return np.random.default_rng(7)


@pytest.fixture
def csv_of():
    """Write rows as csv with all digits."""

    def text(labels, X, separator=','):
        return ''.join(
            separator.join([str(label), *map(repr, row)]) + '\n'
            for label, row in zip(labels, np.asarray(X).tolist(), strict=True)
        )

    return text


@pytest.fixture
def libsvm_of():
    """Write rows as LIBSVM text with all digits, zeros left out."""

    def text(labels, X):
        return ''.join(
            ' '.join([str(label), *(f'{j}:{x!r}' for j, x in enumerate(row, 1) if x)]) + '\n'
            for label, row in zip(labels, np.asarray(X).tolist(), strict=True)
        )

    return text


def maps(n):
    """Ask for n map tasks."""
    return '-D', f'mapreduce.job.maps={n}'


@pytest.fixture(name='maps')
def maps_fixture():
    """Give the options that ask for n map tasks."""
    return maps
