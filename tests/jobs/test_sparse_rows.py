"""Rows of few words out of hundreds of thousands make models of kilobytes, which say what their words alone say."""

import os

import numpy as np
import pytest

N, D, WIDE = 60, 25, 200_000
METHODS = {
    'sparse-elm': ('--sigma', 3),
    'oelm': ('--kernel', 'linear'),
    'sphere-svm': ('--sigma', 3),
    'mr-kelm': ('--sigma', 3),
    'mr-kelm linear': ('--kernel', 'linear'),
    'mr-kelm cg': ('--sigma', 3, '--solver', 'cg'),
    'pesvm': ('--map', 'nystrom', '--hidden', N),
    'elm': ('--map', 'nystrom', '--hidden', N),
}


@pytest.fixture
def files(rng, write, libsvm_of):
    """Write the same rows as narrow ones and as wide ones, and their halves: name -> path."""
    X = rng.integers(1, 4, (N, D)) * (rng.random((N, D)) < 0.2).astype(float)
    X[:, 0] = 1 + np.arange(N) % 2 + rng.random(N)
    y, lines = (np.arange(N) % 2).tolist(), {'narrow': [], 'wide': []}
    for label, row in zip(y, X.tolist(), strict=True):
        for name, step in (('narrow', 1), ('wide', WIDE // D)):
            pairs = [f'{j * step + 1}:{row[j]!r}' for j in range(D) if row[j]]
            lines[name].append(' '.join([str(label), *pairs, f'{D + 1 if step == 1 else WIDE}:2.5']))
    lines['half'], lines['other half'] = lines['wide'][: N // 2], lines['wide'][N // 2 :]
    return {name: write(f'{name}.libsvm', '\n'.join(text) + '\n') for name, text in lines.items()}


@pytest.fixture
def train(elm, tmp_path):
    """Train; the path of the model."""

    def run(method, name, *options):
        path = tmp_path / f'{name}.npz'
        done = elm('train', method.split()[0], *options, '--model', path, '-q')
        assert done.status == 0, done.err
        return path

    return run


@pytest.fixture
def scores(elm, tmp_path):
    """Predict: decision values of rows."""

    def run(model, rows):
        assert elm('predict', model, rows, '-o', tmp_path / 'scores', '--scores', '--overwrite', '-q').status == 0
        return np.loadtxt(tmp_path / 'scores')

    return run


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('scale', ['none', 'standard'])
def test_wide_rows_make_the_machine_of_their_words(files, train, scores, method, scale):
    narrow, wide = (train(method, name, files[name], '--scale', scale, *METHODS[method]) for name in ('narrow', 'wide'))
    np.testing.assert_allclose(scores(wide, files['wide']), scores(narrow, files['narrow']), rtol=1e-4, atol=1e-4)
    vectors = 2 if 'linear' in METHODS[method] else 1  # linear kernels see shifted rows: the offset counts
    assert os.path.getsize(wide) < 80_000 + (scale == 'standard') * 8.1 * vectors * WIDE


def test_a_model_of_wide_rows_stays_small_while_it_learns_and_forgets(elm, files, train, scores, tmp_path):
    options = '--map', 'nystrom', '--hidden', N, '--scale', 'none', '--landmarks', 'rows'
    half = train('pesvm', 'half', files['half'], '--n-features', WIDE, *options)
    for command, before, after in (
        ('update', half, tmp_path / 'whole.npz'),
        ('forget', tmp_path / 'whole.npz', tmp_path / 'again.npz'),
    ):
        done = elm(command, before, files['other half'], '--model', after, '-q')
        assert done.status == 0, done.err
        assert os.path.getsize(after) < 80_000
    np.testing.assert_allclose(scores(tmp_path / 'again.npz', files['wide']), scores(half, files['wide']), atol=1e-9)
