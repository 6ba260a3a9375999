"""HDFS answers the same over HTTP and through the hadoop command."""

import pytest

from mr_elm.rows.hdfs import HadoopCommand, open_web_hdfs, read_configuration
from mr_elm.rows.remote import RemoteStore


@pytest.fixture(params=['webhdfs', pytest.param('command', marks=pytest.mark.long)])
def store(request, cluster):
    """Open the cluster's HDFS."""
    home = cluster.home
    return RemoteStore(
        *{
            'webhdfs': lambda: open_web_hdfs(read_configuration(home)),
            'command': lambda: (HadoopCommand(str(home / 'bin' / 'hadoop')), ''),
        }[request.param]()
    )


def test_files_come_back_and_folders_list_them(store, tmp_path, request):
    folder = f'hdfs:///tests/{request.node.callspec.id}'
    (tmp_path / 'here').write_bytes(b'one\ntwo\n')
    for name in ('a b.csv', 'c.csv', 'c.csv'):  # the second of a name replaces the first
        store.put(tmp_path / 'here', f'{folder}/in/{name}')
    store.remove(f'{folder}/in/[c].csv')  # the name of a file is not a pattern
    assert store.find(f'{folder}/in').is_folder and not store.find(f'{folder}/in/c.csv').is_folder
    assert sorted((entry.name, entry.size) for entry in store.entries(f'{folder}/in')) == [('a b.csv', 8), ('c.csv', 8)]
    assert [path.rpartition('/')[2] for path in store.glob(f'{folder}/*/?.csv')] == ['c.csv']
    assert store.glob(f'{folder}/in/nothing') == []
    store.move(f'{folder}/in/a b.csv', f'{folder}/out/a b.csv')
    with store.open(f'{folder}/out/a b.csv') as stream:
        assert stream.read() == b'one\ntwo\n'
    store.remove(folder)
    assert store.find(folder) is None and store.glob(f'{folder}/*') == []


def test_a_cluster_that_is_down_is_named(cluster, tmp_path):
    store = RemoteStore(
        *open_web_hdfs({'fs.defaultFS': 'hdfs://127.0.0.1:1', 'dfs.namenode.http-address': '127.0.0.1:1'})
    )
    with pytest.raises(OSError, match=r'hdfs:///x: HDFS does not answer.*127\.0\.0\.1'):
        store.find('hdfs:///x')
