"""Find out why a job on Hadoop failed."""

from __future__ import annotations

from typing import Any

from mrjob.step import StepFailedException

from mr_elm.engines.hadoop.history import find_failed_attempt, history_address, read_log
from mr_elm.engines.task_logs import choose_cause, describe_failure, find_split


def explain_step(error: Exception, step: dict[str, Any]) -> str | None:
    """Ask the history server which attempt failed and read its log, while its node or the aggregated log has it.

    step : what mrjob found in the log of the step. Raises OSError, ValueError or KeyError when there is no log.
    """
    if not isinstance(error, StepFailedException) or not step:
        return None
    if 'job_id' not in step:
        problems = [each['hadoop_error']['message'] for each in step.get('errors', ()) if 'hadoop_error' in each]
        if problems:
            return f'Hadoop did not take the job: {problems[-1].splitlines()[0]}'
        return None
    address = history_address()
    if address is None:
        raise KeyError('mapreduce.jobhistory.webapp.address')
    history = f'http://{address}'
    attempt = find_failed_attempt(history, step['job_id'])
    if attempt is None:
        return f'{step["job_id"]} failed, but no attempt of it did; see {history}/jobhistory/job/{step["job_id"]}'
    stderr, syslog = (read_log(history, attempt, name) for name in ('stderr', 'syslog'))
    return describe_failure(
        choose_cause(stderr, syslog, attempt.get('diagnostics', '')),
        attempt['id'],
        attempt['nodeHttpAddress'],
        find_split(syslog),
        f'{history}/ws/v1/history/containerlogs/{attempt["assignedContainerId"]}/stderr',
    )
