"""Divide the rows of a set into those of a training and of a test, and prepare them."""
import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import MinMaxScaler

from mr_elm.typing import Floats, Labels

MOST = 4000  # rows to train on
N_GENES = 60  # features that are kept of a set of genes
# what `split_halves` does, for the reader of a table
OF_HALVES = ('Each trial divides the rows at random into two halves; each class has the same share of both halves. It '
             f'trains on one half (at most {MOST:,} rows) and tests on the other (at most {2 * MOST:,} rows). Features '
             'are scaled to [-1, 1] by the minimum and maximum of the training half.')


def split_halves(y: Labels, trial: int, most: int | None = MOST) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a trial's training half, at most `most`, and of its testing half, at most twice as many."""
    half = len(y) // 2
    most = most or half
    splitter = StratifiedShuffleSplit(1, train_size=min(most, half), test_size=min(2 * most, half), random_state=trial)
    return next(splitter.split(y, y))


def permute_parts(n_rows: int, n_train: int, trial: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first rows, for training, and the others, for testing, each in the order of a trial."""
    random = np.random.default_rng(trial)
    return random.permutation(n_train), n_train + random.permutation(n_rows - n_train)


def prepare(X: Floats, y: Labels, rows: tuple, genes: bool) -> tuple:
    """Return (X_train, y_train, X_test, y_test) of a trial, scaled to [-1, 1] on the training rows."""
    train, test = rows
    X_train, X_test = X[train], X[test]
    if genes:
        from sklego.feature_selection import MaximumRelevanceMinimumRedundancy
        selection = MaximumRelevanceMinimumRedundancy(k=N_GENES).fit(X_train, y[train])
        X_train, X_test = selection.transform(X_train), selection.transform(X_test)
    scaler = MinMaxScaler((-1, 1)).fit(X_train)
    return scaler.transform(X_train), y[train], scaler.transform(X_test), y[test]


def sample(X: Floats, y: Labels, n_rows: int | None) -> tuple[Floats, Labels]:
    """Return at most n_rows rows to choose parameters on; all of them for None."""
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return X[rows], y[rows]
