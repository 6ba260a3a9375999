"""Cross-validation over one kernel matrix is what training and testing apart would be."""
import numpy as np
import pytest
import scipy.sparse as sp

from mr_elm.estimators import SparseELMClassifier
from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import KERNELS, make_kernel
from mr_elm.selection import PAPER, Cell, Score, best_of, candidates, cross_validate, fold_numbers, sampled
from mr_elm.solvers.box_qp import Settings
from mr_elm.solvers.path import ready_rows

BOUNDS = [0.3, 3.0, 30.0]


@pytest.fixture
def rows():
    """Draw rows of three classes: (X, codes)."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 4))
    return X, (X[:, 0] > 0.2).astype(int) + (X[:, 1] + 0.3 * rng.normal(size=150) > 0)


@pytest.mark.parametrize('scheme', ['one-vs-one', 'one-vs-all'])
@pytest.mark.parametrize('n_classes', [2, 3])
def test_a_cell_is_a_training_and_a_test(rows, scheme, n_classes):
    X, codes = rows
    codes = np.minimum(codes, n_classes - 1)
    folds = np.arange(150) % 4
    source = ready_rows(kernel_rows(X, make_kernel('gaussian', sigma=1.5)), np.float64)
    cells = list(cross_validate(source, codes, np.ones(150), BOUNDS, folds, range(4), n_classes, scheme,
                                Settings(eps=1e-7)))
    assert [(cell.fold, cell.C) for cell in cells] == [(fold, C) for fold in range(4) for C in BOUNDS]
    for cell in cells:
        held = folds == cell.fold
        alone = SparseELMClassifier(sigma=1.5, C=cell.C, tol=1e-7, multiclass=scheme).fit(X[~held], codes[~held])
        assert cell.correct == (alone.predict(X[held]) == codes[held]).sum() and cell.total == held.sum()
        assert cell.n_support == len(alone.support_)


def test_folds_and_samples_depend_on_the_rows_alone(rows):
    X = rows[0]
    order = np.random.default_rng(0).permutation(150)
    for choose in (lambda X: fold_numbers(X, 5, 7), lambda X: sampled(X, 0.3, 7)):
        assert (choose(X)[order] == choose(X[order])).all()
        assert (choose(X) == choose(sp.csr_matrix(X))).all()
    counts = np.bincount(fold_numbers(np.arange(5000.0)[:, None], 5, 0))
    assert counts.min() > 900 and counts.max() < 1100
    assert abs(sampled(np.arange(5000.0)[:, None], 0.3, 0).mean() - 0.3) < 0.03
    assert sampled(X, 1.0, 0).all()


def test_of_equal_candidates_the_smallest_C_and_the_widest_kernel_win():
    def score(sigma, C, correct):
        return Score({'sigma': sigma}, C, (Cell(C, 0, correct, 10, 1, 0.0),))

    scores = [score(1, 1, 7), score(2, 10, 8), score(2, 1, 8), score(4, 1, 8), score(8, 1, 6)]
    assert best_of(scores) is scores[3] and best_of(scores[::-1]) is scores[3]


def test_the_grid_of_the_paper_has_fourteen_widths_and_bounds():
    kernels, bounds = candidates('paper', KERNELS['gaussian'], 9)
    assert [kernel['sigma'] for kernel in kernels] == list(PAPER) == bounds and len(PAPER) == 14
    assert [kernel['degree'] for kernel in candidates('paper', KERNELS['polynomial'], 9)[0]] == [1, 2, 3, 4, 5]
    assert candidates('coarse', KERNELS['linear'], 9)[0] == [{}]
    assert {'sigma': 3.0} in candidates('coarse', KERNELS['gaussian'], 9)[0]
