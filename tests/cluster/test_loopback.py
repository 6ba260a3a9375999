"""Nobody else can reach the cluster, and nothing of it stays."""
import contextlib
import glob
import os
import socket
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
                    Path(os.readlink(entry / 'cwd')).is_relative_to(cluster.state)):
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


def addresses(entries):
    """Return the addresses on which processes listen: (address as /proc writes it, port)."""
    inodes = set()
    for entry in entries:
        for link in glob.glob(f'{entry}/fd/*'):
            with contextlib.suppress(OSError):  # closed, or the process is gone
                inodes.add(os.readlink(link))
    found = set()
    for table in ('/proc/net/tcp', '/proc/net/tcp6'):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == LISTENS and f'socket:[{rest[5]}]' in inodes:
                address, _, port = local.partition(':')
                found.add((address, int(port, 16)))
    return found


@pytest.mark.skipif(not Path('/proc/net/tcp').exists(), reason='nobody says who listens where')
def test_every_port_is_on_loopback_and_down_leaves_nothing(cluster, rows, tmp_path):
    with cluster.started('train', 'pesvm', rows, '--model', tmp_path / 'm.npz') as process:
        assert any('application_' in line for line in process.stderr)
        cluster.until(lambda: [entry for entry in processes(cluster) if 'YarnChild' in command(entry)])
        listening = addresses(processes(cluster))
        process.kill()
    try:
        assert {port for _, port in listening} >= {cluster.port + 1, cluster.port + 14}
        assert {address for address, _ in listening} <= LOOPBACK
        cluster.manage('down')
        assert processes(cluster) == []
        for _, port in listening:
            with socket.socket() as probe:
                assert probe.connect_ex(('127.0.0.1', port))
    finally:
        cluster.up()
