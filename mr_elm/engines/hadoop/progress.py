"""Follow a job on Hadoop by what its client logs."""

from __future__ import annotations

import logging
import re
from typing import Any

from mr_elm.engines.hadoop.failures import history_address, read_log
from mr_elm.engines.hadoop.yarn import get_json, manager_address
from mr_elm.engines.task_logs import choose_cause
from mr_elm.errors import BadRowError, TaskError
from mr_elm.progress import LogLines, Stage
from mr_elm.rows.hdfs import find_home, read_configuration

PERCENT = re.compile(r'\bmap (\d+)% reduce (\d+)%')
TRACKING = re.compile(r'The url to track the job: (\S+)')
FAILED = re.compile(r'Task Id : attempt_(\d+_\d+)_([mr])_(\d+)_(\d+), Status : FAILED')
REFUSED = re.compile(r'Error Launching job : (?:[\w.]+Exception: )?(.*)', re.DOTALL)
NOISE = re.compile(r'\s*(Streaming Command Failed|No counters found|Running step)')
MASTER_TIMEOUT = 2  # seconds, for which the user hears nothing else


class HadoopProgress(LogLines):
    """Listen to mrjob's log while a stage runs, and tell the user how far it is. progress : of the stage."""

    def __init__(self, progress: Stage) -> None:
        super().__init__(progress.reporter)
        self.progress = progress

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
        if match := TRACKING.search(text):
            self.say(f'submitted, waiting for the first task; {match[1]}')
        if match := FAILED.search(text):
            self.tell_failure(*match.groups())
        if match := PERCENT.search(text):
            self.progress.set_status(f'map {match[1]} %, reduce {match[2]} %')

    def tell_failure(self, job: str, kind: str, task: str, attempt: str) -> None:
        """Say that an attempt of a task has failed, and why. Raises TaskError for a bad row, which no attempt mends."""
        name = f'task_{job}_{kind}_{task}'
        cause = explain_attempt(job, name, f'attempt{name[4:]}_{attempt}') or 'no reason known yet'
        if BadRowError.__name__ in cause:
            raise TaskError(cause)
        noun = {'m': 'map', 'r': 'reduce'}[kind]
        self.say(f'{noun} task {int(task)}, attempt {int(attempt) + 1} failed: {cause}')


def explain_attempt(job: str, task: str, attempt: str) -> str:
    """Return why an attempt of a job that runs has failed; empty where nobody knows."""
    try:
        answer = ask_master(job, f'tasks/{task}/attempts/{attempt}')['taskAttempt']
        stderr = read_log(f'http://{history_address()}', answer, 'stderr')
    except (OSError, ValueError, KeyError):
        return ''
    return choose_cause(stderr, '', answer.get('diagnostics', ''))


def ask_master(job: str, question: str) -> Any:
    """Ask the application master of a running job. Raises OSError where it does not answer. job : its number."""
    address = manager_address(read_configuration(find_home()))
    url = f'http://{address}/proxy/application_{job}/ws/v1/mapreduce/jobs/job_{job}/{question}'
    return get_json(url, timeout=MASTER_TIMEOUT)
