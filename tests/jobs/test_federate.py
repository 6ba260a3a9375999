"""Several sites train one model without bringing their rows together: the model of all rows."""

import itertools

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from reference.keys import mask_words, write_keys
from scipy.stats import chi2

from mr_elm import store
from mr_elm.model.file import read_model

D, SITES = 4, 3
KINDS = {
    'classes': ('pesvm', '.csv', ()),
    'numbers': ('elm', '.csv', ('--task', 'regression')),
    'sparse': ('pesvm', '.libsvm', ()),
    'relu': ('pesvm', '.csv', ('--map', 'relu', '--scale', 'minmax')),
    'landmarks': ('pesvm', '.csv', ('--map', 'nystrom', '--landmarks', 'synthetic')),
}


@pytest.fixture
def succeed(elm):
    """Run a command quietly that must succeed."""

    def run(*words):
        done = elm(*words, '-q')
        assert done.status == 0, done.err

    return run


@pytest.fixture
def keys(tmp_path):
    """Write a pair of X25519 keys for each site: (private, public) paths."""
    return [write_keys(tmp_path, k, X25519PrivateKey.generate()) for k in range(SITES)]


@pytest.fixture
def sites(write, rng, csv_of, libsvm_of):
    """Give a function that draws rows of a kind: (paths of the sites, path of all rows, X)."""

    def draw(kind):
        X = rng.normal(size=(210, D)) + rng.normal(size=D)
        labels = (7 * X[:, 0]).tolist() if kind == 'numbers' else (X[:, 0] > 0) * 1 + (X[:, 1] > 0) * 1
        if kind == 'sparse':
            X[rng.random(X.shape) < 0.5] = 0
            X[:70, -1] = 0  # the rows of one site are narrower
        text, suffix = libsvm_of if kind == 'sparse' else csv_of, KINDS[kind][1]
        parts = [slice(70 * k, 70 * k + 70) for k in range(SITES)]
        return (
            [write(f'{k}{suffix}', text(labels[part], X[part])) for k, part in enumerate(parts)],
            write(f'all{suffix}', text(labels, X)),
            X,
        )

    return draw


@pytest.fixture
def layer_of(succeed, tmp_path):
    """Give a function that makes the layer of some sites: its path."""

    def make(paths, kind):
        method, _, options = KINDS[kind]
        task = options if '--task' in options else ()
        statistics = [tmp_path / f'{k}.stats.json' for k in range(len(paths))]
        for path, out in zip(paths, statistics, strict=True):
            succeed('sums', path, '--statistics', *task, '-o', out)
        succeed('layer', method, *statistics, *options, '--hidden', 15, '--model', tmp_path / 'm.layer.npz')
        return tmp_path / 'm.layer.npz'

    return make


@pytest.mark.parametrize('kind', KINDS)
def test_the_model_of_all_sites_is_the_model_of_all_rows_masked_or_not(
    succeed, sites, layer_of, keys, tmp_path, model_of, kind
):
    paths, whole, X = sites(kind)
    layer = layer_of(paths, kind)
    for k, path in enumerate(paths):
        succeed('sums', path, '--layer', layer, '-o', tmp_path / f'{k}.sums.npz')
        succeed('sums', path, '--layer', layer, *mask_words(k, keys), '-o', tmp_path / f'masked-{k}.sums.npz')
    succeed('merge', *(tmp_path / f'{k}.sums.npz' for k in range(SITES)), '--model', tmp_path / 'plain.npz')
    succeed('merge', *(tmp_path / f'masked-{k}.sums.npz' for k in (2, 0, 1)), '--model', tmp_path / 'hidden.npz')
    plain, hidden = (model_of(tmp_path / f'{name}.npz')[1] for name in ('plain', 'hidden'))
    assert {name: array.tobytes() for name, array in plain.items()} == {
        name: array.tobytes() for name, array in hidden.items()
    }
    method, _, options = KINDS[kind]
    succeed('train', method, whole, *options, '--hidden', 15, '--model', tmp_path / 'whole.npz')
    merged, trained = (read_model(tmp_path / f'{name}.npz') for name in ('hidden', 'whole'))
    scale = np.abs(trained.decision_function(X)).max()
    assert np.abs(merged.decision_function(X) - trained.decision_function(X)).max() < 1e-8 * scale
    assert merged.header.n_rows_used == 210 and merged.classes == trained.classes
    # the sums live on: the rows of a site leave, and what is left is what the others have
    succeed('forget', tmp_path / 'hidden.npz', paths[1], '--model', tmp_path / 'left.npz')
    succeed('merge', tmp_path / '0.sums.npz', tmp_path / '2.sums.npz', '--model', tmp_path / 'two.npz')
    left, two = (read_model(tmp_path / f'{name}.npz').decision_function(X) for name in ('left', 'two'))
    assert np.abs(left - two).max() < 1e-8 * scale


def test_rows_that_sites_leave_out_are_counted(succeed, sites, layer_of, keys, write, tmp_path):
    paths, _, _ = sites('classes')
    layer, good = layer_of(paths, 'classes'), paths[0].read_text()
    for k, n_bad in enumerate([2, 0, 3]):
        rows = write(f'bad-{k}.csv', good + '0,x,1,2,3\n' * n_bad)
        words = *mask_words(k, keys), '--bad-rows', 'skip', '-o', tmp_path / f'{k}.sums.npz'
        succeed('sums', rows, '--layer', layer, *words)
    succeed('merge', *(tmp_path / f'{k}.sums.npz' for k in range(SITES)), '--model', tmp_path / 'm.npz')
    header = read_model(tmp_path / 'm.npz').header
    assert (header.n_rows_used, header.n_rows_rejected) == (210, 5)


def test_a_masked_file_alone_looks_like_random_numbers(succeed, sites, layer_of, keys, tmp_path):
    """The chi-square statistic of its bytes has 255 degrees of freedom; that of sums without a mask is far larger."""
    paths, _, _ = sites('classes')
    layer, statistics = layer_of(paths, 'classes'), {}
    for name, words in (('open', ()), ('masked', mask_words(0, keys)), ('later', mask_words(0, keys, 'second'))):
        succeed('sums', paths[0], '--layer', layer, *words, '-o', tmp_path / f'{name}.sums.npz')
        counts = np.bincount(read_ring(tmp_path / f'{name}.sums.npz').view(np.uint8).ravel(), minlength=256)
        statistics[name] = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert statistics['open'] > 1e4 and max(statistics['masked'], statistics['later']) < chi2.ppf(1 - 1e-9, 255)
    masked, later = (read_ring(tmp_path / f'{name}.sums.npz') for name in ('masked', 'later'))
    assert (masked != later).any(axis=1).all()  # each session has masks of its own


def read_ring(path):
    """Read what a file of sums shows: whole numbers on the ring, two words each."""
    with np.load(path) as arrays:
        return arrays['ring']


def test_a_site_that_drops_out_is_named(elm, succeed, sites, layer_of, keys, tmp_path):
    paths, _, _ = sites('classes')
    layer = layer_of(paths, 'classes')
    files = [tmp_path / f'{k}.sums.npz' for k in range(SITES)]
    for k, (path, out) in enumerate(zip(paths, files, strict=True)):
        succeed('sums', path, '--layer', layer, *mask_words(k, keys), '-o', out)
    succeed('sums', paths[0], '--layer', layer, '-o', tmp_path / 'open.sums.npz')
    succeed('sums', paths[0], '--layer', layer, *mask_words(0, keys, 'second'), '-o', tmp_path / 's.sums.npz')
    succeed('sums', paths[0], '--layer', layer, *mask_words(0, keys[:2]), '-o', tmp_path / 'pair.sums.npz')
    succeed('sums', paths[1], '--layer', layer, *mask_words(0, keys), '-o', tmp_path / 'again.sums.npz')
    for given, said in (
        (files[:2], 'the site 2.pub'),
        ([*files, tmp_path / 'again.sums.npz'], 'found the sums of this one twice'),  # of the same key, of other rows
        ([*files, files[1]], 'expected each site once'),
        ([tmp_path / 'open.sums.npz', *files[1:]], 'masked in the same session'),
        ([tmp_path / 's.sums.npz', *files[1:]], 'masked in the same session'),
        ([tmp_path / 'pair.sums.npz', *files[1:]], 'expected a mask with each other site'),
    ):
        for order in itertools.permutations(given):
            done = elm('merge', *order, '--model', tmp_path / 'x.npz', '-q')
            assert done.status == 1 and not (tmp_path / 'x.npz').exists()
        assert said in elm('merge', *given, '--model', tmp_path / 'x.npz', '-q').err


def test_a_mask_is_with_each_other_site_once(elm, sites, layer_of, keys, tmp_path):
    paths, _, _ = sites('classes')
    layer, copy = layer_of(paths, 'classes'), tmp_path / 'copy.pub'
    copy.write_bytes(keys[1][1].read_bytes())
    for others in ([keys[0][1], keys[1][1]], [keys[1][1], copy]):
        words = ['--session', 'first', *(word for other in others for word in ('--with', other))]
        done = elm('sums', paths[0], '--layer', layer, '--mask', keys[0][0], *words, '-o', tmp_path / 'x.sums.npz')
        assert done.status == 1 and 'each once' in done.err and not (tmp_path / 'x.sums.npz').exists()


def test_what_does_not_belong_together_is_refused(elm, succeed, sites, layer_of, write, tmp_path):
    paths, _, _ = sites('classes')
    layer = layer_of(paths, 'classes')
    succeed('sums', paths[0], '--layer', layer, '-o', tmp_path / 'a.sums.npz')
    statistics = tmp_path / '0.stats.json'
    succeed('layer', 'pesvm', statistics, '--hidden', 15, '--seed', 1, '--model', tmp_path / 'other.npz')
    succeed('sums', paths[1], '--layer', tmp_path / 'other.npz', '-o', tmp_path / 'b.sums.npz')
    done = elm('merge', tmp_path / 'a.sums.npz', tmp_path / 'b.sums.npz', '--model', tmp_path / 'x.npz')
    assert done.status == 1 and 'another layer' in done.err
    strange = write('strange.csv', '7,1,2,3,4\n0,1,2,3,4\n')
    done = elm('sums', strange, '--layer', layer, '-o', tmp_path / 'x.sums.npz')
    assert done.status == 1 and "'7'" in done.err
    done = elm('layer', 'pesvm', statistics, '--task', 'regression', '--model', tmp_path / 'x.npz')
    assert done.status == 1 and 'statistics for --task regression' in done.err
    done = elm('sums', write('wide.csv', '0,1,2\n1,3,4\n'), '--statistics', '-o', tmp_path / 'w.stats.json', '-q')
    done = elm('layer', 'pesvm', statistics, tmp_path / 'w.stats.json', '--model', tmp_path / 'x.npz')
    assert done.status == 1 and 'other features' in done.err
    for words in (
        ['--statistics', '-o', 'x.json'],
        ['--layer', layer, '--mask', 'a.pem', '-o', 'x.sums.npz'],
        ['-o', 'x.sums.npz'],
        ['--statistics', '--layer', layer, '-o', 'x.stats.json'],
    ):
        assert elm('sums', paths[0], *words).status == 2


@pytest.mark.parametrize(
    'header, found',
    [('y,b,a,c', 'the same in another order'), ('y,a,b,d', 'c, d'), ('y,a,b', 'c')],
)
def test_columns_that_differ_between_sites_are_named_with_the_option_that_makes_them_alike(
    elm, succeed, write, tmp_path, header, found
):
    paths = [tmp_path / f'{k}.stats.json' for k in range(2)]
    for k, names in enumerate(['y,a,b,c', header]):
        text = (
            names
            + '\n'
            + ''.join(','.join(str(j % 2 + j * i) for i in range(names.count(',') + 1)) + '\n' for j in range(9))
        )
        succeed('sums', write(f'{k}.csv', text), '--statistics', '--label-column', 'y', '-o', paths[k])
    done = elm('layer', 'pesvm', *paths, '--model', tmp_path / 'm.npz')
    assert done == (
        1,
        '',
        f'mr-elm: {paths[1]}: expected rows like those of {paths[0]}, found other columns ({found}): give all sites '
        'one --columns\n',
    )
    if found == 'the same in another order':
        words = '--statistics', '--label-column', 'y', '--columns', 'a,b,c', '--overwrite', '-o'
        succeed('sums', tmp_path / '1.csv', *words, paths[1])
        succeed('layer', 'pesvm', *paths, '--hidden', 3, '--model', tmp_path / 'm.npz')


@pytest.mark.parametrize(
    'words, option',
    [
        (('--map', 'nystrom'), '--map nystrom without --landmarks synthetic'),
        (('--map', 'leaves+nystrom', '--landmarks', 'synthetic'), '--map leaves+nystrom'),
        (('--metric', 'diagonal'), '--metric'),
        (('--class-weight', 'balanced'), '--class-weight'),
        (('--probabilities',), '--probabilities'),
        (('--solver', 'passes'), '--solver passes'),
        (('--ledger', 'rows.ledger'), '--ledger'),
        (('--test', '0.2'), '--test'),
    ],
)
def test_an_option_that_needs_rows_has_no_layer_of_statistics(elm, succeed, sites, tmp_path, words, option):
    statistics, layer = tmp_path / '0.stats.json', tmp_path / 'x.npz'
    succeed('sums', sites('classes')[0][0], '--statistics', '-o', statistics)
    done = elm('layer', 'pesvm', statistics, *words, '--model', layer)
    assert done.status == 1 and done.err.startswith(f'mr-elm: {option}: cannot be used with '), done.err
    assert done.err.count('\n') == 1 and not layer.exists()


@pytest.mark.parametrize('method', ['sparse-elm', 'sphere-svm', 'mr-kelm'])
def test_a_method_without_sums_has_no_layer_of_statistics(elm, succeed, sites, tmp_path, method):
    statistics, layer = tmp_path / '0.stats.json', tmp_path / 'x.npz'
    succeed('sums', sites('classes')[0][0], '--statistics', '-o', statistics)
    done = elm('layer', method, statistics, '--model', layer)
    assert done.status == 1 and f'{method}: cannot be used with the statistics of sites' in done.err
    assert done.err.count('\n') == 1 and not layer.exists()


@pytest.mark.parametrize('damaged', [0, 1])
@pytest.mark.parametrize('alter', [lambda ring: ring.astype(float), lambda ring: ring[:, :1], lambda ring: ring[:-3]])
def test_a_file_of_sums_that_holds_no_ring_is_refused(elm, succeed, sites, layer_of, tmp_path, alter, damaged):
    paths, files = sites('classes')[0], [tmp_path / f'{k}.sums.npz' for k in range(2)]
    layer = layer_of(paths, 'classes')
    for path, out in zip(paths, files, strict=False):
        succeed('sums', path, '--layer', layer, '-o', out)
    with np.load(files[damaged]) as arrays:
        np.savez(files[damaged], **{**arrays, 'ring': alter(arrays['ring'])})
    done = elm('merge', *files, '--model', tmp_path / 'x.npz')
    assert done.status == 1 and 'expected' in done.err and done.err.count('\n') == 1, done.err


def test_a_site_that_comes_twice_is_refused_without_masks_too(succeed, elm, sites, layer_of, tmp_path):
    paths = sites('classes')[0]
    layer = layer_of(paths, 'classes')
    succeed('sums', paths[0], '--layer', layer, '-o', tmp_path / 's.sums.npz')
    done = elm('merge', tmp_path / 's.sums.npz', tmp_path / 's.sums.npz', '--model', tmp_path / 'm.npz')
    assert done.status == 1 and 'expected each site once' in done.err and not (tmp_path / 'm.npz').exists()


@pytest.mark.parametrize(
    'words, cause',
    [
        (('--mask', 'a.pem', '--with', 'b.pub', '-o', 'a.sums.npz'), 'expected --session'),
        (('-o', 'a.npz'), 'ends in .sums.npz'),
    ],
)
def test_sums_are_called_sums_and_masks_have_a_session(elm, words, cause):
    done = elm('sums', 'rows.csv', '--layer', 'm.layer.npz', *words)
    assert done.status == 2 and cause in done.err


def test_merge_reads_each_file_of_sums_once(succeed, sites, tmp_path, monkeypatch):
    paths, _, _ = sites('classes')
    succeed('sums', paths[0], '--statistics', '-o', tmp_path / 'a.stats.json')
    succeed('layer', 'pesvm', tmp_path / 'a.stats.json', '--hidden', 3, '--model', tmp_path / 'layer.npz')
    outs = [tmp_path / f'{k}.sums.npz' for k in range(2)]
    for path, out in zip(paths, outs, strict=False):
        succeed('sums', path, '--layer', tmp_path / 'layer.npz', '-o', out)
    read, names = store.read_array, []
    monkeypatch.setattr(store, 'read_array', lambda archive, file: names.append(file.filename) or read(archive, file))
    succeed('merge', *outs, '--model', tmp_path / 'm.npz')
    assert names.count('ring.npy') == 2
