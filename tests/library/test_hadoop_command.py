"""The hadoop command describes a file alike, whether it is asked for or listed in its folder."""

import pytest

from mr_elm.rows.hdfs import HadoopCommand
from mr_elm.rows.remote import RemoteStore

HADOOP = r"""#!/bin/sh
case "$*" in
"fs -ls /a")
    echo 'Found 2 items'
    echo '-rw-r--r--   3 me all   12 2026-11-27 19:33 /a/the rows.csv'
    echo 'drwxr-xr-x   - me all    0 2026-11-27 19:34 /a/b' ;;
"fs -ls -d /a/the rows.csv") echo '-rw-r--r--   3 me all   12 2026-11-27 19:33 /a/the rows.csv' ;;
"fs -ls -d /a/b") echo 'drwxr-xr-x   - me all    0 2026-11-27 19:34 /a/b' ;;
*) echo "ls: \`$4': No such file or directory" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def store(tmp_path):
    """Return the store of a cluster that has only the command."""
    command = tmp_path / 'hadoop'
    command.write_text(HADOOP)
    command.chmod(0o755)
    return RemoteStore(HadoopCommand(str(command)))


def test_entries_of_a_folder_are_what_is_found_by_their_names(store):
    entries = store.entries('hdfs:///a')
    assert [(entry.path, entry.size, entry.is_folder) for entry in entries] == [
        ('hdfs:///a/the rows.csv', 12, False),
        ('hdfs:///a/b', 0, True),
    ]
    assert [store.find(entry.path) for entry in entries] == entries


def test_what_is_not_there_is_not_found(store):
    assert store.find('hdfs:///nowhere') is None
    with pytest.raises(OSError, match='nowhere'):
        store.entries('hdfs:///nowhere')
