"""The sums of a model are a file beside it: what needs them says what is missing, and what predicts never looks."""

import hashlib
import itertools
import json
import os
import shutil

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from reference.files import copy_model
from reference.killed import run_killed

from mr_elm import store
from mr_elm.errors import ModelFormatError
from mr_elm.estimators import ESVMClassifier, ESVMRegressor, to_estimator
from mr_elm.model.file import read_model
from mr_elm.rows import storage

N = 120
SUMS = {'gram', 'gram_low', 'class_sums', 'class_sums_low', 'counts', 'counts_low'}


@pytest.fixture
def table(rng):
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] > X[:, 1]) * 1


@pytest.fixture
def rows(write, csv_of, table):
    return write('rows.csv', csv_of(table[1], table[0]))


@pytest.fixture
def train(here, rows, tmp_path):
    """Train quietly with few nodes: the path of the model."""

    def run(name='m.npz', *words, method='pesvm', rows=rows):
        here('train', method, rows, '--hidden', 9, '--model', tmp_path / name, '-q', *words)
        return tmp_path / name

    return run


def names_in(path):
    with np.load(path, allow_pickle=False) as archive:
        return set(archive.files) - {'header'}


def commands(model, rows, tmp_path):
    """Return what reads the sums of a model."""
    out = '--model', tmp_path / 'out.npz'
    return {
        'update': ('update', model, rows, *out),
        'forget': ('forget', model, rows, *out),
        'merge': ('merge', model, copy_model(model), *out),
        'leave-one-out': ('evaluate', model, rows, '--leave-one-out'),
        'leverage': ('predict', model, rows, '--leverage', '-o', tmp_path / 'out.npz'),
    }


READERS = 'update', 'forget', 'merge', 'leave-one-out', 'leverage'


@pytest.mark.parametrize('name, beside', [('m.npz', 'm.sums.npz'), ('m.b.npz', 'm.b.sums.npz')])
@pytest.mark.parametrize('method', ['pesvm', 'elm'])
def test_the_sums_lie_beside_the_model_that_they_name(train, tmp_path, method, name, beside):
    model = train(name, method=method)
    assert sorted(os.listdir(tmp_path)) == sorted([name, beside, 'rows.csv'])
    assert names_in(tmp_path / beside) == SUMS and not names_in(model) & SUMS
    header = json.loads(str(np.load(tmp_path / beside)['header']))
    assert header['model_sha256'] == hashlib.sha256(model.read_bytes()).hexdigest()


def test_sums_of_averaged_machines_have_their_numbers(here, train, rows, tmp_path):
    from mr_elm.model.models import join_members

    one, other = train('a.npz'), train('b.npz', '--seed', 1)
    join_members([read_model(path, sums=True) for path in (one, other)]).save(tmp_path / 'mean.npz')
    assert names_in(tmp_path / 'mean.sums.npz') == {f'{k}/{name}' for k in (0, 1) for name in SUMS}
    here('update', tmp_path / 'mean.npz', rows, '--model', tmp_path / 'more.npz', '-q')
    assert names_in(tmp_path / 'more.sums.npz') == names_in(tmp_path / 'mean.sums.npz')


@pytest.mark.parametrize('reader', READERS)
@pytest.mark.parametrize('damage', ['missing', 'of another model', 'a model', 'garbage'])
def test_what_needs_the_sums_says_what_is_wrong_with_them(elm, train, rows, tmp_path, reader, damage):
    model, other, beside = train(), train('other.npz', '--seed', 1), tmp_path / 'm.sums.npz'
    beside.unlink()
    if damage != 'missing':
        source = {'of another model': tmp_path / 'other.sums.npz', 'a model': other, 'garbage': rows}[damage]
        shutil.copy(source, beside)
    done = elm(*commands(model, rows, tmp_path)[reader])
    assert done.status == 1 and str(beside) in done.err and done.err.count('\n') == 1, done.err
    assert 'expected' in done.err and not (tmp_path / 'out.npz').exists()


@pytest.mark.parametrize(
    'words',
    [
        ('predict', 'MODEL', 'ROWS', '--scores', '-o', 'OUT'),
        ('evaluate', 'MODEL', 'ROWS'),
        ('inspect', 'MODEL'),
        ('train', 'pesvm', 'ROWS', '--like', 'MODEL', '--model', 'OUT'),
    ],
)
def test_what_does_not_need_the_sums_never_looks_at_them(elm, train, rows, tmp_path, words):
    def run(name):
        named = {'MODEL': model, 'ROWS': rows, 'OUT': tmp_path / name}
        done = elm(*(named.get(word, word) for word in words))
        out = tmp_path / name
        return done.status, done.out, out.read_bytes() if out.exists() else b''

    model = train()
    wanted = run('one.npz')
    (tmp_path / 'm.sums.npz').write_text('garbage')
    assert wanted[0] == 0 and run('two.npz') == wanted
    (tmp_path / 'm.sums.npz').unlink()
    assert run('three.npz') == wanted


@pytest.mark.parametrize('command', [('train', 'pesvm'), ('train', 'elm'), ('tune', 'pesvm', '--folds', 2)])
def test_no_sums_writes_the_model_alone(elm, rows, tmp_path, command):
    words = '--hidden', 5, '--model', tmp_path / 'm.npz', '--no-sums'
    done = elm(*command[:2], rows, *command[2:], *words)
    assert done.status == 0 and 'm.sums.npz' not in done.err
    assert sorted(os.listdir(tmp_path)) == ['m.npz', 'rows.csv'] and not names_in(tmp_path / 'm.npz') & SUMS
    assert elm('train', 'mr-kelm', rows, *words[2:]).status == 2


def test_sums_whose_model_is_gone_are_replaced_and_another_file_of_their_name_is_not(elm, here, train, rows, tmp_path):
    model = train()
    model.unlink()
    here('train', 'pesvm', rows, '--hidden', 9, '--model', model, '-q')
    here('update', model, rows, '--model', tmp_path / 'u.npz', '-q')  # they are those of the new model
    model.unlink()
    (tmp_path / 'm.sums.npz').write_bytes(model.with_name('u.npz').read_bytes())
    for words in (('pesvm', '--hidden', 9), ('pesvm', '--hidden', 9, '--no-sums'), ('mr-kelm',)):
        done = elm('train', words[0], rows, *words[1:], '--model', model)
        assert done.status == 1 and f'{tmp_path}/m.sums.npz: expected a new file, it exists' in done.err
        assert not model.exists()


@pytest.mark.parametrize(
    'words', [('pesvm', '--hidden', 9, '--no-sums'), ('mr-kelm',), ('pesvm', '--hidden', 9, '--solver', 'passes')]
)
def test_a_model_without_sums_that_replaces_one_with_sums_removes_them(here, train, rows, tmp_path, words):
    model = train()
    here('train', words[0], rows, *words[1:], '--model', model, '--overwrite', '-q')
    assert sorted(os.listdir(tmp_path)) == ['m.npz', 'rows.csv']


@pytest.mark.parametrize('n_renamed', [0, 1, 2, 3, 4])
def test_an_error_while_a_model_is_replaced_changes_nothing(elm, train, rows, tmp_path, monkeypatch, n_renamed):
    """Each renaming in turn is the last one that happens."""
    model, count, rename = train(), itertools.count(), os.replace
    before = model.read_bytes(), (tmp_path / 'm.sums.npz').read_bytes()

    def stop(source, target):
        if next(count) >= n_renamed:
            raise OSError('the power failed')
        rename(source, target)

    monkeypatch.setattr(store.os, 'replace', stop)
    done = elm('update', model, rows, '--model', model, '--overwrite', '-q')
    monkeypatch.undo()
    after = model.read_bytes(), (tmp_path / 'm.sums.npz').read_bytes()
    assert sorted(os.listdir(tmp_path)) == ['m.npz', 'm.sums.npz', 'rows.csv']
    if done.status == 0:
        assert n_renamed == 4 and after[0] != before[0] and after[1] != before[1]
    else:
        assert after == before
    assert elm('predict', model, rows, '-o', tmp_path / 'said', '-q').status == 0


@pytest.mark.parametrize('n_renamed', range(8))
@pytest.mark.parametrize('has_ledger', [False, True])
def test_a_command_killed_while_it_replaces_a_model_leaves_a_pair(elm, train, rows, tmp_path, n_renamed, has_ledger):
    """It is killed in front of each renaming in turn; the model is then the old one or the new one."""
    audited = ['--ledger', str(tmp_path / 'm.ledger')] if has_ledger else []
    model = train('m.npz', *audited)
    words = ['update', str(model), str(rows), '--model', str(model), '--overwrite', '-q', *audited]
    killed = run_killed(n_renamed, words)
    assert killed in (0, -9) and (n_renamed or killed)
    header, n_before = read_model(model, sums=True).header, N
    if header.n_rows_used != N:
        n_before = 2 * N
    assert header.n_rows_used == n_before
    if has_ledger:
        assert elm('verify', model, *[rows] * (n_before // N), *audited, '-q').status == 0
    assert elm('update', model, rows, '--model', model, '--overwrite', '-q', *audited).status == 0
    assert read_model(model, sums=True).header.n_rows_used == n_before + N
    assert not [name for name in os.listdir(tmp_path) if name.endswith('.next')]


def test_a_pipe_or_a_device_gets_no_sums_and_that_is_said(elm, rows):
    done = elm('train', 'pesvm', rows, '--hidden', 5, '--model', '/dev/null')
    assert done.status == 0 and 'sums' in done.err and not os.path.exists('/dev/null.sums.npz')


def test_a_model_elsewhere_has_its_sums_there(here, elm, rows, monkeypatch):
    files = MemoryFileSystem()
    files.mkdirs('bucket/folder')
    monkeypatch.setattr('mr_elm.rows.remote.open_s3', lambda: files)
    storage.make_store.cache_clear()
    model = 's3://bucket/folder/m.npz'
    here('train', 'pesvm', rows, '--hidden', 5, '--model', model, '-q')
    here('update', model, rows, '--model', model, '--overwrite', '-q')
    assert sorted(os.path.basename(path) for path in files.ls('bucket/folder', detail=False)) == ['m.npz', 'm.sums.npz']
    assert 'm.sums.npz: expected a new file' in elm('train', 'pesvm', rows, '--model', model).err or (
        'm.npz: expected a new file' in elm('train', 'pesvm', rows, '--model', model).err
    )
    files.rm('bucket/folder/m.sums.npz')
    assert f'{model[:-4]}.sums.npz' in elm('forget', model, rows, '--model', model, '--overwrite').err
    files.rm('bucket', recursive=True)
    storage.make_store.cache_clear()


def test_estimators_write_and_read_both_files(table, tmp_path):
    X, y = table
    fitted = ESVMClassifier(n_hidden=9).fit(X[:80], y[:80])
    fitted.to_model().save(tmp_path / 'm.npz')
    assert names_in(tmp_path / 'm.sums.npz') == SUMS and not set(fitted.model_.arrays) & SUMS
    again = to_estimator(read_model(tmp_path / 'm.npz', sums=True)).partial_fit(X[80:], y[80:])
    assert np.array_equal(again.decision_function(X), fitted.partial_fit(X[80:], y[80:]).decision_function(X))
    (tmp_path / 'm.sums.npz').unlink()
    with pytest.raises(ModelFormatError, match=r'm.npz: expected the sums of its rows in .*m.sums.npz'):
        read_model(tmp_path / 'm.npz', sums=True)


@pytest.mark.parametrize('loaded', [False, True])
def test_an_estimator_without_sums_predicts_and_says_that_it_cannot_live(table, tmp_path, loaded):
    X, y = table
    wanted = ESVMClassifier(n_hidden=9).fit(X, y)
    if loaded:
        wanted.to_model().save(tmp_path / 'm.npz')
        fitted = to_estimator(read_model(tmp_path / 'm.npz'))
    else:
        fitted = ESVMClassifier(n_hidden=9, keep_sums=False).fit(X, y)
    assert np.array_equal(fitted.decision_function(X), wanted.decision_function(X)) and fitted.n_rows_ == N
    for change in (fitted.partial_fit, fitted.forget, fitted.calibrate):
        with pytest.raises(ValueError, match='sums'):
            change(X[:5], y[:5])
    for one, other in ((fitted, wanted), (wanted, fitted)):
        with pytest.raises(ValueError, match='sums'):
            one.merge(other)
    fitted.to_model().save(tmp_path / 'alone.npz')
    assert not (tmp_path / 'alone.sums.npz').exists()


def test_intervals_without_sums_have_the_width_of_the_plain_errors(elm, train, write, csv_of, table, rng, tmp_path):
    X, t = table[0], table[0][:, 0] + rng.normal(size=N)
    rows = write('targets.csv', csv_of(t.tolist(), X))
    model = train('m.npz', '--task', 'regression', '--intervals', '--no-center', '--nu', 5, rows=rows)

    def bounds(name, *words):
        done = elm('predict', model, rows, '--interval', 0.8, '-o', tmp_path / name, *words)
        assert done.status == 0
        return np.loadtxt(tmp_path / name), done.err

    following, silent = bounds('with')
    (tmp_path / 'm.sums.npz').unlink()
    alone, warned = bounds('without')
    arrays = read_model(model).arrays
    Z = (X - arrays['feature_offset']) * arrays['feature_scale'] @ arrays['hidden_weights'].T + arrays['hidden_biases']
    E = np.c_[1 / (1 + np.exp(-Z)), -np.ones(N)]
    h = np.einsum('ij,ji->i', E, np.linalg.solve(E.T @ E + np.eye(10) / 5, E.T))
    errors = np.sort(np.abs(t - alone[:, 0]) / (1 - h))
    np.testing.assert_allclose(alone[:, 2] - alone[:, 0], errors[int(np.ceil(0.8 * (N + 1))) - 1], rtol=1e-8)
    assert np.ptp(following[:, 2] - following[:, 1]) > 0.01 and np.array_equal(following[:, 0], alone[:, 0])
    assert 'sums' not in silent and 'm.sums.npz: no such file' in warned
    machine = ESVMRegressor(n_hidden=9, nu=5, intervals=True, center=False, keep_sums=False).fit(X, t)
    np.testing.assert_allclose(machine.predict_interval(X, 0.8), alone[:, 1:], rtol=1e-7)
