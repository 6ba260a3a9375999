"""Compare SphereSVM with LIBSVM's L1 and L2 machines by double cross-validation.

    python -m benchmarks.tables.sphere_svm OUT.md [SET...] [--trials 5] [--minutes M] [--download DIR]

A trial is an outer fold. Sets are looked for in the folders of MR_ELM_DATA. Each trial is kept in OUT.trials.csv at
once: a stopped run goes on.

Source: Strack et al., Sphere support vector machines for large classification tasks, 2013, section 3: the protocol.
"""
import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from benchmarks.tables.claims import AsGood
from benchmarks.tables.harness import TUNED_ON, Comparison, main
from benchmarks.tables.peers import L2SVC
from benchmarks.tables.split import MOST
from mr_elm.estimators import SphereSVMClassifier
from mr_elm.typing import Labels

SETS = ('liver-disorders', 'ionosphere', 'diabetes', 'german-numer', 'splice', 'spambase', 'svmguide1', 'magic', 'a9a',
        'cod-rna')
OUTER = 5
EXACT, PAPER = 'SphereSVM, nearest point (ours)', 'SphereSVM, Algorithm 1'
ABSENT = ('BallVM and CVM, the peers of the paper: no maintained package of them can be installed',)
WIDTHS, COSTS = (0.25, 0.5, 1.0, 2.0), (0.1, 1.0, 10.0, 100.0)  # of sqrt(d); C
NOTES = (f'Each set is divided at random into {OUTER} outer folds; each class has the same share of all folds. Each '
         f'outer fold is the test set once (at most {MOST:,} of its rows). The methods train on the other folds (at '
         f'most {MOST:,} rows). There, a 5-fold cross-validation on {TUNED_ON:,} rows chooses C and gamma. Features '
         'are scaled to [-1, 1] by the minimum and maximum of the training rows. L1-SVM adds the errors, L2-SVM adds '
         'their squares; LIBSVM trains L2-SVM as an SVM that allows no errors, with the kernel matrix K + I/C. Seconds '
         'are processor seconds of one training on one thread.')


def list_methods(n_features: int, n_classes: int) -> dict[str, tuple]:
    """Return name -> (estimator, grid)."""
    grid = {'gamma': [0.5 / (width**2 * n_features) for width in WIDTHS], 'C': list(COSTS)}
    return {EXACT: (SphereSVMClassifier(cache_size=500, scale='none'), grid),
            PAPER: (SphereSVMClassifier(cache_size=500, rule='paper', tol=1e-4, scale='none'), grid),
            'L1-SVM (SVC)': (SVC(cache_size=500), grid), 'L2-SVM (SVC on K + I/C)': (L2SVC(), grid)}


def split_outer(y: Labels, trial: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and to test on of an outer fold."""
    random = np.random.default_rng(0)
    folds = [(random.permutation(train)[:MOST], random.permutation(test)[:MOST]) for train, test in
             StratifiedKFold(OUTER, shuffle=True, random_state=0).split(y, y)]
    return folds[trial]


CLAIMS = tuple(AsGood(EXACT, peer) for peer in (PAPER, 'L1-SVM (SVC)', 'L2-SVM (SVC on K + I/C)'))
COMPARISON = Comparison(SETS, split_outer, list_methods, NOTES, trials=OUTER, tuned_each=True, claims=CLAIMS,
                        absent=ABSENT)

if __name__ == '__main__':
    main(COMPARISON, __doc__)
