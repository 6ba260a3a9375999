"""Tasks of Hadoop read Parquet and Arrow files by planned splits, and count the rows that the files say they have."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

OPTIONS = ('--encode', 'auto', '--hidden', 30, '-q')


@pytest.fixture(scope='module')
def table():
    """Make rows with a category, missing values and a list of numbers."""
    rng = np.random.default_rng(3)
    y, city = rng.integers(0, 2, 4000), rng.choice(['Oslo', 'Rome', 'Kyiv'], 4000)
    age = np.where(rng.random(4000) < 0.1, None, rng.normal(40, 5, 4000) + 6 * y)
    lists = pa.FixedSizeListArray.from_arrays(rng.standard_normal(8000), 2)
    return pa.table({'y': y, 'city': city, 'age': pa.array(age, pa.float64()), 'lists': lists})


@pytest.fixture(scope='module')
def folder(table, tmp_path_factory):
    """Write them as a data set of several folders, with several row groups a file."""
    path = tmp_path_factory.mktemp('parquet') / 'set'
    pq.write_to_dataset(table, path, partition_cols=['city'], row_group_size=300)
    return path


@pytest.fixture(scope='module')
def inline(here, folder, tmp_path_factory):
    """Train inline, and write the predictions."""
    path = tmp_path_factory.mktemp('inline')
    here('train', 'pesvm', folder, *OPTIONS, '--model', path / 'm.npz')
    here('predict', path / 'm.npz', folder, '--scores', '-q', '-o', path / 'scores')
    return path


@pytest.mark.long
def test_a_data_set_on_hdfs_gives_the_model_that_it_gives_inline(cluster, folder, inline, tmp_path):
    cluster.put(folder, '/tests/set')
    cluster.done(
        'train', 'pesvm', 'hdfs:///tests/set', *OPTIONS, '--model', tmp_path / 'm.npz', '-D', 'mapreduce.job.maps=3'
    )
    cluster.done('predict', tmp_path / 'm.npz', 'hdfs:///tests/set', '--scores', '-q', '-o', tmp_path / 'scores')
    ours, expected = (np.loadtxt(path / 'scores') for path in (tmp_path, inline))
    assert np.abs(ours - expected).max() < 1e-8


@pytest.mark.long
def test_a_file_of_this_machine_is_copied_and_cut(cluster, here, table, inline, tmp_path):
    with pa.ipc.new_file(tmp_path / 'rows.arrow', table.schema) as writer:
        writer.write_table(table, 700)
    words = ('evaluate', inline / 'm.npz', tmp_path / 'rows.arrow', '--json')
    assert json.loads(cluster.done(*words, '-D', 'mapreduce.job.maps=4')) == json.loads(here(*words))


@pytest.mark.long
def test_a_bad_row_reads_as_it_does_inline(cluster, table, inline, tmp_path):
    labels = table['y'].to_pylist()
    labels[2900] = None
    pq.write_table(table.set_column(0, 'y', pa.array(labels)), tmp_path / 'bad.parquet', row_group_size=1000)
    words = ('evaluate', inline / 'm.npz', tmp_path / 'bad.parquet')
    done = cluster.elm(*words, '-D', 'mapreduce.job.maps=2')
    assert done.returncode == 1 and 'bad.parquet, row 2901: missing label' in done.stderr
    assert json.loads(cluster.done(*words, '--json', '--bad-rows', 'skip'))['rows'] == 3999
