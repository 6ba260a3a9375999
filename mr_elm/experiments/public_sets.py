"""Find public data sets in the folders that MR_ELM_DATA names (colon between)."""
import os
from pathlib import Path


def find_set(name):
    """Return the path of NAME.libsvm, plain or compressed, or None."""
    folders = [Path(folder) for folder in os.environ.get('MR_ELM_DATA', '').split(':') if folder]
    return next((path for folder in folders for path in sorted(folder.glob(f'{name}.libsvm*'))), None)


def read_set(name, classes=None):
    """Read a set, or its rows of some classes: (X CSR, y). Raises FileNotFoundError when no folder has it."""
    import numpy as np
    from sklearn.datasets import load_svmlight_file
    path = find_set(name)
    if path is None:
        raise FileNotFoundError(f'{name}.libsvm was expected in a folder of MR_ELM_DATA, none has it')
    X, y = load_svmlight_file(str(path))
    kept = slice(None) if classes is None else np.flatnonzero(np.isin(y, classes))
    return X[kept], y[kept]
