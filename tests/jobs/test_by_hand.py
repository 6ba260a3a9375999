"""Stages run by hand in the order of the printed script make the model that training makes; some in a shell."""

import os
import shlex
import shutil
from pathlib import Path

import pytest
from reference.by_hand import fill_folder, run_stage, run_to_the_last
from reference.commands import succeed
from reference.manual import run_script

# one training for each stage, from text or packed rows
TRAININGS = {
    'pesvm': ['pesvm', 'rows.csv', '--hidden', '12', '--nu', '10'],
    'synthetic landmarks': ['pesvm', 'rows.csv', '--map', 'nystrom', '--landmarks', 'synthetic', '--hidden', '9'],
    'landmarks': ['elm', 'packed', '--map', 'nystrom', '--hidden', '9', '--C', '10', '--class-weight', 'balanced'],
    'metric': ['pesvm', 'packed', '--hidden', '12', '--nu', '10', '--metric', 'diagonal', '--seed', '3'],
    'parts': ['sparse-elm', 'packed', '--sigma', '2', '--C', '10', '--partitions', '2'],
    'sphere': ['sphere-svm', 'rows.csv', '--label-column', '0', '--header', 'no'],
    'rows': ['mr-kelm', 'packed', '--sigma', '3', '--task', 'classification'],
    'algorithms 1 and 2': ['mr-kelm', 'packed', '--sigma', '3', '--solver', 'svd', '--emit', 'entries'],
    'probabilities': ['pesvm', 'packed', '--hidden', '12', '--class-weight', 'balanced', '--probabilities'],
    'folds': ['sparse-elm', 'packed', '--sigma', '2', '--C', '10', '--probabilities'],
    'passes over nodes': [
        'pesvm',
        'packed',
        '--map',
        'nystrom',
        '--hidden',
        '9',
        '--nu',
        '10',
        '--solver',
        'passes',
        '--tolerance',
        '0.1',
        '--probabilities',
    ],
    'passes': [
        'mr-kelm',
        'rows.csv',
        '--sigma',
        '3',
        '--solver',
        'cg',
        '--rank',
        '20',
        '--tolerance',
        '1e-3',
        '--probabilities',
    ],
}


IN_A_SHELL = 'pesvm'  # the others take no process for each stage


@pytest.fixture(scope='module')
def folders_of_stages():
    """Return a dictionary for the folders in which the stages of a training have run, and its last words."""
    return {}


@pytest.fixture
def run_stages(elm, folders_of_stages, tmp_path_factory, monkeypatch):
    """Work where all stages of a training have run, once for all: its last words. No test may change the files."""

    def run(name):
        if name not in folders_of_stages:
            folder = fill_folder(tmp_path_factory.mktemp('stages'))
            monkeypatch.chdir(folder)
            script = elm('train', *TRAININGS[name], '--model', 'm.npz', '--script').out
            folders_of_stages[name] = folder, run_to_the_last(script)
        folder, last = folders_of_stages[name]
        monkeypatch.chdir(folder)
        return last

    return run


def comparable(header):
    """Return a header without the seconds that the solver took."""
    header['parameters'].get('certificates', {}).pop('seconds', None)
    return header


@pytest.mark.parametrize('name', TRAININGS)
def test_the_script_makes_the_model_that_training_makes(elm, folder, model_of, name):
    words = TRAININGS[name]
    assert elm('train', *words, '--model', 'whole.npz', '-q').status == 0
    printed = elm('train', *words, '--model', "by 'hand'.npz", '--script')
    assert printed.status == 0 and not os.path.exists("by 'hand'.npz")
    if name == IN_A_SHELL:
        done = run_script(printed.out, folder)
        assert done.returncode == 0, done.stderr
    else:
        succeed(elm(*run_to_the_last(printed.out)))
    (header, arrays), (expected, whole) = model_of("by 'hand'.npz"), model_of('whole.npz')
    assert comparable(header) == comparable(expected)
    assert {key: array.tobytes() for key, array in arrays.items()} == {
        key: array.tobytes() for key, array in whole.items()
    }
    others = {'rows.csv', 'packed', 'whole.npz', 'whole.sums.npz'}
    assert all(file in others or file.startswith("by 'hand'.") for file in os.listdir())


def test_the_script_overwrites_what_an_earlier_one_left_but_no_model(elm, folder):
    words = [*TRAININGS['pesvm'], '--model', 'm.npz']
    script = elm('train', *words, '--script').out
    succeed(elm(*run_to_the_last(script)))
    again = run_script(script, folder)
    assert again.returncode == 1 and 'm.npz' in again.stderr and '--overwrite' in again.stderr
    succeed(elm(*run_to_the_last(elm('train', *words, '--overwrite', '--script').out)))


def test_finish_reads_the_outputs_of_the_stages_and_never_the_rows(elm, folder):
    last = run_to_the_last(elm('train', *TRAININGS['pesvm'], '--model', 'm.npz', '--script').out)
    os.remove('rows.csv')
    succeed(elm(*last))
    assert os.path.exists('m.npz')


def test_a_stage_keeps_to_the_same_splits_as_training(elm, folder, maps):
    words = [*TRAININGS['pesvm'], *maps(3)]
    assert '-D mapreduce.job.maps=3' in elm('layer', *words, '--model', 'm.npz').err
    done = run_stage('stats', 'rows.csv', *maps(3))
    assert done.out.count('\ncounts ') == 3


def without(path, beginning):
    """Write a file without the lines that have some beginning, of which there must be some, to the folder `damaged`."""
    lines = Path(path).read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(beginning)]
    assert len(kept) < len(lines)
    Path('damaged').mkdir(exist_ok=True)
    Path('damaged', path).write_text(''.join(kept))


@pytest.mark.parametrize(
    'name, noun, beginning, what',
    [
        ('pesvm', 'gram.2', 'counts', 'every byte must be read once'),
        ('pesvm', 'gram.2', 'sum', 'expected'),
        ('pesvm', 'gram.2', 'gram', 'expected'),
        ('landmarks', 'stats.1', 'landmarks', 'expected'),
        ('rows', 'kernel_rows.2', 'tile', 'expected'),
        ('parts', 'check.2', 'loss', 'expected'),
        ('algorithms 1 and 2', 'matvec.4', 'entry U 000000000000 000000000000', 'expected'),
        ('algorithms 1 and 2', 'kernel.3', 'entry 000000000003 000000000001', 'expected'),
        ('sphere', 'dual.2', 'machine', 'expected'),
        ('sphere', 'dual.2', 'support', 'expected'),
    ],
)
def test_a_line_that_is_missing_from_an_output_leaves_no_model(elm, run_stages, name, noun, beginning, what):
    last = run_stages(name)
    without(f'm.{noun}', beginning)
    assert f'm.{noun}' in last
    done = elm(*(f'damaged/{word}' if word == f'm.{noun}' else word for word in last))
    assert done.status == 1 and what in done.err.splitlines()[-1] and not os.path.exists('m.npz')


def test_an_output_too_many_is_refused(elm, folder):
    last = run_to_the_last(elm('train', *TRAININGS['pesvm'], '--model', 'm.npz', '--script').out)
    succeed(elm(*last))
    done = elm('finish', 'm.training.json', 'm.stats.1', 'm.gram.2', 'm.gram.2')
    assert done.status == 1 and 'm.npz' in done.err
    os.remove('m.npz')
    os.remove('m.sums.npz')
    done = elm('finish', 'm.training.json', 'm.stats.1', 'm.gram.2', 'm.gram.2')
    assert done.status == 1 and 'm.gram.2: expected outputs of 2 stages' in done.err


def test_rows_that_change_between_two_stages_are_noticed(elm, folder):
    run_to_the_last(elm('train', *TRAININGS['pesvm'], '--model', 'm.npz', '--script').out)
    rows = folder / 'rows.csv'
    rows.write_text(rows.read_text())
    done = elm('finish', 'm.training.json', 'm.stats.1', 'm.gram.2')
    assert done.status == 1 and 'changed or removed' in done.err and not os.path.exists('m.npz')


@pytest.fixture
def days(elm, folder):
    """Run the first stage over a folder of one file, m.csv, and plan the second stage; returns the folder."""
    days = folder / 'days'
    days.mkdir()
    shutil.copy(folder / 'rows.csv', days / 'm.csv')
    succeed(elm('layer', 'pesvm', 'days', '--hidden', 5, '--model', 'm.npz'))
    Path('m.stats').write_text(succeed(run_stage('stats', 'days')))
    succeed(elm('layer', 'm.training.json', 'm.stats'))
    return days


@pytest.mark.parametrize('name', ['a.csv', 'z.csv'])
@pytest.mark.parametrize('n_lines', [60, 30])
def test_finish_names_the_file_that_a_folder_has_gained(elm, days, name, n_lines):
    (days / name).write_text(''.join(Path('rows.csv').read_text().splitlines(keepends=True)[:n_lines]))
    Path('m.gram').write_text(succeed(run_stage('gram', *shlex.split(Path('m.options').read_text()))))
    done = elm('finish', 'm.training.json', 'm.stats', 'm.gram')
    assert done.status == 1 and f'{days / name}: expected only files that were there' in done.err
    assert done.err.count('\n') == 1 and not os.path.exists('m.npz')


def test_layer_names_the_file_that_a_folder_has_gained_before_the_next_stage_reads_it(elm, days):
    (days / 'empty.csv').touch()
    succeed(elm('layer', 'm.training.json', 'm.stats'))  # a file without rows does no harm
    shutil.copy('rows.csv', days / 'z.csv')
    done = elm('layer', 'm.training.json', 'm.stats')
    assert done.status == 1 and f'{days / "z.csv"}: expected only files that were there' in done.err


def test_finish_takes_no_notice_of_a_file_that_no_stage_has_read(elm, days):
    Path('m.gram').write_text(succeed(run_stage('gram', *shlex.split(Path('m.options').read_text()))))
    shutil.copy('rows.csv', days / 'z.csv')
    succeed(elm('finish', 'm.training.json', 'm.stats', 'm.gram'))
    assert os.path.exists('m.npz')


@pytest.mark.parametrize(
    'more',
    [
        ['--resume'],
        ['--bundle', 'b.tar.gz'],
        ['--output-dir', 'out'],
        ['--test', '0.2'],
        ['--json'],
        ['--target', 'auto', '--task', 'regression'],
    ],
)
@pytest.mark.parametrize('words', [['train', '--script'], ['layer']])
def test_options_of_a_whole_training_have_no_stages_by_hand(elm, folder, words, more):
    command, *script = words
    done = elm(command, *TRAININGS['pesvm'], '--model', 'm.npz', *script, *more)
    assert done.status == 1 and 'cannot be used with --script or `mr-elm layer`' in done.err
    assert done.err.startswith(f'mr-elm: {more[0]}') and not os.path.exists('m.training.json')


def test_a_choice_that_takes_the_number_of_rows_is_made_between_the_stages(elm, folder, model_of):
    words = ['mr-kelm', 'rows.csv', '--sigma', '3']
    succeed(elm(*run_to_the_last(elm('train', *words, '--model', 'm.npz', '--script').out)))
    assert elm('train', *words, '--model', 'whole.npz', '-q').status == 0
    (header, arrays), (expected, whole) = model_of('m.npz'), model_of('whole.npz')
    assert header['parameters']['solver'] == expected['parameters']['solver']
    assert abs(arrays['dual_coef'] - whole['dual_coef']).max() < 1e-8


def test_layer_says_how_the_next_stage_is_run(elm, folder):
    done = elm('layer', *TRAININGS['pesvm'], '--label-column', '0', '--model', 'm.npz')
    assert (done.status, done.out) == (0, '')
    command = done.err.splitlines()[-1].removeprefix('next: ')
    assert command.startswith('python -m mr_elm.streaming.mr_stats ') and command.endswith(' rows.csv')
    assert run_script(f'{command} > m.stats', folder).returncode == 0
    assert elm('layer', 'm.training.json', 'm.stats').err.startswith('next: python -m mr_elm.streaming.mr_gram ')


def test_outputs_in_another_order_are_refused(elm, run_stages):
    run_stages('pesvm')
    folder = os.getcwd()
    done = elm('finish', 'm.training.json', 'm.gram.2', 'm.stats.1')
    assert done.status == 1 and 'm.gram.2: expected a file with the output of mr_stats' in done.err
    done = elm('finish', 'm.training.json', 'm.stats.1')
    assert done.status == 1 and 'expected the output of mr_gram next' in done.err
    done = elm('finish', 'm.training.json', folder)
    assert done.status == 1 and f'{folder}: expected a file with the output of mr_stats' in done.err
    assert elm('finish', folder).err == f'mr-elm: {folder}: Is a directory\n'
    assert not os.path.exists('m.npz')


@pytest.mark.parametrize('text', ['', '{}', '[]', '{"format": "mr_elm-training", "version": 9}', '{"format": "mr'])
def test_what_is_no_training_is_refused(elm, write, text):
    done = elm('finish', write('x.training.json', text))
    assert done.status == 1 and 'x.training.json: expected a file of `mr-elm layer' in done.err


def test_auto_has_no_script(elm, rows, tmp_path):
    done = elm('train', 'auto', rows, '--script', '--model', tmp_path / 'm.npz')
    assert done.status == 1 and 'auto: cannot be used with --script' in done.err
