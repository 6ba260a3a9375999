#!/usr/bin/env python3
"""Start, stop and look at a real Hadoop on this machine.

python3 hadoop-conf/cluster.py up [--nodes N] [--vcores N] [--memory MB] [--datanodes N] [--port-base PORT]
                                    [--insecure]
python3 hadoop-conf/cluster.py down | status | env
python3 hadoop-conf/cluster.py kill datanode 2 | start datanode 2
"""

import argparse
import os
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path

from pseudo import daemons, health, install, ports, processes, settings, sharing
from pseudo.daemons import Daemon
from pseudo.errors import ClusterError
from pseudo.folders import Folders, user
from pseudo.settings import ClusterSettings

START_SECONDS = 120
STOP_SECONDS = 10


def say(text: str) -> None:
    """Tell the user on stderr what is going on."""
    print(f'hadoop: {text}', file=sys.stderr, flush=True)


def up(folders: Folders, options: argparse.Namespace) -> int:
    """Start whatever does not run yet, and wait until all of it is live."""
    began = time.monotonic()
    recorded = _recorded(folders) if _running(folders) else None
    chosen = settings.choose(vars(options), os.environ, recorded)
    if recorded and recorded != chosen:
        say('the settings are new ones: stopping first')
        _stop_all(folders)
    missing = [daemon for daemon in daemons.plan(chosen) if not processes.find(daemon, folders)]
    if missing:
        _start(missing, folders, chosen, options.insecure)
    health.wait_live(folders, chosen, START_SECONDS)
    if missing:
        health.make_user_folder(chosen, user())
        java = install.find_java()
        if not sharing.is_fresh(folders, java):
            sharing.make(folders, chosen, java, say)
    folders.register()
    _report_up(folders, chosen, bool(missing), time.monotonic() - began)
    return 0


def _start(missing: list[Daemon], folders: Folders, chosen: ClusterSettings, insecure: bool) -> None:
    java = install.find_java()
    install.demand_loopback(folders, java, insecure, say)
    ports.demand_free(missing)
    folders.prepare()
    install.build_home(folders, java, say)
    if not sharing.is_fresh(folders, java):
        sharing.forget(folders)
    install.write_site_files(folders, daemons.site_values(folders, chosen))
    settings.save(chosen, folders.settings)
    if not (folders.hdfs / 'namenode' / 'current' / 'VERSION').exists():
        _format(folders, java)
    say('starting ' + ', '.join(daemon.label for daemon in missing))
    for daemon in missing:
        processes.start(daemon, folders, chosen, java)


def _format(folders: Folders, java: Path) -> None:
    say('making an empty HDFS')
    for folder in folders.hdfs.iterdir():  # blocks without a NameNode belong to no file
        shutil.rmtree(folder)
    processes.run(daemons.format_command(folders, java), folders, java, 'format.out')


def _report_up(folders: Folders, chosen: ClusterSettings, started: bool, seconds: float) -> None:
    page = {daemon.kind: daemon.web for daemon in daemons.plan(chosen)}
    say(
        f'{"up" if started else "was up already"} ({seconds:.1f} s): {chosen.nodes} NodeManagers, '
        f'{chosen.datanodes} DataNodes'
    )
    say(f'HDFS {page["namenode"]}  YARN {page["resourcemanager"]}  history {page["historyserver"]}')
    if folders.named != folders.state:
        say(f'Hadoop cannot take the name {folders.named}: its files are in {folders.state}')
    say(_export(folders))


def down(folders: Folders, options: argparse.Namespace) -> int:
    """Stop all daemons, whatever their containers left and the clients that wait, and wait for the ports."""
    was_running = _running(folders)
    taken = _stop_all(folders)
    folders.unregister()
    if taken:
        raise ClusterError(f'All is stopped, but port {taken[0]} is still taken.')
    say('down' if was_running else 'was down already')
    return 0


def _stop_all(folders: Folders) -> list[int]:
    running = _running(folders)
    processes.stop(running, folders, STOP_SECONDS)
    for folder in folders.state.glob('nodemanager-*'):
        processes.end_containers(folder)
    processes.end_clients(folders)
    return ports.wait_free(running, STOP_SECONDS)


def status(folders: Folders, options: argparse.Namespace) -> int:
    """Print a table of the daemons; 0 when all are live."""
    recorded = _recorded(folders) or settings.choose({}, os.environ, None)
    rows = health.states(folders, recorded)
    print(f'{"daemon":<16} {"pid":>8}  {"state":<26} web page                other ports')
    for daemon, pid, state in rows:
        others = ' '.join(f'{use}:{port}' for use, port in daemon.ports.items() if use != 'web')
        print(f'{daemon.label:<16} {pid or "-":>8}  {state:<26} {daemon.web:<23} {others}')
    return 0 if all(state == 'live' for _, _, state in rows) else 1


def kill(folders: Folders, options: argparse.Namespace) -> int:
    """End one daemon with kill -9, as when its machine fails."""
    daemon = _named(folders, options)
    pid = processes.find(daemon, folders)
    if pid is None:
        raise ClusterError(f'The {daemon.label} does not run.')
    processes.send(pid, signal.SIGKILL)
    if options.with_containers and daemon.kind == 'nodemanager':
        processes.end_containers(folders.state / daemon.name)
    processes.stop([daemon], folders)
    ports.wait_free([daemon], STOP_SECONDS)
    say(f'killed the {daemon.label} (process {pid})')
    return 0


def start(folders: Folders, options: argparse.Namespace) -> int:
    """Start one daemon that was killed, and wait until it is live."""
    daemon, recorded = _named(folders, options), _demand_recorded(folders)
    if not processes.find(daemon, folders):
        ports.demand_free([daemon])
        processes.start(daemon, folders, recorded, install.find_java())
    health.wait_live(folders, recorded, START_SECONDS, {daemon.name})
    say(f'the {daemon.label} is live')
    return 0


def env(folders: Folders, options: argparse.Namespace) -> int:
    """Print the line that leads a shell, mrjob and mr-elm to this cluster."""
    print(_export(folders))
    return 0


def _export(folders: Folders) -> str:
    return 'export HADOOP_HOME=' + shlex.quote(str(folders.named / 'home'))


def _recorded(folders: Folders) -> ClusterSettings | None:
    return settings.load(folders.settings)


def _demand_recorded(folders: Folders) -> ClusterSettings:
    recorded = _recorded(folders)
    if recorded is None:
        raise ClusterError('There is no cluster yet: run `up` first.')
    return recorded


def _running(folders: Folders) -> list[Daemon]:
    """Return the daemons that run, by the recorded settings."""
    recorded = _recorded(folders)
    return [daemon for daemon in daemons.plan(recorded) if processes.find(daemon, folders)] if recorded else []


def _named(folders: Folders, options: argparse.Namespace) -> Daemon:
    """Return the daemon the user named, such as `datanode 2` or `namenode`."""
    known = {daemon.label: daemon for daemon in daemons.plan(_demand_recorded(folders))}
    wanted = ' '.join([options.kind, *filter(None, [options.number])])
    if wanted not in known:
        raise ClusterError(f'There is no daemon {wanted!r}; there are: {", ".join(known)}.')
    return known[wanted]


def parse(words: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='cluster.py', description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument(
        '--state', metavar='FOLDER', help='where the cluster is kept (default: HADOOP_STATE, else build/hadoop)'
    )
    commands = parser.add_subparsers(dest='command', required=True)
    for action in (up, down, status, kill, start, env):
        command = commands.add_parser(action.__name__, help=action.__doc__, allow_abbrev=False)
        command.set_defaults(action=action)
        if action is up:
            _add_choices(command)
        if action in (kill, start):
            command.add_argument('kind', help='namenode, datanode, resourcemanager, nodemanager or historyserver')
            command.add_argument('number', nargs='?', help='which datanode or nodemanager')
        if action is kill:
            command.add_argument(
                '--with-containers',
                action='store_true',
                help='of a nodemanager: its tasks die with it, as when a machine loses power',
            )
    return parser.parse_args(words)


def _add_choices(command: argparse.ArgumentParser) -> None:
    defaults = settings.ClusterSettings()
    for name, (low, high, meaning) in settings.CHOICES.items():
        command.add_argument(
            '--' + name.replace('_', '-'),
            metavar='N',
            help=(
                f'{meaning}, {low} to {high} (default: {name.upper()}, else those of the running cluster, '
                f'else {getattr(defaults, name)})'
            ),
        )
    command.add_argument(
        '--insecure', action='store_true', help='start also where no JDK is there to keep all ports on 127.0.0.1'
    )


def main(words: list[str] | None = None) -> int:
    """Run one command; 0 done, 1 failed or not all live, 2 wrong usage."""
    options = parse(words)
    folders = Folders(options.state or os.environ.get('HADOOP_STATE'))
    try:
        if options.action in (status, env):
            return options.action(folders, options)
        with folders.lock():
            return options.action(folders, options)
    except ClusterError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say('interrupted; `down` stops what was started')
        return 130


if __name__ == '__main__':
    sys.exit(main())
