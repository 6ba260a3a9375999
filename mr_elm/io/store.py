"""Write and read model files: npz without pickles, with a JSON text as header."""
import errno
import json
import math
import os
import uuid
import zipfile
from collections.abc import Mapping
from os import PathLike
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from mr_elm.errors import ModelFormatError
from mr_elm.header import ModelHeader

FORMAT = 'mr_elm'
VERSION = 2
READABLE = (1, 2)
FilePath = str | PathLike
NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def save_model(path: FilePath, header: ModelHeader, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a model under exactly this name, whole or not at all."""
    save_arrays(path, header.to_json(), arrays)


def save_arrays(path: FilePath, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays under exactly this name, whole or not at all.

    header : what JSON can hold; format and version are added.
    """
    text = json.dumps({'format': FORMAT, 'version': VERSION, **header})
    with replace_file(path) as stream:
        np.savez(stream, **{'header': np.array(text), **arrays})  # type: ignore[arg-type]


class replace_file:
    """Open a temporary file beside `path` that takes its place when all went well, and vanishes otherwise."""

    def __init__(self, path: FilePath, mode: str = 'wb', **options: Any) -> None:
        self.path = os.path.abspath(path)
        self.temporary = f'{self.path}.{uuid.uuid4().hex[:8]}.tmp'
        self.mode, self.options = mode, options

    def __enter__(self) -> IO:
        self.stream = open(self.temporary, self.mode, **self.options)
        return self.stream

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.stream.close()
            if kind is None:
                os.replace(self.temporary, self.path)
        finally:
            if os.path.exists(self.temporary):
                os.unlink(self.temporary)


def read_arrays(path: FilePath) -> dict[str, np.ndarray]:
    """Read the arrays of an npz file, by name. It takes no more memory than the file has bytes, whatever it claims.

    Raises ValueError, or whatever zipfile and numpy raise, when it is none, when it is compressed, which `save_arrays`
    never does, or when it holds pickled objects.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > os.path.getsize(path):
            raise ValueError('its arrays are larger than the file: it is compressed or damaged')
        return {member.filename.removesuffix('.npy'): read_array(archive, member) for member in members}


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


def load_arrays(path: FilePath, name: FilePath | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what `save_arrays` wrote: (header, arrays). Raises ModelFormatError for another file; name : for it."""
    name = name or path
    try:
        arrays = read_arrays(path)
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
    if header.get('version') not in READABLE:
        raise ModelFormatError(f'{name}: expected model version {" or ".join(map(str, READABLE))}, found version '
                               f'{header.get("version")}')
    return header, arrays
