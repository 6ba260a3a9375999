"""Nobody else can reach the cluster, and nothing of it stays."""

import contextlib
import glob
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

LOOPBACK = {'0100007F', '0000000000000000FFFF00000100007F', '00000000000000000000000001000000'}
LISTENS = '0A'


def processes(cluster):
    """List the processes of the cluster: daemons, and what runs in containers."""
    found = []
    for entry in Path('/proc').glob('[0-9]*'):
        try:
            ours = str(cluster.state) in command(entry)
            if (ours and 'java' in os.readlink(entry / 'exe')) or (
                Path(os.readlink(entry / 'cwd')).is_relative_to(cluster.state)
            ):
                found.append(entry)
        except OSError:
            continue  # it is gone, or a zombie
    return found


def command(entry):
    """Return the command line of a process, empty when it is gone."""
    try:
        return (entry / 'cmdline').read_text(errors='replace')
    except OSError:
        return ''


def sockets(entries):
    """Return the names of the sockets that processes have open, such as 'socket:[4711]'."""
    found = set()
    for entry in entries:
        for link in glob.glob(f'{entry}/fd/*'):
            with contextlib.suppress(OSError):  # closed, or the process is gone
                found.add(os.readlink(link))
    return found


def listening():
    """Return the listening sockets of this machine: name to (address as /proc writes it, port)."""
    found = {}
    for table in ('/proc/net/tcp', '/proc/net/tcp6'):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == LISTENS:
                address, _, port = local.partition(':')
                found[f'socket:[{rest[5]}]'] = (address, int(port, 16))
    return found


@pytest.mark.skipif(not Path('/proc/net/tcp').exists(), reason='/proc is missing: run this test on Linux')
def test_every_port_is_on_loopback_and_down_leaves_nothing(cluster, rows, tmp_path):
    with cluster.started('train', 'pesvm', rows, '--model', tmp_path / 'm.npz') as process:
        assert any('application_' in line for line in process.stderr)
        cluster.until(lambda: [entry for entry in processes(cluster) if 'YarnChild' in command(entry)])
        ours = sockets(processes(cluster))
        bound = {name: place for name, place in listening().items() if name in ours}
        process.kill()
    try:
        assert {port for _, port in bound.values()} >= {cluster.port + 1, cluster.port + 14}
        assert {address for address, _ in bound.values()} <= LOOPBACK
        cluster.manage('down')
        # Gone too is the client that the killed driver has left.
        cluster.until(lambda: not processes(cluster), seconds=10)
        # By socket, not by port: another program may be given a port as soon as it is free. And the system
        # lets a process's sockets go a little later than its name.
        cluster.until(lambda: bound.keys().isdisjoint(listening()), seconds=10)
    finally:
        cluster.up()
