"""Draw artificial data sets of any length, block by block, and write them as text.

Block i is drawn from a stream of its own, known by (seed, i), so the first rows of a data set never
depend on how many rows follow, and memory holds one block however long the data set is.
"""

import contextlib
import gzip
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mr_elm.errors import demand_choice
from mr_elm.store import replace_file

Rows = tuple[np.ndarray, np.ndarray]  # (X, labels)
Draw = Callable[[np.random.Generator, int], Rows]
BLOCK_ROWS = 4096
_PARAMETERS, _BLOCKS = 0, 1  # the two families of random streams under one seed
_VALUES_AT_ONCE = 50_000  # values in one formatting call: larger is no faster


def generate(kind: str, n_rows: int, n_features: int, seed: int, **options: Any) -> Iterator[Rows]:
    """Return an iterator over the blocks (X, labels) of one artificial data set.

    kind: a key of GENERATORS; options: the keyword arguments of that function.
    A block: X of shape (n, n_features), float64, and labels of shape (n,), with n = BLOCK_ROWS
    except in the last block. Labels are -1 and 1, 1..K for blobs, or float64 targets for regression.
    Raises ValueError for an unknown kind or impossible size, before the first block.
    """
    demand_choice('kind', kind, GENERATORS)
    for name, value, least in (('n_rows', n_rows, 0), ('n_features', n_features, 1), ('seed', seed, 0)):
        _demand_at_least(name, value, least)
    draw = GENERATORS[kind](n_features, _stream(seed, _PARAMETERS), **options)
    return _blocks(draw, n_rows, seed)


def ndc(n_features: int, rng: np.random.Generator, n_clusters: int = 20, spread: float = 0.5) -> Draw:
    """Return a drawer of Normally Distributed Clusters, labelled by a random plane.

    Centres are uniform in [-1, 1]^d; each cluster has a random covariance H S^2 H, with S diagonal,
    0.5 to 1.5 times spread, and H a random reflection. The plane leaves half of the centres on either
    side, and a row carries the class of its centre: the classes overlap more as spread grows.
    Source: D. R. Musicant, NDC: Normally Distributed Clustered Datasets, 1998. There the covariance
    is a full random matrix; the reflection needs d numbers a cluster instead of d^2.
    """
    centres = rng.uniform(-1, 1, (n_clusters, n_features))
    deviations = spread * rng.uniform(0.5, 1.5, (n_clusters, n_features))
    mirrors = _unit_rows(rng.standard_normal((n_clusters, n_features)))
    heights = centres @ _unit_rows(rng.standard_normal((1, n_features)))[0]
    classes = np.where(np.argsort(np.argsort(heights)) < n_clusters // 2, -1, 1)

    def draw(rng: np.random.Generator, n: int) -> Rows:
        cluster = rng.integers(n_clusters, size=n)
        steps = rng.standard_normal((n, n_features)) * deviations[cluster]
        along = np.einsum('ij,ij->i', steps, mirrors[cluster])
        return centres[cluster] + steps - 2 * along[:, None] * mirrors[cluster], classes[cluster]

    return draw


def twonorm(n_features: int, rng: np.random.Generator) -> Draw:
    """Return a drawer of two unit normals with means (a, ..., a) and (-a, ..., -a), a = 2 / sqrt(d).

    The best rule is the sign of the sum of the features; it is right on 97.7 % of the rows.
    Source: L. Breiman, Bias, variance, and arcing classifiers, 1996.
    """
    mean = 2 / np.sqrt(n_features)

    def draw(rng: np.random.Generator, n: int) -> Rows:
        labels = _signs(rng, n)
        return rng.standard_normal((n, n_features)) + mean * labels[:, None], labels

    return draw


def ringnorm(n_features: int, rng: np.random.Generator) -> Draw:
    """Return a drawer of a wide normal N(0, 4I), class 1, round N((a, ..., a), I), class -1, a = 1 / sqrt(d).

    Source: L. Breiman, Bias, variance, and arcing classifiers, 1996.
    """
    mean = 1 / np.sqrt(n_features)

    def draw(rng: np.random.Generator, n: int) -> Rows:
        labels = _signs(rng, n)
        wide = (labels == 1)[:, None]
        steps = rng.standard_normal((n, n_features))
        return np.where(wide, 2 * steps, steps + mean), labels

    return draw


def blobs(n_features: int, rng: np.random.Generator, n_classes: int = 3, spread: float = 1.0) -> Draw:
    """Return a drawer of n_classes round normal clusters of deviation spread, one a class, labels 1..n_classes.

    Centres are uniform in [-5, 5]^d.
    """
    _demand_at_least('n_classes', n_classes, 2)
    centres = rng.uniform(-5, 5, (n_classes, n_features))

    def draw(rng: np.random.Generator, n: int) -> Rows:
        cluster = rng.integers(n_classes, size=n)
        return centres[cluster] + spread * rng.standard_normal((n, n_features)), cluster + 1

    return draw


def regression(n_features: int, rng: np.random.Generator, noise: float = 1.0) -> Draw:
    """Return a drawer of Friedman's first function with normal noise; features past the fifth do not matter.

    t = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + noise N(0, 1), x uniform in [0, 1]^d, d >= 5.
    Source: J. H. Friedman, Multivariate adaptive regression splines, Annals of Statistics 19, 1991.
    """
    _demand_at_least('n_features of a regression set', n_features, 5)

    def draw(rng: np.random.Generator, n: int) -> Rows:
        X = rng.uniform(size=(n, n_features))
        targets = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
        return X, targets + noise * rng.standard_normal(n)

    return draw


GENERATORS = {'ndc': ndc, 'twonorm': twonorm, 'ringnorm': ringnorm, 'blobs': blobs, 'regression': regression}


def write_rows(blocks: Iterable[Rows], path: str | Path, name: str | Path | None = None) -> int:
    """Write blocks (X, labels) as text and return the number of rows.

    A name ending in .libsvm gets `label 1:value 2:value ...`, every value written; any other name gets
    CSV with the label first and no header. A further .gz compresses. Values carry six significant digits.
    The file appears under its name, which may exist, only when it is whole. name : whose ending counts, path if it is
    None.
    """
    name = Path(path if name is None else name).name
    to_text = _libsvm_format if name.removesuffix('.gz').endswith('.libsvm') else _csv_format
    n_rows = 0
    with replace_file(path) as whole, _compress(whole, name) as file:
        for X, labels in blocks:
            file.writelines(_lines(X, labels, to_text))
            n_rows += len(labels)
    return n_rows


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _blocks(draw: Draw, n_rows: int, seed: int) -> Iterator[Rows]:
    for index, start in enumerate(range(0, n_rows, BLOCK_ROWS)):
        # A short block is a full one cut: its rows must not depend on where the data set ends.
        X, labels = draw(_stream(seed, _BLOCKS, index), BLOCK_ROWS)
        yield X[: n_rows - start], labels[: n_rows - start]


def _signs(rng: np.random.Generator, n: int) -> np.ndarray:
    return 2 * rng.integers(2, size=n) - 1


def _unit_rows(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def _demand_at_least(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f'{name} must be a whole number of at least {least}, not {value!r}')


def _csv_format(label: str, n_features: int) -> str:
    return label + ',%.6g' * n_features + '\n'


def _libsvm_format(label: str, n_features: int) -> str:
    return label + ''.join(f' {index}:%.6g' for index in range(1, n_features + 1)) + '\n'


def _lines(X: np.ndarray, labels: np.ndarray, to_format: Callable[[str, int], str]) -> Iterator[bytes]:
    """Yield the rows as bytes, many rows a call: one long format is more than twice as fast as one a row."""
    whole = np.issubdtype(labels.dtype, np.integer)
    row = to_format('%d' if whole else '%.6g', X.shape[1])
    step = max(1, _VALUES_AT_ONCE // (X.shape[1] + 1))
    table = np.column_stack([labels, X])
    for start in range(0, len(table), step):
        part = table[start : start + step]
        yield (row * len(part) % tuple(part.ravel().tolist())).encode('ascii')


def _compress(file: Any, name: str) -> Any:
    """Return a context that gives what to write into: the file, or a gzip stream where the name asks for one."""
    if not name.endswith('.gz'):
        return contextlib.nullcontext(file)
    # No name and no time in the header: the same rows give the same bytes.
    return gzip.GzipFile(filename='', fileobj=file, mode='wb', mtime=0, compresslevel=6)
