"""--config reads options from a file of TOML, --log-file keeps what a command says; a model has a name in .npz."""

import os
import re

import pytest

from mr_elm.cli import main
from mr_elm.cli.config import expand_config
from mr_elm.model.file import read_model


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / 'rows.csv'
    path.write_text(''.join(f'{k % 2},{k % 7 + 3 * (k % 2)},{k % 5}\n' for k in range(60)))
    return path


def write_config(tmp_path, text):
    path = tmp_path / 'a config.toml'
    path.write_text(text)
    return path


def test_options_come_from_the_file_and_those_of_the_command_line_count_more(tmp_path, rows):
    config = write_config(
        tmp_path, f'hidden = 7\nseed = 3\nbad_rows = "skip"\nmodel = "{tmp_path}/m.npz"\nquiet = true\n'
    )
    assert main(['train', 'pesvm', str(rows), '--config', str(config), '--hidden', '9']) == 0
    parameters = read_model(tmp_path / 'm.npz').header.parameters
    assert (parameters['n_hidden'], parameters['seed']) == (9, 3)


def test_lists_have_commas_and_the_options_of_mrjob_pass(tmp_path):
    config = write_config(tmp_path, 'drop = ["a", "b"]\ntest = 0.5\nowner = "me"\n')
    assert expand_config(['train', 'pesvm', 'rows.csv', '-q', f'--config={config}']) == [
        'train',
        'pesvm',
        'rows.csv',
        '--drop=a,b',
        '--test=0.5',
        '--owner=me',
        '-q',
    ]


def test_one_file_serves_all_commands_by_a_table_for_each(tmp_path, rows, capsys):
    config = write_config(
        tmp_path,
        f'quiet = true\n[train]\nhidden = 7\nmodel = "{tmp_path}/m.npz"\n[predict]\nscores = true\n'
        f'output = "{tmp_path}/said"\n[evaluate]\njson = true\nquiet = true\n',
    )
    model, words = str(tmp_path / 'm.npz'), ['--config', str(config)]
    assert main(['train', 'pesvm', str(rows), *words]) == 0
    assert read_model(model).header.parameters['n_hidden'] == 7
    assert main(['predict', model, str(rows), *words]) == main(['evaluate', model, str(rows), *words]) == 0
    assert len((tmp_path / 'said').read_text().splitlines()[0].split('\t')) == 2
    assert capsys.readouterr().out.startswith('{')


@pytest.mark.parametrize(
    'text, cause',
    [
        ('hidden 7', 'expected options in TOML'),
        ('[trian]\nhidden = 7', 'unknown command [trian] (did you mean train?)'),
        ('[train.deep]\nhidden = 7', 'unknown command [deep]'),
        (
            'sums = false',
            'sums: expected a text, a number, true or a list of these, found False: instead of false, leave',
        ),
    ],
)
def test_a_file_that_holds_no_options_is_refused(tmp_path, rows, capsys, text, cause):
    config = write_config(tmp_path, text)
    assert main(['train', 'pesvm', str(rows), '--config', str(config), '--model', str(tmp_path / 'm.npz')]) == 2
    error = capsys.readouterr().err
    assert str(config) in error and cause in error and not (tmp_path / 'm.npz').exists()


def test_options_that_repeat_are_given_once_for_each_value_and_the_log_may_be_in_the_file(tmp_path, rows):
    config = write_config(tmp_path, 'without = ["a,b.csv", "c.csv"]\n')
    assert expand_config(['parts', 'm.npz', '--config', str(config)]) == [
        'parts',
        'm.npz',
        '--without=a,b.csv',
        '--without=c.csv',
    ]
    config = write_config(tmp_path, f'hidden = 5\nlog_file = "{tmp_path}/log"\n')
    assert main(['train', 'pesvm', str(rows), '--config', str(config), '--model', str(tmp_path / 'm.npz')]) == 0
    assert '5 hidden nodes' in (tmp_path / 'log').read_text()


def test_the_log_has_all_lines_of_standard_error_with_the_time(tmp_path, rows, capsys):
    log, words = (
        tmp_path / 'a log.txt',
        [
            'train',
            'pesvm',
            str(rows),
            '--hidden',
            '5',
            '--model',
            str(tmp_path / 'm.npz'),
            '--log-file',
            str(tmp_path / 'a log.txt'),
        ],
    )
    assert main(words) == 0 and main(words) == 1  # the model exists
    lines = [
        re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} (.*)', line).group(1)
        for line in log.read_text().splitlines()
    ]
    assert lines == capsys.readouterr().err.splitlines() and lines[-1].startswith('mr-elm: ')


def test_a_log_that_cannot_be_written_ends_the_command(tmp_path, rows, capsys):
    assert (
        main(
            [
                'train',
                'pesvm',
                str(rows),
                '--model',
                str(tmp_path / 'm.npz'),
                '--log-file',
                str(tmp_path / 'none' / 'log'),
            ]
        )
        == 2
    )
    assert 'none/log' in capsys.readouterr().err and not (tmp_path / 'm.npz').exists()


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='/dev/full is missing: run this test on Linux')
def test_a_log_that_is_full_ends_and_the_command_goes_on(tmp_path, rows, capsys):
    words = ['train', 'pesvm', str(rows), '--model', str(tmp_path / 'm.npz'), '--log-file', '/dev/full']
    assert main(words) == 0 and (tmp_path / 'm.npz').exists()
    assert capsys.readouterr().err.count('warning: /dev/full: No space left on device: the log ends here') == 1


def test_a_model_has_a_name_that_ends_in_npz(tmp_path, rows, capsys):
    assert main(['train', 'pesvm', str(rows), '--model', str(tmp_path / 'm.model')]) == 1
    assert 'expected a name that ends in .npz' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'text', 'reason'),
    [
        (
            ('evaluate', 'm.npz'),
            'encode = "auto"',
            'mr-elm evaluate has no option --encode',
        ),
        (('evaluate', 'm.npz'), '[evaluate]\nencode = "auto"', 'mr-elm evaluate has no option --encode'),
        (('train', 'pesvm'), 'hiden = 9', 'mr-elm train pesvm has no option --hiden (did you mean --hidden?)'),
        (('train', 'pesvm'), 'hidden = "many"', 'argument --hidden: '),
        (('train', 'pesvm'), 'scale = "max"', 'argument --scale: '),
        (('train', 'pesvm'), 'no_center = true', '--no-center: expected --task regression'),
        (('inspect', 'm.npz'), 'owner = "me"', 'mr-elm inspect has no option --owner'),
    ],
)
def test_what_is_wrong_in_the_file_is_told_with_its_name(tmp_path, rows, capsys, words, text, reason):
    config = write_config(tmp_path, text)
    inputs = [] if words[0] == 'inspect' else [str(rows)]
    model = ['--model', 'm.npz'] if words[0] == 'train' else []
    with pytest.raises(SystemExit) as stop:
        main([*words, *inputs, '--config', str(config), *model])
    assert stop.value.code == 2 and f': error: {config}: {reason}' in capsys.readouterr().err


def test_what_is_wrong_on_the_command_line_is_not_blamed_on_the_file(tmp_path, rows, capsys):
    config = write_config(tmp_path, 'hidden = 9')
    with pytest.raises(SystemExit):
        main(['train', 'pesvm', str(rows), '--config', str(config), '--hidden', 'many', '--model', 'm.npz'])
    assert str(config) not in capsys.readouterr().err
