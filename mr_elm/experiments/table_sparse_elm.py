"""Compare sparse ELM, unified ELM and SVC on the data sets of the sparse ELM paper, over repeated trials.

    python -m mr_elm.experiments.table_sparse_elm OUT.md [SET...]

Each trial is another stratified half of the rows for training (at most MOST), the other half for testing; attributes
are scaled to [-1, 1] on the training half. C and the kernel's width are chosen once a set and method, by 5-fold
cross-validation on the first training half. Of the gene sets the 60 genes count that an mRMR selection keeps on the
training half. Sets are looked for in the folders of MR_ELM_DATA; results gather in OUT.csv, where a method of a set
that is there is not measured again.

Source: Bai et al., Sparse extreme learning machine for classification, 2014, section VI. Ours: halves that change with
the trial; the paper permutes fixed parts, which moves none of these methods but those with random nodes.
"""
import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from ..arithmetic import one_thread
from ..estimators import ELMClassifier, SparseELMClassifier
from ..selection import COARSE_C, COARSE_WIDTHS
from .public_sets import find_set, read_set

BINARY = ('australian', 'breast-cancer', 'diabetes', 'heart', 'ionosphere', 'liver-disorders', 'mushrooms', 'svmguide1',
          'magic', 'cod-rna')
GENES = ('colon-cancer', 'leukemia')
SEVERAL = ('iris', 'wine', 'vowel', 'segment', 'dna', 'usps')
TRIALS, MOST, TUNED_ON, N_GENES = 20, 4000, 1000, 60
COLUMNS = ('set', 'method', 'rows', 'accuracy', 'deviation', 'train_seconds', 'test_seconds', 'n_support', 'parameters')


def methods(n_features, n_classes, kernels_fit):
    """Return name -> (estimator, grid); closed forms over a kernel are left out where it does not fit."""
    widths = [width * float(np.sqrt(n_features)) for width in COARSE_WIDTHS]
    n_hidden = 200 if n_classes == 2 else 1000
    gaussian, bounds = {'sigma': widths, 'C': list(COARSE_C)}, {'C': list(COARSE_C)}
    chosen = {
        'sparse ELM, gaussian': (SparseELMClassifier(), gaussian),
        'sparse ELM, sine nodes': (SparseELMClassifier(kernel='sine', n_hidden=n_hidden), bounds),
        'unified ELM, gaussian': (ELMClassifier(kernel='gaussian'), gaussian),
        'unified ELM, sine nodes': (ELMClassifier(kernel='sine', n_hidden=n_hidden), bounds),
        'SVC, gaussian': (SVC(cache_size=500), {'gamma': [0.5 / width**2 for width in widths], 'C': list(COARSE_C)})}
    return chosen if kernels_fit else {name: value for name, value in chosen.items() if name != 'unified ELM, gaussian'}


def halves(y, trial):
    """Return the rows of a trial's training and testing halves."""
    splitter = StratifiedShuffleSplit(1, train_size=min(MOST, len(y) // 2), test_size=min(2 * MOST, len(y) // 2),
                                      random_state=trial)
    return next(splitter.split(y, y))


def prepared(X, y, rows, genes):
    """Return (X_train, y_train, X_test, y_test) of a trial, scaled on the training half."""
    train, test = rows
    X_train, X_test = X[train], X[test]
    if genes:
        from sklego.feature_selection import MaximumRelevanceMinimumRedundancy
        selection = MaximumRelevanceMinimumRedundancy(k=N_GENES).fit(X_train, y[train])
        X_train, X_test = selection.transform(X_train), selection.transform(X_test)
    scaler = MinMaxScaler((-1, 1)).fit(X_train)
    return scaler.transform(X_train), y[train], scaler.transform(X_test), y[test]


def tuned(estimator, grid, X, y):
    """Return the parameters of the best cross-validated accuracy, on at most TUNED_ON rows."""
    rows = np.random.default_rng(0).permutation(len(y))[:TUNED_ON]
    return GridSearchCV(estimator, grid, cv=5, error_score='raise').fit(X[rows], y[rows]).best_params_


def measure(estimator, trials):
    """Train and test on every trial: a row of means, with the deviation of the accuracy."""
    accuracies, train_seconds, test_seconds, supports = [], [], [], []
    for number, (X, y, X_test, y_test) in enumerate(trials):
        machine = clone(estimator)
        if 'seed' in machine.get_params():
            machine.set_params(seed=number)
        start = time.process_time()
        machine.fit(X, y)
        middle = time.process_time()
        accuracies.append(machine.score(X_test, y_test))
        train_seconds.append(middle - start)
        test_seconds.append(time.process_time() - middle)
        supports.append(len(getattr(machine, 'support_', X)))
    return [np.mean(accuracies), np.std(accuracies), np.mean(train_seconds), np.mean(test_seconds), np.mean(supports)]


def measure_set(name, out, done):
    """Measure all methods on a set and append a row of csv for each."""
    X, y = read_set(name)
    X = X.toarray()
    trials = [prepared(X, y, halves(y, trial), name in GENES) for trial in range(TRIALS)]
    n_classes, first = len(np.unique(y)), trials[0]
    for method, (estimator, grid) in methods(first[0].shape[1], n_classes, len(first[1]) <= MOST).items():
        if (name, method) in done:
            continue
        print(f'{name}: {method} ...', file=sys.stderr, flush=True)
        parameters = tuned(estimator, grid, *first[:2])
        row = measure(clone(estimator).set_params(**parameters), trials)
        shown = ', '.join(f'{key} {value:.3g}' for key, value in parameters.items())
        with open(out, 'a', newline='') as stream:
            csv.writer(stream).writerow([name, method, len(first[1]), *(f'{value:.6g}' for value in row), shown])


def read_table(path):
    """Read the rows measured so far as dictionaries."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(','.join(COLUMNS) + '\n')
    with open(path, newline='') as stream:
        return list(csv.DictReader(stream))


def markdown(rows, last='parameters'):
    """Lay the rows out as Markdown; the last column has this title."""
    lines = ['| set | training rows | method | accuracy % | training s | testing s | support vectors | ' + f'{last} |',
             '|---|---|---|---|---|---|---|---|']
    for row in rows:
        numbers = {name: float(row[name]) for name in COLUMNS[3:8]}
        lines.append(f'| {row["set"]} | {row["rows"]} | {row["method"]} | {100 * numbers["accuracy"]:.2f} ± '
                     f'{100 * numbers["deviation"]:.2f} | {numbers["train_seconds"]:.3g} | '
                     f'{numbers["test_seconds"]:.3g} | {numbers["n_support"]:.0f} | {row["parameters"]} |')
    return '\n'.join(lines)


def main(out, names, measure_set=measure_set, last='parameters'):
    """Measure the sets that are there and are not measured yet, and write the table."""
    target, table = Path(out), Path(out).with_suffix('.csv')
    absent = [name for name in names if find_set(name) is None]
    if absent:
        print(f'not in a folder of MR_ELM_DATA, left out: {", ".join(absent)}', file=sys.stderr)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter('ignore', ConvergenceWarning)
        for name in names:
            if name not in absent:
                measure_set(name, table, {(row['set'], row['method']) for row in read_table(table)})
    text = markdown(read_table(table), last)
    target.write_text(text + '\n')
    print(text)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:] or [*BINARY, *GENES, *SEVERAL])
