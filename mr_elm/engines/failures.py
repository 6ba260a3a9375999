"""Find out why a task failed and say it in one sentence: the exception, the task, the host, the split, the log."""
import json
import os
import re
import socket
import urllib.error
import urllib.request
from importlib import import_module

from mrjob.step import StepFailedException

from mr_elm.engines.hadoop.yarn import get_json
from mr_elm.files.hadoop import find_home, read_configuration

TIMEOUT = 10
SPLIT = re.compile(r'Processing split: (.*:\d+\+\d+)')
JAVA_LINE = re.compile(r'^[\w.$]+(?:Exception|Error): .*', re.MULTILINE)
UNWRITTEN = 'failed with code 120'  # Python's: nobody read what it wrote
TRACEBACK = 'Traceback (most recent call last):'
LAST_LINE = re.compile(r'^(?!\s)[\w.]+(?:Error|Exception|Interrupt|Exit|Warning)?\b.*$', re.MULTILINE)


class TaskError(RuntimeError):
    """Say that a task of a job failed, and why."""


def explain(error, running, job_class):
    """Return the TaskError that tells why a job failed; `error` itself when nothing more can be found out.

    running : the runner of mrjob. job_class : names the job.
    """
    finders = {'inline': explain_inline, 'local': explain_local, 'hadoop': explain_hadoop, 'emr': explain_emr}
    find = finders.get(running.alias)
    try:
        text = find(error, running) if find else None
    except (OSError, ValueError, KeyError) as problem:
        text = f'{error} (its logs cannot be read: {problem})'
    return error if text is None else TaskError(f'{job_class.__name__}: {text}')


def explain_emr(error, running):
    """Read the logs that EMR keeps on S3; they need boto3, which others do not wait for."""
    return import_module('mr_elm.engines.emr.failures').explain_emr(error, running)


def explain_inline(error, running):
    """Tell which task of this process failed, and on which split."""
    path = running._error_while_reading_from
    if path is None:
        return None
    kind, task = path.split(os.sep)[-3:-1]
    cause = f'{type(error).__name__}: {error}'
    return sentence(cause, f'{kind} {int(task)}', socket.gethostname(), split_of(path), None)


def explain_local(error, running):
    """Read what a failed process left behind."""
    if not hasattr(error, 'task_type'):
        return None
    place = (error.task_type, error.step_num, error.task_num)
    log = running._task_stderr_path(*place)
    with open(log, errors='replace') as stream:
        cause = cause_in(stream.read())
    return sentence(cause or str(error.reason), f'{error.task_type} {error.task_num}', socket.gethostname(),
                    split_of(running._task_input_path(*place)), log)


def split_of(path):
    """Name the splits that the input of a task of the embedded runners lists."""
    with open(path, 'rb') as stream:
        line = stream.readline(1 << 16)
    try:
        return ', '.join(f'file {number} from byte {start}' for number, start, _ in json.loads(line))
    except (ValueError, TypeError):
        return None


def explain_hadoop(error, running):
    """Ask the history server which attempt failed and read its log, while its node or the aggregated log has it."""
    if not isinstance(error, StepFailedException) or not running._log_interpretations:
        return None
    step = running._log_interpretations[-1].get('step', {})
    if 'job_id' not in step:
        problems = [found['hadoop_error']['message'] for found in step.get('errors', ()) if 'hadoop_error' in found]
        return f'Hadoop did not take the job: {problems[-1].splitlines()[0]}' if problems else None
    history = f'http://{read_configuration(find_home())["mapreduce.jobhistory.webapp.address"]}'
    attempt = first_failed(history, step['job_id'])
    if attempt is None:
        return f'{step["job_id"]} failed, but no attempt of it did; see {history}/jobhistory/job/{step["job_id"]}'
    logs = {name: read_log(history, attempt, name) for name in ('stderr', 'syslog')}
    split = SPLIT.search(logs['syslog'] or '')
    cause = cause_of(logs['stderr'] or '', logs['syslog'] or '', attempt.get('diagnostics', ''))
    return sentence(cause, attempt['id'], attempt['nodeHttpAddress'], split and split.group(1),
                    f'{history}/ws/v1/history/containerlogs/{attempt["assignedContainerId"]}/stderr')


def cause_of(stderr, syslog, diagnostics):
    """Return why a task failed: the exception of Python or, when nobody took what the task wrote, that of Hadoop."""
    raised, diagnosis = cause_in(stderr), diagnostics.strip().split('\n')[0]
    if (raised or '').startswith('BrokenPipeError') or (raised or diagnosis).endswith(UNWRITTEN):
        return java_cause(syslog) or diagnosis or raised
    return raised or diagnosis


def java_cause(log):
    """Return the first exception in a log of Hadoop that is not Streaming's own, or None."""
    return next((line for line in JAVA_LINE.findall(log) if 'PipeMapRed' not in line), None)


def first_failed(history, job):
    """Return the first failed attempt of a job, or None."""
    base = f'{history}/ws/v1/history/mapreduce/jobs/{job}/tasks'
    for task in (get_json(base)['tasks'] or {}).get('task', ()):
        if task['state'] == 'FAILED':
            attempts = (get_json(f'{base}/{task["id"]}/attempts')['taskAttempts'] or {}).get('taskAttempt', ())
            for attempt in attempts:
                if attempt['state'] == 'FAILED':
                    return attempt
    return None


def read_log(history, attempt, name):
    """Read a log of an attempt from its node, or from the aggregated logs; None when neither has it."""
    container = attempt['assignedContainerId']
    for address in (f'http://{attempt["nodeHttpAddress"]}/ws/v1/node/containerlogs/{container}/{name}',
                    f'{history}/ws/v1/history/containerlogs/{container}/{name}'):
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
                return answer.read().decode('utf-8', 'replace')
        except (urllib.error.URLError, OSError):
            continue
    return None


def cause_in(log):
    """Return the last line of the last Python traceback in a log, or None."""
    head, found, tail = log.rpartition(TRACEBACK)
    if not found:
        return None
    lines = [line for line in tail.splitlines() if LAST_LINE.match(line)]
    return lines[0] if lines else None


def sentence(cause, task, host, split, log):
    """Put what is known into one sentence."""
    where = f'task {task} on {host}' + (f', split {split}' if split else '')
    return f'{cause} ({where}' + (f'; its log: {log})' if log else ')')
