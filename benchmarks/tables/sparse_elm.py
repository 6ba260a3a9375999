"""Compare sparse ELM, unified ELM and SVC on the data sets of the sparse ELM paper.

    python -m benchmarks.tables.sparse_elm OUT.md [SET...] [--grid coarse|paper] [--trials 20] [--minutes M]
        [--download DIR]

The grid of the paper has 14 values of C and of sigma, and comes with the paper's training sizes. Sets are looked for in
the folders of MR_ELM_DATA. Each trial is kept in OUT.trials.csv at once, each candidate of the cross-validation in
OUT.candidates.csv: a stopped run goes on.

Source: Bai et al., Sparse extreme learning machine for classification, 2014, section VI. Ours: halves that change with
the trial where no split of a set is published; the paper permutes fixed parts, which moves none of these methods but
those with random nodes.
"""
from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.svm import SVC

from benchmarks.tables.claims import AsGood
from benchmarks.tables.harness import CHOSEN_ONCE, SECONDS, Comparison, main
from benchmarks.tables.split import N_GENES, OF_HALVES, split_halves
from mr_elm.estimators import ELMClassifier, SparseELMClassifier
from mr_elm.features.kernels import KERNELS
from mr_elm.scores.selection import candidates

BINARY = ('australian', 'breast-cancer', 'diabetes', 'heart', 'ionosphere', 'liver-disorders', 'mushrooms', 'svmguide1',
          'magic', 'cod-rna')
GENES = ('colon-cancer', 'leukemia')
SEVERAL = ('iris', 'wine', 'vowel', 'segment', 'dna', 'usps')
PUBLISHED = {'leukemia': 38, 'vowel': 528, 'dna': 2000, 'svmguide1': 3089, 'usps': 7291}  # training rows come first
WEIGHT_SCALES = (0.5, 1.0, 2.0, 4.0)
SVC_STEPS = 1_000_000  # with large C and degree, LIBSVM needs hours
SECTIONS = tuple((f'{title} (table {number} of the paper)', tuple(f'{method}, {what}' for method in methods))
                 for title, number, what, methods in (
                     ('Gaussian kernel', 'IV', 'gaussian', ('sparse ELM', 'unified ELM', 'SVC')),
                     ('Polynomial kernel', 'V', 'polynomial', ('sparse ELM', 'unified ELM', 'SVC')),
                     ('Sigmoid nodes', 'VI', 'sigmoid nodes', ('sparse ELM', 'unified ELM')),
                     ('Sine nodes', 'VII', 'sine nodes', ('sparse ELM', 'unified ELM'))))
LOST = ('The numbers of tables I to VIII are missing in our copy of the paper: the sizes of its training and testing '
        'sets, its parameters and its results. So the tables here show only our own numbers, in the layout of tables '
        'III to VIII.')
SHARED = (f'The sets {" and ".join(GENES)} have thousands of features, one for each gene. Of these, {N_GENES} are '
          'used, chosen on the training rows by mRMR (maximum relevance, minimum redundancy). '
          f'There are 200 nodes for two classes, and 1,000 for more. SVC stops after {SVC_STEPS:,} steps. {SECONDS}. '
          f'{LOST}')
NOTES = f'{OF_HALVES} {CHOSEN_ONCE} {SHARED}'
PAPER_NOTES = ('Some sets were published with a training part. Then each trial trains on this part, in another order, '
               'and tests on the other rows. For the other sets, each trial divides the rows at random into two '
               'halves, one for training and one for testing; each class has the same share of both. Features are '
               'scaled to [-1, 1] by the minimum and maximum of the training rows. The parameters of a method are '
               'chosen in the first trial of a set, by 5-fold cross-validation on all its training rows. The '
               'candidates are the 14 values of C and of sigma and the 5 degrees of the paper; for random nodes, the '
               f'values of C and {len(WEIGHT_SCALES)} weight scales. {SHARED}')


def list_methods(grid: str, n_features: int, n_classes: int) -> dict[str, tuple]:
    """Return name -> (estimator, grid of its parameters). grid : coarse or paper, as in `candidates`."""
    methods: dict[str, tuple] = {}
    for kernel in ('gaussian', 'polynomial'):
        given, bounds = candidates(grid, KERNELS[kernel], n_features)
        choices = {'C': bounds, **{name: [one[name] for one in given] for name in given[0]}}
        methods |= {f'sparse ELM, {kernel}': (SparseELMClassifier(kernel=kernel, scale='none'), choices),
                    f'unified ELM, {kernel}': (ELMClassifier(kernel=kernel, scale='none'), choices),
                    f'SVC, {kernel}': make_svc(kernel, choices)}
    n_hidden = 200 if n_classes == 2 else 1000
    choices = {'C': bounds, 'weight_scale': list(WEIGHT_SCALES)}
    for nodes in ('sigmoid', 'sine'):
        of_nodes: dict[str, Any] = {'kernel': nodes, 'n_hidden': n_hidden, 'scale': 'none'}
        methods |= {f'sparse ELM, {nodes} nodes': (SparseELMClassifier(**of_nodes), choices),
                    f'unified ELM, {nodes} nodes': (ELMClassifier(**of_nodes), choices)}
    return methods


def make_svc(kernel: str, choices: dict) -> tuple[SVC, dict]:
    """Return an SVC with the same kernel, and the same choices by its names."""
    machine = SVC(cache_size=500, max_iter=SVC_STEPS)
    if kernel == 'polynomial':
        return machine.set_params(kernel='poly', gamma=1.0, coef0=1.0), choices
    return machine, {'C': choices['C'], 'gamma': [0.5 / sigma**2 for sigma in choices['sigma']]}


CLAIMS = tuple(AsGood('sparse ELM, gaussian', peer) for peer in ('unified ELM, gaussian', 'SVC, gaussian'))
COMPARISON = Comparison((*BINARY, *GENES, *SEVERAL), split_halves, partial(list_methods, 'coarse'), NOTES, genes=GENES,
                        claims=CLAIMS, sections=SECTIONS, dense=('unified ELM, gaussian', 'unified ELM, polynomial'))
PAPER = replace(COMPARISON, split=partial(split_halves, most=None), methods=partial(list_methods, 'paper'),
                notes=PAPER_NOTES, tuned_on=None, published=PUBLISHED)

if __name__ == '__main__':
    main(COMPARISON, __doc__, PAPER)
