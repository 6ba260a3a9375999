"""Describe this machine and its software, and tell whether it is fit for a measurement."""

import os
import platform
import subprocess
import time
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mr_elm import linalg
from mr_elm.arithmetic import describe_blas

ROOT = Path(__file__).parents[1]
MOST_BUSY = 0.5  # share of the cores that other programs may use while something is measured
PATIENCE_SECONDS = 600
PACKAGES = ('numpy', 'scipy', 'numba', 'pyarrow', 'pandas', 'mrjob', 'pyspark', 'scikit-learn', 'lightgbm', 'hpelm')


def describe() -> dict[str, str]:
    """Return the properties of this machine and its software: name -> text."""
    linalg.load()  # the BLAS that is described, beside that of numpy
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    machine = {
        'commit': read_commit(),
        'when': datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
        'processor': name_processor(),
        'cores': str(os.cpu_count()),
        'memory': f'{memory / 2**30:.0f} GiB',
        'system': platform.platform(),
        'Python': platform.python_version(),
        'BLAS': describe_blas(),
        'mr_elm': version('mr_elm'),
    }
    for name in PACKAGES:
        try:
            machine[name] = version(name)
        except PackageNotFoundError:
            continue
    return machine


def describe_in_a_line(machine: dict[str, str]) -> str:
    """Return a machine of `describe`, its commit and the day, short."""
    return (
        f'{machine["processor"]}, {machine["cores"]} cores, {machine["memory"]}, Python {machine["Python"]}, '
        f'commit {machine["commit"]}, {machine["when"][:10]}'
    )


def name_processor() -> str:
    """Name the processor."""
    info = Path('/proc/cpuinfo')
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith('model name'):
                return line.partition(':')[2].strip()
    return platform.processor() or platform.machine()


def read_commit() -> str:
    """Return the commit of this checkout, with `-dirty` where files differ from it; '' where it is none."""
    words = 'git', '-C', str(ROOT), 'describe', '--always', '--dirty'
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


def demand_clean() -> None:
    """Raise ValueError where the checkout differs from its commit: nobody could measure the same again."""
    commit = read_commit()
    if not commit or commit.endswith('-dirty'):
        raise ValueError(
            f'expected a checkout without changes, found {commit or "no commit"}: commit them, or take --size quick'
        )


def wait_until_quiet(patience: float = PATIENCE_SECONDS) -> None:
    """Wait while other programs use more than MOST_BUSY of the cores. Raises ValueError after so many seconds."""
    end = time.monotonic() + patience
    while (busy := measure_busy()) > MOST_BUSY:
        if time.monotonic() > end:
            raise ValueError(
                f'expected a machine whose other programs use at most {MOST_BUSY:.0%} of its cores, found '
                f'{busy:.0%}: end them and run the same command again, or take --size quick'
            )


def measure_busy(seconds: float = 1.0) -> float:
    """Return the share of all cores that was used while this process slept; 0 where the system does not tell."""
    before = Load()
    time.sleep(seconds)
    return before.share_of_others(0.0)


class Load:
    """Remember what all cores have done so far."""

    def __init__(self) -> None:
        self.times = self.read()

    @staticmethod
    def read() -> list[int]:
        """Return the time units of all cores: user, nice, system, idle, waiting for a disk, others."""
        stat = Path('/proc/stat')
        if not stat.exists():
            return []
        return [int(number) for number in stat.read_text().splitlines()[0].split()[1:9]]

    def share_of_others(self, own_seconds: float) -> float:
        """Return the share of the cores that other programs have used since then. own_seconds : of this program."""
        passed = [later - earlier for earlier, later in zip(self.times, self.read(), strict=True)]
        if not sum(passed):
            return 0.0
        busy = sum(passed) - sum(passed[3:5])
        own = own_seconds * os.sysconf('SC_CLK_TCK')
        return max(busy - own, 0.0) / sum(passed)
