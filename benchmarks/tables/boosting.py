"""Compare --auto with boosted trees, LightGBM and scikit-learn's, all with their defaults.

    python -m benchmarks.tables.boosting OUT.md [SET...] [--trials 4] [--minutes M] [--download DIR]

All sets in the folders of MR_ELM_DATA are taken, small ones first. A set whose file has folds of its own (arrays k0, k1
and so on: rows to train on, rows to test on, and so again for the next trial) is divided by them, others into halves.
"""
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.public_sets import find_set, list_sets
from benchmarks.tables.claims import AsGood
from benchmarks.tables.harness import SECONDS, Comparison, main, sort_by_size
from benchmarks.tables.peers import AutoClassifier
from benchmarks.tables.split import OF_HALVES, split_halves
from mr_elm.typing import Labels

AUTO, HISTOGRAM, LIGHTGBM = '--auto', 'HistGradientBoosting', 'LightGBM'
TRIALS = 4
NOTES = ('Each method runs with its defaults: `pesvm --auto`, `HistGradientBoostingClassifier` of scikit-learn and '
         '`LGBMClassifier` of LightGBM. A set with published folds is divided by them; all other sets are divided as '
         f'follows. {OF_HALVES} {SECONDS}; those of `--auto` include all its choices.')


@dataclass(frozen=True)
class FoldedComparison(Comparison):
    """Divide a set by the folds that its file has, where there are some."""

    def split_set(self, name: str, y: Labels, trial: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of a set to train on and to test on in a trial."""
        path = find_set(name)
        if path and path.suffix == '.npz':
            with np.load(path) as arrays:
                if f'k{2 * trial + 1}' in arrays:
                    return arrays[f'k{2 * trial}'], arrays[f'k{2 * trial + 1}']
        return super().split_set(name, y, trial)


def list_methods(n_features: int, n_classes: int) -> dict[str, tuple]:
    """Return name -> (estimator, nothing to choose from)."""
    chosen: dict[str, tuple] = {AUTO: (AutoClassifier(), {}), HISTOGRAM: (HistGradientBoostingClassifier(), {})}
    if find_spec('lightgbm'):
        from lightgbm import LGBMClassifier
        chosen[LIGHTGBM] = LGBMClassifier(n_jobs=1, verbosity=-1), {}
    return chosen


ABSENT = () if find_spec('lightgbm') else ("lightgbm is not installed (pip install 'mr_elm[bench]')",)
CLAIMS = tuple(AsGood(AUTO, peer, 0.0) for peer in (HISTOGRAM, LIGHTGBM))
COMPARISON = FoldedComparison(sort_by_size(list_sets()), split_halves, list_methods, NOTES, TRIALS, absent=ABSENT,
                              claims=CLAIMS)

if __name__ == '__main__':
    main(COMPARISON, __doc__)
