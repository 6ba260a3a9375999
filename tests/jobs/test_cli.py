"""The command line: exit codes, clean streams, one sentence an error, files under exactly the names given."""
import bz2
import gzip
import json
import os
import re

import numpy as np
import pytest

from mr_elm.cli import COMMANDS, main
from mr_elm.cli.train import METHODS as TRAINED
from mr_elm.cli.tune import METHODS as TUNED

GOOD = ''.join(f'{i % 2},{i / 7:.4f},{(i * i) % 11}\n' for i in range(60))
FEW = ['--hidden', '5']
ODD = 'a [1] $(touch touched);\'"#*é.x'


@pytest.fixture
def rows(write):
    return write('rows.csv', GOOD)


# Files that cannot be used: the same sentence from every runner, no model


def lines_with(text, at):
    lines = GOOD.splitlines()
    return '\n'.join([*lines[:at - 1], text, *lines[at - 1:]]) + '\n'


SPARSE = '1 1:3 4:1\n-1 1:3\n' * 20
BAD = {  # name: (content, what the message holds)
    'width.csv': (lines_with('1,2', 57), 'line 57: wrong width: 3 fields were expected, 2 came'),
    'wide.csv': (lines_with('1,2,3,4', 58), 'line 58: wrong width: 3 fields were expected, 4 came'),
    'word.csv': (lines_with('1,two,3', 61), "line 61: not a number: column 2 holds 'two'"),
    'gap.csv': (lines_with('1,,3', 2), 'line 2: not a number: column 2'),
    'nan.csv': (lines_with('1,3,nan', 60), "line 60: nan or infinite: column 3 holds 'nan'"),
    'inf.csv': (lines_with('0,1e999,3', 59), "line 59: nan or infinite: column 2 holds '1e999'"),
    'no-label.csv': (lines_with(',1,3', 55), 'line 55: missing label'),
    'nul.csv': (lines_with('1,2,3', 300) + GOOD * 5 + '1,2\0,3\n', 'line 362: binary data'),
    'crlf.csv': (lines_with('1,2', 50).replace('\n', '\r\n'), 'line 50: wrong width'),
    'header.csv': ('y,a,b\n\n' + lines_with('1,2', 57), 'line 59: wrong width'),
    'zero.libsvm': (SPARSE + '1 0:3 1:2\n', 'line 41: index below 1'),
    'descend.libsvm': (SPARSE + '1 3:3 1:2\n', 'line 41: indices not rising'),
    'huge.libsvm': (SPARSE + '1 1:3 999999999999:2\n', 'line 41: index too large'),
    'pair.libsvm': (SPARSE + '1 1:3 x:2\n', 'line 41: bad index'),
    'no-label.libsvm': (SPARSE + '1:3 2:4\n', 'line 41: missing label'),
    'many.csv': (''.join(f'{i / 7:.4f},{i % 5}\n' for i in range(60)), '--task regression'),
    'one-class.csv': ('1,2,3\n1,3,4\n' * 20, "every row has the label '1'"),
    'empty.csv': ('', 'the file is empty'), 'blank.csv': ('\n \n\n', 'the file is empty'),
    'header-only.csv': ('y,a,b\n', 'only a header line'), 'binary.csv': (bytes(range(256)) * 40, 'binary data'),
    'cut.csv.gz': (gzip.compress(GOOD.encode() * 50)[:-40], 'cut short or damaged'),
    'cut.csv.bz2': (bz2.compress(GOOD.encode() * 50)[:-40], 'cut short or damaged'),
    'fake.csv.gz': (GOOD, 'damaged'), 'label-only.csv': ('1\n2\n' * 9, 'at least one feature')}


def check_refusal(done, path, what, tmp_path):
    assert (done.status, done.out) == (1, '')
    assert re.fullmatch(r'mr-elm: [^\n]*\n', done.err) and str(path) in done.err and what in done.err
    assert not list(tmp_path.glob('m.npz*'))


@pytest.mark.parametrize('n', [1, 4])
@pytest.mark.parametrize('name', BAD)
def test_a_bad_file_is_refused_with_its_line(elm, write, tmp_path, maps, name, n):
    path = write(name, BAD[name][0])
    done = elm('train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '-q', *maps(n))
    check_refusal(done, path, BAD[name][1], tmp_path)


@pytest.mark.parametrize('name', ['word.csv', 'huge.libsvm', 'cut.csv.gz', 'one-class.csv'])
def test_the_program_says_the_same_on_all_cores(elm, program, write, tmp_path, name):
    path = write(name, BAD[name][0])
    options = ['train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '-q']
    done = program(*options, '-r', 'local', '--num-cores', 4)
    check_refusal(done, path, BAD[name][1], tmp_path)
    assert done.err == elm(*options).err


@pytest.mark.parametrize('name', ['width.csv', 'no-label.libsvm', 'empty.csv', 'header-only.csv', 'binary.csv'])
def test_the_program_prints_one_sentence_and_nothing_else(program, write, tmp_path, name):
    path = write(name, BAD[name][0])
    done = program('train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '-q')
    check_refusal(done, path, BAD[name][1], tmp_path)


@pytest.mark.parametrize('n', [1, 4])
def test_the_first_of_several_bad_rows_is_named(elm, write, tmp_path, maps, n):
    good = GOOD.splitlines()
    path = write('rows.csv', '\n'.join([*good[:20], '1,x,2', *good[20:40], '1', *good[40:], '1,nan,2']))
    done = elm('train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '-q', *maps(n))
    check_refusal(done, path, 'line 21: not a number', tmp_path)


def test_the_bad_file_of_several_is_named(elm, write, tmp_path, maps):
    folder = write('d/a.csv', GOOD).parent
    bad = write('d/b.csv', lines_with('1,2', 30))
    write('d/c.csv', GOOD)
    done = elm('train', 'pesvm', folder, *FEW, '--model', tmp_path / 'm.npz', '-q', *maps(5))
    check_refusal(done, bad, 'line 30: ', tmp_path)


def test_the_wrong_column_as_label_is_explained(elm, rows, tmp_path):
    done = elm('train', 'pesvm', rows, '--label-column', 1, *FEW, '--model', tmp_path / 'm.npz', '-q')
    check_refusal(done, rows, '--label-column', tmp_path)
    assert '--task regression' in done.err


@pytest.mark.parametrize(('options', 'what'), [
    (['--label-column', '3'], 'rows have 3 fields'), (['--label-column', 'y'], "a column named 'y'"),
    (['--weight-column', '-4'], 'rows have 3 fields'), (['--n-features', '7'], '7 features were expected'),
    (['--task', 'regression', '--label-column', 'z'], "a column named 'z'")])
def test_columns_that_are_not_there_are_an_error(elm, rows, tmp_path, options, what):
    done = elm('train', 'pesvm', rows, *options, *FEW, '--model', tmp_path / 'm.npz', '-q')
    check_refusal(done, rows, what, tmp_path)


@pytest.mark.parametrize('weight', ['0', '-1', 'nan', 'x', ''])
def test_weights_must_be_positive_numbers(elm, write, tmp_path, weight):
    path = write('rows.csv', '0,1,2\n1,1,3\n' * 9 + f'1,{weight},3\n')
    done = elm('train', 'pesvm', path, '--weight-column', 1, *FEW, '--model', tmp_path / 'm.npz', '-q')
    check_refusal(done, path, 'line 19: ', tmp_path)


# Files that are merely odd


ODD_FILES = {
    'crlf.csv': (GOOD.replace('\n', '\r\n'), 60), 'bom.csv': (b'\xef\xbb\xbf' + GOOD.encode(), 60),
    'bom-header.csv': (b'\xef\xbb\xbfy,a,b\r\n' + GOOD.replace('\n', '\r\n').encode(), 60),
    'header.csv': ('y,a,b\n' + GOOD, 60), 'blank-header.csv': ('\n\ny,a,b\n' + GOOD, 60),
    'blank.csv': ('\n' + GOOD.replace('\n', '\n\n') + ' \n\n', 60), 'no-newline.csv': (GOOD.rstrip(), 60),
    'semicolons.csv': (GOOD.replace(',', ';'), 60), 'spaces.csv': (GOOD.replace(',', ' '), 60),
    'tabs.tsv': (GOOD.replace(',', '\t'), 60), 'no-ending': (GOOD, 60),
    'words.csv': (re.sub('^(.)', r'"class, \1"', GOOD, flags=re.MULTILINE), 60),
    'accents.csv': (re.sub('^0', 'voilà', GOOD, flags=re.MULTILINE).replace('\n1,', '\nÅ,'), 60),
    'two.csv.gz': (gzip.compress(GOOD.encode()) * 2, 120), 'three.csv.bz2': (bz2.compress(GOOD.encode()) * 3, 180),
    'comments.libsvm': ('# one\n\n' + SPARSE.replace(' 4:1', ' 4:1 # two').replace('-1', '-1 qid:7'), 40),
    'no-features.libsvm': (SPARSE + '1\n-1 \n', 42)}


@pytest.mark.parametrize('n', [1, 3])
@pytest.mark.parametrize('name', ODD_FILES)
def test_odd_files_are_read_whole(trained, write, maps, name, n):
    content, n_rows = ODD_FILES[name]
    header, arrays = trained(write(name, content), *maps(n))
    assert (header['n_rows_used'], len(header['classes'])) == (n_rows, 2)
    assert arrays['counts'].tolist() == [n_rows / 2] * 2


def test_class_names_are_kept_as_they_are_written(trained, write):
    assert trained(write('accents.csv', ODD_FILES['accents.csv'][0]))[0]['classes'] == ['voilà', 'Å']
    assert trained(write('words.csv', ODD_FILES['words.csv'][0]))[0]['classes'] == ['class, 0', 'class, 1']


def test_spellings_of_a_number_are_one_class(trained, write):
    spelled = ['+1', '-1', '1', '-1.0', '1.0', '-1e0']
    header, arrays = trained(write('rows.csv', ''.join(f'{spelled[i % 6]},{i}\n' for i in range(60))))
    assert header['classes'] == ['-1', '+1'] and arrays['counts'].tolist() == [30, 30]


@pytest.mark.parametrize('runner', ['inline', 'local'])
def test_any_name_will_do_for_inputs_models_and_outputs(elm, write, tmp_path, monkeypatch, runner):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / f'f {ODD}'
    rows, model = write(folder / f'rows {ODD}', GOOD), folder / f'model {ODD}'
    quiet = ['-q', '-r', runner]
    assert elm('train', 'pesvm', rows, *FEW, '--model', model, *quiet) == (0, '', '')
    assert elm('predict', model, rows, '-o', folder / f'out {ODD}', *quiet) == (0, '', '')
    assert elm('evaluate', model, rows, '--json', *quiet).status == 0
    assert elm('pack', rows, '-o', folder / f'pack {ODD}', *quiet) == (0, '', '')
    assert sorted(os.listdir(folder)) == sorted(f'{kind} {ODD}' for kind in ('rows', 'model', 'out', 'pack'))
    assert len((folder / f'out {ODD}').read_text().splitlines()) == 60
    assert os.listdir(tmp_path) == [folder.name]


def test_names_of_bytes_that_are_no_text_will_do(elm, tmp_path):
    rows = tmp_path / os.fsdecode(b'rows\xff.csv')
    rows.write_text(GOOD + '1,2\n')
    done = elm('train', 'pesvm', rows, *FEW, '--model', tmp_path / 'm.npz', '-q', '--bad-rows', 'skip')
    assert done == (0, '', '')
    assert (tmp_path / 'm.npz.rejected').read_bytes().startswith(os.fsencode(rows) + b'\t61\twrong width')


def test_a_pattern_in_quotes_finds_the_files(trained, write, tmp_path):
    for name in 'ab':
        write(f'{name}.csv', GOOD)
    assert trained(tmp_path / '*.csv')[0]['n_rows_used'] == 120


# Outputs


@pytest.mark.parametrize('name', ['model', 'model.bin', 'm.npz'])
def test_the_model_is_written_under_exactly_the_name_given(elm, rows, tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert elm('train', 'pesvm', rows, *FEW, '--model', name, '-q').status == 0
    assert sorted(os.listdir(tmp_path)) == sorted([name, 'rows.csv'])


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


def test_a_trained_model_goes_through_all_commands_as_a_program(program, rows, tmp_path):
    model, out = tmp_path / 'm.npz', tmp_path / 'out'
    done = program('train', 'pesvm', rows, *FEW, '--model', model)
    assert (done.status, done.out) == (0, '') and '60 rows' in done.err
    done = program('predict', model, rows, '-o', out)
    assert (done.status, done.out) == (0, '') and len(out.read_text().splitlines()) == 60
    done = program('evaluate', model, rows, '--json')
    assert done.status == 0 and 0 <= json.loads(done.out)['accuracy'] <= 1
    done = program('inspect', model, '--json')
    assert done.status == 0 and done.err == '' and json.loads(done.out)['n_rows_used'] == 60


def test_inspect_shows_the_header(elm, rows, tmp_path):
    elm('train', 'pesvm', rows, *FEW, '--nu', 0.25, '--seed', 9, '--model', tmp_path / 'm.npz', '-q')
    header = json.loads(elm('inspect', tmp_path / 'm.npz', '--json').out)
    assert (header['method'], header['task'], header['classes'], header['n_features']) == (
        'pesvm', 'classification', ['0', '1'], 2)
    assert header['parameters']['nu'] == 0.25 and header['parameters']['seed'] == 9
    assert header['arrays']['output_weights'] == [6, 1]
    text = elm('inspect', tmp_path / 'm.npz')
    assert text.status == 0 and 'method: pesvm' in text.out.splitlines()


@pytest.mark.parametrize('command', ['predict', 'evaluate', 'inspect'])
@pytest.mark.parametrize('content', ['', 'text', GOOD, None])
def test_what_is_not_a_model_is_named(elm, rows, write, tmp_path, command, content):
    model = tmp_path / 'm.npz' if content is None else write('m.npz', content)
    arguments = {'predict': [rows, '-o', tmp_path / 'out'], 'evaluate': [rows], 'inspect': []}[command]
    done = elm(command, model, *arguments)
    assert (done.status, done.out) == (1, '') and str(model) in done.err and done.err.count('\n') == 1


# Usage


@pytest.mark.parametrize('arguments', [
    [], ['no-such-command'], ['train'], ['train', 'no-such-method'], ['train', 'pesvm'], ['train', 'pesvm', 'x.csv'],
    ['train', 'pesvm', '--model', 'm.npz'], ['train', 'pesvm', 'x.csv', '--model'], ['predict', 'm.npz'],
    ['predict', 'm.npz', 'x.csv'], ['evaluate', 'm.npz'], ['evaluate', 'm.npz', 'x.csv', '--no-label'], ['inspect'],
    ['pack', 'x.csv'], ['generate', 'blobs', '-o', 'x'], ['generate', 'no-such-kind', '--rows', '3', '-o', 'x'],
    ['generate', 'ndc', '--classes', '3', '--rows', '3', '-o', 'x'], ['download'], ['download', 'no-such-set']],
    ids=lambda arguments: ' '.join(arguments) or 'nothing')
def test_wrong_usage_is_2_and_goes_to_standard_error(elm, arguments):
    done = elm(*arguments)
    assert (done.status, done.out) == (2, '') and done.err


@pytest.mark.parametrize('options', [
    ['--hid', '5'], ['--mod', 'n.npz'], ['--overw'], ['--num-core', '2'], ['--hidden', '0'], ['--hidden', 'x'],
    ['--nu', '0'], ['--nu', '-1'], ['--nu', 'nan'], ['--nu', 'inf'], ['--weight-scale', '0'], ['--seed', '-1'],
    ['--seed', str(2**64)], ['--map', 'x'], ['--scale', 'x'], ['--n-features', '0'], ['--max-features', '-3'],
    ['--delimiter', ''], ['--delimiter', 'ab'], ['--bad-rows', 'x'], ['-r', 'x'], ['--num-cores'], ['-D'], ['-o', 'x'],
    ['--mapper'], ['--reducer'], ['--combiner'], ['--step-num', '0'], ['--step-num=0'], ['--steps'], ['--spark'],
    ['--plan', 'x'], ['--planned-splits'], ['--no-such-option'], ['--class-weight', 'balanced', '--task', 'regression'],
    ['-z']], ids=' '.join)
def test_options_that_are_not_for_users_or_out_of_range_are_wrong_usage(elm, rows, tmp_path, options):
    done = elm('train', 'pesvm', rows, '--model', tmp_path / 'm.npz', *options)
    assert (done.status, done.out) == (2, '') and 'error: ' in done.err
    assert sorted(os.listdir(tmp_path)) == ['rows.csv']


@pytest.mark.parametrize('options', [
    ['-D', 'some.key=some value'], ['-Dsome.key=value'], ['--jobconf=a.b=c'], ['--num-cores', '2'], ['--num-cores=2'],
    ['--cleanup', 'ALL'], ['--no-conf'], ['--read-logs'], ['--cmdenv', 'A=-b'], ['--owner=--hidden'],
    ['-r', 'inline'], ['-rinline'], ['--seed', str(2**64 - 1), '--map', 'nystrom']], ids=' '.join)
def test_options_of_mrjob_pass_with_their_arity(trained, rows, options):
    assert trained(*options, rows)[0]['n_rows_used'] == 60
    assert trained(rows, *options)[0]['n_rows_used'] == 60


@pytest.mark.parametrize('options', [['-q'], ['--quiet'], ['-qr', 'inline'], ['-qrinline']], ids=' '.join)
def test_short_options_may_be_written_together(elm, rows, tmp_path, options):
    assert elm('train', 'pesvm', rows, *FEW, '--model', tmp_path / 'm.npz', *options) == (0, '', '')


def test_a_value_may_look_like_an_option(elm, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write('-q', ''.join(f'{i},{i % 2}\n' for i in range(30)))
    assert elm('train', 'pesvm', '--label-column', '-1', *FEW, '-q', '--model=-m', '--', '-q') == (0, '', '')
    assert sorted(os.listdir(tmp_path)) == ['-m', '-q']


METHOD_COMMANDS = [*(f'train {method}' for method in TRAINED), *(f'tune {method}' for method in TUNED)]


@pytest.mark.parametrize('command', [*COMMANDS, *METHOD_COMMANDS, 'generate replicate'])
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
    monkeypatch.setattr('mr_elm.streaming.drivers.pesvm.train', fail)
    done = elm('train', 'pesvm', rows, '--model', tmp_path / 'm.npz')
    assert done == (1, '', 'mr-elm: ZeroDivisionError: two lines (--debug shows where)\n')


def test_an_interrupt_is_not_an_error_with_a_trace(capsys, rows, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt
    monkeypatch.setattr('mr_elm.streaming.drivers.pesvm.train', interrupt)
    assert main(['train', 'pesvm', str(rows), '--model', str(tmp_path / 'm.npz')]) == 130
    assert capsys.readouterr().err == 'mr-elm: interrupted\n' and not (tmp_path / 'm.npz').exists()


def test_the_log_of_mrjob_goes_to_standard_error_on_demand(program, rows, tmp_path):
    done = program('train', 'pesvm', rows, *FEW, '--model', tmp_path / 'm.npz', '-v')
    assert (done.status, done.out) == (0, '') and 'Running step 1 of 1' in done.err


# Making data


def test_generate_replicate_and_train(elm, trained, tmp_path):
    base, many = tmp_path / 'base.csv', tmp_path / 'many.csv'
    assert elm('generate', 'blobs', '--rows', 50, '--features', 3, '--classes', 4, '-o', base) == (0, '', '')
    assert elm('generate', 'replicate', base, '--times', 3, '-o', many) == (0, '', '')
    assert many.read_text() == base.read_text() * 3
    header, _ = trained(many)
    assert (header['n_rows_used'], header['n_features'], len(header['classes'])) == (150, 3, 4)


def test_generate_and_pack_do_not_replace_files(elm, rows, write, tmp_path):
    old = write('old', 'old')
    assert elm('generate', 'ndc', '--rows', 5, '-o', old).status == 1
    assert elm('generate', 'replicate', rows, '--times', 2, '-o', old).status == 1
    assert elm('generate', 'replicate', rows, '--times', 2, '-o', rows, '--overwrite').status == 2
    assert elm('pack', rows, '-o', old).status == 1
    assert old.read_text() == 'old' and rows.read_text() == GOOD


def test_download_lists_what_there_is(elm):
    done = elm('download', '--list')
    assert done.status == 0 and done.err == '' and 'letter' in done.out


@pytest.mark.parametrize('bad', ['1 3:1 50:abc', '1 3:1 50:nan', '1 50:1 4:1', '1 70:1 3'])
def test_both_passes_give_the_same_reason_for_a_row_that_is_also_too_wide(elm, write, tmp_path, bad):
    good = ''.join(f'{i % 2} 1:{i} 10:{i * i % 7}\n' for i in range(40))
    path = write('rows.libsvm', good + bad + '\n')
    said = elm('train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '--bad-rows', 'skip')
    assert said.status == 0 and (tmp_path / 'm.npz.rejected').read_bytes().endswith(bad.encode() + b'\n')


def test_rows_left_out_are_listed_in_their_own_bytes(elm, write, tmp_path, model_of):
    bad = '\u5317\u4eac,1,2\n'
    path = write('rows.csv', ''.join(f'{i / 7},{i},{i * i % 7}\n' for i in range(40)) + bad)
    said = elm('train', 'pesvm', path, *FEW, '--model', tmp_path / 'm.npz', '--bad-rows', 'skip', '--task',
               'regression')
    assert said.status == 0 and (tmp_path / 'm.npz').exists()
    assert (tmp_path / 'm.npz.rejected').read_text(encoding='utf-8').endswith(bad)


def test_splits_of_bare_labels_count_as_rows_of_zeros(elm, write, tmp_path, model_of):
    path = write('a.libsvm', ''.join(f'{i % 2} 1:{i} 2:{i * i % 7}\n' for i in range(1, 41)))
    bare = write('b.libsvm', '1\n0\n' * 20)
    said = elm('train', 'pesvm', path, bare, *FEW, '--model', tmp_path / 'm.npz', '-D', 'mapreduce.job.maps=2')
    assert said.status == 0
    X = np.r_[[[i, i * i % 7] for i in range(1, 41)], np.zeros((40, 2))]
    assert np.allclose(model_of(tmp_path / 'm.npz')[1]['feature_offset'], X.mean(axis=0))


@pytest.mark.parametrize('command', [('inspect', 'm.npz'), ('generate', 'blobs', '--rows', 3, '-o', 'x.csv')])
def test_commands_without_jobs_take_no_options_of_mrjob(elm, command):
    said = elm(*command, '--num-cores', 2)
    assert said.status == 2 and '--num-cores' in said.err
