"""Is a daemon alive? Asked over HTTP of the daemon itself and of its master."""

import json
import time
import urllib.parse
import urllib.request

from pseudo import processes
from pseudo.daemons import HOST, Daemon, plan
from pseudo.errors import ClusterError
from pseudo.folders import Folders
from pseudo.settings import ClusterSettings

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback goes through no proxy
_OWN_PAGE = {
    'namenode': '/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo',
    'datanode': '/jmx?qry=Hadoop:service=DataNode,name=DataNodeInfo',
    'resourcemanager': '/ws/v1/cluster/nodes',
    'nodemanager': '/ws/v1/node/info',
    'historyserver': '/ws/v1/history/info',
}
_STILL_IN_TOUCH = 3  # seconds since a DataNode's last heartbeat


def get_json(url: str, seconds: float = 2) -> dict | None:
    """Return what `url` answers, or None when it does not answer in JSON."""
    try:
        with _DIRECT.open(url, timeout=seconds) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def make_user_folder(settings: ClusterSettings, name: str) -> None:
    """Make /user/NAME in HDFS, where relative paths lead; nothing happens when it is there."""
    namenode = plan(settings)[0]
    query = urllib.parse.urlencode({'op': 'MKDIRS', 'user.name': name})
    request = urllib.request.Request(f'{namenode.web}/webhdfs/v1/user/{name}?{query}', method='PUT')
    with _DIRECT.open(request, timeout=10):
        pass


def states(folders: Folders, settings: ClusterSettings) -> list[tuple[Daemon, int | None, str]]:
    """Return the list of (daemon, pid or None, state); state is 'live', 'stopped' or what it waits for."""
    running = [(daemon, processes.find(daemon, folders)) for daemon in plan(settings)]
    answers = {daemon: get_json(daemon.web + _OWN_PAGE[daemon.kind]) for daemon, pid in running if pid}
    known = _known_workers(answers)
    return [(daemon, pid, _state(daemon, pid, answers.get(daemon), known)) for daemon, pid in running]


def _state(daemon: Daemon, pid: int | None, answer: dict | None, known: set[str]) -> str:
    if pid is None:
        return 'stopped'
    if answer is None:
        return 'not answering'
    if daemon.kind == 'namenode' and _name_node_info(answer).get('Safemode') != '':
        return 'in safe mode'
    if daemon.kind == 'datanode' and f'{HOST}:{daemon.ports["data"]}' not in known:
        return 'unknown to namenode'
    if daemon.kind == 'nodemanager' and f'{HOST}:{daemon.ports["web"]}' not in known:
        return 'unknown to resourcemanager'
    return 'live'


def _known_workers(answers: dict[Daemon, dict | None]) -> set[str]:
    """Return the addresses of the workers that the two masters count as alive."""
    known = set()
    for daemon, answer in answers.items():
        if answer and daemon.kind == 'namenode':
            nodes = json.loads(_name_node_info(answer).get('LiveNodes', '{}')).values()
            known |= {node['xferaddr'] for node in nodes if node['lastContact'] <= _STILL_IN_TOUCH}
        if answer and daemon.kind == 'resourcemanager':
            nodes = (answer.get('nodes') or {}).get('node', [])
            known |= {_with_host(node['nodeHTTPAddress']) for node in nodes if node['state'] == 'RUNNING'}
    return known


def _name_node_info(answer: dict) -> dict:
    beans = answer.get('beans') or [{}]
    return beans[0]


def _with_host(address: str) -> str:
    """YARN calls its nodes by name (localhost:port); return 127.0.0.1:port."""
    return f'{HOST}:{address.rpartition(":")[2]}'


def wait_live(folders: Folders, settings: ClusterSettings, seconds: float, names: set[str] | None = None) -> None:
    """Wait until all daemons, or those in `names`, are live; ClusterError when one ends or time is up."""
    deadline = time.monotonic() + seconds
    while True:
        missing = [
            (daemon, state)
            for daemon, _, state in states(folders, settings)
            if state != 'live' and (names is None or daemon.name in names)
        ]
        if not missing:
            return
        for daemon, state in missing:
            if state == 'stopped':
                raise ClusterError(f'The {daemon.label} ended while starting: {_last_words(daemon, folders)}')
        if time.monotonic() > deadline:
            daemon, state = missing[0]
            raise ClusterError(
                f'After {seconds} s the {daemon.label} is still {state}; see {folders.logs / daemon.name}.log.'
            )
        time.sleep(0.2)


def _last_words(daemon: Daemon, folders: Folders) -> str:
    """Return the last error in the daemon's log, and where the log is."""
    for suffix in ('.log', '.out'):
        path = folders.logs / (daemon.name + suffix)
        lines = path.read_text(errors='replace').splitlines() if path.exists() else []
        faults = [line for line in lines if ' ERROR ' in line or ' FATAL ' in line or 'Exception' in line]
        if faults:
            return f'{faults[-1][:300]} (see {path})'
    return f'see {folders.logs / daemon.name}.log and .out.'
