"""The archive of `mr-elm bundle` is all that a node needs beside Python, and travels once."""

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from mr_elm.engines.bundle import ANY_PROCESSOR, bundle_arguments, bundle_name

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ('--hidden', 40, '--nu', 10)
FOLDER = 'hdfs:///tests/bundles'

pytestmark = pytest.mark.long


@pytest.fixture(scope='module')
def bundle(cluster):
    """Make the archive in HDFS; returns its path."""
    return cluster.done('bundle', '-o', FOLDER, '-q', runner=None).strip()


@pytest.fixture(scope='module')
def unpacked(cluster, bundle, tmp_path_factory):
    """Unpack the archive the way a node does."""
    folder = tmp_path_factory.mktemp('node')
    subprocess.run([cluster.home / 'bin' / 'hadoop', 'fs', '-get', bundle, folder / 'env.tar.gz'], check=True)
    with tarfile.open(folder / 'env.tar.gz') as archive:
        archive.extractall(folder / 'env', filter='tar')
    return folder / 'env'


def test_an_archive_that_is_there_is_not_made_again(cluster, bundle):
    again = cluster.elm('bundle', '-o', FOLDER, runner=None)
    assert again.stdout.strip() == bundle and again.stderr == f'{bundle}: exists already, nothing was written\n'
    assert bundle == f'{FOLDER}/{bundle_name()}'


def test_tasks_in_the_bundle_give_the_same_bits(cluster, here, bundle, packed_rows, model_of, tmp_path):
    here('train', 'pesvm', packed_rows, *OPTIONS, '--model', tmp_path / 'inline.npz', '-q')
    for name, words in (('bundle', ('--bundle', bundle)), ('python', ('--python', sys.executable))):
        cluster.done('train', 'pesvm', packed_rows, *OPTIONS, '--model', tmp_path / f'{name}.npz', *words)
        inline, arrays = model_of(tmp_path / 'inline.npz')[1], model_of(tmp_path / f'{name}.npz')[1]
        assert [key for key in inline if inline[key].tobytes() != arrays[key].tobytes()] == []


def test_it_does_not_need_the_checkout(unpacked):
    code = 'import mr_elm.streaming.mr_gram as job, numpy; print(job.__file__, numpy.__file__, sep="\\n")'
    said = subprocess.check_output([unpacked / 'bin' / 'python', '-c', code], text=True, cwd='/')
    assert all(Path(line).is_relative_to(unpacked) for line in said.splitlines())
    texts = [file for file in unpacked.rglob('*') if file.suffix in ('.py', '.pth', '.egg-link')]
    assert len(texts) > 1000
    assert [file for file in texts if str(ROOT) in file.read_text(errors='replace')] == []


def test_the_solvers_loops_need_no_compiling(unpacked):
    command = [unpacked / 'bin' / 'python', '-m', 'mr_elm.solvers.warm']
    done = subprocess.run(command, env=ANY_PROCESSOR, check=True, capture_output=True, text=True, cwd='/')
    loaded, compiled = map(int, re.fullmatch(r'loops loaded: (\d+), compiled: (\d+)\n', done.stderr).groups())
    assert loaded > 10 and compiled == 0


def test_a_bundle_of_other_code_is_refused(bundle, cluster, monkeypatch):
    monkeypatch.setenv('HADOOP_HOME', str(cluster.home))
    with pytest.raises(ValueError, match='expected a bundle of this version of the code'):
        bundle_arguments(f'{FOLDER}/mr_elm-0.0.1-python3.11-000000000000-000000000000.tar.gz')
    with pytest.raises(FileNotFoundError, match='expected a bundle, found none'):
        bundle_arguments(f'{FOLDER}/elsewhere/{bundle_name()}')
