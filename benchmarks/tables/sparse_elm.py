"""Compare sparse ELM, unified ELM and SVC on the data sets of the sparse ELM paper.

    python -m benchmarks.tables.sparse_elm OUT.md [SET...] [--trials 20] [--minutes M]

Sets are looked for in the folders of MR_ELM_DATA. Each trial is kept in OUT.trials.csv at once: a stopped run goes on.

Source: Bai et al., Sparse extreme learning machine for classification, 2014, section VI. Ours: halves that change with
the trial; the paper permutes fixed parts, which moves none of these methods but those with random nodes.
"""
import numpy as np
from sklearn.svm import SVC

from benchmarks.tables.claims import AsGood
from benchmarks.tables.harness import CHOSEN_ONCE, N_GENES, OF_HALVES, SECONDS, Comparison, main, split_halves
from mr_elm.estimators import ELMClassifier, SparseELMClassifier
from mr_elm.scores.selection import COARSE_C, COARSE_WIDTHS

BINARY = ('australian', 'breast-cancer', 'diabetes', 'heart', 'ionosphere', 'liver-disorders', 'mushrooms', 'svmguide1',
          'magic', 'cod-rna')
GENES = ('colon-cancer', 'leukemia')
SEVERAL = ('iris', 'wine', 'vowel', 'segment', 'dna', 'usps')
NOTES = (f'{OF_HALVES} C and the width of the kernel are {CHOSEN_ONCE}. Of the gene sets the {N_GENES} genes count '
         f'that an mRMR selection keeps on the training half. {SECONDS}.')


def list_methods(n_features: int, n_classes: int) -> dict[str, tuple]:
    """Return name -> (estimator, grid)."""
    widths = [width * float(np.sqrt(n_features)) for width in COARSE_WIDTHS]
    n_hidden = 200 if n_classes == 2 else 1000
    gaussian, bounds = {'sigma': widths, 'C': list(COARSE_C)}, {'C': list(COARSE_C)}
    return {
        'sparse ELM, gaussian': (SparseELMClassifier(), gaussian),
        'sparse ELM, sine nodes': (SparseELMClassifier(kernel='sine', n_hidden=n_hidden), bounds),
        'unified ELM, gaussian': (ELMClassifier(kernel='gaussian'), gaussian),
        'unified ELM, sine nodes': (ELMClassifier(kernel='sine', n_hidden=n_hidden), bounds),
        'SVC, gaussian': (SVC(cache_size=500), {'gamma': [0.5 / width**2 for width in widths], 'C': list(COARSE_C)})}


CLAIMS = tuple(AsGood('sparse ELM, gaussian', peer) for peer in ('unified ELM, gaussian', 'SVC, gaussian'))
COMPARISON = Comparison((*BINARY, *GENES, *SEVERAL), split_halves, list_methods, NOTES, genes=GENES, claims=CLAIMS)

if __name__ == '__main__':
    main(COMPARISON, __doc__)
