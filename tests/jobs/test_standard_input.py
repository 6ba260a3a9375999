"""Where the input is `-`, predict answers standard input line by line; evaluate and pack read it like a file."""

import codecs
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mr_elm.rows.packs import load_manifest

PROGRAM = Path(sys.executable).with_name('mr-elm')

N, D = 120, 3
NAMES = ['red', 'green', 'blue']


@pytest.fixture
def table(rng):
    X = rng.normal(size=(N, D))
    return X, np.where(X[:, 0] > 0, 'up', 'down')


@pytest.fixture
def text(csv_of, table):
    """Write the rows with all digits, label first."""
    return csv_of(table[1], table[0])


@pytest.fixture
def path(write, text):
    return write('rows.csv', ','.join(['label', *NAMES]) + '\n' + text)


@pytest.fixture
def model(trained, path):
    """Train on columns with names: the path of the model."""
    trained(path)
    return trained.path


@pytest.fixture
def feed(monkeypatch):
    """Put text on standard input."""

    def put(text):
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr('sys.stdin', io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))

    return put


@pytest.fixture
def expected(elm, model, path, tmp_path):
    """Predict the rows of the file, with scores: the lines."""
    assert elm('predict', model, path, '--scores', '-o', tmp_path / 'expected', '-q').status == 0
    return (tmp_path / 'expected').read_text().splitlines()


@pytest.fixture
def talk(model, trained):
    """Start the program as another one does that asks the last model line by line."""
    started = []

    def start(*arguments):
        program = subprocess.Popen(
            [PROGRAM, 'predict', trained.path, '-', *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(program)
        return program

    yield start
    for program in started:
        program.kill()
        program.wait(60)


def ask(program, line):
    program.stdin.write(f'{line}\n'.encode())
    program.stdin.flush()
    return program.stdout.readline().decode().rstrip('\n')


def shuffle_columns(X, order):
    return '\n'.join([','.join(NAMES[j] for j in order), *(','.join(map(repr, row)) for row in X[:, order].tolist())])


def test_each_row_is_answered_before_the_next_one_comes(talk, text, expected):
    program = talk('--scores')
    for line, answer in zip(text.splitlines()[:5], expected, strict=False):
        found, wanted = ask(program, line).split('\t'), answer.split('\t')
        assert found[0] == wanted[0] and float(found[1]) == pytest.approx(float(wanted[1]), rel=1e-9)
    assert program.communicate() == (b'', b'') and program.returncode == 0


def test_a_reader_that_leaves_ends_the_program_without_a_word(talk, text):
    program = talk()
    ask(program, text.splitlines()[0])
    program.stdout.close()
    program.stdin.write(text.encode())
    program.stdin.flush()
    assert program.stderr.read() == b''


def test_all_rows_at_once_are_predicted_as_those_of_a_file(elm, model, text, expected, feed):
    feed(text)
    done = elm('predict', model, '-')
    assert (done.status, done.err) == (0, '')
    assert done.out.splitlines() == [line.split('\t')[0] for line in expected]


def test_a_header_decides_the_order_of_the_columns(elm, model, table, expected, feed):
    feed(shuffle_columns(table[0], [2, 0, 1]))
    assert elm('predict', model, '-').out.splitlines() == [line.split('\t')[0] for line in expected]


def test_a_header_that_lacks_a_column_ends_the_run_even_where_rows_are_skipped(elm, model, feed):
    feed('red,green,purple\n1,2,3\n')
    done = elm('predict', model, '-', '--bad-rows', 'skip')
    assert (done.status, done.out) == (1, '') and "standard input: expected a column named 'blue'" in done.err


def test_rows_without_a_label_are_read_by_position(elm, model, table, expected, feed):
    feed('\n'.join(','.join(map(repr, row)) for row in table[0].tolist()))
    done = elm('predict', model, '-', '--no-label')
    assert done.out.splitlines() == [line.split('\t')[0] for line in expected]


@pytest.mark.parametrize('bad', ['up,1,2', 'up,1,2,x', 'up,1,2,nan', 'up,1,2,\0', 'x'])
def test_a_bad_row_ends_the_run_behind_the_answers_to_earlier_rows(elm, model, text, feed, expected, bad):
    first, second = text.splitlines()[:2]
    feed(f'{first}\n\n{bad}\n{second}\n')
    done = elm('predict', model, '-')
    assert (done.status, done.out) == (1, expected[0].split('\t')[0] + '\n')
    assert done.err.startswith('mr-elm: standard input, line 3: ') and done.err.count('\n') == 1


@pytest.mark.parametrize('place', [0, 1, 2])
def test_a_skipped_row_is_answered_by_an_empty_line(elm, model, text, feed, expected, place):
    lines, answers = text.splitlines()[:2], [line.split('\t')[0] for line in expected[:2]]
    feed('\n'.join([*lines[:place], 'up,1,2', *lines[place:]]))
    done = elm('predict', model, '-', '--bad-rows', 'skip')
    assert (done.status, done.out.split('\n')[:-1]) == (0, [*answers[:place], '', *answers[place:]])
    assert done.err.startswith('rows left out: 1 ')


def test_a_category_and_a_gap_may_stand_in_a_row(elm, write, tmp_path, feed):
    rows = ''.join(
        f'{city},{number},{label}\n'
        for city, number, label in [('Oslo', 1, 'a'), ('Rome', 2, 'b'), ('Oslo', '', 'a'), ('Rome', 4, 'b')] * 5
    )
    path = write('cities.csv', 'city,number,label\n' + rows)
    assert (
        elm(
            'train',
            'pesvm',
            path,
            '--encode',
            'auto',
            '--label-column',
            'label',
            '--hidden',
            10,
            '--nu',
            1000,
            '--model',
            tmp_path / 'm.npz',
            '-q',
        ).status
        == 0
    )
    feed('number,city\n,Oslo\n4,Rome\n4,Paris\n')
    assert elm('predict', tmp_path / 'm.npz', '-').out.splitlines()[:2] == ['a', 'b']
    feed('Oslo,,a\nRome,4,b\nRome,x,b\n')
    done = elm('predict', tmp_path / 'm.npz', '-')
    assert done.out.splitlines() == ['a', 'b'] and 'standard input, line 3: not a number' in done.err


@pytest.fixture
def words(tmp_path, trained):
    """Train on two words that decide the label, a or b, in a file of an encoding."""

    def make(first, second, charset='utf-8', *options):
        path = tmp_path / 'words.csv'
        path.write_bytes(('word,label\n' + f'{first},a\n{second},b\n' * 10).encode(charset))
        trained(path, '--encode', 'auto', '--label-column', 'label', *options)

    return make


@pytest.mark.parametrize(
    ('charset', 'options', 'first', 'second'),
    [
        ('utf-16', [], 'é', 'ö'),
        ('cp1252', ['--encoding', 'cp1252'], 'é', 'ö'),
        ('iso2022_jp', ['--encoding', 'iso2022_jp'], '東京', '大阪'),
    ],
)
def test_each_line_is_decoded_before_the_next_one_comes(words, talk, charset, options, first, second):
    words(first, second)
    program, encoder = talk(*options), codecs.getincrementalencoder(charset)()
    for word, label in [(first, 'a'), (second, 'b')] * 3:
        program.stdin.write(encoder.encode(f'{word},?\r\n'))
        program.stdin.flush()
        assert program.stdout.readline() == f'{label}\n'.encode()
    assert program.communicate() == (b'', b'')


def test_lines_have_the_encoding_of_the_training_unless_they_are_plainly_of_utf_8(words, talk):
    words('é', 'ö', 'cp1252', '--encoding', 'cp1252')
    program = talk()
    ask(program, 'o,?')
    for word, charset, label in [('é', 'utf-8', 'a'), ('ö', 'cp1252', 'b'), ('ö', 'utf-8', 'b')]:
        program.stdin.write(f'{word},?\n'.encode(charset))
        program.stdin.flush()
        assert program.stdout.readline() == f'{label}\n'.encode()
    assert program.communicate('é,?'.encode('cp1252')) == (b'a\n', b'')


def test_bytes_that_are_no_text_of_the_encoding_end_the_run(elm, model, feed):
    feed(b'up,\x81,2,3\n')
    done = elm('predict', model, '-', '--encoding', 'cp1252')
    assert done.status == 1 and 'standard input: expected text in cp1252, found other bytes' in done.err


def test_the_format_is_that_of_the_training(elm, write, trained, libsvm_of, table, feed):
    trained(write('rows.libsvm', libsvm_of(table[1], table[0])))
    feed('up 1:0.5\n# nothing\n\nup 2:1 3:-1\n')
    assert len(elm('predict', trained.path, '-').out.splitlines()) == 2
    trained(write('rows.tsv', '\n'.join('\t'.join(['1' if row[0] > 0 else '2', *map(str, row)]) for row in table[0])))
    feed('1\t1.0\t2.0\t3.0\n')
    assert elm('predict', trained.path, '-').out == '1\n'
    feed('1,1.0,2.0,3.0\n')
    assert 'standard input, line 1' in elm('predict', trained.path, '-').err
    feed('1,1.0,2.0,3.0\n')
    assert elm('predict', trained.path, '-', '--delimiter', ',').out == '1\n'


def test_lines_that_are_one_field_are_refused_with_the_option_that_separates_fields(elm, write, trained, feed):
    trained(write('rows.csv', '1,2,a\n3,4,b\n' * 9), '--label-column', 2)
    feed('1;2;a\n')
    assert elm('predict', trained.path, '-').err == (
        'mr-elm: standard input, line 1: not readable: expected column 2 (counted from 0), rows have 1 fields: '
        '--delimiter says what separates fields\n'
    )


def test_a_first_row_with_decimal_commas_is_a_row(elm, write, trained, table, feed):
    rows = [[label, *row] for label, row in zip(table[1], table[0].round(2).tolist(), strict=True)]
    lines = [';'.join(map(str, row)).replace('.', ',') for row in rows]
    path = write('decimal.csv', '\n'.join([*lines, '']))
    trained(path)
    predicted = elm('predict', trained.path, path, '-o', '-', '-q').out
    feed('\n'.join([*(line.partition(';')[2] for line in lines), '']))
    assert elm('predict', trained.path, '-', '--no-label', '-q') == (0, predicted, '')


def test_evaluate_reads_standard_input_as_it_reads_a_file(elm, model, path, text, feed):
    wanted = elm('evaluate', model, path, '--json', '-q').out
    feed(text)
    assert elm('evaluate', model, '-', '--json', '-q').out == wanted
    feed(text + 'up,1,2\n')
    done = elm('evaluate', model, '-', '-q')
    assert done.status == 1 and done.err.startswith(f'mr-elm: standard input, line {N + 1}: wrong width')


def test_pack_reads_standard_input_as_it_reads_a_file(elm, path, feed, tmp_path):
    assert elm('pack', path, '-o', tmp_path / 'a', '-q').status == 0
    feed(path.read_text() + 'up,1,2\n')
    assert elm('pack', '-', '-o', tmp_path / 'b', '-q', '--bad-rows', 'skip').status == 0
    wanted, found = (load_manifest(str(tmp_path / name)) for name in 'ab')
    assert found['rejected'] == {'wrong width': 1}
    assert all(wanted[name] == found[name] for name in ('n_rows', 'labels', 'statistics', 'input'))
    assert (tmp_path / 'b.rejected').read_text().startswith(f'standard input\t{N + 2}\twrong width')


def test_predictions_go_to_a_file_whole_or_not_at_all(elm, model, text, expected, feed, tmp_path):
    feed(text)
    assert elm('predict', model, '-', '--scores', '-o', tmp_path / 'out').out == ''
    assert [line.split('\t')[0] for line in (tmp_path / 'out').read_text().splitlines()] == [
        line.split('\t')[0] for line in expected
    ]
    feed(text + 'x\n')
    assert elm('predict', model, '-', '-o', tmp_path / 'other').status == 1
    assert not (tmp_path / 'other').exists()


def test_predictions_of_a_file_go_to_standard_output(elm, model, path, expected):
    assert elm('predict', model, path, '--scores', '-o', '-', '-q') == (0, '\n'.join(expected) + '\n', '')


@pytest.mark.parametrize('source', ['-', 'rows.csv'])
def test_predictions_need_a_standard_output_that_is_open(model, source):
    command = f'exec "{PROGRAM}" predict "{model}" {source} -o - >&- </dev/null'
    done = subprocess.run(['sh', '-c', command], capture_output=True, text=True)
    assert done.returncode == 2 and 'standard output: expected it to be open, it is closed' in done.stderr


@pytest.mark.parametrize(
    ('arguments', 'word'),
    [
        (['predict', 'm.npz', '-', '-r', 'local'], '-r local'),
        (['evaluate', 'm.npz', '-', '-r', 'hadoop'], '-r hadoop'),
        (['pack', '-', '-o', 'p', '-r', 'local'], '-r local'),
        (['predict', 'm.npz', '-', 'rows.csv'], 'alone'),
        (['train', 'pesvm', '-', '--model', 'm.npz'], 'predict, evaluate and pack'),
        (['predict', 'm.npz', 'rows.csv'], '-o/--output'),
        (['predict', 'm.npz', '-', '--num-cores', '2'], '--num-cores'),
    ],
)
def test_what_standard_input_is_not_for_is_wrong_usage(elm, arguments, word):
    done = elm(*arguments)
    assert done.status == 2 and word in done.err


def test_standard_input_must_be_text(elm, model, feed):
    feed('')
    done = elm('predict', model, '-', '--format', 'packed')
    assert done.status == 1 and '--format packed: expected lines of text' in done.err
    assert json.loads(elm('inspect', model, '--json').out)['parameters']['input']['delimiter'] == ','
