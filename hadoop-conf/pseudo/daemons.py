"""The daemons of a cluster: which there are, with which ports, started by which command."""

from dataclasses import dataclass, field
from pathlib import Path

from pseudo.folders import Folders, user
from pseudo.install import AGENT_JAR
from pseudo.settings import AM_MEMORY, TASK_MEMORY, ClusterSettings

HOST = '127.0.0.1'
LOG_SECONDS = 600  # how long a NodeManager keeps the logs of containers after their job
QUICK = (
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '-XX:-UsePerfData',
    '-Djava.net.preferIPv4Stack=true',
    '--add-opens=java.base/java.lang=ALL-UNNAMED',
)

_CLASSES = {
    'namenode': 'org.apache.hadoop.hdfs.server.namenode.NameNode',
    'datanode': 'org.apache.hadoop.hdfs.server.datanode.DataNode',
    'resourcemanager': 'org.apache.hadoop.yarn.server.resourcemanager.ResourceManager',
    'nodemanager': 'org.apache.hadoop.yarn.server.nodemanager.NodeManager',
    'historyserver': 'org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer',
}
# First port after the base, and what each port is for. Workers take as many again for each further one.
_PORTS = {
    'namenode': (0, ('rpc', 'web')),
    'historyserver': (5, ('rpc', 'web', 'admin')),
    'resourcemanager': (10, ('rpc', 'scheduler', 'tracker', 'admin', 'web')),
    'datanode': (20, ('data', 'ipc', 'web')),
    'nodemanager': (100, ('rpc', 'localizer', 'web', 'shuffle')),
}


@dataclass(frozen=True)
class Daemon:
    """One process of the cluster: what it is, which one of its kind, and its ports by use."""

    kind: str
    number: int  # 0 where there is only one
    ports: dict = field(hash=False)

    @property
    def name(self) -> str:
        """Name of the pid file and the log, such as 'datanode-2'."""
        return f'{self.kind}-{self.number}' if self.number else self.kind

    @property
    def label(self) -> str:
        """Name as a person types it, such as 'datanode 2'."""
        return f'{self.kind} {self.number}' if self.number else self.kind

    @property
    def web(self) -> str:
        """Address of the web page."""
        return f'http://{HOST}:{self.ports["web"]}'


def plan(settings: ClusterSettings) -> list[Daemon]:
    """List the daemons of a cluster with these settings, in the order in which they are best started."""
    counts = {'datanode': settings.datanodes, 'nodemanager': settings.nodes}
    daemons = []
    for kind in ('namenode', 'resourcemanager', 'datanode', 'nodemanager', 'historyserver'):
        numbers = range(1, counts[kind] + 1) if kind in counts else [0]
        daemons += [Daemon(kind, number, _ports(kind, number, settings.port_base)) for number in numbers]
    return daemons


def _ports(kind: str, number: int, base: int) -> dict[str, int]:
    first, uses = _PORTS[kind]
    start = base + first + len(uses) * max(0, number - 1)
    return {use: start + offset for offset, use in enumerate(uses)}


def site_values(folders: Folders, settings: ClusterSettings) -> dict[str, object]:
    """Return the values of the @names@ in the site files."""
    values = {f'{daemon.kind}.{use}': port for daemon in plan(settings) for use, port in daemon.ports.items()}
    agent = folders.home / 'lib' / AGENT_JAR
    archive = shared(folders)
    values.update(
        {
            'state': folders.state,
            'home': folders.home,
            'user': user(),
            'replication': settings.replication,
            'vcores': settings.vcores,
            'memory': max(settings.memory, AM_MEMORY),
            'am.memory': AM_MEMORY,
            'task.memory': TASK_MEMORY,
            'log.seconds': LOG_SECONDS,
            'jvm.quick': ' '.join(QUICK),
            'jvm.loopback': f'-javaagent:{folders.home}/lib/{AGENT_JAR}' if agent.exists() else '',
            # In a container CLASSPATH is what Hadoop made for it; the jars before it are those of the archive.
            'jvm.shared': ' '.join([*archive, '-cp', f'{folders.home}/lib/*:$CLASSPATH']) if archive else '',
        }
    )
    return values


def marker(daemon: Daemon, folders: Folders) -> str:
    """Return the argument by which a process is known as this daemon of this cluster."""
    return f'-Dmr.elm.daemon={daemon.name}@{folders.state}'


def command(daemon: Daemon, folders: Folders, settings: ClusterSettings, java: Path) -> list[str]:
    """Return the command line that starts `daemon`."""
    own = [f'{key}={value}' for key, value in _own_properties(daemon, folders, settings).items()]
    return [
        *jvm(folders, java),
        marker(daemon, folders),
        '-Dhadoop.root.logger=INFO,file',
        f'-Dhadoop.log.dir={folders.state}/logs',
        f'-Dhadoop.log.file={daemon.name}.log',
        _CLASSES[daemon.kind],
        *(word for pair in own for word in ('-D', pair)),
    ]


def format_command(folders: Folders, java: Path) -> list[str]:
    """Return the command line that makes an empty HDFS."""
    return [*jvm(folders, java), _CLASSES['namenode'], '-format', '-force', '-nonInteractive']


def jvm(folders: Folders, java: Path) -> list[str]:
    """Return the start of every daemon's command line."""
    home = folders.home
    agent = [f'-javaagent:{home}/lib/{AGENT_JAR}'] if (home / 'lib' / AGENT_JAR).exists() else []
    return [
        str(java / 'bin' / 'java'),
        '-Xmx384m',
        *QUICK,
        *shared(folders),
        *agent,
        f'-Djava.io.tmpdir={folders.state}/tmp',
        '-cp',
        f'{home}/lib/*:{home}/etc/hadoop',
    ]


def shared(folders: Folders) -> list[str]:
    """Return the option by which a JVM takes its classes from the archive, where there is one.

    Java demands that the class path begins with that of the archive, and that this one has jars only.
    """
    return [f'-XX:SharedArchiveFile={folders.classes}'] if folders.classes.exists() else []


def _own_properties(daemon: Daemon, folders: Folders, settings: ClusterSettings) -> dict[str, object]:
    """Return the properties in which this daemon differs from its twins."""
    at = {use: f'{HOST}:{port}' for use, port in daemon.ports.items()}
    if daemon.kind == 'datanode':
        return {
            'dfs.datanode.address': at['data'],
            'dfs.datanode.ipc.address': at['ipc'],
            'dfs.datanode.http.address': at['web'],
            'dfs.datanode.data.dir': f'file://{folders.hdfs}/{daemon.name}',
        }
    if daemon.kind == 'nodemanager':
        # One core and AM_MEMORY more on the first node, for the application master: NODES=1 VCORES=1 runs one task.
        master = daemon.number == 1
        return {
            'yarn.nodemanager.address': at['rpc'],
            'yarn.nodemanager.localizer.address': at['localizer'],
            'yarn.nodemanager.webapp.address': at['web'],
            'mapreduce.shuffle.port': daemon.ports['shuffle'],
            'yarn.nodemanager.local-dirs': f'{folders.state}/{daemon.name}',
            # Never one folder for two nodes: a NodeManager that starts renames all it finds there.
            'yarn.nodemanager.log-dirs': f'{folders.state}/logs/{daemon.name}/userlogs',
            'yarn.nodemanager.resource.cpu-vcores': settings.vcores + master,
            'yarn.nodemanager.resource.memory-mb': settings.memory + AM_MEMORY * master,
        }
    return {}
