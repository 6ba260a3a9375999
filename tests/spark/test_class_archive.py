"""The classes of Spark are written to a file once, and later sessions read them there."""
import os
import shlex
import subprocess

import pytest

from mr_elm.engines.spark import class_archive
from mr_elm.engines.spark.class_archive import share_classes
from mr_elm.engines.spark.session import demand_java

LONG_AGO = 1700000000


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Let programs keep what they can make again in a folder with a space in its name."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'a cache'))
    return tmp_path / 'a cache' / 'mr_elm'


def run_java(option):
    """Run Java with an option, which is cut into words as Spark does it; returns what it prints."""
    words = [demand_java(), *shlex.split(option), '-Xlog:cds=info', '-version']
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_second_session_reads_what_the_first_has_written(folder, monkeypatch):
    first = share_classes('java', '4.0')
    assert 'ArchiveClassesAtExit' in first
    run_java(first)
    assert share_classes('java', '4.0') == first, 'Java may still be writing'
    monkeypatch.setattr(class_archive, 'WRITTEN', -1)
    second = share_classes('java', '4.0')
    archive, = folder.iterdir()
    assert second == f'"-XX:SharedArchiveFile={archive}"' and f'Opened archive {archive}.' in run_java(second)
    assert 'ArchiveClassesAtExit' in share_classes('java', '4.1')


def test_a_file_that_java_did_not_finish_is_removed(folder):
    share_classes('java', '4.0')
    new = folder / shlex.split(share_classes('java', '4.0'))[0].rpartition('/')[2]
    new.write_bytes(bytes(4096))
    os.utime(new, (LONG_AGO, LONG_AGO))
    assert 'ArchiveClassesAtExit' in share_classes('java', '4.0') and list(folder.iterdir()) == []


def test_nothing_is_kept_where_there_is_no_folder(tmp_path, monkeypatch):
    (tmp_path / 'file').write_text('')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'file'))
    assert share_classes('java', '4.0') == ''
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'a "quoted" name'))
    assert share_classes('java', '4.0') == ''
