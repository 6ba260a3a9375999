"""Keep the sums of a model's rows in a file beside the model: those of OUT.npz in OUT.sums.npz.

The file holds the digest of the model file that it belongs to. What changes the rows of a model reads it; what predicts
does not. Where leaves of trees are nodes, their products are counts of rows: these are whole numbers of few bytes.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from math import isqrt
from typing import Any

import numpy as np

from mr_elm.errors import ModelFormatError
from mr_elm.rows.storage import COPY_BYTES, copy, demand_free, fetch_file, store_of
from mr_elm.store import FilePath, is_stream, load_arrays, load_header

DIGEST = 'model_sha256'  # in the header of a file of sums
GRAM, COUNTS = 'gram', 'leaf_counts'
NO_LEVERAGES = (
    "expected a smaller nu, or C of elm: leverages and leave-one-out need an I/nu + E'E that is positive definite in "
    'floating point: train the model again'
)
WAITING = '.next'  # ends the name of new sums whose model has not got its name yet


def name_sums(path: FilePath) -> str:
    """Return the file for the sums of a model at a path."""
    return f'{os.fspath(path).removesuffix(".npz")}.sums.npz'


def takes_sums(path: FilePath) -> bool:
    """Tell whether a file can lie beside a model: a pipe or a device has no folder of its own."""
    return not is_stream(path)


def demand_leverages(model: Any, name: str) -> None:
    """Raise ModelFormatError when nu is too large for leverages of rows. name : of the model, or of its rows."""
    if any(member.header.parameters.get('solver') == 'eigenvectors' for member in model.members):
        raise ModelFormatError(f'{name}: {NO_LEVERAGES}')


def demand_sums_free(path: str, overwrite: bool) -> None:
    """Raise OSError where another file than sums has the name of the sums of a model, unless it is replaced."""
    sums = name_sums(path)
    with suppress(OSError, ModelFormatError):
        overwrite |= DIGEST in load_header(sums)
    demand_free(sums, overwrite)


def compute_digest(path: FilePath) -> str:
    """Return the SHA-256 of a file of this machine."""
    digest = hashlib.sha256()
    with open(path, 'rb') as stream:
        while part := stream.read(COPY_BYTES):
            digest.update(part)
    return digest.hexdigest()


def shrink_counts(sums: Mapping[str, np.ndarray], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return sums with the products of leaves apart, as the smallest whole numbers that hold them.

    Of rows with weights these are no whole numbers, and stay as they are. arrays : of the model, which has the trees.
    """
    shrunk = dict(sums)
    for name in sums:
        prefix = name.removesuffix(GRAM)
        trees = arrays.get(f'{prefix}tree_features')
        if not name.endswith(GRAM) or trees is None:
            continue
        high, low = sums[name], sums[f'{name}_low']
        of_leaves = mark_leaves(count_side(len(high)), int((trees < 0).sum()))
        counts = high[of_leaves]
        if low[of_leaves].any() or (counts != np.rint(counts)).any() or not 0 <= counts.min() <= counts.max() < 2**32:
            continue
        shrunk |= {
            name: high[~of_leaves],
            f'{name}_low': low[~of_leaves],
            f'{prefix}{COUNTS}': counts.astype(np.min_scalar_type(int(counts.max()))),
        }
    return shrunk


def restore_counts(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Undo `shrink_counts`. Raises KeyError or ValueError where the parts do not fit."""
    restored = {name: array for name, array in arrays.items() if not name.endswith(COUNTS)}
    for name in arrays.keys() - restored.keys():
        counts, gram = arrays[name], f'{name.removesuffix(COUNTS)}{GRAM}'
        if counts.dtype.kind != 'u' or counts.ndim != 1:
            raise ValueError(f'expected {name} of whole numbers, found {counts.dtype}')
        of_leaves = mark_leaves(count_side(len(counts) + len(arrays[gram])), count_side(len(counts)))
        for part, inner in ((gram, counts), (f'{gram}_low', 0.0)):
            restored[part] = np.empty(len(of_leaves))
            restored[part][of_leaves], restored[part][~of_leaves] = inner, arrays[part]
    return restored


def count_side(n_numbers: int) -> int:
    """Return m of an upper triangle of m (m + 1) / 2 numbers. Raises ValueError where there is no such m."""
    m = (isqrt(8 * n_numbers + 1) - 1) // 2
    if m * (m + 1) // 2 != n_numbers:
        raise ValueError(f'expected the numbers of an upper triangle, found {n_numbers}')
    return m


def mark_leaves(m: int, n_leaves: int) -> np.ndarray:
    """Tell which numbers of a packed upper triangle are products of two leaves, which come first: (m (m + 1) / 2,)."""
    marks = np.zeros(m * (m + 1) // 2, bool)
    start = 0
    for i in range(n_leaves):
        marks[start : start + n_leaves - i] = True
        start += m - i
    return marks


def load_sums(path: FilePath, model_path: FilePath, name: FilePath | None) -> dict[str, np.ndarray]:
    """Read the sums of a model.

    path, model_path : of files of this machine. name : what messages call the model, when its file is a copy.
    Raises ModelFormatError when there is no file of sums, or when it belongs to another model.
    """
    if name is None:
        beside = path
    else:
        beside = name_sums(name)
    name = name or model_path
    if not os.path.exists(path):
        raise ModelFormatError(
            f'{name}: expected the sums of its rows in {beside}, found no such file: put the '
            'one that was written with the model there, or train again (auto: with --keep-sums)'
        )
    header, arrays = load_arrays(path, beside)
    if header.get(DIGEST) != compute_digest(model_path):
        raise ModelFormatError(
            f'{beside}: expected the sums of the rows of {name}, found a file that does not '
            'belong to this model: put the one that was written with it there, or train again'
        )
    return arrays


def copy_sums(path: FilePath, copy_path: FilePath) -> None:
    """Copy the sums beside a model, where there are some, so that they lie beside its copy on this machine."""
    if find_sums(path):
        copy(name_sums(path), name_sums(copy_path))


@contextmanager
def new_sums(path: FilePath) -> Iterator[str]:
    """Give the name under which the sums of a new model wait until the model, inside, has got its own name."""
    waiting = f'{name_sums(path)}{WAITING}'
    complete_sums(path)  # of the model that is replaced
    try:
        yield waiting
    except BaseException:
        if store_of(waiting).find(waiting):
            store_of(waiting).remove(waiting)
        raise
    complete_sums(path, fits=True)


def complete_sums(path: FilePath, fits: bool = False) -> None:
    """Give sums that wait their name if their model has got its own. fits : whether this is known.

    It is not where a command was killed, and has left sums that wait.
    """
    name, store = name_sums(path), store_of(name_sums(path))
    waiting = f'{name}{WAITING}'
    if not fits and takes_sums(path) and store.find(waiting) and store.find(os.fspath(path)):
        with fetch_file(waiting) as sums_local, fetch_file(os.fspath(path)) as local:
            fits = load_header(sums_local).get(DIGEST) == compute_digest(local)
    if fits:
        if store.find(name):
            store.remove(name)
        store.move(waiting, name)


def find_sums(path: FilePath) -> bool:
    """Tell whether there is a file of sums beside a model, wherever that is."""
    entry = None
    if takes_sums(path):
        complete_sums(path)
        entry = store_of(name_sums(path)).find(name_sums(path))
    return entry is not None and not entry.is_folder


def remove_sums(path: FilePath) -> None:
    """Remove the sums of a model that was replaced by one without sums."""
    if find_sums(path):
        store_of(name_sums(path)).remove(name_sums(path))
