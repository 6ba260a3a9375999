"""What every job does with its input: blocks with their places, an account of each split, nothing left unread."""

import gzip
import json

import pytest

from mr_elm.engines import make_engine
from mr_elm.errors import BadRowError, DataFormatError
from mr_elm.rows.inputs import InputFile, plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.splits import find_file, plain_path
from mr_elm.rows.wire import make_key, split_key
from mr_elm.streaming.stage import MRRows, as_meant


class MRBlocks(MRRows):
    """Emit the place, the labels and the first feature of every block."""

    MERGE = {'total': lambda values: {'rows': sum(value['rows'] for value in values)}}

    def map_begin(self):
        self.rows = 0

    def map_block(self, block, place):
        self.rows += len(block)
        labels = [block.names[code] for code in block.codes]
        yield make_key('block', *place), {'labels': labels, 'first': block.X[:, 0].tolist()}

    def map_end(self):
        if self.rows:
            yield make_key('total'), {'rows': self.rows}


def plan_of(path, **options):
    return plan_inputs([str(path)], RowOptions(**options))


def hadoop_splits(data, n):
    """Cut a file as Hadoop does: (start, length, the lines that a task sees)."""
    lines = data.splitlines(keepends=True)
    begins = [sum(map(len, lines[:i])) for i in range(len(lines))]
    size = -(-len(data) // n)
    for start in range(0, len(data), size):
        length = min(size, len(data) - start)
        yield (
            start,
            length,
            b''.join(
                line
                for line, begin in zip(lines, begins, strict=True)
                if (begin > start or start == 0) and begin <= start + length
            ),
        )


ROWS = ''.join(f'{"ab"[i % 2]},{i},{i * i}\n' for i in range(50)).encode()
BAD = ROWS.replace(b'\nb,31,', b'\nb,thirty-one,')


@pytest.mark.parametrize('data', [ROWS, b'y,u,v\n' + ROWS + b'\n\n', BAD, ROWS.rstrip()])
@pytest.mark.parametrize('bad_rows', ['stop', 'skip'])
def test_rows_on_standard_input_give_what_a_planned_split_gives(write, by_hand, data, bad_rows):
    path = write('a.csv', data)
    plan = plan_of(path)

    def run(lines, *words, **place):
        try:
            return by_hand(MRBlocks, plan, lines, *words, '--bad-rows', bad_rows, **place)
        except BadRowError as error:
            return json.loads(str(error))

    ends = []
    for start, length, lines in hadoop_splits(data, 4):
        ours = run(json.dumps([[0, start, length]]).encode(), '--planned-splits')
        hadoops = run(lines, file=f'file://{path}', start=start, length=length)
        assert ours == hadoops and ours
        if isinstance(ours, dict):
            ends.append(ours)
    if bad_rows == 'skip' or data != BAD:
        assert not ends
    else:
        assert [(end['reason'], end['n_bad']) for end in ends] == [('not a number', 1)]


def test_blocks_cover_the_rows_in_order_and_know_their_places(write, by_hand, read_pairs):
    path = write('a.csv', ROWS)
    lines = by_hand(MRBlocks, plan_of(path), ROWS, '--block-rows', 7, file=path)
    blocks = [(list(map(int, place)), value) for kind, place, value in read_pairs(lines) if kind == 'block']
    assert [place for place, _ in blocks] == [[0, 0, first] for first in range(0, 50, 7)]
    assert [x for _, value in blocks for x in value['first']] == list(range(50))
    assert ''.join(label for _, value in blocks for label in value['labels']) == 'ab' * 25


def test_the_last_short_block_counts(write, by_hand, read_pairs):
    data = b''.join(ROWS.splitlines(keepends=True)[:29])
    path = write('a.csv', data)
    pairs = read_pairs(by_hand(MRBlocks, plan_of(path), data, '--block-rows', 4, file=path))
    assert [value['rows'] for kind, _, value in pairs if kind == 'total'] == [29]


def test_an_empty_split_gives_its_account_and_nothing_else(write, by_hand, read_pairs):
    path = write('a.csv', ROWS)
    ((kind, place, value),) = read_pairs(by_hand(MRBlocks, plan_of(path), b'', file=path, start=400))
    assert (kind, list(map(int, place)), value['lines'], value['used']) == ('counts', [0, 400], 0, 0)


def test_every_line_is_in_the_account(write, by_hand, read_pairs):
    data = b'\xef\xbb\xbfy,u,v\r\n\r\n1,2,3\r\n \r\nnan,1,2\r\n0,5,x\r\n1,5,inf\r\n1,5\r\n0,9,9'
    path = write('a.csv', data)
    pairs = read_pairs(by_hand(MRBlocks, plan_of(path), data, '--bad-rows', 'skip', file=path))
    counts = next(value for kind, _, value in pairs if kind == 'counts')
    assert {name: counts[name] for name in ('lines', 'headers', 'blank', 'comments', 'used')} == {
        'lines': 9,
        'headers': 1,
        'blank': 2,
        'comments': 0,
        'used': 2,
    }
    assert counts['rejected'] == {'missing label': 1, 'nan or infinite': 1, 'not a number': 1, 'wrong width': 1}
    rejected = {int(place[2]): value['line'] for kind, place, value in pairs if kind == 'rejected'}
    assert rejected == {4: 'nan,1,2', 5: '0,5,x', 6: '1,5,inf', 7: '1,5'}


def test_comments_of_libsvm_text_are_in_the_account(write, by_hand, read_pairs):
    data = b'# made by hand\n1 1:2 # fine\n\n  # more\n-1 1:3\n'
    path = write('a.libsvm', data)
    pairs = read_pairs(by_hand(MRForget, plan_of(path), data, file=path))
    counts = next(value for kind, _, value in pairs if kind == 'counts')
    assert (counts['lines'], counts['comments'], counts['blank'], counts['used']) == (5, 2, 1, 2)


class MRForget(MRRows):
    """Read and forget."""

    def map_block(self, block, place):
        """Yield nothing."""


def test_a_file_that_was_not_planned_is_an_error_and_leaves_no_input_unread(write, by_hand, read_pairs):
    pairs = read_pairs(by_hand(MRBlocks, plan_of(write('a.csv', ROWS)), ROWS, file='/elsewhere/b.csv'))
    assert [kind for kind, _, _ in pairs] == ['error']
    assert '/elsewhere/b.csv' in pairs[0][2]['message']


def test_a_cut_compressed_file_is_an_error_that_names_it(write, by_hand, read_pairs):
    whole = gzip.compress(ROWS * 40)
    path = write('a.csv.gz', whole)
    plan = plan_of(path)
    path.write_bytes(whole[:-20])
    split = json.dumps([[0, 0, len(whole)]]).encode()
    pairs = read_pairs(by_hand(MRBlocks, plan, split, '--planned-splits'))
    assert [value['message'] for kind, _, value in pairs if kind == 'error'] and str(path) in str(pairs)


@pytest.mark.parametrize(
    ('uri', 'number'),
    [
        ('/data/a b.csv', 0),
        ('file:///data/a%20b.csv', 0),
        ('hdfs://host:9000/data/c.csv', 1),
        ('hdfs:///data/c.csv', 1),
    ],
)
def test_a_file_is_known_by_any_of_its_names(uri, number):
    files = [InputFile(path, 1, RowOptions('csv')) for path in ('/data/a b.csv', 'hdfs:///data/c.csv')]
    assert find_file(files, uri) == number


def test_buckets_tell_files_apart():
    assert plain_path('s3://one/a.csv') != plain_path('s3://two/a.csv')
    assert plain_path('s3://one/a.csv') == plain_path('s3n://one/a.csv')
    with pytest.raises(DataFormatError, match='planned'):
        find_file([InputFile('/data/a.csv', 1, RowOptions('csv'))], '/data/b.csv')


def test_reducers_merge_the_values_of_each_key_alone(write, by_hand, read_pairs):
    lines = b''.join(
        f'{key}\t{{"rows": {n}}}\n'.encode()
        for key, n in [
            ('other 1', 5),
            ('other 1', 6),
            ('total a', 1),
            ('total a', 2),
            ('total b', 10),
            ('total c', 7),
            ('total c', 9),
        ]
    )
    pairs = read_pairs(by_hand(MRBlocks, plan_of(write('a.csv', ROWS)), lines, task='reducer'))
    assert [(kind, place, value['rows']) for kind, place, value in pairs] == [
        ('other', ['1'], 5),
        ('other', ['1'], 6),
        ('total', ['a'], 3),
        ('total', ['b'], 10),
        ('total', ['c'], 16),
    ]


class Everything:
    """Take no record for the accounts."""

    def take(self, key, value):
        return False


@pytest.mark.parametrize('n', [1, 2, 7])
def test_a_job_reads_every_row_once_whatever_the_splits(write, n):
    paths = [
        write(f'f/{name}', content)
        for name, content in (
            ('a.csv', ROWS),
            ('b.csv.gz', gzip.compress(ROWS) + gzip.compress(ROWS)),
            ('c.csv', ROWS.rstrip()),
        )
    ]
    plan = plan_inputs([str(path) for path in paths], RowOptions())
    with make_engine('inline', ('-D', f'mapreduce.job.maps={n}')).run_job(MRBlocks, plan, [], 'blocks') as output:
        pairs = list(output.pairs(Everything()))
    seen = {}
    for key, value in pairs:
        kind, place = split_key(key)
        if kind == 'block':
            seen.setdefault(int(place[0]), []).append((list(map(int, place)), value['first']))
    for number, times in ((0, 1), (1, 2), (2, 1)):
        assert [x for _, part in sorted(seen[number]) for x in part] == list(range(50)) * times
    assert [value['rows'] for key, value in pairs if key == 'total'] == [200]


@pytest.mark.parametrize(
    'word', ['', '%', '%41', "it's", '"', 'a b', '$(touch x); `x`', '\\', '\t*?[1]{2}', 'é', '/a.npz']
)
def test_an_argument_has_no_marks_on_its_way_and_is_the_same_at_its_end(word):
    [proof] = MRRows.shell_proof([word])
    assert not set(proof) & set(' \t\'"\\$`;&|<>*?[]{}()#!~')
    assert as_meant(['--mapper', proof]) == ['--mapper', word]
    assert as_meant([word]) == [word]  # a driver's own
