"""Tell which processes run, read their times from /proc, and end this one by signals as by an interrupt.

Schedulers and `timeout` send SIGTERM, a terminal that closes sends SIGHUP. What a command has started ends with it.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def is_running(pid: int) -> bool:
    """Tell whether there is a process of a number, whoever's it is."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def read_start_time(pid: int) -> int | None:
    """Return when a process started, in ticks since the system did; None when it does not run or there is no /proc."""
    fields = read_fields(pid)
    if fields is None or fields[0] == 'Z':
        return None
    return int(fields[19])


def read_cpu_time(pid: int) -> int | None:
    """Return the processor time of a process in ticks; None when it does not run or there is no /proc."""
    fields = read_fields(pid)
    if fields is None:
        return None
    return int(fields[11]) + int(fields[12])


def read_fields(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the state on; None when there are none."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stream:
            return stream.read().rpartition(')')[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


class Terminated(KeyboardInterrupt):
    """Tell of a signal, by its number; who cleans up behind an interrupt does so behind this."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated where SIGTERM or SIGHUP finds the command inside; only a main thread receives signals.

    What is ignored, as nohup does it with SIGHUP, stays so. A process that this one has forked meanwhile, as mrjob's
    local runner does, ends at once with those it has started.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    owner = os.getpid()

    def terminate(number: int, frame: object) -> None:
        if os.getpid() == owner:
            signal.signal(number, signal.SIG_IGN)  # shell and system both send SIGHUP: the second finds us cleaning up
            raise Terminated(number)
        for path in Path('/proc/self/task').glob('*/children'):
            for child in path.read_text().split():
                os.kill(int(child), number)
        os._exit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, terminate)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is terminate:  # not behind a first signal: the command ends
                signal.signal(number, handler)
