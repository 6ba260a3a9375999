"""Find, read and write files wherever they are: on this machine, on HDFS, on S3.

fsspec and pyarrow know the file systems. This module adds one name for a file, errors of one sentence, and writing a
file whole or not at all: under another name first.
"""

import errno
import glob
import io
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from importlib import import_module
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from mr_elm.errors import DataFormatError
from mr_elm.store import is_stream, replace_file, temporary_folder

COPY_BYTES = 4 << 20
ANSWER_SECONDS = 60  # that a store elsewhere may take: pyarrow's own default is far longer
READ_AHEAD_BYTES = 16 << 20  # bytes of a file elsewhere that a task asks for at a time: a request takes as long as 4 MB
DENIED = 'ACCESS_DENIED', 'FORBIDDEN', 'AccessControlException'
REFUSED = re.compile(r"host='([^']*)', port=(\d+).*(\[Errno \d+\][^'\")]*)")  # in what requests says
STANDARD = '-'  # names standard input among inputs, and standard output as an output
PATTERN = set('*?[')
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


class RemoteStore:
    """Files of a file system of fsspec.

    scheme, host : of the paths, such as hdfs and the NameNode; paths of another host are refused.
    system : the file system. is_s3 : whether paths begin with a bucket, and folders are only the
    beginnings of names.
    """

    def __init__(self, system: Any, host: str = '', is_s3: bool = False) -> None:
        self.system, self.host, self.is_s3 = system, host, is_s3

    def absolute(self, path: str) -> str:
        """Return the absolute path, the same for all spellings."""
        return path.rstrip('/')

    def key(self, path: str) -> str:
        """Return what the file system calls a path. Raises OSError if it is on another cluster, or has no bucket."""
        scheme, _, rest = path.partition('://')
        host, slash, name = rest.partition('/')
        if self.is_s3:
            if not host:
                raise ValueError(f'{path}: expected a bucket, as in {scheme}://bucket/key')
            return rest.rstrip('/')
        if host and self.host and host not in (self.host, self.host.partition(':')[0]):
            raise OSError(
                f'{path}: expected a path on hdfs://{self.host}, found the host {host} in it: write '
                'hdfs:///... with three slashes, or let HADOOP_HOME name the Hadoop of that host'
            )
        return slash + name.rstrip('/') or '/'

    def find(self, path: str) -> Entry | None:
        """Return the Entry of a path, or None. Raises FileNotFoundError when there is no such bucket."""
        with translate_errors(path):
            try:
                return make_entry(path.rstrip('/'), self.system.info(self.key(path)))
            except FileNotFoundError:
                pass
            bucket = self.key(path).partition('/')[0]
            if self.is_s3 and bucket != self.key(path) and not self.system.exists(bucket):
                raise FileNotFoundError(f'{path}: the bucket {bucket} does not exist')
        return None

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that a pattern matches, sorted."""
        if not PATTERN & set(pattern.partition('://')[2].partition('/')[2]):
            if self.find(pattern):
                return [pattern]
            return []
        above, _, name = pattern.rpartition('/')
        folders = [folder for folder in map(self.find, self.glob(above)) if folder and folder.is_folder]
        return sorted(
            entry.path for folder in folders for entry in self.entries(folder.path) if fnmatchcase(entry.name, name)
        )

    def entries(self, folder: str) -> list[Entry]:
        """List what is in a folder."""
        with translate_errors(folder):
            listing = self.system.ls(self.key(folder), detail=True)
        key, folder = self.key(folder).rstrip('/'), folder.rstrip('/')
        return [make_entry(folder + info['name'].rstrip('/')[len(key) :], info) for info in listing]

    def open(self, path: str, ahead: int = COPY_BYTES) -> BinaryIO:
        """Open a file for reading bytes, from any position. ahead : bytes that are asked for at a time."""
        entry = self.find(path)
        if entry is None:
            raise FileNotFoundError(f'{path}: expected a file, found none')
        if hasattr(self.system, 'cat_file'):
            return io.BufferedReader(Ranges(partial(self.read_range, path), entry.size), ahead)
        with translate_errors(path), temporary_folder() as folder:
            local = os.path.join(folder, 'file')  # the hadoop command reads whole files
            self.system.get_file(self.key(path), local)
            return open(local, 'rb')

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Read some bytes of a file."""
        with translate_errors(path):
            return self.system.cat_file(self.key(path), start=start, end=start + length, seekable=True)

    def put(self, source: str, path: str) -> None:
        """Copy a file of this machine to a path; replaces what is there.

        It is written under another name first: also on S3, where pyarrow finishes an object whose upload failed.
        """
        folder, _, name = path.rpartition('/')
        temporary = f'{folder}/_{name}.{uuid.uuid4().hex[:8]}.tmp'
        self.make_folder(folder)
        with translate_errors(path):
            try:
                with open(source, 'rb') as stream, self.system.open(self.key(temporary), 'wb') as target:
                    shutil.copyfileobj(stream, target, COPY_BYTES)
                if self.find(path) is not None and not self.is_s3:
                    self.remove(path)
                self._rename(temporary, path)
            except BaseException:
                self.remove(temporary)
                raise

    def move(self, source: str, path: str) -> None:
        """Give a file or a folder a new name, under which there must be nothing.

        On S3, where files are copied one by one, those whose names begin with _ (all is there) come last.
        """
        if not self.is_s3:
            self.make_folder(path.rpartition('/')[0])
            with translate_errors(path):
                self._rename(source, path)
            return
        entry = self.find(source)
        if entry is None:
            raise FileNotFoundError(f'{source}: expected a file or a folder, found none')
        if entry.is_folder:
            for child in sorted(self.entries(source), key=lambda child: (child.name.startswith('_'), child.name)):
                self.move(child.path, f'{path}/{child.name}')
            self.remove(source)
            return
        with translate_errors(source):
            self._rename(source, path)

    def _rename(self, source: str, path: str) -> None:
        """Rename on HDFS, which does nothing, and says nothing, where the new name exists."""
        self.system.mv(self.key(source), self.key(path))
        if self.find(source) is not None:
            raise FileExistsError(f'{path}: expected a new name, it exists')

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it; S3 has none."""
        if self.is_s3:
            return
        with translate_errors(path):
            self.system.makedirs(self.key(path), exist_ok=True)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        with translate_errors(path):
            if self.find(path) is not None:
                self.system.rm(self.key(path), recursive=True)


Store = LocalStore | RemoteStore


class Ranges(io.RawIOBase):
    """Read a file that is elsewhere from any position.

    read_range : (first byte, number of bytes) -> bytes. size : of the file.
    """

    def __init__(self, read_range: Callable[[int, int], bytes], size: int) -> None:
        self.read_range, self.size, self.position = read_range, size, 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that it can be read from any position."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self.position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position; returns it. Raises ValueError for one before the file."""
        self.position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: self.size}[whence]
        if self.position < 0:
            raise ValueError(f'expected a position in the file, found {self.position}')
        return self.position

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, unless the file ends before. Raises OSError when a range is cut short."""
        length = max(min(len(buffer), self.size - self.position), 0)
        try:
            data = b''
            if length:
                data = self.read_range(self.position, length)
        except OSError as error:  # with a number it is not taken for a damaged file, and the task is tried again
            raise OSError(error.errno or errno.EIO, error.strerror or str(error)) from error
        if len(data) != length:  # fsspec's WebHDFS does not look whether an answer is an error
            raise OSError(errno.EIO, f'expected {length} bytes from byte {self.position}, found {len(data)}')
        buffer[:length] = data
        self.position += length
        return length


def make_entry(path: str, info: dict) -> Entry:
    """Make the Entry that fsspec's description of a file means."""
    modified = info.get('modificationTime', info.get('mtime', ''))
    return Entry(path, info['type'] == 'directory', info['size'] or 0, str(modified))


def find_reason(error: Exception) -> str:
    """Return in one line why a file system refused: what HDFS answered, where its client has hidden that."""
    try:
        answer = error.response.json()['RemoteException']  # type: ignore[attr-defined]
        return f'{answer["exception"]}: {answer["message"].splitlines()[0]}'
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        pass
    reason = ' '.join(str(error).split())
    refused = REFUSED.search(reason)
    if refused:
        return '{}:{}: {}'.format(*refused.groups())
    return reason


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Turn what file systems raise into an OSError of one sentence that names the path."""
    try:
        yield
    except (ValueError, KeyError, TypeError):
        raise
    except Exception as error:
        reason = find_reason(error)
        if isinstance(error, OSError) and reason.startswith((path, f'[Errno {error.errno}] {path}')):
            raise
        service = path.partition('://')[0].upper().rstrip('AN')
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(f'{path}: expected a file, found none') from None
        if isinstance(error, PermissionError) or any(word in reason for word in DENIED):
            raise PermissionError(f'{path}: {service} refused access: {reason}') from None
        if any(word in type(error).__name__ + reason for word in ('Connection', 'NETWORK_CONNECTION', 'Timeout')):
            raise OSError(errno.EIO, f'{path}: {service} does not answer: is the service up? ({reason})') from None
        raise OSError(errno.EIO, f'{path}: {service} refused: {reason}') from None


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
    if scheme == 'hdfs':
        return RemoteStore(*import_module('mr_elm.rows.hdfs').open_hdfs())
    if scheme:
        return RemoteStore(import_module('mr_elm.rows.s3').open_s3(), is_s3=True)
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
    if is_local(path) and is_stream(path):
        return
    store = store_of(path)
    entry = store.find(path)
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
    entries: dict[str, Entry] = {}
    for pattern in patterns:
        if isinstance(pattern, Entry):
            entries[pattern.path] = pattern
            continue
        if pattern.startswith('file:/'):
            pattern = unquote(urlsplit(pattern).path)
        store = store_of(pattern)
        is_name = store.find(pattern) is not None
        if is_name:
            matches = [pattern]
        else:
            matches = store.glob(pattern)
        if not matches:
            raise FileNotFoundError(f'{pattern}: expected an input file or folder, found none')
        for match in matches:
            entry = store.find(store.absolute(match))
            if entry is None:
                raise FileNotFoundError(f'{match}: expected an input file, found a link to a missing file')
            if is_name:
                root = entry.path
            else:
                names = pattern.split('/')
                first = next((i for i, name in enumerate(names) if PATTERN & set(name)), -1)  # that stands for several
                root = store.absolute('/'.join(names[:first]))
            entries.update((file.path, replace(file, root=root)) for file in list_files(store, entry))
    if not entries:
        raise DataFormatError(f'{", ".join(map(str, patterns))}: expected input files, found none in the folder')
    return [entries[path] for path in sorted(entries)]


def list_files(store: Store, entry: Entry) -> Iterator[Entry]:
    """Yield the files at or below an entry, leaving out names that begin with _ or a dot."""
    if not entry.is_folder:
        yield entry
        return
    children = store.entries(entry.path)
    if any(child.name == '_temporary' for child in children):
        raise DataFormatError(
            f'{entry.path}: expected finished output, its _temporary says that a job did not finish writing'
        )
    for child in children:
        if not child.name.startswith(('_', '.')):
            yield from list_files(store, child)


def name_folders(entry: Entry) -> tuple[tuple[str, str], ...]:
    """Return (name, value) of the folders between the one that the user named and a file, such as city=Oslo."""
    if entry.path != entry.root:
        folders = entry.path.removeprefix(entry.root).split('/')[:-1]
    else:
        folders = []
    return tuple((name, unquote(value)) for name, equals, value in (part.partition('=') for part in folders) if equals)
