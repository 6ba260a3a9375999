"""Processes of this cluster: found by pid file and command line, started, ended."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from pseudo.daemons import Daemon, command, marker
from pseudo.errors import ClusterError
from pseudo.folders import Folders
from pseudo.settings import ClusterSettings

GONE_SECONDS = 10.0  # within which a killed process vanishes


def find(daemon: Daemon, folders: Folders) -> int | None:
    """Return the process id of `daemon`, or None when it does not run."""
    try:
        pid = int((folders.pids / f'{daemon.name}.pid').read_text())
    except (OSError, ValueError):
        return None
    return pid if marker(daemon, folders) in _arguments(pid) else None


def start(daemon: Daemon, folders: Folders, settings: ClusterSettings, java: Path) -> None:
    """Start `daemon` in a session of its own and note its process id; its last log becomes NAME.log.old."""
    log = folders.logs / f'{daemon.name}.log'
    if log.exists():
        log.replace(log.with_suffix('.log.old'))
    with open(folders.logs / f'{daemon.name}.out', 'w') as out:
        process = subprocess.Popen(
            command(daemon, folders, settings, java),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=folders.state,
            env=_environment(folders, java),
            start_new_session=True,
        )
    (folders.pids / f'{daemon.name}.pid').write_text(f'{process.pid}\n')
    # For a moment after its start a process has no command line to be known by.
    while not find(daemon, folders) and process.poll() is None:
        time.sleep(0.01)


def run(words: list[str], folders: Folders, java: Path, log: str, seconds: float | None = None) -> None:
    """Run a command of Hadoop to its end, for at most some seconds; its output goes to the file `log`."""
    with open(folders.logs / log, 'w') as out:
        try:
            subprocess.run(
                words,
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=folders.state,
                env=_environment(folders, java),
                timeout=seconds,
            )
        except subprocess.SubprocessError:
            raise ClusterError(f'A command of Hadoop failed; see {folders.logs / log}.') from None


def stop(daemons: list[Daemon], folders: Folders, seconds: float = 10) -> None:
    """End `daemons`: ask, wait up to `seconds`, then insist."""
    running = {daemon: pid for daemon in daemons if (pid := find(daemon, folders))}
    for ask in (signal.SIGTERM, signal.SIGKILL):
        for pid in running.values():
            send(pid, ask)
        running = _wait_gone(running, folders, seconds)
    for daemon in daemons:
        (folders.pids / f'{daemon.name}.pid').unlink(missing_ok=True)


def _wait_gone(running: dict[Daemon, int], folders: Folders, seconds: float) -> dict[Daemon, int]:
    deadline = time.monotonic() + seconds
    while running and time.monotonic() < deadline:
        time.sleep(0.05)
        running = {daemon: pid for daemon, pid in running.items() if find(daemon, folders) == pid}
    return running


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def end_containers(folder: Path) -> int:
    """Kill what runs inside `folder`, the work folder of a NodeManager, until it is gone; return how many that were.

    A NodeManager that is stopped ends its containers itself; one that was killed leaves them behind.
    """
    ended: set[int] = set()
    deadline = time.monotonic() + GONE_SECONDS
    while (found := [pid for pid in _all_pids() if _works_in(pid, folder)]) and time.monotonic() < deadline:
        for pid in found:
            send(pid, signal.SIGKILL)
        ended.update(found)
        time.sleep(0.05)
    return len(ended)


def end_clients(folders: Folders) -> None:
    """Kill the clients of a cluster that has stopped: they would go on asking for it, for up to 15 minutes."""
    for pid in _all_pids():
        words = _arguments(pid)
        if words and Path(words[0]).name == 'java' and any(f'{folders.home}/' in word for word in words):
            send(pid, signal.SIGKILL)


def _works_in(pid: int, folder: Path) -> bool:
    try:
        return Path(os.readlink(f'/proc/{pid}/cwd')).is_relative_to(folder.resolve())
    except OSError:
        return any(str(folder) in word for word in _arguments(pid))


def _all_pids() -> list[int]:
    if Path('/proc/self').exists():
        return [int(entry.name) for entry in Path('/proc').iterdir() if entry.name.isdigit()]
    return [int(word) for word in subprocess.run(['ps', '-Ao', 'pid='], capture_output=True).stdout.split()]


def _arguments(pid: int) -> list[str]:
    """Return the command line of a process as a list, empty when it is gone or a zombie."""
    try:
        return Path(f'/proc/{pid}/cmdline').read_bytes().decode(errors='surrogateescape').split('\0')
    except FileNotFoundError:
        if Path('/proc/self').exists():
            return []
    shown = subprocess.run(['ps', '-ww', '-o', 'command=', '-p', str(pid)], capture_output=True, text=True).stdout
    return shown.split()


def _environment(folders: Folders, java: Path) -> dict[str, str]:
    """Return the environment of a daemon: the user's, but for what would lead it to another Hadoop."""
    foreign = ('HADOOP_', 'YARN_', 'HDFS_', 'MAPRED_', 'JAVA_', 'JDK_', '_JAVA_')
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    home = str(folders.home)
    return {
        **kept,
        'JAVA_HOME': str(java),
        'HADOOP_HOME': home,
        'HADOOP_COMMON_HOME': home,
        'HADOOP_CONF_DIR': f'{home}/etc/hadoop',
    }
