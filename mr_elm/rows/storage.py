"""Find, read and write files wherever they are: on this machine, on HDFS, on S3.

fsspec and pyarrow know the file systems. This module adds one name for a file, errors of one sentence, and writing a
file whole or not at all: under another name first.
"""

import glob
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from mr_elm.errors import DataFormatError
from mr_elm.store import is_stream, replace_file, temporary_folder

COPY_BYTES = 4 << 20
ANSWER_SECONDS = 60  # that a store elsewhere may take: pyarrow's own default is far longer
READ_AHEAD_BYTES = 16 << 20  # bytes of a file elsewhere that a task asks for at a time: a request takes as long as 4 MB
STANDARD = '-'  # names standard input among inputs, and standard output as an output
PATTERN = set('*?[')
MANIFEST = '_manifest.json'  # closes a pack; `packs` writes it
SCHEMES = ('hdfs', 's3', 's3a', 's3n')


@dataclass(frozen=True)
class Entry:
    """Name a file or a folder, with its size in bytes and a text that changes when it is written again.

    root : the folder that the user named, where the file was found below it.
    copy : a file of this machine that holds what cannot be read twice, such as standard input; or None.
    """

    path: str
    is_folder: bool
    size: int
    modified: str = ''
    root: str = ''
    copy: str | None = None

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rstrip('/').rsplit('/', 1)[-1]


class LocalStore:
    """Files of this machine."""

    def absolute(self, path: str) -> str:
        """Return the absolute path, the same for all spellings."""
        return os.path.abspath(path)

    def find(self, path: str) -> Entry | None:
        """Return the Entry of a path, or None."""
        if not os.path.exists(path):
            return None
        status = os.stat(path)
        return Entry(path, os.path.isdir(path), status.st_size, str(status.st_mtime_ns))

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that a pattern matches, sorted."""
        return sorted(glob.glob(pattern, recursive=True))

    def entries(self, folder: str) -> list[Entry]:
        """List what is in a folder."""
        with os.scandir(folder) as scan:
            return [Entry(item.path, item.is_dir(), item.stat().st_size, str(item.stat().st_mtime_ns)) for item in scan]

    def open(self, path: str, ahead: int = COPY_BYTES) -> BinaryIO:
        """Open a file for reading bytes."""
        return open(path, 'rb')

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it."""
        os.makedirs(path, exist_ok=True)

    def put(self, source: str, path: str) -> None:
        """Copy a file of this machine to a path; replaces what is there."""
        with open(source, 'rb') as stream, replace_file(path) as target:
            shutil.copyfileobj(stream, target, COPY_BYTES)

    def move(self, source: str, path: str) -> None:
        """Give a file or a folder a new name, under which there must be nothing."""
        shutil.move(source, path)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def scheme_of(path: str) -> str:
    """Return the scheme of a path that is on a store of ours, else ''."""
    scheme, colon, rest = path.partition(':')
    if colon and rest.startswith('//') and scheme in SCHEMES:
        return scheme
    return ''


def is_local(path: str) -> bool:
    """Tell whether a path is on this machine."""
    return not scheme_of(path)


def store_of(path: str) -> Any:
    """Return the store that a path is on."""
    return make_store(scheme_of(path))


@cache
def make_store(scheme: str) -> Any:
    """Make the store for a scheme, once; its clients are imported where a path needs them."""
    if scheme:
        return import_module('mr_elm.rows.remote').open_remote(scheme)
    return LocalStore()


@contextmanager
def open_ranges(path: str) -> Iterator[Any]:
    """Give a file to read from any position: a path of this machine, or an open file."""
    if is_local(path):
        yield path
        return
    with store_of(path).open(path, READ_AHEAD_BYTES) as stream:
        yield stream


@contextmanager
def write_file(path: str) -> Iterator[str]:
    """Give a file of this machine to write; it is put at `path`, whole, when all went well.

    A pipe or a device of this machine gets its bytes.
    """
    if is_local(path):
        with replace_file(path) as stream:
            yield stream.name
        return
    with temporary_folder() as folder:
        local = os.path.join(folder, 'file')
        yield local
        store_of(path).put(local, path)


@contextmanager
def fetch_file(path: str, name: str = 'file') -> Iterator[str]:
    """Give a copy on this machine of the file at `path`, under a plain name."""
    with temporary_folder() as folder:
        local = os.path.join(folder, name)
        copy(path, local)
        yield local


def copy(source: str, target: str) -> None:
    """Copy a file of this machine to any store, or a file of any store to this machine."""
    if is_local(source):
        store_of(target).put(source, target)
        return
    with store_of(source).open(source) as stream, open(target, 'wb') as local:
        shutil.copyfileobj(stream, local, COPY_BYTES)


def demand_free(path: str, overwrite: bool = False) -> None:
    """Raise OSError when an output exists, or its folder does not: before any work is done.

    A pipe or a device need not be free: it is written into.
    """
    if is_stream(path):
        return
    entry = store_of(path).find(path)
    if entry is not None and entry.is_folder:
        raise IsADirectoryError(f'{path}: expected the name of a file, it is a folder')
    if entry is not None and not overwrite:
        raise FileExistsError(f'{path}: expected a new file, it exists (--overwrite replaces it)')
    folder = os.path.dirname(os.path.realpath(path))
    if is_local(path) and not os.path.isdir(folder):
        raise FileNotFoundError(f'{path}: the folder {folder} does not exist')
    if is_local(path) and not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f'{path}: expected a folder to write to, {folder} is not one for this user')


def expand_patterns(patterns: Sequence[str | Entry]) -> list[Entry]:
    """List the Entry of every file behind names, folders and globs: sorted by their absolute path, each once.

    An Entry stands for itself.
    """
    entries = {}
    for pattern in patterns:
        if isinstance(pattern, Entry):
            entries[pattern.path] = pattern
            continue
        if pattern.startswith('file:/'):
            pattern = unquote(urlsplit(pattern).path)
        store = store_of(pattern)
        root, matches = store.absolute(pattern), [pattern]
        if store.find(pattern) is None:
            root = store.absolute(re.sub(r'/?[^/]*[*?[].*', '', pattern))  # above what stands for several
            matches = store.glob(pattern)
        if not matches:
            raise FileNotFoundError(f'{pattern}: expected an input file or folder, found none')
        for match in matches:
            entry = store.find(store.absolute(match))
            if entry is None:
                raise FileNotFoundError(f'{match}: expected an input file, found a link to a missing file')
            entries.update((file.path, replace(file, root=root)) for file in list_files(store, entry))
    if not entries:
        raise DataFormatError(f'{", ".join(map(str, patterns))}: expected input files, found none in the folder')
    return [entries[path] for path in sorted(entries)]


def list_files(store: Any, entry: Entry) -> Iterator[Entry]:
    """Yield the files at or below an entry, leaving out names that begin with _ or a dot."""
    if not entry.is_folder:
        yield entry
        return
    children = store.entries(entry.path)
    names = [child.name for child in children]
    if '_temporary' in names:
        raise DataFormatError(
            f'{entry.path}: expected finished output, its _temporary says that a job did not finish writing'
        )
    shown = [child for child in children if not child.name.startswith(('_', '.'))]
    if MANIFEST in names and not shown:
        raise DataFormatError(
            f'{entry.path}: the pack is damaged: expected the files that its {MANIFEST} names, found none: bring them '
            'back, or pack the rows again'
        )
    for child in shown:
        yield from list_files(store, child)


def name_folders(entry: Entry) -> tuple[tuple[str, str], ...]:
    """Return (name, value) of the folders between the one that the user named and a file, such as city=Oslo."""
    folders = entry.path.removeprefix(entry.root).split('/')[:-1]
    return tuple((name, unquote(value)) for name, equals, value in (part.partition('=') for part in folders) if equals)
