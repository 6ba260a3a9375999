"""Every job runs on a real Hadoop and gives what it gives inline."""

import json

import numpy as np
import pytest
from reference.commands import elm
from reference.ledgers import demand_ledger_of_inline

from mr_elm.model.sums import name_sums

OPTIONS = ('--hidden', 40, '--nu', 10)
ONE_MAP = ('-D', 'mapreduce.job.maps=1')  # a task is a Java and a Python: two where splits are the question


@pytest.fixture(scope='module')
def inline_model(here, rows, tmp_path_factory):
    """Train inline from text."""
    path = tmp_path_factory.mktemp('inline') / 'm.npz'
    here('train', 'pesvm', rows, *OPTIONS, '--model', path, '-q')
    return path


@pytest.fixture(scope='module')
def packed_there(cluster, rows):
    """Pack on the cluster, into HDFS."""
    cluster.done('pack', rows, '-o', 'hdfs:///tests/packed,{1}', '--block-rows', 500, *ONE_MAP)
    return 'hdfs:///tests/packed,{1}'


@pytest.fixture(scope='module')
def model_there(cluster, packed_there):
    """Train on the cluster from HDFS to HDFS."""
    model = 'hdfs:///tests/models/m.npz'
    cluster.done(
        'train',
        'pesvm',
        packed_there,
        *OPTIONS,
        '--model',
        model,
        '-D',
        'mapreduce.job.maps=2',
        '-D',
        'mapreduce.job.reduces=2',
    )
    return model


def different(model_of, path, other):
    """List the arrays of a model that do not have the same bits in another."""
    one, two = model_of(path)[1], model_of(other)[1]
    return [name for name in one if one[name].tobytes() != two[name].tobytes()]


def test_text_gives_the_model_that_it_gives_inline(cluster, rows, inline_model, model_of, tmp_path):
    cluster.done('train', 'pesvm', rows, *OPTIONS, '--model', tmp_path / 'm.npz', *ONE_MAP)
    (header, arrays), (expected, inline) = model_of(tmp_path / 'm.npz'), model_of(inline_model)
    assert {**header, 'parameters': 0} == {**expected, 'parameters': 0}
    assert np.abs(arrays['output_weights'] - inline['output_weights']).max() < 1e-8


def test_packed_rows_on_hdfs_give_the_same_bits_in_several_splits(
    cluster, packed_there, model_there, model_of, tmp_path
):
    cluster.done('train', 'pesvm', packed_there, *OPTIONS, '--model', tmp_path / 'inline.npz', runner=None)
    for path, name in ((model_there, 'hadoop.npz'), (name_sums(model_there), 'hadoop.sums.npz')):
        cluster.get(path, tmp_path / name)
    assert different(model_of, tmp_path / 'inline.npz', tmp_path / 'hadoop.npz') == []


@pytest.mark.long
def test_a_model_may_be_on_hdfs(cluster, here, packed_there, model_there, rows, inline_model):
    again = cluster.elm('train', 'pesvm', packed_there, *OPTIONS, '--model', model_there)
    assert again.returncode == 1 and 'exists (--overwrite' in again.stderr
    assert json.loads(cluster.done('inspect', model_there, '--json', runner=None))['n_rows_used'] == 3000
    scores = json.loads(cluster.done('evaluate', model_there, rows, '--json'))
    expected = json.loads(here('evaluate', inline_model, rows, '--json'))
    assert abs(scores['accuracy'] - expected['accuracy']) < 0.002


@pytest.mark.long
def test_a_ledger_has_the_rows_that_it_has_inline(cluster, here, rows, tmp_path):
    demand_ledger_of_inline(cluster.done, here, rows, tmp_path, *OPTIONS)


def test_predictions_come_in_input_order(cluster, here, rows, inline_model, tmp_path):
    here('predict', inline_model, rows, '-o', tmp_path / 'inline', '-q')
    cluster.done('predict', inline_model, rows, '-o', tmp_path / 'hadoop', '-D', 'mapreduce.job.maps=2')
    assert (tmp_path / 'hadoop').read_text() == (tmp_path / 'inline').read_text()


@pytest.mark.long
def test_a_bad_row_reads_as_it_does_inline(cluster, rows, tmp_path):
    lines = rows.read_text().splitlines()
    lines[2900] += ',7'
    path = tmp_path / 'bad.csv'
    path.write_text('\n'.join(lines))
    words = ('train', 'pesvm', path, *OPTIONS, '--model', tmp_path / 'm.npz', '-q')
    on_cluster, inline = cluster.elm(*words, '-D', 'mapreduce.job.maps=2'), elm(*words)
    assert on_cluster.returncode == inline.status == 1
    assert on_cluster.stderr == inline.err and 'line 2901' in inline.err
    assert not (tmp_path / 'm.npz').exists()


def test_a_task_that_raises_is_explained(cluster, rows, inline_model):
    once = ('-D', 'mapreduce.map.maxattempts=1', *ONE_MAP)
    process = cluster.elm('evaluate', inline_model, rows, *once, '--setup', 'false')
    assert process.returncode == 1 and 'attempt_' in process.stderr and 'Traceback' not in process.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    'method, parts, reducers', [('sparse-elm', 1, ('-D', 'mapreduce.job.reduces=3')), ('sphere-svm', 3, ())]
)
def test_machines_are_trained_on_reducers(cluster, here, packed_rows, model_of, tmp_path, method, parts, reducers):
    words = ('train', method, packed_rows, '--C', 2, '--partitions', parts, '--model')
    here(*words, tmp_path / 'inline.npz', '-q')
    cluster.done(*words, tmp_path / 'hadoop.npz', '-D', 'mapreduce.job.maps=3', *reducers)
    assert different(model_of, tmp_path / 'inline.npz', tmp_path / 'hadoop.npz') == []


@pytest.mark.long
def test_a_kernel_matrix_is_computed_by_tasks(cluster, here, packed_rows, model_of, tmp_path):
    words = ('train', 'mr-kelm', packed_rows, '--C', 10, '--model')
    here(*words, tmp_path / 'inline.npz', '-q')
    cluster.done(*words, tmp_path / 'hadoop.npz', '-D', 'mapreduce.job.maps=2')
    assert different(model_of, tmp_path / 'inline.npz', tmp_path / 'hadoop.npz') == []


@pytest.mark.long
def test_a_model_is_chosen_and_grows(cluster, here, packed_rows, model_of, tmp_path):
    """The same bits as inline."""
    grid = ('--hidden', '20,40', '--nu', '1,10', '--weight-scale', 1, '--folds', 3)
    for name, run in (('hadoop', cluster.done), ('inline', here)):
        run('tune', 'pesvm', packed_rows, *grid, '--model', tmp_path / f'tuned-{name}.npz', '-q')
        run('update', tmp_path / f'tuned-{name}.npz', packed_rows, '--model', tmp_path / f'grown-{name}.npz', '-q')
    for name in ('tuned', 'grown'):
        assert different(model_of, tmp_path / f'{name}-inline.npz', tmp_path / f'{name}-hadoop.npz') == []


def test_nothing_is_left_on_hdfs(cluster, packed_there):
    assert not [name for name in cluster.listing('/tmp') if 'mr_elm-' in name]
