"""The cluster of a configuration, and its files by the hadoop command, which are described alike wherever they are."""

import sys
from types import SimpleNamespace

import pytest

from mr_elm.rows.hdfs import HadoopCommand, open_web_hdfs, read_configuration
from mr_elm.rows.remote import CONNECTION, RemoteStore, open_s3

HADOOP = r"""#!/bin/sh
case "$*" in
"fs -ls /a")
    echo 'Found 2 items'
    echo '-rw-r--r--   3 me all   12 2026-11-27 19:33 /a/the rows.csv'
    echo 'drwxr-xr-x   - me all    0 2026-11-27 19:34 /a/b' ;;
"fs -ls -d /a/the rows.csv") echo '-rw-r--r--   3 me all   12 2026-11-27 19:33 /a/the rows.csv' ;;
"fs -get -f /a/the rows.csv "*) printf 'a,1\n' > "$5" ;;
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


def test_a_file_is_read_from_any_position(store):
    with store.open('hdfs:///a/the rows.csv') as stream:
        assert stream.read() == b'a,1\n' and stream.seek(2) == 2 and stream.read() == b'1\n'
    with pytest.raises(FileNotFoundError, match='hdfs:///a/other: expected a file, found none'):
        store.open('hdfs:///a/other')


PROPERTY = '<property><name> {} </name><value>{}</value></property>'


def write_site(folder, site, **values):
    folder.mkdir(parents=True, exist_ok=True)
    text = ''.join(PROPERTY.format(name.replace('_', '.'), value) for name, value in values.items())
    (folder / f'{site}-site.xml').write_text(f'<configuration>{text}</configuration>')


def test_the_configuration_is_that_of_the_folder_that_is_named_or_else_of_the_installation(tmp_path, monkeypatch):
    monkeypatch.delenv('HADOOP_CONF_DIR', raising=False)
    write_site(tmp_path / 'home/etc/hadoop', 'core', fs_defaultFS='hdfs://one:9000', a='core')
    write_site(tmp_path / 'home/etc/hadoop', 'hdfs', a='hdfs', b='2')
    write_site(tmp_path / 'other', 'yarn', b='3')
    found = read_configuration(tmp_path / 'home')
    assert (found['fs.defaultFS'], found['a'], found['b']) == ('hdfs://one:9000', 'core', '2')
    monkeypatch.setenv('HADOOP_CONF_DIR', str(tmp_path / 'other'))
    assert read_configuration(tmp_path / 'home') == {'b': '3'}


CLUSTER = {'fs.defaultFS': 'hdfs://node:9000'}
SECURE = {**CLUSTER, 'hadoop.security.authentication': 'kerberos'}


@pytest.mark.parametrize(
    'properties, url',
    [
        ({}, 'http://node:9870'),
        ({'dfs.namenode.http-address': '0.0.0.0:50070'}, 'http://node:50070'),
        ({'dfs.namenode.http-address': 'web:80'}, 'http://web:80'),
        ({'dfs.http.policy': 'HTTPS_ONLY', 'dfs.namenode.http-address': 'web:80'}, 'https://node:9871'),
        ({'dfs.http.policy': 'HTTPS_ONLY', 'dfs.namenode.https-address': 'web:443'}, 'https://web:443'),
        ({'dfs.http.policy': 'HTTPS_ONLY', 'dfs.namenode.https-address': '0.0.0.0:81'}, 'https://node:81'),
    ],
)
def test_files_are_reached_by_the_address_of_the_configuration(properties, url, monkeypatch):
    monkeypatch.setenv('HADOOP_USER_NAME', 'me')
    system, name_node = open_web_hdfs({**CLUSTER, **properties})
    assert (system.url, name_node, system.pars['user.name']) == (f'{url}/webhdfs/v1', 'node:9000', 'me')


def test_kerberos_tells_the_user(monkeypatch):
    monkeypatch.setattr('mr_elm.rows.hdfs.find_spec', lambda name: name)
    monkeypatch.setitem(sys.modules, 'requests_kerberos', SimpleNamespace(HTTPKerberosAuth=lambda **options: options))
    system, _ = open_web_hdfs(SECURE)
    assert system.kerb and 'user.name' not in system.pars


@pytest.mark.parametrize(
    'properties, in_task',
    [
        ({}, False),
        ({'fs.defaultFS': 'file:///'}, False),
        ({'fs.defaultFS': 'file:///'}, True),
        ({**CLUSTER, 'dfs.nameservices': 'two'}, False),
        ({**CLUSTER, 'dfs.nameservices': 'two'}, True),
        ({**CLUSTER, 'dfs.webhdfs.enabled': 'false'}, False),
        ({**CLUSTER, 'dfs.webhdfs.enabled': 'false'}, True),
        (SECURE, True),
    ],
)
def test_the_command_must_do_where_web_hdfs_cannot(properties, in_task):
    assert open_web_hdfs(properties, in_task) is None


@pytest.mark.parametrize('names, endpoint', [((2,), 'c'), ((1, 2), 'b'), ((0, 1, 2), 'a'), ((), None)])
def test_the_endpoint_of_s3_is_what_the_command_line_of_aws_takes(names, endpoint, monkeypatch):
    for k, name in enumerate(('', 'AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL')):
        if name and k in names:
            monkeypatch.setenv(name, 'abc'[k])
        elif name:
            monkeypatch.delenv(name, raising=False)
        elif k in names:
            monkeypatch.setitem(CONNECTION, 'endpoint_url', 'a')
    monkeypatch.setattr('mr_elm.rows.remote.find_keys', dict)
    monkeypatch.setattr('pyarrow.fs.S3FileSystem', lambda **options: SimpleNamespace(type_name='s3', **options))
    assert open_s3().fs.endpoint_override == endpoint
