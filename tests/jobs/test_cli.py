"""What the commands write: clean streams, files under exactly the names given, nothing that was there before lost."""

import json
import os

import pytest
from reference.files import FEW, GOOD


@pytest.mark.parametrize('name', ['a model.npz', 'm.npz'])
def test_the_model_is_written_under_exactly_the_name_given(elm, rows, tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert elm('train', 'pesvm', rows, *FEW, '--model', name, '-q').status == 0
    sums = f'{name.removesuffix(".npz")}.sums.npz'
    assert sorted(os.listdir(tmp_path)) == sorted([name, sums, 'rows.csv'])


def test_an_existing_model_is_refused_before_any_work(elm, write, tmp_path):
    model = write('m.npz', 'old')
    done = elm('train', 'pesvm', tmp_path / 'no-such-rows.csv', *FEW, '--model', model)
    assert (done.status, done.out) == (1, '') and '--overwrite' in done.err and model.read_text() == 'old'


@pytest.mark.parametrize('name', ['.', 'no/such/folder/m.npz'])
def test_a_model_that_cannot_be_written_is_refused_before_any_work(elm, tmp_path, name):
    done = elm('train', 'pesvm', tmp_path / 'no-such-rows.csv', *FEW, '--model', tmp_path / name, '--overwrite')
    assert done.status == 1 and 'folder' in done.err and 'no-such-rows' not in done.err


def test_a_failed_training_leaves_the_old_model_alone(elm, write, tmp_path):
    model, bad = write('m.npz', 'old'), write('bad.csv', GOOD + '1,2\n')
    assert elm('train', 'pesvm', bad, *FEW, '--model', model, '--overwrite', '-q').status == 1
    assert model.read_text() == 'old' and sorted(os.listdir(tmp_path)) == ['bad.csv', 'm.npz']


def test_overwrite_replaces_a_model(elm, rows, write, model_of):
    model = write('m.npz', 'old')
    assert elm('train', 'pesvm', rows, *FEW, '--model', model, '--overwrite', '-q').status == 0
    assert model_of(model)[0]['n_rows_used'] == 60


def test_a_trained_model_goes_through_all_commands(elm, program, rows, tmp_path):
    """The training is a program, as are those of the README."""
    model, out = tmp_path / 'm.npz', tmp_path / 'out'
    done = program('train', 'pesvm', rows, *FEW, '--model', model)
    assert (done.status, done.out) == (0, '') and '60 rows' in done.err
    done = elm('predict', model, rows, '-o', out)
    assert (done.status, done.out) == (0, '') and len(out.read_text().splitlines()) == 60
    done = elm('evaluate', model, rows, '--json')
    assert done.status == 0 and 0 <= json.loads(done.out)['accuracy'] <= 1
    done = elm('inspect', model, '--json')
    assert done.status == 0 and done.err == '' and json.loads(done.out)['n_rows_used'] == 60


def test_inspect_shows_the_header(elm, rows, tmp_path):
    elm('train', 'pesvm', rows, *FEW, '--nu', 0.25, '--seed', 9, '--model', tmp_path / 'm.npz', '-q')
    header = json.loads(elm('inspect', tmp_path / 'm.npz', '--json').out)
    assert (header['method'], header['task'], header['classes'], header['n_features']) == (
        'pesvm',
        'classification',
        ['0', '1'],
        2,
    )
    assert header['parameters']['nu'] == 0.25 and header['parameters']['seed'] == 9
    assert header['arrays']['output_weights'] == [6, 1]
    text = elm('inspect', tmp_path / 'm.npz')
    assert text.status == 0 and max(map(len, text.out.splitlines())) < 200
    assert text.out.startswith('method        pesvm, ') and 'nu 0.25' in text.out and '5 sigmoid nodes' in text.out


@pytest.mark.parametrize('command', ['predict', 'evaluate', 'inspect'])
@pytest.mark.parametrize('content', ['', 'text', GOOD, None])
def test_what_is_not_a_model_is_named(elm, rows, write, tmp_path, command, content):
    model = tmp_path / 'm.npz' if content is None else write('m.npz', content)
    arguments = {'predict': [rows, '-o', tmp_path / 'out'], 'evaluate': [rows], 'inspect': []}[command]
    done = elm(command, model, *arguments)
    assert (done.status, done.out) == (1, '') and str(model) in done.err and done.err.count('\n') == 1


def test_generate_and_train(elm, trained, tmp_path):
    base = tmp_path / 'base.csv'
    assert elm('generate', 'blobs', '--rows', 50, '--features', 3, '--classes', 4, '-o', base) == (0, '', '')
    header, _ = trained(base)
    assert (header['n_rows_used'], header['n_features'], len(header['classes'])) == (50, 3, 4)


def test_generate_and_pack_do_not_replace_files(elm, rows, write, tmp_path):
    old = write('old', 'old')
    assert elm('generate', 'ndc', '--rows', 5, '-o', old).status == 1
    assert elm('pack', rows, '-o', old).status == 1
    assert old.read_text() == 'old' and rows.read_text() == GOOD
