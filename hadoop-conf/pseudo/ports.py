"""Ports on loopback: are they free, and if not, who has them."""

import os
import socket
import time
from pathlib import Path

from pseudo.daemons import HOST, Daemon
from pseudo.errors import ClusterError


def is_free(port: int) -> bool:
    """Tell whether a daemon could listen on `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java does
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def demand_free(daemons: list[Daemon]) -> None:
    """Raise ClusterError for the first port of `daemons` that somebody else has."""
    for daemon in daemons:
        for use, port in daemon.ports.items():
            if not is_free(port):
                raise ClusterError(
                    f'Port {port}, wanted for the {use} port of the {daemon.label}, is taken{_by_whom(port)}; '
                    'end that process, or choose other ports with --port-base.'
                )


def wait_free(daemons: list[Daemon], seconds: float) -> list[int]:
    """Wait until every port of `daemons` is free; return those that are not after `seconds`."""
    deadline = time.monotonic() + seconds
    taken = [port for daemon in daemons for port in daemon.ports.values()]
    while (taken := [port for port in taken if not is_free(port)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return taken


def _by_whom(port: int) -> str:
    pid = owner(port)
    if pid is None:
        return ''
    name = Path(f'/proc/{pid}/comm').read_text().strip()
    return f' by process {pid} ({name})'


def owner(port: int) -> int | None:
    """Return the id of the process that listens on `port`, or None where the system does not tell."""
    inodes = _listening_inodes(port)
    for link in Path('/proc').glob('[0-9]*/fd/*') if inodes else ():
        try:
            if os.readlink(link) in inodes:
                return int(link.parts[2])
        except OSError:
            continue  # gone, or not ours to look at
    return None


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in (Path('/proc/net/tcp'), Path('/proc/net/tcp6')):
        if table.exists():
            for line in table.read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == '0A' and int(fields[1].rpartition(':')[2], 16) == port:
                    inodes.add(f'socket:[{fields[9]}]')
    return inodes
