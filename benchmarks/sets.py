"""Read public data sets: from the folders that MR_ELM_DATA names, else from where sets.json says, or scikit-learn.

A set is a file NAME.libsvm, plain or compressed, or NAME.npz with the arrays X and y. The first folder that has a name
counts. What is downloaded goes to build/data.
"""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.machine import ROOT
from benchmarks.public.sets import DATA_SETS, download
from mr_elm.features.landmarks import hash_rows
from mr_elm.typing import Floats, Labels

PATTERNS = ('.libsvm*', '.npz')
BUNDLED = {'iris': 'load_iris', 'wine': 'load_wine', 'digits': 'load_digits', 'wdbc': 'load_breast_cancer'}
DOWNLOADED = ROOT / 'build' / 'data'


def list_folders() -> list[Path]:
    """Return the folders of MR_ELM_DATA."""
    return [Path(folder) for folder in os.environ.get('MR_ELM_DATA', '').split(':') if folder]


def find_set(name: str) -> Path | None:
    """Return the path of a set, or None."""
    for folder in [*list_folders(), DOWNLOADED]:
        for pattern in PATTERNS:
            for path in sorted(folder.glob(name + pattern)):
                return path
    return None


def list_sets() -> list[str]:
    """Return the names of sets.json, those of few rows first."""
    return sorted(DATA_SETS, key=lambda name: DATA_SETS[name].n_rows)


def list_more_sets() -> list[str]:
    """Return the names of sets of classes in the folders of MR_ELM_DATA that sets.json has not, small ones first."""
    paths = [path for folder in list_folders() for path in folder.glob('*.npz') if path.stem not in DATA_SETS]
    names = []
    for path in sorted(paths, key=lambda path: path.stat().st_size):
        with np.load(path) as arrays:
            if 'task' not in arrays or arrays['task'] != 'regression':
                names.append(path.stem)
    return names


@lru_cache(maxsize=2)
def read_set(name: str) -> tuple[Floats, np.ndarray]:
    """Return (X, y) of a set, dense. Raises OSError where no folder has it and it cannot be downloaded."""
    import sklearn.datasets  # a second to import, and who only looks for a set reads none

    path = find_set(name)
    if path is None and name in BUNDLED:
        return getattr(sklearn.datasets, BUNDLED[name])(return_X_y=True)
    if path is None:
        if name not in DATA_SETS:
            raise FileNotFoundError(f'expected {name}.npz in a folder of MR_ELM_DATA, none has it')
        path = download(name, DOWNLOADED)
    if path.suffix == '.npz':
        with np.load(path) as arrays:
            return np.asarray(arrays['X'], dtype=float), arrays['y']
    width = DATA_SETS[name].n_features if name in DATA_SETS else None
    X, y = sklearn.datasets.load_svmlight_file(str(path), n_features=width)
    return X.toarray(), y


def read_split(name: str, trial: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the rows that train and those that test of a trial, where the file of a set has them."""
    path = find_set(name)
    if path is None or path.suffix != '.npz':
        return None
    with np.load(path) as arrays:
        for train, test in ((f'k{2 * trial}', f'k{2 * trial + 1}'), ('train', 'test')):
            if train in arrays:
                return arrays[train], arrays[test]
    return None


def sample_rows(name: str, most: int) -> tuple[Floats, Labels]:
    """Return (X, y) of at most `most` rows of a set, by a hash, standardised."""
    X, y = read_set(name)
    rows = np.argsort(hash_rows(X, 0), kind='stable')[:most]
    return standardise(X[rows])[0], y[rows]


def standardise(X: Floats, *others: Floats) -> list[Floats]:
    """Return rows with features of mean 0 and deviation 1, and other rows by the same formula."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X)
    return [scaler.transform(rows) for rows in (X, *others)]


def scale_to_box(X: Floats, *others: Floats) -> list[Floats]:
    """Return rows with features in [-1, 1], and other rows by the same formula."""
    from sklearn.preprocessing import MinMaxScaler

    scaler = MinMaxScaler((-1, 1)).fit(X)
    return [scaler.transform(rows) for rows in (X, *others)]


def split_halves(y: Labels, trial: int, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return a random half of the rows to train on, at most `most`, and the others to test on, at most 4 times that.

    Each class has the same share of both.
    """
    from sklearn.model_selection import StratifiedShuffleSplit

    half = len(y) // 2
    sizes = (half, half) if most is None else (min(most, half), min(4 * most, half))
    splitter = StratifiedShuffleSplit(1, train_size=sizes[0], test_size=sizes[1], random_state=trial)
    return next(splitter.split(y, y))
