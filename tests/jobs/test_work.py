"""What decides whether a job has run before, and whom the record of an unfinished run belongs to."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from mr_elm.engines.progress import Reporter
from mr_elm.passes.work import Work, key_of, this_driver
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.streaming.mr_gram import MRGram
from mr_elm.streaming.mr_stats import MRStats

STAGING = 'hdfs:///tmp/mr_elm-me-0123456789ab'


@pytest.fixture
def plan(write):
    """Plan to read one file of rows."""
    return plan_inputs([str(write('rows.csv', '0,1,2\n1,2,1\n'))], RowOptions())


@pytest.fixture
def work(tmp_path):
    """Make the work of a run whose output is on this machine."""
    return lambda **options: Work(STAGING, Reporter(quiet=True), output=str(tmp_path / 'm.npz'), **options)


def test_a_job_is_known_by_all_that_decides_its_output(plan, write):
    def key(job_class=MRStats, plan=plan, arguments=('--seed', '1'), code='a'):
        return key_of(job_class, plan, arguments, code)

    file = plan.files[0]
    others = [
        replace(file, size=file.size + 1),
        replace(file, modified='later'),
        replace(file, path='/elsewhere'),
        replace(file, format=replace(file.format, n_features=9)),
    ]
    keys = [
        key(),
        key(MRGram),
        key(arguments=('--seed', '2')),
        key(code='b'),
        *(key(plan=replace(plan, files=[other])) for other in others),
    ]
    assert key() == key() and len(set(keys)) == len(keys)


def test_a_file_among_the_arguments_counts_by_what_is_in_it(plan, write):
    paths = [write(name, text) for name, text in (('a', 'same'), ('b', 'same'), ('c', 'other'))]
    keys = [key_of(MRGram, plan, ['--layer', str(path)], '') for path in paths]
    assert keys[0] == keys[1] != keys[2]


def test_a_file_that_is_written_again_is_another_input(plan):
    path = plan.files[0].path
    os.utime(path, (1, 1))
    assert plan_inputs([path], RowOptions()).files[0].modified != plan.files[0].modified


@pytest.mark.parametrize(
    'text',
    ['', '{}', '[]', 'null', json.dumps({'format': 'mr_elm-work', 'version': 2})]
    + [
        json.dumps({'format': 'mr_elm-work', 'version': 1, 'driver': {}, 'jobs': {}, 'staging': staging})
        for staging in ('hdfs:///', 'hdfs:///data', '/home/me', 'hdfs:///tmp/mr_elm-me-0123456789ab/..')
    ],
)
def test_what_is_no_record_is_refused_and_removes_nothing(work, write, text):
    path = write('m.npz.work', text)
    with pytest.raises(ValueError, match='expected the record of an unfinished run'):
        work().open()
    assert path.exists()


@pytest.mark.skipif(not os.path.exists('/proc/self/stat'), reason='/proc is missing: run this test on Linux')
def test_two_drivers_do_not_make_one_output(work, write, tmp_path):
    with subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE) as other:
        first = work()
        first.begin()
        record = json.loads((tmp_path / 'm.npz.work').read_text())
        assert record['driver'] == this_driver()
        with pytest.raises(FileExistsError, match=f'process {os.getpid()}'):
            work(resume=True).open()
        other.communicate()
    record['driver']['pid'] = other.pid  # it has ended
    write('m.npz.work', json.dumps(record))
    again = work(resume=True)
    again.open()
    assert again.staging == STAGING and again.resumed
