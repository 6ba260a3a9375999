"""Find out why a step of EMR failed, from the logs that EMR copies to S3 every few minutes.

LogUri/j-CLUSTER/steps/s-STEP/{syslog,stderr}.gz                              what the client of the job said
LogUri/j-CLUSTER/containers/application_A/container_C/{stderr,syslog}.gz      what a task said
"""

import gzip
import logging
import re
import time
from typing import Any

from botocore.exceptions import ClientError
from mrjob.step import StepFailedException

from mr_elm.engines.mrjob_private import last_emr_step, log_folder, options_of, parse_step_log
from mr_elm.engines.task_logs import describe_failure, find_cause, find_split
from mr_elm.rows.storage import store_of

ENDED = ('TERMINATING', 'TERMINATED', 'TERMINATED_WITH_ERRORS')
LOG_SECONDS = 600  # seconds after which EMR has surely copied its logs
MASTER = re.compile(r'container_\w+_0*1$')  # the application master is the first container of an application
STARTED = re.compile(r'\[(attempt_\w+)\] using containerId: \[(container_\w+) on NM: \[([^:\]]+)')
log = logging.getLogger('mrjob.mr_elm')  # EMRProgress listens


def explain_emr(error: BaseException, running: Any) -> str | None:
    """Tell why a step failed: wait until its logs are on S3, or until the user has waited enough (Ctrl-C)."""
    if isinstance(error, ClientError):
        return f'AWS refused {error.operation_name}: {error.response["Error"].get("Message", error)}'
    step = last_emr_step(running)
    if not isinstance(error, StepFailedException) or step is None:
        return None
    cluster = running.get_cluster_id()
    folder = log_folder(running)
    client = running.make_emr_client()
    status = client.describe_cluster(ClusterId=cluster)['Cluster']['Status']
    if status['State'] in ENDED:  # as where Amazon takes spot machines back
        return f'cluster {cluster} ended before its step{find_reason(status)}'
    status = client.describe_step(ClusterId=cluster, StepId=step)['Step']['Status']
    cause = None
    if folder and status['State'] != 'CANCELLED':
        cause = wait_for_cause(folder.rstrip('/'), step, options_of(running)['check_cluster_every'])
    return cause or f'step {step} of cluster {cluster} is {status["State"].lower()}{find_reason(status)}'


def find_reason(status: dict[str, Any]) -> str:
    """Return why a cluster or a step has ended, as the end of a sentence. status : as EMR describes it."""
    reason = status.get('FailureDetails', {}).get('Reason') or status.get('StateChangeReason', {}).get('Message')
    if reason:
        return f': {reason}'
    return ''


def wait_for_cause(folder: str, step: str, interval: float) -> str | None:
    """Return what the logs say, as soon as they do; None when they never do."""
    end = time.monotonic() + LOG_SECONDS
    try:
        while (cause := find_cause_of_step(folder, step)) is None and time.monotonic() < end:
            log.info('Waiting up to %.0f s for logs (Ctrl-C: go without)', end - time.monotonic())
            time.sleep(interval)
    except KeyboardInterrupt:
        return None
    return cause


def find_cause_of_step(folder: str, step: str) -> str | None:
    """Return what the logs say of a failure; None while they do not."""
    facts = parse_step_log(read_log(f'{folder}/steps/{step}/syslog').splitlines())
    errors = facts.get('errors', [])
    if 'application_id' in facts:
        return cause_of_task(f'{folder}/containers/{facts["application_id"]}', errors)
    launch = [line for line in read_log(f'{folder}/steps/{step}/stderr').splitlines() if 'Exception' in line]
    if launch:
        return f'Hadoop did not take the job: {launch[0]}'
    return None


def cause_of_task(folder: str, errors: list[dict[str, Any]]) -> str | None:
    """Return why a task failed: by its traceback, or by Hadoop's words when it left none; None while no log tells."""
    store = store_of(folder)
    containers = sorted(entry.name for entry in store.entries(folder) if entry.is_folder)
    started = {}
    for name in filter(MASTER.match, containers):
        for attempt, container, host in STARTED.findall(read_log(f'{folder}/{name}/syslog')):
            started[container] = (attempt, host)
    for name in containers:
        if cause := find_cause(read_log(f'{folder}/{name}/stderr')):
            return describe(cause, folder, name, started)
    words = {error.get('attempt_id'): error['hadoop_error']['message'].split('\n')[0] for error in errors}
    for name, (attempt, _) in started.items():
        if attempt in words and name in containers:
            return describe(words[attempt], folder, name, started)
    return None


def describe(cause: str, folder: str, name: str, started: dict[str, tuple[str, str]]) -> str:
    """Say what failed where; attempt and host are known from the log of the application master."""
    attempt, host = started.get(name, (name, 'a node'))
    split = find_split(read_log(f'{folder}/{name}/syslog'))
    return describe_failure(cause, attempt, host, split, f'{folder}/{name}/stderr.gz')


def read_log(path: str) -> str:
    """Return the text of a log, compressed or not; empty when there is none."""
    store = store_of(path)
    for name, plain in ((f'{path}.gz', gzip.decompress), (path, bytes)):
        if store.find(name):
            with store.open(name) as stream:
                return plain(stream.read()).decode('utf-8', 'replace')
    return ''
