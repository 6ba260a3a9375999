"""The one place that makes runners of mrjob: configuration files, folders of stages, nothing left behind."""

import os
from importlib import import_module
from pathlib import Path

import pytest

from mr_elm.engines.by_hand import main
from mr_elm.rows.hdfs import find_home
from mr_elm.streaming.mr_stats import MRStats


@pytest.mark.parametrize('how', ['option', 'environment', 'none'])
def test_a_named_configuration_file_is_read(write, tmp_path, monkeypatch, how):
    """The file asks mrjob, which runs a stage by hand, to leave its folders where it says; only then are there any."""
    monkeypatch.delenv('MRJOB_CONF', raising=False)
    monkeypatch.setenv('HOME', str(tmp_path))
    conf = write(
        '.mrjob.conf' if how == 'none' else 'my.conf',
        f'runners:\n  inline:\n    cleanup: NONE\n    local_tmp_dir: {tmp_path}/left\n',
    )
    (tmp_path / 'left').mkdir()
    options = ['-c', conf] if how == 'option' else []
    if how == 'environment':
        monkeypatch.setenv('MRJOB_CONF', str(conf))
    rows = write('rows.csv', '0,1,2\n1,2,1\n' * 9)
    assert main(MRStats, [str(rows), '-q', *map(str, options)]) == 0
    assert len(list((tmp_path / 'left').iterdir())) == (0 if how == 'none' else 1)


def test_stages_keep_their_outputs_apart_below_the_folder_named(elm, write, tmp_path, model_of):
    rows, out = write('rows.csv', '0,1,2\n1,2,1\n' * 9), tmp_path / 'stages'
    options = ['train', 'pesvm', rows, '--hidden', 3, '-q', '--output-dir', out]
    assert elm(*options, '--model', tmp_path / 'm.npz') == (0, '', '')
    assert sorted(path.name for path in out.iterdir()) == ['MRGram', 'MRStats']
    assert all(list(path.glob('part-*')) for path in out.iterdir())
    done = elm(*options, '--model', tmp_path / 'n.npz')
    assert done.status == 1 and 'MRStats' in done.err and not (tmp_path / 'n.npz').exists()


def test_nothing_is_left_behind(elm, write, tmp_path, monkeypatch):
    monkeypatch.setenv('TMPDIR', str(tmp_path / 'tmp'))
    (tmp_path / 'tmp').mkdir()
    monkeypatch.setattr('tempfile.tempdir', None)
    rows = write('rows.csv', '0,1,2\n1,2,1\n' * 9 + '1,x,2\n')
    assert elm('train', 'pesvm', rows, '--hidden', 3, '--model', tmp_path / 'm.npz', '-q').status == 1
    assert elm('train', 'pesvm', rows, '--hidden', 3, '--model', tmp_path / 'm.npz', '--bad-rows', 'skip').status == 0
    assert elm('predict', tmp_path / 'm.npz', rows, '-o', tmp_path / 'out', '--bad-rows', 'skip', '-q').status == 0
    assert list((tmp_path / 'tmp').iterdir()) == []


def test_where_there_is_no_hadoop_nothing_is_recorded(elm, write, tmp_path, monkeypatch):
    monkeypatch.setenv('HADOOP_HOME', str(tmp_path / 'none'))
    rows = write('rows.csv', '0,1,2\n1,2,1\n' * 9)
    done = elm('train', 'pesvm', rows, '--model', tmp_path / 'm.npz', '-r', 'hadoop', '-q')
    assert done.status == 1 and done.err.count('\n') == 1 and str(tmp_path / 'none') in done.err
    assert list(tmp_path.glob('m.npz*')) == []


def test_the_cluster_that_was_started_last_is_found_from_any_folder(tmp_path, monkeypatch):
    """The program that starts one is no part of the package: it runs by the Python of the system."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / 'hadoop-conf'))
    folders = import_module('pseudo.folders').Folders(tmp_path / 'a cluster')
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path / 'data'))
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    for name in ('HADOOP_HOME', 'PATH'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert find_home() is None
    folders.prepare()
    (folders.home / 'bin').mkdir()
    (folders.home / 'bin' / 'hadoop').touch()
    folders.register()
    assert find_home() == folders.home.resolve()
    folders.unregister()
    assert find_home() is None


def test_a_hadoop_that_does_not_answer_is_the_first_thing_that_is_said(program, write, tmp_path):
    write('home/bin/hadoop', '')
    properties = {'fs.defaultFS': 'hdfs://127.0.0.1:1', 'dfs.namenode.http-address': '127.0.0.1:1'}
    write(
        'home/etc/hadoop/core-site.xml',
        '\n'.join(
            [
                '<configuration>',
                *(
                    f'<property><name>{name}</name><value>{value}</value></property>'
                    for name, value in properties.items()
                ),
                '</configuration>',
            ]
        ),
    )
    rows = write('rows.csv', '0,1,2\n1,2,1\n' * 9)
    environ = {**os.environ, 'HADOOP_HOME': str(tmp_path / 'home'), 'HADOOP_CONF_DIR': ''}
    done = program('train', 'pesvm', rows, '--model', tmp_path / 'm.npz', '-r', 'hadoop', '-q', env=environ)
    assert done.status == 1 and 'HDFS does not answer: is the service up? (127.0.0.1:1: [Errno 111]' in done.err
    assert done.err.count('\n') == 1  # nothing was written, so nothing is said of files that may be left
