"""Describe this machine and the versions of the software, and keep them beside what was measured."""
import json
import os
import platform
import subprocess
import time
from collections.abc import Iterable
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mr_elm import linalg
from mr_elm.arithmetic import describe_blas

HARDWARE = ('processor', 'cores', 'memory')
PASSING = ('load', 'when')  # what differs from one minute to the next
MOST_BUSY = 0.5  # share of the cores that other programs may use while something is measured
PATIENCE_SECONDS = 600
PACKAGES = ('numpy', 'scipy', 'numba', 'pybase64', 'mrjob', 'scikit-learn', 'matplotlib', 'hpelm', 'scikit-lego')


def describe() -> dict[str, str]:
    """Return the properties of this machine and its software: name -> text."""
    linalg.load()  # the BLAS that is described, beside that of numpy
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    return {'processor': name_processor(), 'cores': str(os.cpu_count()), 'memory': f'{memory / 2**30:.0f} GiB',
            'system': f'{platform.system()} {platform.release()}', 'Python': platform.python_version(),
            'BLAS': describe_blas(), 'mr_elm': version('mr_elm'), 'commit': read_commit(),
            **{name: found for name in PACKAGES if (found := version_of(name))},
            'load': f'{os.getloadavg()[0]:.1f}', 'when': datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC')}


def describe_in_a_line(machine: dict[str, str] | None = None) -> str:
    """Return a machine of `describe`, this one by default, its commit and the time, short.

    A load above the number of cores tells that other programs wanted the processor too.
    """
    told = machine or describe()
    return (f'{told["processor"]}, {told["cores"]} cores, {told["memory"]}, Python {told["Python"]}, commit '
            f'{told["commit"] or "unknown"}, {told["when"]}, load {told.get("load", "unknown")}')


class Sessions:
    """Keep in a JSON file on which machine, with which software and when the runs of another file were measured.

    known : name of a session -> `describe` of it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).with_suffix('.sessions.json')
        self.known: dict[str, dict] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def begin(self) -> str:
        """Keep this machine, its software and the time; returns the name of the session."""
        found = describe()
        name = f'{found["commit"]} {found["when"]}'.strip()
        self.known[name] = found
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.known, indent=1) + '\n')
        return name


def list_machines(machines: Iterable[dict[str, str]]) -> list[str]:
    """Return a line for each machine, commit and set of versions, the newest first, with what differs from that one.

    machines : of `describe`; of those that differ in time and load alone, the newest counts.
    """
    ordered = sorted(machines, key=lambda machine: machine['when'])
    newest = {tuple(text for name, text in machine.items() if name not in PASSING): machine for machine in ordered}
    return [describe_in_a_line(machine) + describe_difference(machine, ordered[-1])
            for machine in sorted(newest.values(), key=lambda machine: machine['when'], reverse=True)]


def describe_difference(machine: dict[str, str], newest: dict[str, str]) -> str:
    """Return in words whether two parts were measured on different machines, versions or commits; '' if on the same."""
    kinds = {'another machine': HARDWARE, 'another commit': ('commit',),
             'other versions': set(newest) - {*HARDWARE, *PASSING, 'commit'}}
    found = [kind for kind, names in kinds.items() if any(machine.get(name) != newest.get(name) for name in names)]
    return f' ({", ".join(found)})' if found else ''


def name_processor() -> str:
    """Name the processor."""
    info = Path('/proc/cpuinfo')
    names = [line.partition(':')[2].strip() for line in info.read_text().splitlines()
             if line.startswith('model name')] if info.exists() else []
    return names[0] if names else platform.processor() or platform.machine()


def version_of(name: str) -> str | None:
    """Return the version of a package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def read_commit() -> str:
    """Return the commit of the checkout that this code is in, '' where it is none."""
    root = Path(__file__).parents[1]
    done = subprocess.run(['git', '-C', str(root), 'describe', '--always', '--dirty'], capture_output=True, text=True) \
        if (root / '.git').exists() else None
    return done.stdout.strip() if done else ''


def demand_clean() -> None:
    """Raise ValueError where the checkout differs from its commit: nobody could measure the same again."""
    commit = read_commit()
    if not commit or commit.endswith('-dirty'):
        raise ValueError(f'expected a checkout without changes, found {commit or "no commit"}: commit them, or take '
                         '--size quick')


def wait_until_quiet(patience: float = PATIENCE_SECONDS) -> None:
    """Wait while other programs use more than MOST_BUSY of the cores. Raises ValueError after so many seconds."""
    end = time.monotonic() + patience
    while (busy := measure_busy()) > MOST_BUSY:
        if time.monotonic() > end:
            raise ValueError(f'expected a machine whose other programs use at most {MOST_BUSY:.0%} of its cores, found '
                             f'{busy:.0%}: end them and take --resume, or take --size quick')


def measure_busy(seconds: float = 1.0) -> float:
    """Return the share of all cores that was used while this process slept; 0 where the system does not tell."""
    before = read_processor_times()
    time.sleep(seconds)
    passed = [later - earlier for earlier, later in zip(before, read_processor_times(), strict=True)]
    idle = sum(passed[3:5])  # idle, and idle while a disk works
    return 1 - idle / sum(passed) if sum(passed) else 0.0


def read_processor_times() -> list[int]:
    """Return the time units that all cores have spent so far: user, nice, system, idle, waiting for a disk, others."""
    stat = Path('/proc/stat')
    return [int(number) for number in stat.read_text().splitlines()[0].split()[1:9]] if stat.exists() else []
