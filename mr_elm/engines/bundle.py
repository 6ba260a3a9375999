"""Bring Python and the code to the nodes: the code alone as a zip, or the whole environment of the tasks as an archive.

The archive runs wherever it is unpacked. It holds the code, what the code needs in the versions that are installed
here, and the compiled loops of the solvers. Its name tells what is in it, so that it is made once, travels once, and
never runs other code than the driver's.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module, metadata
from pathlib import Path

from mr_elm.errors import import_package
from mr_elm.progress import Reporter
from mr_elm.rows.storage import demand_free, store_of
from mr_elm.store import temporary_folder

PACKAGES = ('mr_elm', 'mr_elm.streaming', 'mr_elm.data')  # they need not be in one folder
OF_THE_DRIVER = ('cli', 'figures')
NOT_ON_NODES = ('tqdm', 'tomli', 'argcomplete')  # only the driver needs these
OPTIONAL = ('pyarrow',)  # on nodes where it is installed here
UNPACKED = 'mr_elm_env'  # the folder of a task in which the archive is unpacked
ANY_PROCESSOR = {'NUMBA_CPU_NAME': 'generic'}  # compiled loops must run on every node
PYTHON = f'python{sys.version_info.major}.{sys.version_info.minor}'
EPOCH = 1_000_000_000  # one time for all sources: what is compiled is found by it
UNUSED = ('*/site-packages/pip/*', '*/site-packages/*/tests/*', '*/bin/activate*')


def sources(packages: Sequence[str] = PACKAGES, left_out: Sequence[str] = OF_THE_DRIVER) -> Iterator[tuple[Path, Path]]:
    """Yield (path in an archive, file) for every module that tasks may need; of the program itself by default.

    left_out : folders of the packages that are not needed.
    """
    for name in packages:
        root = Path(import_module(name).__path__[0])
        for file in sorted(root.rglob('*.py')):
            path = file.relative_to(root)
            if path.parts[0] not in left_out:
                yield Path(*name.split('.'), path), file


@cache
def source_digest() -> str:
    """Return a short digest of the code that tasks run."""
    digest = hashlib.sha256()
    for path, file in sources():
        digest.update(f'{path}\0'.encode() + file.read_bytes() + b'\0')
    return digest.hexdigest()[:12]


def zip_code(path: str) -> str:
    """Write the library, the jobs and mrjob to one zip that Python can import from, and return its path."""
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, file in sources((*PACKAGES, 'mrjob'), ()):
            archive.write(file, name)
    return path


def requirements() -> dict[str, str]:
    """Map what tasks need to the versions installed here: other versions may differ in the last bits."""
    versions = {}
    for line in metadata.requires('mr_elm') or ():
        name = re.split(r'[^\w.-]', line)[0]
        if name in OPTIONAL or 'extra ==' not in line and name not in NOT_ON_NODES:
            try:
                versions[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue  # only other Pythons need it, or nobody here
    return versions


def bundle_name() -> str:
    """Name the archive: version, Python, digest of the code, digest of the rest."""
    rest = json.dumps([requirements(), sys.version, sysconfig.get_platform(), sys.base_prefix], sort_keys=True)
    return (
        f'mr_elm-{metadata.version("mr_elm")}-{PYTHON}-{source_digest()}-'
        f'{hashlib.sha256(rest.encode()).hexdigest()[:12]}.tar.gz'
    )


def make_bundle(folder: str, reporter: Reporter) -> str:
    """Make the archive in a folder of this machine, HDFS or S3, unless it is there; returns its path.

    folder : local path or URI. reporter : tells of progress.
    Raises RuntimeError when the environment cannot be built.
    """
    path = f'{folder.rstrip("/")}/{bundle_name()}'
    if store_of(path).find(path) is not None:
        reporter.say(f'{path}: exists already, nothing was written')
        return path
    demand_free(path)
    with built(reporter) as archive:
        store_of(path).put(archive, path)
        reporter.say(f'{path}: {os.path.getsize(archive) / 1e6:.0f} MB, give it to a training with --bundle')
    return path


@contextmanager
def built(reporter: Reporter) -> Iterator[str]:
    """Give the archive, built in a folder that vanishes."""
    venv_pack = import_package('venv_pack', 'bundle')
    with temporary_folder() as folder:
        environment = Path(folder, 'env')
        archive = os.path.join(folder, 'env.tar.gz')
        reporter.say('installing ' + ', '.join(f'{name} {version}' for name, version in requirements().items()))
        install(environment)
        for path, file in sources():  # all with one time
            target = environment / 'lib' / PYTHON / 'site-packages' / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            os.utime(target, (EPOCH, EPOCH))
        reporter.say('compiling the loops of the solvers')
        run([environment / 'bin' / 'python', '-m', 'mr_elm.solvers.warm'], {**os.environ, **ANY_PROCESSOR})
        reporter.say('packing')
        packed = venv_pack.Env(str(environment))
        for pattern in UNUSED:
            packed = packed.exclude(pattern)
        packed.pack(archive, compress_level=6)
        yield archive


def install(environment: Path) -> None:
    """Make a virtual environment and install what tasks need."""
    run([sys.executable, '-m', 'venv', environment])
    pins = [f'{name}=={version}' for name, version in requirements().items()]
    run([environment / 'bin' / 'python', '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', *pins])


def run(command: list, env: dict[str, str] | None = None) -> None:
    """Run a command outside the checkout. Raises RuntimeError with its last line when it fails."""
    process = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=env, cwd=tempfile.gettempdir()
    )
    if process.returncode:
        lines = (process.stderr or process.stdout).strip().splitlines() or [f'exit code {process.returncode}']
        raise RuntimeError(f'{Path(command[0]).name} {" ".join(map(str, command[1:4]))}: {lines[-1]}')


def bundle_arguments(path: str) -> list[str]:
    """Return the options of mrjob that run tasks in a bundle.

    Raises ValueError when the bundle holds other code than this, FileNotFoundError when it is not there.
    """
    name = path.rpartition('/')[2]
    if source_digest() not in name:
        raise ValueError(
            f'{path}: expected a bundle of this version of the code ({bundle_name()}): make one with `mr-elm bundle`'
        )
    if store_of(path).find(path) is None:
        raise FileNotFoundError(f'{path}: expected a bundle, found none: make one with `mr-elm bundle`')
    variables = [text for key, value in ANY_PROCESSOR.items() for text in ('--cmdenv', f'{key}={value}')]
    return ['--archives', f'{path}#{UNPACKED}', '--task-python-bin', f'{UNPACKED}/bin/python', *variables]
