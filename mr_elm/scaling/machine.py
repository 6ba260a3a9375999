"""Describe this machine and the versions of the software, for reports of measurements."""
import os
import platform
import subprocess
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mr_elm.arithmetic import describe_blas

PACKAGES = ('numpy', 'scipy', 'numba', 'mrjob', 'scikit-learn', 'matplotlib', 'hpelm', 'scikit-lego')


def describe() -> dict[str, str]:
    """Return the properties of this machine and its software: name -> text."""
    import numpy  # noqa: F401 - loads the BLAS that is described
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
    return {'processor': name_processor(), 'cores': str(os.cpu_count()), 'memory': f'{memory / 2**30:.0f} GiB',
            'system': f'{platform.system()} {platform.release()}', 'Python': platform.python_version(),
            'BLAS': describe_blas(), 'mr_elm': f'{version("mr_elm")} {read_commit()}'.strip(),
            **{name: found for name in PACKAGES if (found := version_of(name))},
            'when': datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC')}


def describe_in_a_line() -> str:
    """Return the machine and the day, short."""
    told = describe()
    return f'{told["processor"]}, {told["cores"]} cores, {told["memory"]}, Python {told["Python"]}, {told["when"]}'


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
    here = Path(__file__).parent
    done = subprocess.run(['git', '-C', str(here), 'describe', '--always', '--dirty'], capture_output=True, text=True) \
        if (here.parents[1] / '.git').exists() else None
    return done.stdout.strip() if done else ''
