"""Measure the probabilities of `--auto --probabilities` beside those of a tuned SVC with CalibratedClassifierCV.

All sets of at least 1,000 rows in the folders that MR_ELM_DATA names, at most 10,000 rows of each by keyed hash: two
thirds train, the others are scored. Classes with fewer than FEWEST rows are left out, so that each fold has one.
"""
import sys

import numpy as np

from benchmarks.bench.auto import AutoTraining, TunedSVC
from benchmarks.bench.context import Bench
from benchmarks.public_sets import find_or_warn, list_sets, read_set
from benchmarks.verdict import COUNTED, Claim, at_most
from mr_elm.drivers import auto
from mr_elm.engines import make_engine
from mr_elm.features.landmarks import hash_rows
from mr_elm.machines.options import PESVMOptions
from mr_elm.scores.probability_scores import ProbabilityScores
from mr_elm.typing import Floats, Labels

LEAST, MOST, FEWEST = 1_000, 10_000, 30  # rows of a set, and of a class
CHOSEN, SPLIT = 0, 1  # keys of the hashes that choose rows, and that split them
FOLDS = 5


def split_by_hash(name: str, n_rows: int) -> list[tuple[Floats, Labels]] | None:
    """Return (X, y) for training and for testing, dense, y class numbers; None for a set of few rows."""
    X, y = read_set(name)
    classes, counts = np.unique(y, return_counts=True)
    if len(y) < LEAST or 2 * len(classes) > len(y):
        return None
    X, y = X[np.isin(y, classes[counts >= FEWEST])], y[np.isin(y, classes[counts >= FEWEST])]
    chosen = np.argsort(hash_rows(X, CHOSEN), kind='stable')[:n_rows]
    X, y = X[chosen].toarray(), y[chosen]
    order = np.argsort(hash_rows(X, SPLIT), kind='stable')
    cut = 2 * len(y) // 3
    known = [k for k in np.unique(y) if np.count_nonzero(y[order[:cut]] == k) >= 2 * FOLDS]
    return [(X[rows], np.searchsorted(known, y[rows])) for part in (order[:cut], order[cut:])
            for rows in [part[np.isin(y[part], known)]]]


class CalibratedAuto(AutoTraining):
    """Train by --auto --probabilities."""

    def fit(self) -> None:
        """Train, all choices included."""
        self.model, _ = auto.train(self.plan, PESVMOptions(probabilities=True), make_engine())

    def probabilities(self) -> Floats:
        """Return the probability of each class of the test rows."""
        return self.model.labelling.probabilities(self.model.decision_function(self.test[0]))


class CalibratedSVC(TunedSVC):
    """Calibrate SVC by CalibratedClassifierCV once C and gamma are chosen."""

    def fit(self) -> None:
        """Choose C and gamma, and calibrate on all rows."""
        from sklearn.calibration import CalibratedClassifierCV
        super().fit()
        self.calibrated = CalibratedClassifierCV(self.model, cv=FOLDS).fit(self.X, self.y)

    def probabilities(self) -> Floats:
        """Return the probability of each class of the test rows."""
        return self.calibrated.predict_proba(self.X_test)


def compare_with_svc(bench: Bench) -> list[Claim]:
    """Compare log loss and calibration error on rows that neither has seen, on every set and in the mean."""
    rows, found = [], []
    for name in filter(find_or_warn, bench.pick(['phoneme', 'segment'], list_sets())):
        parts = split_by_hash(name, bench.pick(1_500, MOST))
        if parts is None:
            continue
        train, test = parts
        ours, theirs = CalibratedAuto(train, test, bench.folder), CalibratedSVC(train, test, bench.pick(500, 2_000))
        pair = []
        for side in (ours, theirs):
            side.fit()
            scores = ProbabilityScores.of(side.probabilities(), test[1], np.ones(len(test[1]))).scores()
            pair.append((scores['log_loss'], scores['calibration_error']))
        found.append(pair)
        rows.append(Claim(f'{name}, {len(train[1]):,} rows: log loss of --auto --probabilities divided by that of SVC',
                          pair[0][0] / pair[1][0], at_most(1.0), COUNTED,
                          f'log loss {pair[0][0]:.4f} and {pair[1][0]:.4f}, calibration error {pair[0][1]:.4f} and '
                          f'{pair[1][1]:.4f}; {ours.describe()}'))
        print(f'{name}: {rows[-1].value:.3f}, {rows[-1].note}', file=sys.stderr, flush=True)
    return [*rows, *judge_means(np.array(found))] if found else []


def judge_means(found: Floats) -> list[Claim]:
    """Judge the means over all sets. found : (sets, ours and theirs, log loss and calibration error)."""
    (loss, error), (their_loss, their_error) = found.mean(axis=0).tolist()
    return [Claim('mean log loss divided by that of SVC, all sets', loss / their_loss, at_most(0.9), COUNTED,
                  f'{loss:.4f} and {their_loss:.4f} on {len(found)} sets'),
            Claim('mean calibration error of --auto --probabilities, all sets', error, at_most(0.02), COUNTED,
                  f'SVC: {their_error:.4f}')]


PARTS = {'svc': compare_with_svc}
