"""Follow a job on Hadoop by what its client logs and what its application master counts."""

from __future__ import annotations

import logging
import re
import time
from typing import Any

from mr_elm.engines.hadoop.history import history_address, read_log
from mr_elm.engines.hadoop.yarn import get_json, manager_address, read_counters
from mr_elm.engines.task_logs import find_cause
from mr_elm.errors import BadRowError, TaskError
from mr_elm.progress import Reporter, describe_time
from mr_elm.rows.hdfs import find_home, read_configuration

PERCENT = re.compile(r'\bmap (\d+)% reduce (\d+)%')
TRACKING = re.compile(r'The url to track the job: (\S+)')
FAILED = re.compile(r'Task Id : attempt_(\d+_\d+)_([mr])_(\d+)_(\d+), Status : FAILED')
JOB = re.compile(r'\b(job_\d+_\d+)\b')
POLL_SECONDS = 5.0  # seconds between two lines
MASTER_TIMEOUT = 2  # seconds, for which the user hears nothing else


class HadoopProgress(logging.Handler):
    """Listen to mrjob's log while a stage runs, and tell the user how far it is.

    reporter : Reporter. stage : the name of the stage.
    """

    def __init__(self, reporter: Reporter, stage: str) -> None:
        super().__init__(logging.INFO)
        self.reporter, self.stage = reporter, stage
        self.job: str | None = None
        self.start = self.spoke = time.monotonic()
        self.all_mapped: tuple[float, int] | None = None  # when the last map ended, and what was reduced by then

    def __enter__(self) -> HadoopProgress:
        self.logger = logging.getLogger('mrjob')
        self.level = self.logger.level
        self.logger.setLevel(logging.INFO)
        self.logger.addHandler(self)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.logger.removeHandler(self)
        self.logger.setLevel(self.level)

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line of the log."""
        text = record.getMessage()
        if match := TRACKING.search(text):
            self.reporter.say(f'{self.stage}: submitted, waiting for the first task; {match.group(1)}')
        if match := JOB.search(text):
            self.job = match.group(1)
        if match := FAILED.search(text):
            self.tell_failure(*match.groups())
        match = PERCENT.search(text)
        if match and time.monotonic() - self.spoke >= POLL_SECONDS:
            self.spoke = time.monotonic()
            self.reporter.say(f'{self.stage}: {self.describe(*map(int, match.groups()))}')

    def tell_failure(self, job: str, kind: str, task: str, attempt: str) -> None:
        """Say that an attempt of a task has failed, and why. Raises TaskError for a bad row, which no attempt mends."""
        name = f'task_{job}_{kind}_{task}'
        cause = find_cause(read_attempt_log(job, name, f'attempt{name[4:]}_{attempt}')) or 'no reason known yet'
        if BadRowError.__name__ in cause:
            raise TaskError(cause)
        kinds = {'m': 'map', 'r': 'reduce'}
        self.reporter.say(f'{self.stage}: {kinds[kind]} task {int(task)}, attempt {int(attempt) + 1} failed: {cause}')

    def describe(self, mapped: int, reduced: int) -> str:
        """Say how far the job is, and how long it may still take."""
        parts = [f'map {mapped} %, reduce {reduced} %']
        if rows := rows_so_far(self.job):
            parts.append(f'{rows:,} rows')
        if (left := self.seconds_left(mapped, reduced)) is not None:
            parts.append(f'about {describe_time(left)} left' + (' to map' if mapped < 100 else ''))
        return ', '.join(parts)

    def seconds_left(self, mapped: int, reduced: int) -> float | None:
        """Return how long the maps may still take, or the reducers when all is mapped; None where nothing tells."""
        now = time.monotonic()
        if mapped < 100:
            if mapped:
                return (now - self.start) * (100 - mapped) / mapped
            return None
        since, before = self.all_mapped = self.all_mapped or (now, reduced)
        if before < reduced < 100:
            return (now - since) * (100 - reduced) / (reduced - before)
        return None


def rows_so_far(job: str | None) -> int | None:
    """Ask the application master how many rows its tasks have counted; None when it does not say."""
    if job is None:
        return None
    try:
        return read_counters(ask_master(job.removeprefix('job_'), 'counters')).get('rows')
    except (OSError, ValueError, KeyError):
        return None


def read_attempt_log(job: str, task: str, attempt: str) -> str:
    """Read the standard error of an attempt of a job that runs; empty where nobody gives it."""
    try:
        answer = ask_master(job, f'tasks/{task}/attempts/{attempt}')
        return read_log(f'http://{history_address()}', answer['taskAttempt'], 'stderr')
    except (OSError, ValueError, KeyError):
        return ''


def ask_master(job: str, question: str) -> Any:
    """Ask the application master of a running job. Raises OSError where it does not answer. job : its number."""
    address = manager_address(read_configuration(find_home()))
    url = f'http://{address}/proxy/application_{job}/ws/v1/mapreduce/jobs/job_{job}/{question}'
    return get_json(url, timeout=MASTER_TIMEOUT)
