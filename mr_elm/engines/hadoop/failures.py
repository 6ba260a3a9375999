"""Find out why a job on Hadoop failed: ask its history server, and read the logs of its tasks."""

from __future__ import annotations

import urllib.request
from typing import Any

from mrjob.step import StepFailedException

from mr_elm.engines.hadoop.yarn import TIMEOUT, get_json
from mr_elm.engines.task_logs import choose_cause, describe_failure, find_split
from mr_elm.rows.hdfs import find_home, read_configuration


def explain_step(error: Exception, step: dict[str, Any]) -> str | None:
    """Ask the history server which attempt failed and read its log, while its node or the aggregated log has it.

    step : what mrjob found in the log of the step. Raises OSError, ValueError or KeyError when there is no log.
    """
    if not isinstance(error, StepFailedException) or 'job_id' not in step:
        return None
    address = history_address()
    if address is None:
        raise KeyError('mapreduce.jobhistory.webapp.address')
    history = f'http://{address}'
    attempt = find_failed_attempt(history, step['job_id'])
    if attempt is None:
        job = get_json(f'{history}/ws/v1/history/mapreduce/jobs/{step["job_id"]}')['job']
        reason = job.get('diagnostics', '').partition('\n')[0]
        return f'{step["job_id"]} failed: {reason} (see {history}/jobhistory/job/{step["job_id"]})'
    stderr, syslog = (read_log(history, attempt, name) for name in ('stderr', 'syslog'))
    return describe_failure(
        choose_cause(stderr, syslog, attempt.get('diagnostics', '')),
        attempt['id'],
        attempt['nodeHttpAddress'],
        find_split(syslog),
        f'{history}/ws/v1/history/containerlogs/{attempt["assignedContainerId"]}/stderr',
    )


def history_address() -> str | None:
    """Return host:port of the history server, as Hadoop's configuration names it, or None."""
    return read_configuration(find_home()).get('mapreduce.jobhistory.webapp.address')


def find_failed_attempt(history: str, job: str) -> dict[str, Any] | None:
    """Return the first failed attempt of a job, or None."""
    base = f'{history}/ws/v1/history/mapreduce/jobs/{job}/tasks'
    for task in (get_json(base)['tasks'] or {}).get('task', ()):
        if task['state'] == 'FAILED':
            for attempt in (get_json(f'{base}/{task["id"]}/attempts')['taskAttempts'] or {}).get('taskAttempt', ()):
                if attempt['state'] == 'FAILED':
                    return attempt
    return None


def read_log(history: str, attempt: dict[str, Any], name: str) -> str:
    """Read a log of an attempt from its node, or from the aggregated logs; empty when neither has it."""
    container = attempt['assignedContainerId']
    for address in (
        f'http://{attempt["nodeHttpAddress"]}/ws/v1/node/containerlogs/{container}/{name}',
        f'{history}/ws/v1/history/containerlogs/{container}/{name}',
    ):
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
                return answer.read().decode('utf-8', 'replace')
        except OSError:
            continue
    return ''
