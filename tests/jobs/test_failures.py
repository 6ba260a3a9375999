"""Which of a failed task's logs says why."""

import logging
import re
from contextlib import nullcontext
from subprocess import CalledProcessError
from types import SimpleNamespace

import pytest
from mrjob.step import StepFailedException

from mr_elm.engines import make_engine
from mr_elm.engines.hadoop.engine import Hadoop
from mr_elm.engines.task_logs import choose_cause
from mr_elm.errors import TaskError, describe_error
from mr_elm.streaming.mr_stats import MRStats

PIPE = 'BrokenPipeError: [Errno 32] Broken pipe'
RAISED = 'noise\nTraceback (most recent call last):\n  File "x.py", line 1, in f\n{}\n'
STREAMING = 'java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed with code {}'
FULL = 'org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The DiskSpace quota of /x is exceeded'
SYSLOG = f'2026-01-01 WARN [Thread-14] org.apache.hadoop.streaming.PipeMapRed: {{}}\n{FULL}\n\tat x\n{STREAMING}\n'


@pytest.mark.parametrize(
    'stderr, syslog, diagnostics, cause',
    [
        (RAISED.format('ValueError: no'), SYSLOG, STREAMING.format(1), 'ValueError: no'),
        (RAISED.format(PIPE), SYSLOG, f'Error: {STREAMING.format(1)}\n\tat y', FULL),
        ('', SYSLOG, f'Error: {STREAMING.format(120)}', FULL),
        (RAISED.format(PIPE), '', 'Killed by the preemptor', 'Killed by the preemptor'),
        ('', '', STREAMING.format(120), STREAMING.format(120)),
        ('', SYSLOG, STREAMING.format(1), STREAMING.format(1)),
        (
            '',
            SYSLOG,
            STREAMING.format(137),
            f'{STREAMING.format(137)}: the system killed it, perhaps because memory ran out',
        ),
        ('', '', STREAMING.format(127), f'{STREAMING.format(127)}: the node has no program of this name, see --python'),
    ],
)
def test_the_cause_is_what_the_user_can_mend(stderr, syslog, diagnostics, cause):
    assert choose_cause(stderr, syslog, diagnostics) == cause


class Failing:
    """Stand for a runner of mrjob whose step fails. step : what mrjob reads in the log. lines : of the log."""

    def __init__(self, step, *lines):
        self._log_interpretations, self.lines = [{'step': step}], lines

    def run(self):
        for line in ('Running step 1 of 1...', *self.lines, '  Streaming Command Failed!', 'No counters found'):
            logging.getLogger('mrjob.hadoop').info(line)
        command = ['hadoop', 'jar', 'streaming.jar', '-files', 'x' * 1000, '-mapper', "sh -c 'returned or died'"]
        raise StepFailedException(str(CalledProcessError(256, command)), 0, 1)


def run_failing(monkeypatch, step, *lines):
    """Return what a user reads when such a step fails."""
    monkeypatch.setattr(Hadoop, 'make_job', lambda *words: None)
    monkeypatch.setattr(Hadoop, 'make_runner', lambda *words: nullcontext(Failing(step, *lines)))
    engine = make_engine('hadoop')
    with pytest.raises(TaskError) as caught, engine.start(MRStats, SimpleNamespace(size=9), [], 'out', 'statistics'):
        pass
    assert 'x' * 1000 in str(caught.value.__cause__)  # --debug prints the command
    return describe_error(caught.value)


def test_a_step_that_fails_for_an_unknown_reason_is_told_by_the_end_of_its_log(monkeypatch):
    text = run_failing(monkeypatch, {}, '  Error: JAVA_HOME is not set and could not be found.')
    assert text == (
        'TaskError: MRStats: Step 1 of 1 failed: its command returned non-zero exit status 256. Error: JAVA_HOME is '
        'not set and could not be found. (--verbose prints the whole log)'
    )
    text = run_failing(monkeypatch, {}, '  Exception in thread "main" java.io.IOException: no room\n\tat a.b\n\tat c.d')
    assert text.endswith(
        '256. Exception in thread "main" java.io.IOException: no room (--verbose prints the whole log)'
    )


def test_logs_of_tasks_that_cannot_be_read_are_named(monkeypatch):
    monkeypatch.setattr('mr_elm.engines.hadoop.failures.history_address', lambda: '127.0.0.1:1')
    text = run_failing(monkeypatch, {'job_id': 'job_17_0004'}, '  Job not successful!')
    assert re.search(r'status 256\. Job not successful! .* the logs of its tasks cannot be read: .*refused', text)
    assert text.endswith(': `yarn logs -applicationId application_17_0004` prints them') and len(text) < 400
