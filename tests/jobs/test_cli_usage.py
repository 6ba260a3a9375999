"""How the command line is used: options, help, exit codes, one sentence an error."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from reference.files import FEW, GOOD

from mr_elm.cli import COMMANDS, list_methods, main
from mr_elm.processes import Terminated, terminable


@pytest.mark.parametrize(
    'arguments',
    [
        [],
        ['no-such-command'],
        ['train'],
        ['train', 'no-such-method'],
        ['train', 'pesvm'],
        ['train', 'pesvm', 'x.csv'],
        ['train', 'pesvm', '--model', 'm.npz'],
        ['train', 'pesvm', 'x.csv', '--model'],
        ['train', 'pesvm', 'x.csv', '--model', 'm.npz', '-D', 'mapreduce.job.maps'],
        ['train', 'pesvm', 'x.csv', '--model', 'm.npz', '-r', 'hadoop', '-D', 'mapreduce.job.maps'],
        ['predict', 'm.npz'],
        ['predict', 'm.npz', 'x.csv'],
        ['evaluate', 'm.npz'],
        ['evaluate', 'm.npz', 'x.csv', '--no-label'],
        ['inspect'],
        ['pack', 'x.csv'],
        ['generate', 'blobs', '-o', 'x'],
        ['generate', 'no-such-kind', '--rows', '3', '-o', 'x'],
        ['generate', 'ndc', '--classes', '3', '--rows', '3', '-o', 'x'],
    ],
    ids=lambda arguments: ' '.join(arguments) or 'nothing',
)
def test_wrong_usage_is_2_and_goes_to_standard_error(elm, arguments):
    done = elm(*arguments)
    assert (done.status, done.out) == (2, '') and done.err


@pytest.mark.parametrize('runner', ['inline', 'local', 'hadoop'])
@pytest.mark.parametrize('value', ['maps=0', 'maps=²', 'maps=-1', 'maps=', 'maps=1.5', 'reduces=0'])
def test_a_number_of_tasks_is_at_least_1(elm, runner, value):
    done = elm('train', 'pesvm', 'x.csv', '--model', 'm.npz', '-r', runner, '-D', f'mapreduce.job.{value}')
    assert done.status == 2 and done.err.endswith(
        f"-D: expected a whole number of tasks, at least 1, found 'mapreduce.job.{value}'\n"
    )


@pytest.mark.parametrize(
    ('words', 'meant'),
    [
        (['trian', 'pesvm', 'x.csv'], 'train'),
        (['train', 'psvm', 'x.csv'], 'pesvm'),
        (['train', 'pesvm', 'x.csv', '--hiden=5'], '--hidden'),
        (['predict', '--treshold', 1], '--threshold'),
        (['train', 'pesvm', '--label-colum', 'y'], '--label-column'),
        (['evaluate', 'm.npz', 'x.csv', '-r', 'sparc'], 'spark'),
        (['train', 'pesvm', 'x.csv', '--model', 'm.npz', '--map', 'sigmoyd'], 'sigmoid'),
        (['train', 'mr-kelm', 'x.csv', '--model', 'm.npz', '--kernel=gausian'], 'gaussian'),
        (['train', 'pesvm', 'x.csv', '--model', 'm.npz', '--format', 'parquett'], 'parquet'),
        (['generate', 'blob', '--rows', 3, '-o', 'x.csv'], 'blobs'),
        (['export', 'm.npz', '-o', 'x.sql', '--dialect', 'postgress'], 'postgres'),
    ],
)
def test_a_typing_error_is_answered_by_what_may_have_been_meant(elm, words, meant):
    done = elm(*words)
    assert done.status == 2 and f'(did you mean {meant}?)' in done.err


@pytest.mark.parametrize(('sent', 'status'), [(KeyboardInterrupt, 130), (Terminated(15), 143), (OSError, 1)])
def test_what_fails_in_the_wake_of_an_interrupt_is_an_interrupt(sent, status, monkeypatch, capsys):
    """Java may have ended too, so that what is closed then cannot be closed."""

    def command(words):
        try:
            raise sent
        finally:
            raise RuntimeError('the connection is closed') from None

    monkeypatch.setattr('mr_elm.cli.inspect.inspect', command)
    assert main(['inspect', 'm.npz']) == status
    assert capsys.readouterr().err.startswith(('mr-elm: interrupted\n', 'mr-elm: terminated\n', 'mr-elm: RuntimeE'))


def test_the_package_is_the_command():
    done = subprocess.run([sys.executable, '-m', 'mr_elm', '--version'], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, '') and done.stdout.startswith('mr_elm ')


def test_a_word_that_is_like_none_is_not_guessed_at(elm):
    assert 'did you mean' not in elm('frobnicate').err + elm('train', 'pesvm', 'x.csv', '--frobnicate').err


@pytest.mark.parametrize(
    ('header', 'words', 'column'),
    [
        ('id,a,y', [], "column 'id', the first one"),
        ('', [], 'column 0 (counted from 0)'),
        ('', ['--label-column', 1], 'column 1 (counted from 0)'),
        ('id,a,y', ['--label-column', 'a'], "column 'a'"),
    ],
)
def test_labels_that_are_no_classes_are_named_by_their_column(elm, write, tmp_path, header, words, column):
    rows = ''.join(f'{k},{k + 0.5},{k % 2}\n' for k in range(100))
    done = elm(
        'train', 'pesvm', write('rows.csv', header + '\n' * bool(header) + rows), '--model', tmp_path / 'm.npz', *words
    )
    assert done.status == 1 and f'100 rows have 100 different labels in {column}: is this a regression' in done.err


@pytest.mark.parametrize(
    'options',
    [
        ['--hid', '5'],
        ['--mod', 'n.npz'],
        ['--overw'],
        ['--num-core', '2'],
        ['--hidden', '0'],
        ['--hidden', 'x'],
        ['--nu', '0'],
        ['--nu', '-1'],
        ['--nu', 'nan'],
        ['--nu', 'inf'],
        ['--weight-scale', '0'],
        ['--seed', '-1'],
        ['--seed', str(2**64)],
        ['--map', 'x'],
        ['--kernel', 'laplacian'],
        ['--scale', 'x'],
        ['--n-features', '0'],
        ['--delimiter', ''],
        ['--delimiter', 'ab'],
        ['--bad-rows', 'x'],
        ['-r', 'x'],
        ['--num-cores'],
        ['-D'],
        ['-o', 'x'],
        ['--mapper'],
        ['--reducer'],
        ['--combiner'],
        ['--step-num', '0'],
        ['--step-num=0'],
        ['--steps'],
        ['--spark'],
        ['--plan', 'x'],
        ['--planned-splits'],
        ['--no-such-option'],
        ['--class-weight', 'balanced', '--task', 'regression'],
        ['-z'],
    ],
    ids=' '.join,
)
def test_options_that_are_not_for_users_or_out_of_range_are_wrong_usage(elm, rows, tmp_path, options):
    done = elm('train', 'pesvm', rows, '--model', tmp_path / 'm.npz', *options)
    assert (done.status, done.out) == (2, '') and 'error: ' in done.err
    assert sorted(os.listdir(tmp_path)) == ['rows.csv']


@pytest.mark.parametrize(
    'options',
    [
        ['-D', 'some.key=some value'],
        ['-Dsome.key=value'],
        ['--jobconf=a.b=c'],
        ['--num-cores', '2'],
        ['--num-cores=2'],
        ['--cleanup', 'ALL'],
        ['--no-conf'],
        ['--read-logs'],
        ['--cmdenv', 'A=-b'],
        ['--owner=--hidden'],
        ['-r', 'inline'],
        ['-rinline'],
        ['--seed', str(2**64 - 1), '--map', 'nystrom'],
    ],
    ids=' '.join,
)
def test_options_of_mrjob_pass_with_their_arity(trained, rows, options):
    assert trained(*options, rows)[0]['n_rows_used'] == 60
    assert trained(rows, *options)[0]['n_rows_used'] == 60


@pytest.mark.parametrize('options', [['-q'], ['--quiet'], ['-qr', 'inline'], ['-qrinline']], ids=' '.join)
def test_short_options_may_be_written_together(elm, rows, tmp_path, options):
    assert elm('train', 'pesvm', rows, *FEW, '--model', tmp_path / 'm.npz', *options) == (0, '', '')


def test_a_value_may_look_like_an_option(elm, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write('-q', ''.join(f'{i % 7},{i % 2}\n' for i in range(30)))
    assert elm('train', 'pesvm', '--label-column', '-1', *FEW, '-q', '--model=-m.npz', '--', '-q') == (0, '', '')
    assert sorted(os.listdir(tmp_path)) == ['-m.npz', '-m.sums.npz', '-q']


METHOD_COMMANDS = [f'{command} {method}' for command in ('train', 'tune') for method in list_methods(command)]


@pytest.mark.parametrize('command', [*COMMANDS, *METHOD_COMMANDS])
def test_every_command_has_help(elm, command):
    for flag in ('--help', '-h'):
        done = elm(*command.split(), flag)
        assert done.status == 0 and done.err == '' and command.split()[0] in done.out


def test_the_program_has_help_and_a_version(program):
    done = program('--help')
    assert (done.status, done.err) == (0, '') and all(command in done.out for command in COMMANDS)
    done = program('--version')
    assert (done.status, done.err) == (0, '') and re.fullmatch(r'mr_elm \d+\.\d+\S*\n', done.out)


def test_debug_shows_where_an_error_came_from(elm, write, tmp_path):
    arguments = ['train', 'pesvm', write('rows.csv', GOOD + '1,2\n'), *FEW, '--model', tmp_path / 'm.npz', '-q']
    plain, debug = elm(*arguments), elm(*arguments, '--debug')
    assert 'Traceback' not in plain.err and 'Traceback' in debug.err and debug.err.endswith(plain.err)
    assert plain.status == debug.status == 1


def test_an_error_nobody_thought_of_is_one_sentence_too(elm, rows, tmp_path, monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError('two\nlines')

    monkeypatch.setattr('mr_elm.drivers.pesvm.train', fail)
    done = elm('train', 'pesvm', rows, '--model', tmp_path / 'm.npz', '-q')
    assert done == (1, '', 'mr-elm: ZeroDivisionError: two lines (--debug shows where)\n')


def test_an_interrupt_is_not_an_error_with_a_trace(capsys, rows, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr('mr_elm.drivers.pesvm.train', interrupt)
    assert main(['train', 'pesvm', str(rows), '--model', str(tmp_path / 'm.npz'), '-q']) == 130
    assert capsys.readouterr().err == 'mr-elm: interrupted\n' and not (tmp_path / 'm.npz').exists()


@pytest.mark.parametrize(
    ('runner', 'number', 'status'),
    [('inline', signal.SIGTERM, 143), ('local', signal.SIGTERM, 143), ('local', signal.SIGHUP, 129)],
)
def test_a_command_that_is_terminated_leaves_nothing(write, tmp_path, runner, number, status):
    """What `timeout` does, in the midst of a training, and a connection that ends: shell and system both tell of it."""
    path, scratch = write('many.csv', GOOD * 2000), tmp_path / 'scratch'
    scratch.mkdir()
    words = 'train', 'pesvm', path, '--hidden', '2000', '-r', runner, '--model', tmp_path / 'm.npz', '-q'
    process = subprocess.Popen(
        [Path(sys.executable).with_name('mr-elm'), *words],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, 'TMPDIR': str(scratch)},
    )
    while not list(scratch.glob('**/plan.json')):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    if number == signal.SIGHUP:
        time.sleep(0.01)
        process.send_signal(number)
    assert process.communicate(timeout=60)[1] == 'mr-elm: terminated\n'
    assert process.returncode == status
    assert list(scratch.iterdir()) == [] and not (tmp_path / 'm.npz').exists()


@pytest.mark.parametrize('folder', ['/does/not/exist', None])
@pytest.mark.parametrize(
    'words',
    [
        ['train', 'pesvm', 'x.csv', '--model', 'n.npz'],
        ['pack', 'x.csv', '-o', 'packed'],
        ['predict', 'm.npz', 'x.csv', '-o', 'out'],
        ['evaluate', 'm.npz', 'x.csv'],
        ['inspect', 'm.npz'],
        ['export', 'm.npz', '-o', 'm.sql'],
        ['update', 'm.npz', 'x.csv', '--model', 'n.npz'],
    ],
)
def test_no_folder_for_temporary_files_is_said_by_all_commands(elm, words, folder, monkeypatch):
    def refuse(dir):
        raise FileNotFoundError(errno.ENOENT, f"No usable temporary directory found in ['/tmp', '{os.getcwd()}']")

    if folder is None:
        monkeypatch.delenv('TMPDIR', raising=False)
        monkeypatch.setattr('tempfile.TemporaryFile', refuse)
    else:
        monkeypatch.setenv('TMPDIR', folder)
    names = folder or f"'/tmp', '{os.getcwd()}'"
    assert elm(*words) == (
        1,
        '',
        'mr-elm: expected a folder for temporary files, found none that can be written to '
        f'({names}): set TMPDIR to one\n',
    )
    assert elm(words[0], '--help').status == 0


def test_a_signal_that_was_ignored_stays_so():
    """What nohup asks for."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminable():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_log_of_mrjob_goes_to_standard_error_on_demand(rows, tmp_path):
    words = ['train', 'pesvm', str(rows), *map(str, FEW), '--model', str(tmp_path / 'm.npz'), '-v']
    lines = f'import logging; from mr_elm.cli import main; main({words}); logging.getLogger("mrjob").info("Running")'
    done = subprocess.run([sys.executable, '-c', lines], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, '') and done.stderr.endswith('Running\n')


@pytest.mark.parametrize('command', [('inspect', 'm.npz'), ('generate', 'blobs', '--rows', 3, '-o', 'x.csv')])
def test_commands_without_jobs_take_no_options_of_mrjob(elm, command):
    said = elm(*command, '--num-cores', 2)
    assert said.status == 2 and '--num-cores' in said.err


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='/dev/full is missing: run this test on Linux')
@pytest.mark.parametrize('words', [['--help'], ['--version'], ['predict', '--help'], ['inspect', 'm.npz', '--json']])
def test_output_that_cannot_be_written_is_one_sentence_and_a_closed_pipe_is_quiet(elm, write, tmp_path, words):
    path = write('rows.csv', '0,1\n1,2\n0,3\n')
    elm('train', 'pesvm', path, '--hidden', 2, '--model', tmp_path / 'm.npz', '-q')
    known = {name: value for name, value in os.environ.items() if name != 'PYTHONUNBUFFERED'}
    run = partial(
        subprocess.run,
        [Path(sys.executable).with_name('mr-elm'), *words],
        cwd=tmp_path,
        env=known,
        stderr=subprocess.PIPE,
        text=True,
    )
    with open('/dev/full', 'w') as full:
        done = run(stdout=full)
    said = r'mr-elm: standard output: No space left on device: free space, .*\n'
    assert done.returncode == 1 and re.fullmatch(said, done.stderr)
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, 'w') as pipe:
        done = run(stdout=pipe)
    assert (done.returncode, done.stderr) == (1, '')
