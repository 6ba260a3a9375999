"""Find, read and write files wherever they are: on this machine, on HDFS, on S3.

A new store is a class with the methods of `LocalStore` and an entry in `STORES`. A file is written whole or not at
all: under another name first, or by one request on S3.
"""
import glob
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO

from mr_elm.io.store import is_stream, replace_file

COPY = 4 << 20
STANDARD = '-'  # names standard input among inputs, and standard output as an output


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
        return Entry(path, os.path.isdir(path), os.path.getsize(path), str(os.stat(path).st_mtime_ns))

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that a pattern matches, sorted."""
        return sorted(glob.glob(pattern, recursive=True))

    def entries(self, folder: str) -> list[Entry]:
        """List what is in a folder."""
        with os.scandir(folder) as found:
            return [Entry(item.path, item.is_dir(), item.stat().st_size, str(item.stat().st_mtime_ns))
                    for item in found]

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading bytes."""
        return open(path, 'rb')

    def put(self, source: str, path: str) -> None:
        """Copy a file of this machine to a path; replaces what is there."""
        with open(source, 'rb') as stream, replace_file(path) as target:
            shutil.copyfileobj(stream, target, COPY)

    def move(self, source: str, path: str) -> None:
        """Give a file or a folder a new name, under which there must be nothing."""
        shutil.move(source, path)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


class HDFSStore:
    """Files of HDFS, through WebHDFS or the hadoop command.

    client : has status, children, glob, open, put, rename, delete and mkdir, as `WebHDFS` and `HadoopCommand` do.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def absolute(self, path: str) -> str:
        """Return the absolute path, the same for all spellings."""
        return path.rstrip('/')

    def find(self, path: str) -> Entry | None:
        """Return the Entry of a path, or None."""
        status = self.client.status(path)
        return None if status is None else make_entry(path, status)

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that a pattern matches, sorted."""
        return self.client.glob(pattern)

    def entries(self, folder: str) -> list[Entry]:
        """List what is in a folder."""
        return [make_entry(f'{folder.rstrip("/")}/{child["pathSuffix"]}', child)
                for child in self.client.children(folder)]

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading bytes."""
        return self.client.open(path)

    @property
    def read_range(self) -> Callable[[str, int, int], bytes] | None:
        """Return what reads (path, first byte, number of bytes); None where the client can only read whole files."""
        return getattr(self.client, 'read_range', None)

    def put(self, source: str, path: str) -> None:
        """Copy a file of this machine to a path; replaces what is there."""
        folder, _, name = path.rpartition('/')
        temporary = f'{folder}/_{name}.{uuid.uuid4().hex[:8]}.tmp'
        self.client.mkdir(folder)
        try:
            self.client.put(source, temporary)
            if self.client.status(path) is not None:
                self.client.delete(path)
            self.client.rename(temporary, path)
        except BaseException as error:
            if self.client.status(temporary) is not None:
                self.client.delete(temporary)
            if isinstance(error, OSError):
                raise type(error)(str(error).replace(temporary, path)) from error
            raise

    def move(self, source: str, path: str) -> None:
        """Give a file or a folder a new name, under which there must be nothing."""
        self.client.mkdir(path.rpartition('/')[0])
        self.client.rename(source, path)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        self.client.delete(path)


Store = Any  # LocalStore, HDFSStore, or S3Store of files/s3.py, which waits for boto3


def make_entry(path: str, status: dict) -> Entry:
    """Make the Entry that a FileStatus of HDFS describes."""
    return Entry(path, status['type'] == 'DIRECTORY', status['length'], str(status['modificationTime']))


def make_s3_store() -> Store:
    """Make the store of S3; only who names it waits for boto3, which nodes of a cluster may not have."""
    try:
        return import_module('mr_elm.files.s3').make_s3_store()
    except ModuleNotFoundError:
        return HDFSStore(import_module('mr_elm.files.hadoop').make_hadoop_command())


def make_hdfs_store() -> HDFSStore:
    """Return the store of HDFS; its clients are imported where a path is there."""
    return HDFSStore(import_module('mr_elm.files.hadoop').make_hdfs_client())


STORES = {'': LocalStore, 'hdfs': make_hdfs_store, 's3': make_s3_store, 's3a': make_s3_store, 's3n': make_s3_store}


def scheme_of(path: str) -> str:
    """Return the scheme of a path that is on a store of ours, else ''."""
    scheme, colon, rest = path.partition(':')
    return scheme if colon and rest.startswith('//') and scheme in STORES else ''


def is_local(path: str) -> bool:
    """Tell whether a path is on this machine."""
    return not scheme_of(path)


def store_of(path: str) -> Store:
    """Return the store that a path is on."""
    return make_store(scheme_of(path))


@cache
def make_store(scheme: str) -> Store:
    """Make the store for a scheme, once."""
    return STORES[scheme]()


@contextmanager
def write_file(path: str) -> Iterator[str]:
    """Give a file of this machine to write; it is put at `path`, whole, when all went well.

    A pipe or a device of this machine gets its bytes.
    """
    if is_local(path):
        with replace_file(path) as stream:
            yield stream.name
        return
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        local = os.path.join(folder, 'file')
        yield local
        store_of(path).put(local, path)


@contextmanager
def fetch_file(path: str, name: str = 'file') -> Iterator[str]:
    """Give a copy on this machine of the file at `path`, under a plain name."""
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        local = os.path.join(folder, name)
        copy(path, local)
        yield local


def copy(source: str, target: str) -> None:
    """Copy a file of this machine to any store, or a file of any store to this machine."""
    if is_local(source):
        store_of(target).put(source, target)
        return
    with store_of(source).open(source) as stream, open(target, 'wb') as local:
        shutil.copyfileobj(stream, local, COPY)


def demand_free(path: str, overwrite: bool = False) -> None:
    """Raise OSError when an output exists, or its folder does not: before any work is done.

    A pipe or a device need not be free: it is written into.
    """
    if is_local(path) and is_stream(path):
        return
    store = store_of(path)
    found = store.find(path)
    if found is not None and found.is_folder:
        raise IsADirectoryError(f'{path}: expected the name of a file, it is a folder')
    if found is not None and not overwrite:
        raise FileExistsError(f'{path}: expected a new file, it exists (--overwrite replaces it)')
    folder = os.path.dirname(os.path.realpath(path))
    if is_local(path) and not os.path.isdir(folder):
        raise FileNotFoundError(f'{path}: the folder {folder} does not exist')
