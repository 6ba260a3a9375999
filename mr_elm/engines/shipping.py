"""Ship the code to the nodes as one zip, and tell one state of the code from another."""

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

PACKAGES = ('mr_elm', 'mr_elm.streaming', 'mr_elm.data')  # they need not be in one folder
OF_THE_DRIVER = ('cli', 'figures')


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
