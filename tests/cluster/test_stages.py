"""Stages by hand on a real Hadoop, by a script or by bare Streaming jobs, make the model that training makes inline."""

import numpy as np
import pytest
from reference.hadoop_jobs import demand_same_bits
from reference.manual import blocks_of, read_page, run_script

from mr_elm.engines.tasks import KERNELS

pytestmark = pytest.mark.long
PRINTED = [body for tag, body in blocks_of(read_page('docs/stages.md')) if tag == 'sh hadoop']
OPTIONS = '--hidden 3 --nu 10'
SCRIPTED = [
    'sparse-elm --sigma 2 --C 10 --partitions 2 --gap 100',
    'mr-kelm --sigma 2 --solver svd',
]


@pytest.fixture
def shell(cluster, tmp_path, monkeypatch):
    """Run a script, which must succeed; tasks of bare jobs do not know which BLAS kernels the environment names."""
    for name in KERNELS:
        monkeypatch.delenv(name, raising=False)

    def run(*lines):
        done = run_script('\n'.join(lines), tmp_path, HADOOP_HOME=str(cluster.home))
        assert done.returncode == 0, done.stderr
        return done.stdout

    try:
        yield run
    finally:
        cluster.remove('/data')


@pytest.fixture(scope='module')
def packed_there(cluster, packed_rows):
    """Copy packed rows to HDFS; returns the folder."""
    cluster.put(packed_rows, '/tests/scripted')
    return 'hdfs:///tests/scripted'


def test_the_page_on_stages_runs_as_printed_and_makes_the_model_of_inline(shell, tmp_path, model_of):
    shell(
        'mr-elm generate blobs --rows 1000 --features 4 --classes 3 -o rows.csv',
        f'mr-elm train pesvm rows.csv {OPTIONS} --model inline.npz',
        *PRINTED,
        f'mr-elm train pesvm hdfs:///data/packed {OPTIONS} --model inline-packed.npz',
    )
    models = {path.stem: model_of(path)[1] for path in tmp_path.glob('*.npz') if '.' not in path.stem}
    assert set(models) == {'inline', 'hadoop', 'bare', 'packed', 'inline-packed'}
    for name in 'hadoop', 'bare':
        assert np.abs(models[name]['output_weights'] - models['inline']['output_weights']).max() < 1e-8
    demand_same_bits(models['inline-packed'], models['packed'])


@pytest.mark.parametrize('words', SCRIPTED)
def test_a_script_with_rows_in_hdfs_makes_the_bits_of_inline(shell, packed_there, tmp_path, model_of, words):
    method, _, options = words.partition(' ')
    train = f'mr-elm train {method} {packed_there} {options}'
    shell(f'{train} --model inline.npz', f'{train} --model script.npz -r hadoop --script > script.sh', 'sh script.sh')
    demand_same_bits(*(model_of(tmp_path / f'{name}.npz')[1] for name in ('inline', 'script')))
