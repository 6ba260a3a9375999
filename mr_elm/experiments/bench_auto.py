"""Measure `--auto` against a tuned SVC, the cost of a grid against one training, and of an update against all.

    python -m mr_elm.experiments.bench_auto OUT.json [NAME...]

Processor seconds on one thread. Data sets are looked for in the folders that MR_ELM_DATA names; those that are not
there are left out. What SVC needed is kept in svc.json beside OUT.json and not measured again.
"""
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from ..arithmetic import one_thread
from .public_sets import find_set, read_set

SETS = ('letter', 'cod-rna', 'a9a', 'usps', 'shuttle', 'pendigits', 'magic', 'phoneme')
SVC_C, SVC_GAMMA = (0.1, 1, 10, 100, 1000), (0.1, 0.4, 1.6, 6.4)  # gamma in 1/d
SVC_ROWS = 5_000  # to choose them on


def parts(name):
    """Return (X, y) for training and (X, y) for testing, two thirds and a third, dense."""
    X, y = read_set(name)
    order = np.random.default_rng(0).permutation(len(y))
    cut = 2 * len(y) // 3
    return [(X[rows].toarray(), y[rows]) for rows in (order[:cut], order[cut:])]


def tuned_svc(name, path):
    """Return accuracy, processor seconds, C and gamma of SVC, chosen on a sample, trained on all; from the file."""
    known = json.loads(path.read_text()) if path.exists() else {}
    if name not in known:
        known[name] = measure_svc(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(known, indent=1) + '\n')
    return known[name]


def measure_svc(name):
    """Choose C and gamma of SVC by 5 folds on a sample of the training rows, train it on all of them, and test it."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC
    (X, y), (X_test, y_test) = parts(name)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    X, X_test = ((rows - mean) / np.where(deviation > 0, deviation, 1) for rows in (X, X_test))
    start = time.process_time()
    grid = {'C': SVC_C, 'gamma': [gamma / X.shape[1] for gamma in SVC_GAMMA]}
    search = GridSearchCV(SVC(cache_size=1000), grid, cv=5, refit=False).fit(X[:SVC_ROWS], y[:SVC_ROWS])
    model = SVC(cache_size=1000, **search.best_params_).fit(X, y)
    seconds = time.process_time() - start
    return {'accuracy': model.score(X_test, y_test), 'seconds': seconds, **search.best_params_}
