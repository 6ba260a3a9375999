"""Progress goes to standard error, a line a stage; quiet means silent."""
import io
import logging
import re
import time

import pytest
from reference.files import LOCAL

from mr_elm.engines.hadoop.progress import HadoopProgress
from mr_elm.engines.progress import Reporter, describe_time

LINE = re.compile(r'^(\w+): ([\d,]+) rows, ([\d,.]+) MB in ([\d,.]+) s, ([\d,.]+) MB/s$')


@pytest.fixture
def tasks(tmp_path):
    """Let a map task write to its standard error."""
    def write(number, text):
        path = tmp_path / 'step-000' / 'mapper' / f'{number:05d}' / 'stderr'
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, 'a') as stream:
            stream.write(text)
    return write


def counter(name, amount):
    return f'reporter:counter:mr_elm,{name},{amount}\n'


def test_the_rows_of_all_tasks_are_added_up_once(tasks, tmp_path):
    stream = io.StringIO()
    reporter = Reporter(stream=stream)
    with reporter.stage('Gram', 3_000_000, str(tmp_path)) as stage:
        tasks(0, counter('rows', 1000) + counter('bytes', 77) + 'a word of mrjob\n' + counter('rows', 200)[:-3])
        stage._poll()
        tasks(0, '00\n' + counter('rows', 5).replace('mr_elm', 'other'))
        tasks(1, counter('rows', 34))
        stage._poll()
    name, rows, megabytes, _, _ = LINE.match(stream.getvalue().strip()).groups()
    assert (name, rows, megabytes) == ('Gram', '1,234', '3.0')


def test_a_folder_with_odd_letters_is_followed(tasks, tmp_path):
    stream, odd = io.StringIO(), tmp_path / 'a [1] *'
    (odd / 'mapper' / '00000').mkdir(parents=True)
    with Reporter(stream=stream).stage('Gram', 10, str(odd)):
        (odd / 'mapper' / '00000' / 'stderr').write_text(counter('rows', 12))
    assert 'Gram: 12 rows' in stream.getvalue()


def test_a_stage_that_fails_says_nothing_of_rows(tmp_path):
    stream = io.StringIO()
    with pytest.raises(KeyError), Reporter(stream=stream).stage('Gram', 10, str(tmp_path)):
        raise KeyError
    assert stream.getvalue() == ''


@pytest.fixture
def talkative(monkeypatch):
    """Give a reporter that writes a log and waits for no seconds before a line."""
    for name in ('FIRST', 'LONGEST'):
        monkeypatch.setattr(f'mr_elm.engines.progress.{name}', 0.0)
    return Reporter(stream=io.StringIO())


def test_a_log_tells_the_rows_the_share_and_the_time_left(talkative):
    blocks = [(None, [0] * 25)] * 4
    assert list(talkative.count(blocks, 'blobs', 100)) == blocks
    lines = talkative.stream.getvalue().splitlines()
    assert [line.split(', ')[:2] for line in lines[:3]] == [[f'blobs: {n} rows', f'{n}%'] for n in (25, 50, 75)]
    assert all(re.search(r', about \d+ s left$', line) for line in lines[:3])


def test_a_log_tells_how_far_a_reducer_is_when_all_rows_are_read(talkative, tasks, tmp_path):
    folder = tmp_path / 'step-000' / 'reducer' / '00000'
    folder.mkdir(parents=True)
    tasks(0, counter('rows', 5) + counter('bytes', 10))
    (folder / 'stderr').write_text('reporter:status:computing\nreporter:status:iteration 70, gap 0.01\n')
    with talkative.stage('dual', 10, str(tmp_path)):
        wait_until(lambda: talkative.stream.getvalue())
    assert re.match(r'dual: iteration 70, gap 0.01, 100% read, \d+ s so far\n', talkative.stream.getvalue())


def test_work_is_announced_unless_it_is_short(talkative):
    talkative.announce('solving', lambda: 0.5)
    talkative.announce('solving', lambda: 40)
    assert talkative.stream.getvalue() == 'solving: about 40 s\n'
    assert [describe_time(seconds) for seconds in (3, 200, 9000)] == ['3 s', '3 min', '2.5 h']


@pytest.mark.parametrize(('words', 'work'), [
    (('pesvm', '--hidden', 1000), 'solving for 1001 unknowns'),
    (('pesvm', '--auto', '--budget', 50), r'solving \d+ systems of at most 51 unknowns'),
    (('elm', '--C', 'inf', '--hidden', 1000), 'computing the svd of 1,000 x 1,000 node outputs'),
    (('mr-kelm', '--solver', 'svd'), 'svd of the kernel matrix of 1,000 rows'),
    (('mr-kelm', '--solver', 'cg'), 'cg: computing a preconditioner of rank at most 1,000')])
def test_the_time_of_a_large_solve_is_said_before_it(elm, write, tmp_path, monkeypatch, words, work):
    monkeypatch.setattr('mr_elm.engines.progress.SHORT', 0.0)
    path = write('rows.csv', ''.join(f'{i % 2},{i},{i * i % 7}\n' for i in range(1000)))
    done = elm('train', *words, path, '--model', tmp_path / 'm.npz')
    assert re.search(rf'^{work}: about \d+ s$', done.err, re.MULTILINE), done.err


def test_a_job_on_hadoop_says_that_it_waits_and_how_long_maps_and_reducers_take(talkative):
    with HadoopProgress(talkative, 'Gram') as progress:
        logging.getLogger('mrjob').info('  The url to track the job: http://here/1')
        progress.start -= 30
        assert re.fullmatch(r'map 60 %, reduce 0 %, about 20 s left to map', progress.describe(60, 0))
        assert progress.describe(100, 20) == 'map 100 %, reduce 20 %'
        progress.all_mapped = (progress.all_mapped[0] - 30, 20)
        assert progress.describe(100, 80) == 'map 100 %, reduce 80 %, about 10 s left'
    assert talkative.stream.getvalue() == 'Gram: submitted, waiting for the first task; http://here/1\n'


def wait_until(met):
    """Wait for what another thread does, at most 30 s."""
    end = time.monotonic() + 30
    while not met() and time.monotonic() < end:
        time.sleep(0.05)


def test_generating_rows_is_silent_when_it_takes_no_time_or_is_quiet(elm, tmp_path):
    for name, quiet in (('a.csv', ()), ('b.csv', ('-q',))):
        assert elm('generate', 'blobs', '--rows', 50, '-o', tmp_path / name, *quiet) == (0, '', '')


def test_quiet_means_silent(tasks, tmp_path):
    stream = io.StringIO()
    reporter = Reporter(quiet=True, stream=stream)
    reporter.say('something')
    with reporter.stage('Gram', 10, str(tmp_path)):
        tasks(0, counter('rows', 1000))
    assert stream.getvalue() == ''


@pytest.mark.parametrize('runner', [('-r', 'inline'), (*LOCAL, '-D', 'mapreduce.job.maps=2')])
def test_each_stage_of_a_training_has_its_line(elm, write, tmp_path, runner):
    path = write('rows.csv', ''.join(f'{i % 2},{i},{i * i % 7}\n' for i in range(3000)))
    done = elm('train', 'pesvm', path, '--hidden', 3, '--model', tmp_path / 'm.npz', *runner)
    stages = [match.groups() for match in map(LINE.match, done.err.splitlines()) if match]
    assert [(name, rows) for name, rows, *_ in stages] == [('statistics', '3,000'), ('Gram', '3,000')]
    assert done.out == '' and '3,000 rows, 2 features, 3 hidden nodes' in done.err.splitlines()[-1]


@pytest.mark.parametrize('runner', [('-r', 'inline'), LOCAL])
def test_a_quiet_training_prints_nothing(program, write, tmp_path, runner):
    path = write('rows.csv', '0,1,2\n1,2,1\n' * 9)
    done = program('train', 'pesvm', path, '--hidden', 3, '--model', tmp_path / 'm.npz', '-q', *runner)
    assert done == (0, '', '')
