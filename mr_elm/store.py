"""Write and read files of named arrays, npz without pickles with a JSON text as header, and small files of JSON."""

import errno
import fcntl
import json
import math
import os
import re
import shutil
import stat
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from mr_elm.errors import ModelFormatError
from mr_elm.processes import is_running

FORMAT = 'mr_elm'
VERSION = 1
DESCRIPTORS = ('/dev/fd', '/proc/self/fd')
FilePath = str | PathLike
NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def save_arrays(
    path: FilePath,
    header: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    check: Callable[[str], None] | None = None,
) -> None:
    """Write named arrays under exactly this name, whole or not at all.

    header : what JSON can hold; format and version are added. check : raises where the file at a path, which is whole
    but does not have its name yet, must not get it.
    """
    text = json.dumps({'format': FORMAT, 'version': VERSION, **header})
    with replace_file(path) as stream:
        np.savez(stream, **{'header': np.array(text), **arrays})  # type: ignore[arg-type]
        if check is not None:
            stream.flush()
            check(stream.name)


@contextmanager
def replace_file(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of `path` when all went well, and vanishes otherwise.

    It lies beside the file that the path names; links are followed. A pipe or a device is never replaced: the temporary
    file is copied into it.
    """
    path = os.fspath(path)
    target = None
    if is_stream(path):  # what writes npz or Parquet moves back and forth, which a pipe cannot
        descriptor, temporary = tempfile.mkstemp(prefix=temporary_prefix())
        os.close(descriptor)
    else:
        target = os.path.realpath(path)
        temporary = f'{target}.{uuid.uuid4().hex[:8]}.tmp'
    try:
        with open(temporary, 'wb') as stream:
            yield stream
        if target is None:
            copy_into(temporary, path)
        else:
            os.replace(temporary, target)
    except OSError as error:
        name_file(error, path)
        raise
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def lock(descriptor: int, path: str, kind: str) -> None:
    """Let no other command change a file, until its descriptor closes: two that read it would each write it anew.

    kind : of the file. Raises BlockingIOError where another command changes it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BlockingIOError(
            f'{path}: expected a {kind} that no other command changes, found one at work: try again when it has ended'
        ) from None


def name_file(error: OSError, path: str) -> None:
    """Let an error name the file that is written: that of a full disk names none."""
    if error.strerror:  # others are sentences
        error.filename = error.filename or path


def temporary_prefix(process: int | str = '') -> str:
    """Return how names of temporary files of a process begin, this one by default: they say whose they are."""
    return f'mr_elm-{os.uname().nodename}-{process or os.getpid()}-'  # containers may share a folder, not the processes


def temporary_folder() -> tempfile.TemporaryDirectory:
    """Return a context that gives a new folder of this machine, and removes it."""
    return tempfile.TemporaryDirectory(prefix=temporary_prefix())


def remove_leftovers() -> list[str]:
    """Remove the temporary files and folders of processes of this user that were killed: their paths."""
    removed, pattern = [], re.compile(re.escape(temporary_prefix('PROCESS')).replace('PROCESS', r'(\d+)'))
    for entry in os.scandir(tempfile.gettempdir()):
        match = pattern.match(entry.name)
        with suppress(FileNotFoundError):  # another run of this command removes them at the same time
            if match is None or entry.stat(follow_symlinks=False).st_uid != os.getuid() or is_running(int(match[1])):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)
            removed.append(entry.path)
    return sorted(removed)


def is_stream(path: FilePath) -> bool:
    """Tell whether a path names a pipe, a device or an open descriptor: what is written into and never replaced.

    No path of a store elsewhere does.
    """
    if find_descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def find_descriptor(path: FilePath) -> int | None:
    """Return the descriptor that a path such as /dev/stdout or /dev/fd/1 names, None for any other path."""
    path = os.path.abspath(path)
    for _ in range(40):  # links from a path to what it names, as Linux allows
        folder, name = os.path.split(path)
        if name.isdecimal() and folder in (*DESCRIPTORS, f'/proc/{os.getpid()}/fd'):
            return int(name)
        if not os.path.islink(path):
            break
        path = os.path.normpath(os.path.join(folder, os.readlink(path)))
    return None


def copy_into(source: str, path: str) -> None:
    """Copy a file into a pipe, a device or an open descriptor. Raises OSError where nobody reads a pipe."""
    descriptor = find_descriptor(path)
    # a descriptor may be a file in which others have written, which opening it by its name would cut
    if descriptor is None:
        opened = os.open(path, os.O_WRONLY)
    else:
        opened = os.dup(descriptor)
    try:
        with open(opened, 'wb') as stream, open(source, 'rb') as contents:
            shutil.copyfileobj(contents, stream)
    except BrokenPipeError:
        if descriptor is not None:
            raise
        raise OSError(f'{path}: expected a reader of this pipe up to its end, it left before') from None


def read_arrays(path: FilePath, names: Container[str] | None) -> dict[str, np.ndarray]:
    """Read the arrays of an npz file, by name. It takes no more memory than the file has bytes, whatever it claims.

    names : of those to read, None for all.
    Raises ValueError, or whatever zipfile and numpy raise, when it is none, when it is compressed, which `save_arrays`
    never does, or when it holds pickled objects.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > os.path.getsize(path):
            raise ValueError('its arrays are larger than the file: it is compressed or damaged')
        files = {member.filename.removesuffix('.npy'): member for member in members}
        return {name: read_array(archive, file) for name, file in files.items() if names is None or name in names}


def read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """Read an array of a zip archive whose size is what its header says."""
    with archive.open(member) as stream:
        shape, _, dtype = NPY_HEADERS[npy.read_magic(stream)](stream)
        if dtype.hasobject:
            raise ValueError(f'{member.filename} holds pickled objects, which are never loaded')
        size = member.file_size - stream.tell()
        if math.prod(shape) * dtype.itemsize != size:
            raise ValueError(f'{member.filename} has {size} bytes for an array of shape {shape}')
    with archive.open(member) as stream:
        return npy.read_array(stream, allow_pickle=False)


def load_header(path: FilePath) -> dict[str, Any]:
    """Read the header of what `save_arrays` wrote, without its arrays. Raises ModelFormatError for another file."""
    return load_arrays(path, names=('header',))[0]


def load_arrays(
    path: FilePath, name: FilePath | None = None, names: Container[str] | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what `save_arrays` wrote: (header, arrays). Raises ModelFormatError for another file.

    name : what messages call it. names : of the members to read, the header among them; None for all.
    """
    name = name or path
    try:
        arrays = read_arrays(path, names)
        header = json.loads(str(arrays.pop('header')[()]))
    except MemoryError:
        raise
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):
            raise  # the file cannot be read, whatever it is
        raise ModelFormatError(f'{name}: expected a model file of mr-elm, this one is damaged') from None
    except Exception as error:  # what numpy, zipfile and json raise for damaged bytes is in no list of theirs
        raise ModelFormatError(f'{name}: expected a model file of mr-elm ({error})') from None
    if not isinstance(header, dict) or header.get('format') != FORMAT:
        raise ModelFormatError(f'{name}: expected a model file of mr-elm, found another npz file')
    if header.get('version') != VERSION:
        raise ModelFormatError(f'{name}: expected model version {VERSION}, found version {header.get("version")}')
    return header, arrays


def read_json(path: str) -> Any:
    """Return the value in a file of JSON."""
    return json.loads(Path(path).read_text(encoding='utf-8'))


def write_json(path: str | os.PathLike, value: object, end: str = '') -> str:
    """Write a value as JSON and return the path."""
    Path(path).write_text(json.dumps(value) + end, encoding='utf-8')
    return os.fspath(path)
