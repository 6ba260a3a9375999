"""Ship the code to the nodes as one zip, and tell one state of the code from another."""

import hashlib
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

PACKAGES = ('mr_elm', 'mr_elm.streaming', 'mr_elm.data')  # they need not be in one folder
OF_THE_DRIVER = ('cli', 'figures')


def sources(
    packages: tuple[str, ...] = PACKAGES, left_out: tuple[str, ...] = OF_THE_DRIVER
) -> Iterator[tuple[Path, Path]]:
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
        digest.update(f'{path.as_posix()}\0'.encode() + file.read_bytes() + b'\0')
    return digest.hexdigest()[:12]


def zip_code(path: str, with_driver: bool = False) -> str:
    """Write the library, the jobs and mrjob to one zip that Python can import from, and return its path.

    with_driver : also what a driver needs beside that.
    """
    packages, left_out = ((*PACKAGES, 'mrjob', 'tqdm'), ()) if with_driver else ((*PACKAGES, 'mrjob'), OF_THE_DRIVER)
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, file in sources(packages, left_out):
            archive.write(file, name)
    return path
