"""Follow a job on Hadoop by what its client logs."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mr_elm.engines.hadoop.failures import history_address, read_log
from mr_elm.engines.hadoop.yarn import ask_manager, explain_waiting
from mr_elm.engines.task_logs import choose_cause
from mr_elm.errors import BadRowError, TaskError
from mr_elm.progress import LONG_SECONDS, LogLines, Stage, repeat

PERCENT = re.compile(r'\bmap (\d+)% reduce (\d+)%')
TRACKING = re.compile(r'The url to track the job: (\S+)')
FAILED = re.compile(r'Task Id : attempt_(\d+_\d+)_([mr])_(\d+)_(\d+), Status : FAILED')
REFUSED = re.compile(r'Error Launching job : (?:[\w.]+Exception: )?(.*)', re.DOTALL)
NOISE = re.compile(r'\s*(Streaming Command Failed|No counters found|Running step)')
JOB = re.compile(r'\bapplication_(\d+_\d+)')
NO_ANSWER = OSError, ValueError, KeyError, TypeError, AttributeError  # of a server that says nothing, or other JSON


class HadoopProgress(LogLines):
    """Listen to mrjob's log while a stage runs, and tell the user how far it is. progress : of the stage."""

    def __init__(self, progress: Stage) -> None:
        super().__init__(progress.reporter)
        self.progress = progress
        self.job = self.status = self.reason = ''

    @contextmanager
    def listening(self, name: str = 'mr_elm') -> Iterator[None]:
        """Look now and then whether the job waits, too."""
        with super().listening(name), repeat(self.tell_reason, LONG_SECONDS):
            yield

    def tell_reason(self) -> None:
        """Say why the job gets no container, once for each reason, where it is no further than at the last call."""
        if self.job and self.status == self.progress.status:
            with suppress(*NO_ANSWER):
                reason = explain_waiting(self.job)
                if reason not in ('', self.reason):
                    self.reason = reason
                    self.say(reason)
        self.status = self.progress.status

    def say(self, text: str) -> None:
        """Print a line about the stage."""
        self.reporter.say(f'{self.progress.name}: {text}')

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line of the log. Raises TaskError where Hadoop refuses the job."""
        text = record.getMessage()
        if not NOISE.match(text):
            self.last = text.partition('\n')[0]
        if match := REFUSED.search(text):
            raise TaskError(f'Hadoop did not take the job: {match[1].splitlines()[0]}')
        if match := JOB.search(text):
            self.job = match[1]
        if match := TRACKING.search(text):
            self.say(f'submitted, waiting for the first task; {match[1]}')
        if match := FAILED.search(text):
            self.tell_failure(*match.groups())
        if match := PERCENT.search(text):
            self.progress.set_status(f'map {match[1]} %, reduce {match[2]} %')

    def tell_failure(self, job: str, kind: str, task: str, attempt: str) -> None:
        """Say that an attempt of a task has failed, and why. Raises TaskError for a bad row, which no attempt mends."""
        name = f'task_{job}_{kind}_{task}'
        path = f'mapreduce/jobs/job_{job}/tasks/{name}/attempts/attempt{name[4:]}_{attempt}'
        cause = ''
        with suppress(*NO_ANSWER):
            answer = ask_manager(f'proxy/application_{job}/ws/v1/{path}')['taskAttempt']  # of the application master
            stderr = read_log(f'http://{history_address()}', answer, 'stderr')
            cause = choose_cause(stderr, '', answer.get('diagnostics', ''))
        if BadRowError.__name__ in cause:
            raise TaskError(cause)
        noun = {'m': 'map', 'r': 'reduce'}[kind]
        self.say(f'{noun} task {int(task)}, attempt {int(attempt) + 1} failed: {cause or "no reason known yet"}')
