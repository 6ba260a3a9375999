"""Real data give the same model inline, local and on Hadoop."""

import numpy as np
import pytest
from reference.public_sets import demand_set

OPTIONS = ('--hidden', 200, '--nu', 10)
RUNNERS = {'inline': (), 'local': ('--num-cores', 2), 'hadoop': ('-D', 'mapreduce.job.maps=3')}

pytestmark = pytest.mark.long


@pytest.fixture(scope='module', params=['letter', 'a9a'])
def rows(request):
    """Find a data set: dense rows of many classes, sparse ones of two."""
    return demand_set(request.param)


def test_packed_rows_give_the_same_bits(cluster, here, rows, model_of, tmp_path):
    here('pack', rows, '-o', tmp_path / 'packed', '-q')
    models = []
    for runner, words in RUNNERS.items():
        path = tmp_path / f'{runner}.npz'
        cluster.done('train', 'pesvm', tmp_path / 'packed', *OPTIONS, '--model', path, *words, runner=runner)
        models.append(model_of(path)[1])
    for arrays in models[1:]:
        assert [key for key in arrays if arrays[key].tobytes() != models[0][key].tobytes()] == []


def test_text_gives_the_same_predictions(cluster, here, rows, tmp_path):
    scores = []
    for runner, words in RUNNERS.items():
        model, out = tmp_path / f'{runner}.npz', tmp_path / runner
        cluster.done('train', 'pesvm', rows, *OPTIONS, '--model', model, *words, runner=runner)
        here('predict', model, rows, '-o', out, '--scores', '-q')
        scores.append(np.loadtxt(out, dtype=str)[:, 1:].astype(float))
    assert max(np.abs(other - scores[0]).max() for other in scores[1:]) < 1e-8


def test_parts_and_grids_on_the_cluster_are_those_inline(cluster, here, tmp_path, model_of):
    here('pack', demand_set('australian'), '-o', tmp_path / 'packed', '-q')
    said, models = [], []
    for runner in ('inline', 'hadoop'):
        path = tmp_path / f'{runner}.npz'
        cluster.done(
            'train',
            'sparse-elm',
            tmp_path / 'packed',
            '--C',
            10,
            '--sigma',
            10**0.5,
            '--scale',
            'minmax',
            '--partitions',
            3,
            '--gap',
            1e-6,
            '--model',
            path,
            runner=runner,
        )
        models.append(model_of(path))
        said.append(
            cluster.done('tune', 'sparse-elm', tmp_path / 'packed', '--sigma', '1,4', '--C', '1,10', runner=runner)
        )
    assert said[0] == said[1]
    for header, _ in models:
        assert abs(header['parameters']['certificates']['objective'][0] + 1803.944304) < 0.002


def test_a_kernel_machine_from_columns_of_the_driver_or_of_a_job_is_the_one_inline(cluster, here, tmp_path, model_of):
    """Omega takes 42.7 MB: beside it there is no room for the rows, 0.35 MB, and a job makes the columns."""
    here('pack', demand_set('segment'), '-o', tmp_path / 'packed', '--block-rows', 500, '-q')
    models = []
    for number, (runner, *more) in enumerate([('inline',), ('hadoop',), ('hadoop', '--memory', 42.9)]):
        path = tmp_path / f'{number}.npz'
        cluster.done('train', 'mr-kelm', tmp_path / 'packed', '--emit', 'rows', *more, '--model', path, runner=runner)
        models.append(model_of(path)[1])
    for arrays in models[1:]:
        assert [key for key in arrays if arrays[key].tobytes() != models[0][key].tobytes()] == []
