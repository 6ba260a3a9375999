"""Find public data sets in the folders that MR_ELM_DATA names (colon between), or among those of scikit-learn.

A set is a file NAME.libsvm, plain or compressed, or NAME.npz with the arrays X and y. The first folder that has a name
counts.
"""
import os
import sys
from pathlib import Path

import numpy as np

from mr_elm.typing import Labels, Rows

PATTERNS = ('.libsvm*', '.npz')
BUNDLED = {'iris': 'load_iris', 'wine': 'load_wine', 'digits': 'load_digits', 'wdbc': 'load_breast_cancer'}


def list_folders() -> list[Path]:
    """Return the folders of MR_ELM_DATA."""
    return [Path(folder) for folder in os.environ.get('MR_ELM_DATA', '').split(':') if folder]


def find_set(name: str) -> Path | None:
    """Return the path of a set, or None."""
    return next((path for folder in list_folders() for pattern in PATTERNS
                 for path in sorted(folder.glob(name + pattern))), None)


def is_there(name: str) -> bool:
    """Say whether `read_set` can read a set."""
    return name in BUNDLED or find_set(name) is not None


def find_or_warn(name: str) -> bool:
    """Say whether a folder has a set; one that is left out is named on standard error."""
    if find_set(name) is None:
        print(f'{name}: not in a folder of MR_ELM_DATA, left out', file=sys.stderr)
    return find_set(name) is not None


def list_sets() -> list[str]:
    """Return the names of all sets in the folders; those of scikit-learn when there are none."""
    found = {path.name.partition(pattern.rstrip('*'))[0] for folder in list_folders() for pattern in PATTERNS
             for path in folder.glob('*' + pattern)}
    return sorted(found or BUNDLED)


def read_set(name: str, classes: tuple | None = None) -> tuple[Rows, Labels]:
    """Read a set, or its rows of some classes: (X CSR, y). Raises FileNotFoundError when no folder has it."""
    X, y = read_file(path) if (path := find_set(name)) else read_bundled(name)
    kept = slice(None) if classes is None else np.flatnonzero(np.isin(y, classes))
    return X[kept], y[kept]


def read_file(path: Path) -> tuple[Rows, Labels]:
    """Read a file of LIBSVM text or of arrays."""
    from scipy.sparse import csr_matrix
    from sklearn.datasets import load_svmlight_file
    if path.suffix == '.npz':
        with np.load(path) as arrays:
            return csr_matrix(arrays['X']), arrays['y']
    return load_svmlight_file(str(path))


def read_bundled(name: str) -> tuple[Rows, Labels]:
    """Read a set that scikit-learn brings along."""
    import sklearn.datasets
    from scipy.sparse import csr_matrix
    if name not in BUNDLED:
        raise FileNotFoundError(f'expected {name}.libsvm in a folder of MR_ELM_DATA, none has it')
    X, y = getattr(sklearn.datasets, BUNDLED[name])(return_X_y=True)
    return csr_matrix(X), y
