"""Tell which processes run, and read their times from /proc."""

import os


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
