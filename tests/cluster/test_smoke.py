"""Every job runs on a real Hadoop and gives what it gives inline."""
import json

import numpy as np
import pytest

OPTIONS = ('--hidden', 40, '--nu', 10)


@pytest.fixture(scope='module')
def inline_model(cluster, rows, tmp_path_factory):
    """Train inline from text."""
    path = tmp_path_factory.mktemp('inline') / 'm.npz'
    cluster.done('train', 'pesvm', rows, *OPTIONS, '--model', path, runner=None)
    return path


@pytest.fixture(scope='module')
def packed(cluster, rows):
    """Pack on the cluster, into HDFS."""
    cluster.done('pack', rows, '-o', 'hdfs:///tests/packed,{1}', '--block-rows', 500)
    return 'hdfs:///tests/packed,{1}'


def test_text_gives_the_model_that_it_gives_inline(cluster, rows, inline_model, model_of, tmp_path):
    cluster.done('train', 'pesvm', rows, *OPTIONS, '--model', tmp_path / 'm.npz')
    (header, arrays), (expected, inline) = model_of(tmp_path / 'm.npz'), model_of(inline_model)
    assert {**header, 'parameters': 0} == {**expected, 'parameters': 0}
    assert np.abs(arrays['output_weights'] - inline['output_weights']).max() < 1e-8


@pytest.mark.parametrize('n_maps', [pytest.param(1, marks=pytest.mark.long), 3])
def test_packed_rows_give_the_same_bits_for_any_splits(cluster, rows, model_of, tmp_path, n_maps):
    cluster.done('pack', rows, '-o', tmp_path / 'packed', '--block-rows', 500, runner=None)
    cluster.done('train', 'pesvm', tmp_path / 'packed', *OPTIONS, '--model', tmp_path / 'inline.npz', runner=None)
    inline = model_of(tmp_path / 'inline.npz')[1]
    cluster.done('train', 'pesvm', tmp_path / 'packed', *OPTIONS, '--model', tmp_path / 'hadoop.npz',
                 '-D', f'mapreduce.job.maps={n_maps}', '-D', 'mapreduce.job.reduces=2')
    arrays = model_of(tmp_path / 'hadoop.npz')[1]
    assert [name for name in inline if inline[name].tobytes() != arrays[name].tobytes()] == []


def test_a_pack_and_a_model_may_be_on_hdfs(cluster, packed, rows, inline_model):
    model = 'hdfs:///tests/models/m.npz'
    cluster.done('train', 'pesvm', packed, *OPTIONS, '--model', model)
    again = cluster.elm('train', 'pesvm', packed, *OPTIONS, '--model', model)
    assert again.returncode == 1 and 'exists (--overwrite' in again.stderr
    assert json.loads(cluster.done('inspect', model, '--json', runner=None))['n_rows_used'] == 3000
    scores = json.loads(cluster.done('evaluate', model, rows, '--json'))
    expected = json.loads(cluster.done('evaluate', inline_model, rows, '--json', runner=None))
    assert abs(scores['accuracy'] - expected['accuracy']) < 0.002


def test_predictions_come_in_input_order(cluster, rows, inline_model, tmp_path):
    for name, runner, options in (('hadoop', 'hadoop', ('-D', 'mapreduce.job.maps=4')), ('inline', None, ())):
        cluster.done('predict', inline_model, rows, '-o', tmp_path / name, *options, runner=runner)
    assert (tmp_path / 'hadoop').read_text() == (tmp_path / 'inline').read_text()


def test_a_bad_row_reads_as_it_does_inline(cluster, rows, tmp_path):
    lines = rows.read_text().splitlines()
    lines[2900] += ',7'
    path = tmp_path / 'bad.csv'
    path.write_text('\n'.join(lines))
    words = ('train', 'pesvm', path, *OPTIONS, '--model', tmp_path / 'm.npz', '-q')
    on_cluster = cluster.elm(*words, '-D', 'mapreduce.job.maps=4')
    inline = cluster.elm(*words, runner=None)
    assert on_cluster.returncode == inline.returncode == 1
    assert on_cluster.stderr == inline.stderr and 'line 2901' in inline.stderr
    assert not (tmp_path / 'm.npz').exists()


def test_a_task_that_raises_is_explained(cluster, rows, inline_model):
    process = cluster.elm('evaluate', inline_model, rows, '-D', 'mapreduce.map.maxattempts=1', '--setup', 'false')
    assert process.returncode == 1 and 'attempt_' in process.stderr and 'Traceback' not in process.stderr


@pytest.mark.parametrize('method, parts', [('sparse-elm', 1), pytest.param('sphere-svm', 3, marks=pytest.mark.long)])
def test_machines_are_trained_on_reducers(cluster, rows, model_of, tmp_path, method, parts):
    cluster.done('pack', rows, '-o', tmp_path / 'packed', '--block-rows', 500, runner=None)
    for name, runner, options in (('inline', None, ()), ('hadoop', 'hadoop', ('-D', 'mapreduce.job.maps=3'))):
        cluster.done('train', method, tmp_path / 'packed', '--C', 2, '--partitions', parts, '--model', tmp_path / name,
                     *options, runner=runner)
    inline, hadoop = (model_of(tmp_path / name)[1] for name in ('inline', 'hadoop'))
    assert [name for name in inline if inline[name].tobytes() != hadoop[name].tobytes()] == []


def test_a_kernel_matrix_is_computed_by_tasks(cluster, rows, model_of, tmp_path):
    cluster.done('pack', rows, '-o', tmp_path / 'packed', '--block-rows', 500, runner=None)
    for name, runner, options in (('inline', None, ()), ('hadoop', 'hadoop', ('-D', 'mapreduce.job.maps=2'))):
        cluster.done('train', 'mr-kelm', tmp_path / 'packed', '--C', 10, '--model', tmp_path / name, *options,
                     runner=runner)
    inline, hadoop = (model_of(tmp_path / name)[1] for name in ('inline', 'hadoop'))
    assert [name for name in inline if inline[name].tobytes() != hadoop[name].tobytes()] == []


def test_a_model_is_chosen_and_grows(cluster, rows, model_of, tmp_path):
    """The same bits as inline."""
    packed, grid = tmp_path / 'packed', ('--hidden', '20,40', '--nu', '1,10', '--weight-scale', 1, '--folds', 3)
    cluster.done('pack', rows, '-o', packed, '--block-rows', 500, runner=None)
    for runner in ('hadoop', None):
        tuned, grown = tmp_path / f'tuned-{runner}', tmp_path / f'grown-{runner}'
        cluster.done('tune', 'pesvm', packed, *grid, '--model', tuned, runner=runner)
        cluster.done('update', tuned, packed, '--model', grown, runner=runner)
    for name in ('tuned', 'grown'):
        inline, hadoop = (model_of(tmp_path / f'{name}-{runner}')[1] for runner in (None, 'hadoop'))
        assert [part for part in inline if inline[part].tobytes() != hadoop[part].tobytes()] == []


def test_nothing_is_left_on_hdfs(cluster, packed):
    assert 'mr_elm-' not in cluster.listing('/tmp')
