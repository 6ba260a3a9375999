"""Say in one sentence why a job on Spark failed."""
import re

from mr_elm.engines.task_logs import describe_failure, find_java_cause

RAISED = re.compile(r'StageError: (mapper|reducer) (\d+) on (.+?): (.*)')  # what the task says
LOST = re.compile(r'Lost task (\d+)\.\d+ in stage [\d.]+ \(TID \d+\) \((\S+) executor (\w+)\)')  # what Spark says
WORKER_DIED = 'Python worker exited unexpectedly'
EXECUTOR_LOST = re.compile(r'ExecutorLostFailure \(.*')


def explain_failure(log: str, splits: list[list[list[int]]]) -> str:
    """Return the cause, the task, the split and the executor. log : the exception of Java, with its stack trace.

    splits : those of each map task, as [file number, start, length].
    """
    raised, lost = RAISED.findall(log), LOST.search(log)
    if raised:
        kind, number, place, cause = raised[-1]
        if lost and 'executor' not in place:
            place += f', executor {lost.group(3)}'
        return describe_failure(cause, f'{kind} {number}', place, name_split(kind, int(number), splits), None)
    cause = find_loss(log) or find_java_cause(log) or log.strip().split('\n')[0]
    if not lost:
        return cause
    number, host, executor = lost.groups()
    return describe_failure(cause, number, f'{host}, executor {executor}', None, None)


def find_loss(log: str) -> str | None:
    """Return how a process was lost, or None."""
    if WORKER_DIED in log:
        return 'the process of the task was killed, perhaps because memory ran out'
    found = EXECUTOR_LOST.search(log)
    return found.group() if found else None


def name_split(kind: str, number: int, splits: list[list[list[int]]]) -> str | None:
    """Name the split of a map task."""
    if kind != 'mapper' or number >= len(splits):
        return None
    return ', '.join(f'file {file} from byte {start}' for file, start, _ in splits[number])
