"""The shell completes what is typed, by a script of argcomplete, which calls the program at each tab."""

import os
import subprocess
import sys

import pytest

HEAVY = {'pyarrow', 'numba', 'scipy', 'sklearn', 'pandas', 'boto3'}


@pytest.fixture
def complete(tmp_path):
    """Return what a line may become, and the packages that were loaded to say so."""

    def run(line):
        answers = tmp_path / 'answers'
        variables = {
            'COMP_LINE': line,
            'COMP_POINT': str(len(line)),
            'COMP_TYPE': '9',
            '_ARGCOMPLETE': '1',
            '_ARGCOMPLETE_IFS': '\n',
            '_ARGCOMPLETE_STDOUT_FILENAME': str(answers),
        }
        code = (
            'import os, sys; exit = os._exit\n'
            'def say(status): print(*{name.partition(".")[0] for name in sys.modules}, flush=True); exit(status)\n'
            'os._exit = say\n'
            'from mr_elm.cli import main; main()'
        )
        done = subprocess.run(
            [sys.executable, '-c', code], capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **variables}
        )
        assert done.returncode == 0 and 'Traceback' not in done.stderr, done
        return [word.strip() for word in answers.read_text().split('\n') if word] if answers.exists() else [], {
            *done.stdout.split()
        }

    return run


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('mr-elm tr', ['train']),
        ('mr-elm me', ['merge']),
        ('mr-elm train spa', ['sparse-elm']),
        ('mr-elm train pesvm --hid', ['--hidden']),
        ('mr-elm train pesvm rows.csv --map gauss', []),
        ('mr-elm train pesvm rows.csv --map hard', ['hardlimit']),
        ('mr-elm train sparse-elm rows.csv --hid', ['--hidden']),
        ('mr-elm inspect --perm', ['--permutation']),
        ('mr-elm predict ro', ['rows.csv']),
        ('mr-elm completion ', ['--config', '--debug', '--help', '--help-all', '--log-file', 'bash', 'fish', 'zsh']),
        ('mr-elm nonsense --hid', []),
    ],
)
def test_commands_methods_options_values_and_files_are_completed(complete, tmp_path, line, expected):
    (tmp_path / 'rows.csv').write_text('a,1\n')
    found, loaded = complete(line)
    assert sorted(found) == expected
    assert loaded & HEAVY == set()


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_a_script_is_printed_for_each_shell(elm, shell):
    done = elm('completion', shell)
    assert done.status == 0 and done.err == '' and 'mr-elm' in done.out and '_ARGCOMPLETE' in done.out


def test_bash_completes_after_the_script(elm, tmp_path):
    """Bash itself fills COMPREPLY, as it does at a tab."""
    (tmp_path / 'script').write_text(elm('completion', 'bash').out)
    lines = (
        f'. {tmp_path / "script"}',
        'COMP_LINE="mr-elm train pesvm --hid" COMP_POINT=24 COMP_TYPE=9',
        'COMP_WORDS=(mr-elm train pesvm --hid) COMP_CWORD=3',
        '_python_argcomplete mr-elm',
        'echo "${COMPREPLY[@]}"',
    )
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ['PATH']])
    done = subprocess.run(
        ['bash', '-c', '\n'.join(lines)], capture_output=True, text=True, env={**os.environ, 'PATH': path}
    )
    assert done.stdout.strip() == '--hidden', done
