"""What a user can choose about the cluster, and what was chosen last time."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from pseudo.errors import ClusterError

AM_MEMORY = 1024  # MB of a MapReduce application master
TASK_MEMORY = 1536  # MB of a map or reduce task
PORTS_PER_CLUSTER = 300

# The option, the environment variable (in capitals) and the help are all read from here.
CHOICES = {
    'nodes': (1, 50, 'number of NodeManagers'),
    'datanodes': (1, 20, 'number of DataNodes'),
    'vcores': (1, 256, 'tasks at once on each NodeManager'),
    'memory': (TASK_MEMORY, 1 << 20, 'MB for tasks on each NodeManager'),
    'port_base': (1024, 65536 - PORTS_PER_CLUSTER, f'first of the {PORTS_PER_CLUSTER} ports of the cluster'),
}


@dataclass(frozen=True)
class ClusterSettings:
    """Size and first port of a cluster."""

    nodes: int = 2
    datanodes: int = 2
    vcores: int = 2
    memory: int = 4096
    port_base: int = 23000

    @property
    def replication(self) -> int:
        """Copies of each HDFS block: two, where there are two DataNodes."""
        return min(2, self.datanodes)


def choose(given: dict, environ: Mapping[str, str], recorded: ClusterSettings | None) -> ClusterSettings:
    """Settle the settings: options given, else environment, else `recorded` (or None), else defaults.

    given : dict from field to text or None;  environ : mapping;  recorded : ClusterSettings or None.
    """
    values = asdict(recorded or ClusterSettings())
    for name in CHOICES:
        text = given.get(name) or environ.get(name.upper())
        if text:
            values[name] = _whole_number(name, text)
    return ClusterSettings(**values)


def _whole_number(name: str, text: str) -> int:
    low, high, _ = CHOICES[name]
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise ClusterError(f'{name.upper()} must be a whole number from {low} to {high}, not {text!r}.')
    return value


def load(path: Path) -> ClusterSettings | None:
    """Return the settings recorded at `path`, or None when there are none that can be read."""
    try:
        values = json.loads(path.read_text())
        return ClusterSettings(**{field.name: int(values[field.name]) for field in fields(ClusterSettings)})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save(settings: ClusterSettings, path: Path) -> None:
    """Record `settings` at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(settings), indent=2) + '\n')
