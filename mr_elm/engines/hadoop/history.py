"""Ask the history server of Hadoop about jobs that have ended."""

from __future__ import annotations

import urllib.request
from typing import Any

from mr_elm.engines.hadoop.yarn import TIMEOUT, get_json
from mr_elm.rows.hdfs import find_home, read_configuration


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
