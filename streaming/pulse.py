"""Tell Hadoop that a task is alive while it computes: one that says nothing for mapreduce.task.timeout is killed."""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager

from mr_elm.processes import read_cpu_time

LONGEST = 60.0  # seconds between two signs of life
PER_TIMEOUT = 4  # signs of life within the time that Hadoop waits for one
SIGN = b'reporter:status:computing\n'


@contextmanager
def report_alive() -> Iterator[None]:
    """Report every few seconds from a second process, as long as this one uses processor time.

    A thread would not do: compiled code keeps Python's lock for as long as it runs. A task that hangs uses no
    processor time and stays silent, so that Hadoop still ends it.
    """
    interval = choose_interval()
    if interval is None:
        yield
        return
    parent = os.getpid()
    watched, done = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(done)
            watch(parent, watched, interval)
        finally:
            os._exit(0)
    os.close(watched)
    try:
        yield
    finally:
        os.close(done)
        os.waitpid(child, 0)


def choose_interval() -> float | None:
    """Return the seconds between two signs of life; None outside of Hadoop, and where it waits for ever."""
    timeout = os.environ.get('mapreduce_task_timeout', '0')
    if timeout.isdigit() and int(timeout):
        return min(LONGEST, int(timeout) / 1000 / PER_TIMEOUT)
    return None


def watch(parent: int, ended: int, interval: float) -> None:
    """Report while `parent` computes, until the pipe `ended` is closed."""
    for stream in (0, 1):  # held open, they would keep Hadoop waiting for the task's last line
        os.close(stream)
    before = read_cpu_time(parent)
    while not select.select([ended], [], [], interval)[0]:
        now = read_cpu_time(parent)
        if now is None:
            return
        if now != before:
            os.write(2, SIGN)
        before = now
