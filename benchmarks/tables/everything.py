"""Compare sparse ELM, SphereSVM, the kernel ELM and PESVM with the machines that a reader would take instead.

    python -m benchmarks.tables.everything OUT.md [SET...] [--trials 20] [--minutes M] [--download DIR]

All sets in the folders of MR_ELM_DATA are taken, small ones first, or those of scikit-learn when there are none. Each
trial is kept in OUT.trials.csv at once: a stopped run goes on.
"""
from importlib.util import find_spec

from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from benchmarks.public_sets import list_sets
from benchmarks.tables.claims import AsGood
from benchmarks.tables.harness import CHOSEN_ONCE, SECONDS, Comparison, main, sort_by_size
from benchmarks.tables.peers import HPELM
from benchmarks.tables.split import OF_HALVES, split_halves
from mr_elm.estimators import ESVMClassifier, KernelELMClassifier, SparseELMClassifier, SphereSVMClassifier
from mr_elm.scores.selection import COARSE_C, COARSE_WIDTHS

N_HIDDEN, N_LANDMARKS = 1000, 500
MAPS = {'map': ['sigmoid', 'rbf'], 'weight_scale': [1.0, 2.0, 4.0], 'nu': [1.0, 100.0, 1e4, 1e6]}
ALPHA = [1e-4, 1e-2, 1.0]
NOTES = (f'{OF_HALVES} {CHOSEN_ONCE} There are at most 25 settings to choose from. PESVM, hpelm and RBFSampler have '
         f'{N_HIDDEN:,} nodes, and Nystroem has {N_LANDMARKS} landmarks. MLP is a neural network (multilayer '
         f'perceptron) with one layer of 100 nodes. {SECONDS}. The size of a model is the size of the arrays that its '
         'predictions need.')


def list_methods(n_features: int, n_classes: int) -> dict[str, tuple]:
    """Return name -> (estimator, grid)."""
    bounds = list(COARSE_C)
    gammas = [0.5 / (width**2 * n_features) for width in COARSE_WIDTHS]
    kernel = {'gamma': gammas, 'C': bounds}
    ridge = [1 / C for C in bounds]
    chosen = {
        'sparse ELM': (SparseELMClassifier(cache_size=500, scale='none'), kernel),
        'SphereSVM': (SphereSVMClassifier(cache_size=500, scale='none'), kernel),
        'kernel ELM': (KernelELMClassifier(scale='none'), kernel),
        'PESVM': (ESVMClassifier(n_hidden=N_HIDDEN, scale='none'), MAPS),
        'SVC': (SVC(cache_size=500), kernel),
        'LinearSVC': (LinearSVC(), {'C': bounds}),
        'RBFSampler + ridge': (make_pipeline(RBFSampler(n_components=N_HIDDEN), RidgeClassifier()),
                               {'rbfsampler__gamma': gammas, 'ridgeclassifier__alpha': ridge}),
        'Nystroem + ridge': (make_pipeline(Nystroem(n_components=N_LANDMARKS), RidgeClassifier()),
                             {'nystroem__gamma': gammas, 'ridgeclassifier__alpha': ridge}),
        'MLP': (MLPClassifier(max_iter=500), {'alpha': ALPHA})}
    if find_spec('hpelm'):
        chosen['hpelm'] = HPELM(N_HIDDEN), {'C': bounds}
    return chosen


ABSENT = () if find_spec('hpelm') else ("hpelm is not installed (pip install 'mr_elm[bench]')",)
CLAIMS = tuple(AsGood(method, 'SVC') for method in ('sparse ELM', 'SphereSVM', 'kernel ELM', 'PESVM'))
COMPARISON = Comparison(sort_by_size(list_sets()), split_halves, list_methods, NOTES, absent=ABSENT, claims=CLAIMS)

if __name__ == '__main__':
    main(COMPARISON, __doc__)
