"""Keep the sums of a model's rows in a file beside the model: those of OUT.npz in OUT.sums.npz.

The file holds the digest of the model file that it belongs to. What changes the rows of a model reads it; what predicts
does not.
"""
import hashlib
import os
from collections.abc import Mapping

import numpy as np

from mr_elm.errors import ModelFormatError
from mr_elm.rows.storage import COPY, copy, is_local, store_of
from mr_elm.store import FilePath, is_stream, load_arrays, save_arrays

DIGEST = 'model_sha256'  # in the header of a file of sums


def name_sums(path: FilePath) -> str:
    """Return the file for the sums of a model at a path."""
    return f'{os.fspath(path).removesuffix(".npz")}.sums.npz'


def takes_sums(path: FilePath) -> bool:
    """Tell whether a file can lie beside a model: a pipe or a device has no folder of its own."""
    return not (is_local(os.fspath(path)) and is_stream(path))


def compute_digest(path: FilePath) -> str:
    """Return the SHA-256 of a file of this machine."""
    digest = hashlib.sha256()
    with open(path, 'rb') as stream:
        while part := stream.read(COPY):
            digest.update(part)
    return digest.hexdigest()


def save_sums(path: FilePath, sums: Mapping[str, np.ndarray], model_path: FilePath) -> None:
    """Write the sums of a model, whose file is complete at model_path."""
    save_arrays(path, {DIGEST: compute_digest(model_path)}, sums)


def load_sums(path: FilePath, model_path: FilePath, name: FilePath | None = None) -> dict[str, np.ndarray]:
    """Read the sums of a model.

    path, model_path : of files of this machine. name : what messages call the model, when its file is a copy.
    Raises ModelFormatError when there is no file of sums, or when it belongs to another model.
    """
    beside = path if name is None else name_sums(name)
    name = name or model_path
    if not os.path.exists(path):
        raise ModelFormatError(f'{name}: expected the sums of its rows in {beside}, found no such file: put the '
                               'one that was written with the model there, or train again and keep the sums')
    header, arrays = load_arrays(path, beside)
    if header.get(DIGEST) != compute_digest(model_path):
        raise ModelFormatError(f'{beside}: expected the sums of the rows of {name}, found a file that does not '
                               'belong to this model: put the one that was written with it there, or train again')
    return arrays


def are_sums(path: FilePath) -> bool:
    """Tell whether there is a file of this machine that holds sums."""
    if not (is_local(os.fspath(path)) and os.path.isfile(path)):
        return False
    try:
        return DIGEST in load_arrays(path)[0]
    except ModelFormatError:
        return False


def copy_sums(path: FilePath, copy_path: FilePath) -> None:
    """Copy the sums beside a model, where there are some, so that they lie beside its copy on this machine."""
    if find_sums(path):
        copy(name_sums(path), name_sums(copy_path))


def find_sums(path: FilePath) -> bool:
    """Tell whether there is a file of sums beside a model, wherever that is."""
    found = store_of(name_sums(path)).find(name_sums(path)) if takes_sums(path) else None
    return found is not None and not found.is_folder


def remove_sums(path: FilePath) -> None:
    """Remove the sums of a model that was replaced by one without sums."""
    if find_sums(path):
        store_of(name_sums(path)).remove(name_sums(path))
