"""Find in the logs of a failed task why it failed, and say it in one sentence."""

import re

SPLIT = re.compile(r'Processing split: (.*:\d+\+\d+)')
JAVA_LINE = re.compile(r'^[\w.$]+(?:Exception|Error)(?:: .*|$)', re.MULTILINE)
UNWRITTEN = 'failed with code 120'  # Python's: nobody read what it wrote
EXIT_CODE = re.compile(r'subprocess failed with code (\d+)$')
MEANINGS = {  # of the exit codes of a task
    '127': 'the node has no program of this name, see --python',
    '137': 'the system killed it, perhaps because memory ran out',
    '143': 'Hadoop killed it, perhaps because memory ran out',
}
TRACEBACK = 'Traceback (most recent call last):'
LAST_LINE = re.compile(r'^(?!\s)[\w.]+(?:Error|Exception|Interrupt|Exit|Warning)?\b.*$', re.MULTILINE)


def find_cause(log: str) -> str | None:
    """Return the last line of the last Python traceback in a log, or None."""
    _, separator, tail = log.rpartition(TRACEBACK)
    if separator:
        return next((line for line in tail.splitlines() if LAST_LINE.match(line)), None)
    return None


def choose_cause(stderr: str, syslog: str, diagnostics: str) -> str:
    """Return why a task failed: the exception of Python or, when nobody took what the task wrote, that of Hadoop."""
    raised = find_cause(stderr)
    diagnosis = diagnostics.strip().split('\n')[0]
    if (raised or '').startswith('BrokenPipeError') or (raised or diagnosis).endswith(UNWRITTEN):
        return find_java_cause(syslog) or diagnosis or raised or ''
    if raised:
        return raised
    code = EXIT_CODE.search(diagnosis)
    if code and code[1] in MEANINGS:
        return f'{diagnosis}: {MEANINGS[code[1]]}'
    return diagnosis


def find_java_cause(log: str) -> str | None:
    """Return the first exception in a log of Hadoop that is not Streaming's own, or None."""
    return next((line for line in JAVA_LINE.findall(log) if 'PipeMapRed' not in line), None)


def find_split(log: str) -> str | None:
    """Return the split that a task's log names, or None."""
    match = SPLIT.search(log)
    if match:
        return match.group(1)
    return None


def describe_failure(cause: str, task: str, host: str, split: str | None, log: str | None) -> str:
    """Put what is known of a failure into one sentence."""
    where = f'task {task} on {host}' + (f', split {split}' if split else '')
    return f'{cause} ({where}' + (f'; its log: {log})' if log else ')')
