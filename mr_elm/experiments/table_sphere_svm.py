"""Compare SphereSVM with LIBSVM's L1 and L2 machines by double cross-validation.

    python -m mr_elm.experiments.table_sphere_svm OUT.md [SET...]

Each set is cut into OUTER stratified folds. A fold tests (at most TESTED rows of it) what was trained on the others (at
most MOST rows of them), with C and gamma chosen there by 5-fold cross-validation on 1,000 rows; attributes are scaled
to [-1, 1] on the training rows. The L2 machine of LIBSVM is the hard margin on K + I/C. Seconds are processor seconds
of one training. Sets are looked for in the folders of MR_ELM_DATA; results gather in OUT.csv, where a method of a set
that is there is not measured again.

Source: Strack et al., Sphere support vector machines for large classification tasks, 2013, section 3: the protocol.
"""
import csv
import sys
import time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from ..estimators import SphereSVMClassifier
from .public_sets import read_set
from .table_sparse_elm import main, prepared, tuned

SETS = ('liver-disorders', 'ionosphere', 'diabetes', 'german-numer', 'splice', 'spambase', 'svmguide1', 'magic', 'a9a',
        'cod-rna')
OUTER, MOST, TESTED = 5, 4000, 4000
WIDTHS, COSTS = (0.25, 0.5, 1.0, 2.0), (0.1, 1.0, 10.0, 100.0)  # of sqrt(d); C
HARD = 1e6


class L2SVC(ClassifierMixin, BaseEstimator):
    """Train LIBSVM's hard margin on K + I/C, which is the L2 machine with a bias that costs nothing."""

    def __init__(self, gamma=1.0, C=1.0):
        self.gamma, self.C = gamma, C

    def fit(self, X, y):
        """Fit. Sets support_ and classes_."""
        self.rows_ = X
        K = rbf_kernel(X, gamma=self.gamma)
        K.flat[::len(K) + 1] += 1 / self.C
        self.machine_ = SVC(kernel='precomputed', C=HARD, cache_size=500).fit(K, y)
        self.support_, self.classes_ = self.machine_.support_, self.machine_.classes_
        return self

    def predict(self, X):
        """Return the class of each row."""
        return self.machine_.predict(rbf_kernel(X, self.rows_, gamma=self.gamma))


def methods(n_features):
    """Return name -> (estimator, grid)."""
    grid = {'gamma': [0.5 / (width**2 * n_features) for width in WIDTHS], 'C': list(COSTS)}
    return {'SphereSVM': (SphereSVMClassifier(cache_size=500), grid), 'L1-SVM (SVC)': (SVC(cache_size=500), grid),
            'L2-SVM (SVC on K + I/C)': (L2SVC(), grid)}


def outer_folds(X, y):
    """Yield what each outer fold trains and tests on, scaled on the training rows."""
    random = np.random.default_rng(0)
    for train, test in StratifiedKFold(OUTER, shuffle=True, random_state=0).split(y, y):
        yield prepared(X, y, (random.permutation(train)[:MOST], random.permutation(test)[:TESTED]), False)


def measure(estimator, grid, folds):
    """Tune, train and test on every outer fold: means, and the deviation of the accuracy."""
    found = []
    for X, y, X_test, y_test in folds:
        machine = clone(estimator).set_params(**tuned(estimator, grid, X, y))
        start = time.process_time()
        machine.fit(X, y)
        middle = time.process_time()
        accuracy = machine.score(X_test, y_test)
        found.append((accuracy, middle - start, time.process_time() - middle, len(machine.support_)))
    accuracies, *others = np.array(found).T
    return [accuracies.mean(), accuracies.std(), *(column.mean() for column in others)]


def measure_set(name, out, done):
    """Measure all methods on a set and append a row of csv for each."""
    X, y = read_set(name)
    folds = list(outer_folds(X.toarray(), y))
    for method, (estimator, grid) in methods(X.shape[1]).items():
        if (name, method) in done:
            continue
        print(f'{name}: {method} ...', file=sys.stderr, flush=True)
        row = measure(estimator, grid, folds)
        shown = f'{len(np.unique(y))} classes, {X.shape[0]:,} rows x {X.shape[1]}'
        with open(out, 'a', newline='') as stream:
            csv.writer(stream).writerow([name, method, len(folds[0][1]), *(f'{value:.6g}' for value in row), shown])


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:] or SETS, measure_set, 'set of')
