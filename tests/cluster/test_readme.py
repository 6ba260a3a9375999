"""The README's first steps on a Hadoop, as they are printed there, but for starting and stopping it."""
import pytest
from reference.manual import BLOCKS, ROOT, commands

pytestmark = pytest.mark.long
FIRST = next(body for tag, body in BLOCKS if tag == 'sh hadoop')


def test_the_first_steps_on_a_cluster_run_as_printed(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'hadoop-conf').symlink_to(ROOT / 'hadoop-conf')
    cluster.done('generate', 'twonorm', '--rows', 5000, '--features', 20, '-o', 'rows.csv', runner=None)
    printed = [words for words in commands(FIRST) if words[0] == 'mr-elm']
    try:
        for words in printed:
            cluster.done(*words[1:], runner=None)
    finally:
        cluster.hadoop('fs', '-rm', '-r', '-f', '-skipTrash', '/data', '/models')
    assert [words[1] for words in printed] == ['pack', 'train', 'predict']
    assert len((tmp_path / 'labels-of-rows.txt').read_text().splitlines()) == 5000
