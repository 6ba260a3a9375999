"""Stages are programs: run by hand in the order of the printed script, they make the model that training makes."""
import inspect
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from reference.manual import run_script

from mr_elm.cli import main as run_command
from mr_elm.engines.by_hand import main
from mr_elm.engines.replay import noun_of
from mr_elm.passes.finished import Finished
from mr_elm.streaming import mr_stats
from mr_elm.streaming.mr_stats import MRStats
from mr_elm.streaming.stage import MRRows

# one training for each stage, from text or packed rows
TRAININGS = {
    'pesvm': ['pesvm', 'rows.csv', '--hidden', '12', '--nu', '10'],
    'tree of sums': ['pesvm', 'packed', '--hidden', '12', '--fan-in', '2'],
    'landmarks': ['elm', 'packed', '--map', 'nystrom', '--hidden', '9', '--C', '10', '--class-weight', 'balanced'],
    'metric': ['pesvm', 'packed', '--hidden', '12', '--nu', '10', '--metric', 'diagonal', '--seed', '3'],
    'metric of all rows': ['pesvm', 'packed', '--hidden', '12', '--metric', 'full', '--metric-rows', 'all',
                           '--metric-steps', '1'],
    'parts': ['sparse-elm', 'packed', '--sigma', '2', '--C', '10', '--partitions', '2'],
    'parts on reducers': ['sparse-elm', 'packed', '--sigma', '2', '--C', '10', '--partitions', '5', '--gap', '1e-5',
                          '--memory', '0.006'],
    'sphere': ['sphere-svm', 'rows.csv', '--label-column', '0', '--header', 'no'],
    'rows': ['mr-kelm', 'packed', '--sigma', '3', '--task', 'classification'],
    'algorithms 1 and 2': ['mr-kelm', 'packed', '--sigma', '3', '--solver', 'svd', '--emit', 'entries'],
    'probabilities': ['pesvm', 'packed', '--hidden', '12', '--class-weight', 'balanced', '--probabilities'],
    'folds': ['sparse-elm', 'packed', '--sigma', '2', '--C', '10', '--probabilities'],
    'passes over nodes': ['pesvm', 'packed', '--map', 'nystrom', '--hidden', '9', '--nu', '10', '--solver', 'passes',
                          '--tolerance', '0.9', '--probabilities'],
    'passes': ['mr-kelm', 'rows.csv', '--sigma', '3', '--solver', 'cg', '--rank', '20', '--tolerance', '0.9',
               '--probabilities']}
STAGES = ('check', 'columns', 'dual', 'dual_folds', 'evaluate', 'folds', 'gram', 'grid', 'hits', 'kernel',
          'kernel_rows', 'leave_one_out', 'matvec', 'pack', 'pass', 'place', 'predict', 'product', 'scores',
          'stats', 'sum')
NEED_NOTHING = 'pack', 'stats', 'sum'

# commands that together make every stage write every kind of record that it can write
COMMANDS = [
    ['train', 'pesvm', 'rows.csv', '--hidden', '5', '--model', 'm.npz'],
    ['train', 'pesvm', 'packed', '--hidden', '5', '--fan-in', '2', '--model', 'tree.npz'],
    ['train', 'pesvm', 'weighted.csv', '--task', 'regression', '--weight-column', '3', '--model', 'r.npz'],
    ['train', 'elm', 'packed', '--hidden', '5', '--metric', 'full', '--metric-rows', 'all', '--model', 'a.npz'],
    ['train', 'elm', 'packed', '--map', 'nystrom', '--hidden', '5', '--metric', 'full', '--model', 'n.npz'],
    ['train', 'pesvm', 'weighted.csv', '--task', 'regression', '--weight-column', '3', '--solver', 'passes', '--model',
     'rp.npz'],
    ['train', 'pesvm', 'packed', '--hidden', '5', '--solver', 'passes', '--model', 'cp.npz'],
    ['train', 'sparse-elm', 'packed', '--sigma', '2', '--C', '10', '--partitions', '2', '--model', 'parts.npz'],
    ['train', 'oelm', 'packed', '--kernel', 'sigmoid', '--hidden', '5', '--probabilities', '--model', 'nodes.npz'],
    *(['train', 'mr-kelm', 'packed', '--solver', 'svd', '--emit', emit, '--model', f'{emit}.npz']
      for emit in ('rows', 'tiles', 'entries')),
    ['train', 'mr-kelm', 'packed', '--solver', 'cg', '--rank', '20', '--model', 'cg.npz'],
    ['train', 'mr-kelm', 'packed', '--emit', 'tiles', '--memory', '0.03', '--model', 'columns.npz', '--output-dir',
     'out'],
    ['tune', 'pesvm', 'rows.csv', '--map', 'tanh', '--hidden', '5', '--nu', '1,10', '--folds', '2'],
    ['tune', 'pesvm', 'packed', '--hidden', '5', '--weight-scale', '1', '--nu', '1,10', '--solver', 'passes'],
    ['train', 'pesvm', 'sets.csv', '--labels-separator', ';', '--hidden', '5', '--model', 'sets.npz'],
    ['evaluate', 'sets.npz', 'sets.csv'],
    ['tune', 'sparse-elm', 'rows.csv', '--sigma', '1,2', '--C', '1', '--folds', '2'],
    ['tune', 'mr-kelm', 'rows.csv', '--sigma', '1,2', '--C', '1'],
    ['evaluate', 'm.npz', 'rows.csv'], ['evaluate', 'r.npz', 'weighted.csv'], ['evaluate', 'nodes.npz', 'packed'],
    ['predict', 'm.npz', 'rows.csv', '-o', 'labels']]


def fill(parent):
    """Make a folder with an awkward name that holds 60 rows of three classes, as text and packed; returns it."""
    folder = parent / "it's a folder; $(touch x)"
    folder.mkdir()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] * X[:, 2] > 0)
    np.savetxt(folder / 'rows.csv', np.column_stack([y, X]), delimiter=',', fmt='%.6g')
    assert run_command(['pack', f'{folder}/rows.csv', '-o', f'{folder}/packed', '--block-rows', '20', '-q']) == 0
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder of rows, see `fill`."""
    folder = fill(tmp_path)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope='module')
def folders_of_stages():
    """Return a dictionary for the folders in which the stages of a training have run, and the last line of it."""
    return {}


@pytest.fixture
def run_stages(elm, folders_of_stages, tmp_path_factory, monkeypatch):
    """Work where all stages of a training have run, once for all tests: its last line. No test may change the files."""
    def run(name):
        if name not in folders_of_stages:
            folder = fill(tmp_path_factory.mktemp('stages'))
            monkeypatch.chdir(folder)
            *stages, last = elm('train', *TRAININGS[name], '--model', 'm.npz', '--script').out.splitlines()
            assert run_script('\n'.join(stages), folder).returncode == 0
            folders_of_stages[name] = folder, last
        folder, last = folders_of_stages[name]
        monkeypatch.chdir(folder)
        return last
    return run


def stage(noun, *words):
    """Run a stage as a program."""
    return subprocess.run([sys.executable, '-m', f'mr_elm.streaming.mr_{noun}', *map(str, words)],
                          capture_output=True, text=True, timeout=60)


def class_of(noun):
    """Return the class of a stage."""
    return next(kind for kind in vars(import_module(f'mr_elm.streaming.mr_{noun}')).values()
                if isinstance(kind, type) and kind.__module__.endswith(f'.mr_{noun}') and issubclass(kind, MRRows))


def documented_kinds(noun):
    """Return the kinds of keys that the docstring of a stage names as its output."""
    outputs = inspect.getdoc(class_of(noun)).partition('Output:')[2].partition('\nMap:')[0]
    return set(re.findall(r'<([a-z_-]+)[ ,]', outputs))


def kinds_of(paths):
    """Return the first words of the lines of some files that have a tab."""
    lines = chain.from_iterable(Path(path).read_bytes().splitlines() for path in paths)
    return {line.partition(b'\t')[0].split(b' ')[0].decode() for line in lines if b'\t' in line}


def watch_outputs(monkeypatch):
    """Return a dictionary that gains, as jobs run, the kinds of keys in the output of each stage."""
    written, parts = defaultdict(set), Finished.parts

    def watch(finished):
        written[noun_of(finished.job_class)] |= kinds_of(parts(finished))
        return parts(finished)

    monkeypatch.setattr(Finished, 'parts', watch)
    return written


def comparable(header):
    """Return a header without the seconds that the solver took."""
    for name in ('seconds', 'step_seconds'):
        header['parameters'].get('certificates', {}).pop(name, None)
    return header


@pytest.mark.parametrize('name', TRAININGS)
def test_the_script_makes_the_model_that_training_makes(elm, folder, model_of, name):
    words = TRAININGS[name]
    assert elm('train', *words, '--model', 'whole.npz', '-q').status == 0
    printed = elm('train', *words, '--model', "by 'hand'.npz", '--script')
    assert printed.status == 0 and not os.path.exists("by 'hand'.npz")
    done = run_script(printed.out, folder)
    assert done.returncode == 0, done.stderr
    (header, arrays), (expected, whole) = model_of("by 'hand'.npz"), model_of('whole.npz')
    assert comparable(header) == comparable(expected)
    assert {key: array.tobytes() for key, array in arrays.items()} == {
        key: array.tobytes() for key, array in whole.items()}
    assert all(file in ('rows.csv', 'packed', 'whole.npz') or file.startswith("by 'hand'.") for file in os.listdir())


def test_the_script_overwrites_what_an_earlier_one_left_but_no_model(elm, folder):
    words = [*TRAININGS['pesvm'], '--model', 'm.npz']
    script = elm('train', *words, '--script').out
    assert run_script(script, folder).returncode == 0
    again = run_script(script, folder)
    assert again.returncode == 1 and 'm.npz' in again.stderr and '--overwrite' in again.stderr
    assert run_script(elm('train', *words, '--overwrite', '--script').out, folder).returncode == 0


def test_finish_reads_the_outputs_of_the_stages_and_never_the_rows(elm, folder):
    script = elm('train', *TRAININGS['pesvm'], '--model', 'm.npz', '--script').out.splitlines()
    assert run_script('\n'.join(script[:-1]), folder).returncode == 0
    os.remove('rows.csv')
    assert run_script(script[-1], folder).returncode == 0 and os.path.exists('m.npz')


def test_a_stage_keeps_to_the_same_splits_as_training(elm, folder, maps):
    words = [*TRAININGS['pesvm'], *maps(3)]
    assert '-D mapreduce.job.maps=3' in elm('train', *words, '--model', 'm.npz', '--script').out
    done = stage('stats', 'rows.csv', *maps(3))
    assert done.stdout.count('\ncounts ') == 3


def without(path, beginning):
    """Write a file without the lines that have some beginning, of which there must be some, to the folder `damaged`."""
    lines = Path(path).read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(beginning)]
    assert len(kept) < len(lines)
    Path('damaged').mkdir(exist_ok=True)
    Path('damaged', path).write_text(''.join(kept))


@pytest.mark.parametrize('name, noun, beginning, what', [
    ('pesvm', 'gram', 'counts', 'every byte must be read once'), ('pesvm', 'gram', 'sum', 'expected'),
    ('pesvm', 'gram', 'gram', 'expected'), ('landmarks', 'stats', 'landmarks', 'expected'),
    ('rows', 'kernel_rows', 'tile', 'expected'), ('parts', 'check.1', 'loss', 'expected'),
    ('algorithms 1 and 2', 'matvec', 'entry U 000000000000 000000000000', 'expected'),
    ('algorithms 1 and 2', 'kernel', 'entry 000000000003 000000000001', 'expected'),
    ('sphere', 'dual', 'machine', 'expected'), ('sphere', 'dual', 'support', 'expected')])
def test_a_line_that_is_missing_from_an_output_leaves_no_model(run_stages, name, noun, beginning, what):
    last = run_stages(name)
    without(f'm.{noun}', beginning)
    if '$@' in last:
        last = 'mr-elm finish m.training.json m.dual m.check.1' + ''.join(
            f' {path}' for path in sorted(Path().glob('m.check.*')) if path.name != 'm.check.1')
    assert f' m.{noun}' in last
    done = run_script(last.replace(f' m.{noun}', f' damaged/m.{noun}'), os.getcwd())
    assert done.returncode == 1 and what in done.stderr.splitlines()[-1] and not os.path.exists('m.npz')


def test_an_output_too_many_is_refused(elm, folder):
    script = elm('train', *TRAININGS['pesvm'], '--model', 'm.npz', '--script').out
    assert run_script(script, folder).returncode == 0
    done = elm('finish', 'm.training.json', 'm.stats', 'm.gram', 'm.gram')
    assert done.status == 1 and 'm.npz' in done.err
    os.remove('m.npz')
    done = elm('finish', 'm.training.json', 'm.stats', 'm.gram', 'm.gram')
    assert done.status == 1 and 'm.gram: expected the outputs of 2 stages' in done.err


def test_rows_that_change_between_two_stages_are_noticed(elm, folder):
    script = elm('train', *TRAININGS['pesvm'], '--model', 'm.npz', '--script').out.splitlines()
    assert run_script('\n'.join(script[:-1]), folder).returncode == 0
    rows = folder / 'rows.csv'
    rows.write_text(rows.read_text())
    done = elm('finish', 'm.training.json', 'm.stats', 'm.gram')
    assert done.status == 1 and 'changed meanwhile' in done.err and not os.path.exists('m.npz')


def test_no_input_is_overwritten_by_the_files_of_a_script(elm, folder):
    os.rename('rows.csv', 'm.stats')
    for words in (['train', 'pesvm', 'm.stats', '--model', 'm.npz', '--script'],
                  ['layer', 'pesvm', 'm.stats', '--model', 'm.npz']):
        done = elm(*words)
        assert done.status == 1 and 'm.stats: the training writes files whose names begin with m.' in done.err


@pytest.mark.parametrize('more', [['--trace', 't'], ['--resume'], ['--bundle', 'b.tar.gz'], ['--output-dir', 'out']])
def test_options_of_a_whole_training_have_no_script(elm, folder, more):
    done = elm('train', *TRAININGS['pesvm'], '--model', 'm.npz', '--script', *more)
    assert done.status == 1 and f'{more[0]}: cannot be used with --script' in done.err


def test_a_choice_that_takes_the_number_of_rows_is_asked_for(elm, folder):
    done = elm('train', 'mr-kelm', 'rows.csv', '--model', 'm.npz', '--script')
    assert done.status == 1 and '--solver' in done.err


def test_outputs_in_another_order_are_refused(elm, run_stages):
    run_stages('pesvm')
    folder = os.getcwd()
    done = elm('finish', 'm.training.json', 'm.gram', 'm.stats')
    assert done.status == 1 and 'm.gram: expected the output of mr_stats' in done.err
    done = elm('finish', 'm.training.json', 'm.stats')
    assert done.status == 1 and 'expected the output of mr_gram next' in done.err
    done = elm('finish', 'm.training.json', folder)
    assert done.err.endswith(f'{folder}: expected a file with the output of mr_stats, found a folder: write its parts '
                             f'into one file, `cat {folder}/part-* > m.stats`\n')
    expected = f'mr-elm: {folder}: expected a file of `mr-elm layer METHOD ...`, found a folder\n'
    assert elm('finish', folder).err == expected
    assert not os.path.exists('m.npz')


@pytest.mark.parametrize('text', ['', '{}', '[]', '{"format": "mr_elm-training", "version": 9}', '{"format": "mr'])
def test_what_is_no_training_is_refused(elm, write, text):
    done = elm('finish', write('x.training.json', text))
    assert done.status == 1 and 'x.training.json: expected a file of `mr-elm layer' in done.err


def test_auto_has_no_script(elm, rows, tmp_path):
    done = elm('train', 'pesvm', rows, '--auto', '--script', '--model', tmp_path / 'm.npz')
    assert done.status == 2 and '--script' in done.err


# A stage alone


@pytest.mark.parametrize('noun', sorted({*STAGES} - {*NEED_NOTHING}))
def test_a_stage_without_its_required_options_is_wrong_usage(noun, rows):
    done = stage(noun, rows)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and f'mr_{noun}: --' in done.stderr
    assert done.stdout == ''


@pytest.mark.parametrize('noun', STAGES)
def test_the_help_of_a_stage_states_its_input_and_its_output(noun, capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    assert main(class_of(noun), ['--help']) == 0
    text = capsys.readouterr().out
    assert text.startswith(f'usage: python -m mr_elm.streaming.mr_{noun} [options] INPUT...\n')
    assert re.search(r'^Input: .*<', text, re.MULTILINE) and re.search(r'^Output: .*<', text, re.MULTILINE)
    assert re.search(r'^Map: ', text, re.MULTILINE)
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert all(f'<{kind} FILE START' in text for kind in ('counts', 'rejected', 'error'))


def test_every_option_of_a_stage_says_what_it_is():
    jobs = [class_of(noun)(args=[]) for noun in STAGES]
    assert [action.option_strings for job in jobs for action in job.arg_parser._actions
            if action.dest in job._passthru_arg_dests | job._file_arg_dests and not action.help] == []


def test_the_help_of_a_stage_names_the_kinds_of_records_that_it_writes(elm, folder, monkeypatch):
    np.savetxt('weighted.csv', np.abs(np.loadtxt('rows.csv', delimiter=',')), delimiter=',')
    Path('sets.csv').write_text(''.join(f'{label},{n % 7},{n % 5}\n' for n, label in enumerate(['a;b', 'b', ''] * 9)))
    written = watch_outputs(monkeypatch)
    for words in COMMANDS:
        assert elm(*words, '-q').status == 0, words
    for noun, parts in ('pack', 'packed'), ('columns', 'out/MRColumns'):
        written[noun] = kinds_of(Path(parts).glob('part-*'))
    assert {noun: kinds - {'counts', 'rejected', 'error'} for noun, kinds in written.items()} == {
        noun: documented_kinds(noun) for noun in STAGES}


def test_a_stage_without_input_is_wrong_usage():
    done = stage('stats')
    assert done.returncode == 2 and done.stderr.startswith('mr_stats: expected an INPUT')


def test_a_stage_with_an_unknown_option_is_wrong_usage(rows):
    done = stage('stats', rows, '--hidden', 3)
    assert done.returncode == 2 and 'Traceback' not in done.stderr


@pytest.mark.parametrize('content, what', [
    ('0,1\n1,x\n', 'rows.csv, line 2: not a number'), ('0,1\n1,2,3\n', 'rows.csv, line 2: wrong width'),
    ('', 'rows.csv: expected rows, the file is empty'), (b'\x1f\x8b\x08 not gzip', 'rows.csv')])
def test_rows_that_cannot_be_used_end_a_stage_with_a_sentence(write, content, what):
    done = stage('stats', write('rows.csv', content), '-q')
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and what in done.stderr


def test_an_input_that_is_not_there_ends_a_stage_with_a_sentence(tmp_path):
    done = stage('stats', tmp_path / 'nothing.csv')
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and 'nothing.csv' in done.stderr


def test_bad_rows_may_be_skipped_and_are_counted(write):
    done = stage('stats', write('rows.csv', '0,1\n1,x\n1,2\n'), '--bad-rows', 'skip', '-q')
    assert done.returncode == 0 and done.stderr == ''
    counts = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('counts')).split('\t')[1])
    assert counts['used'] == 2 and counts['rejected'] == {'not a number': 1}


@pytest.mark.parametrize('alias', ['inline', 'local'])
def test_a_file_is_run_as_a_program_like_any_job_of_mrjob(rows, alias):
    command = [sys.executable, mr_stats.__file__, rows, '-r', alias, '-q']
    done = subprocess.run(command, capture_output=True, timeout=60)
    labels = [line for line in stage('stats', rows, '-q').stdout.splitlines() if line.startswith('labels')]
    assert done.returncode == 0 and [line for line in done.stdout.decode().splitlines() if line in labels] == labels


def test_an_output_folder_is_new_and_goes_when_the_stage_fails(write, rows, tmp_path):
    out = tmp_path / 'out'
    done = stage('stats', write('bad.csv', '0,1\n1,x\n'), '--output-dir', out, '-q')
    assert done.returncode == 1 and not out.exists()
    out.mkdir()
    done = stage('stats', rows, '--output-dir', out, '-q')
    assert done.returncode == 1 and f'{out}: expected a new folder' in done.stderr


def test_an_output_folder_holds_the_lines(rows, tmp_path):
    done = stage('stats', rows, '--output-dir', tmp_path / 'out', '-q')
    assert done.returncode == 0 and done.stdout == ''
    parts = b''.join(Finished(MRStats, str(tmp_path / 'out')).chunks())
    assert parts.decode() == stage('stats', rows, '-q').stdout


def test_a_task_without_a_plan_reads_lines_as_hadoop_hands_them_out(by_hand_alone, rows, read_pairs):
    """`hadoop jar hadoop-streaming.jar` runs the mapper and the reducer of a stage without any driver of ours."""
    text = rows.read_bytes()
    cut = text.index(b'\n', len(text) // 2) + 1
    mapped = [line for start, part in ((0, text[:cut]), (cut, text[cut:])) for line in
              by_hand_alone(MRStats, part, file=str(rows), start=start)]
    reduced = by_hand_alone(MRStats, b'\n'.join(sorted(mapped)) + b'\n', task='reducer')
    labels = {kind: value for kind, _, value in read_pairs(reduced)}['labels']
    lines = text.decode().splitlines()
    assert {name: entry[0] for name, entry in labels.items()} == {
        name: sum(line.split(',')[0] == name for line in lines) for name in labels}


def test_the_plan_that_a_step_leaves_tells_tasks_which_of_several_files_they_read(
        elm, folder, by_hand_alone, read_pairs):
    text = (folder / 'rows.csv').read_bytes()
    (folder / 'second.csv').write_bytes(text)
    assert elm('layer', 'pesvm', 'rows.csv', 'second.csv', '--model', 'm.npz', '-q').status == 0
    mapped = by_hand_alone(MRStats, text, '--plan', 'm.plan.json', file=f'file:{folder}/second.csv')
    assert [int(place[0]) for kind, place, _ in read_pairs(mapped) if kind == 'counts'] == [1]
