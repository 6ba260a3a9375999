"""Measure the dual's solvers against LIBSVM, which is scikit-learn's SVC, and against each other.

In processor seconds on one thread, at the same eps, on standardised features. Data sets are looked for in the folders
that MR_ELM_DATA names; those that are not there are left out. SVC has a bias and ours has none, so the problems are
close but not the same.
"""
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.bench.context import QUICK, Bench
from benchmarks.bench.sets import judge_set, judge_sets, judge_slowest, race, standardise
from benchmarks.public_sets import find_or_warn, read_set
from benchmarks.timing import compare, judge_ratio, measure_processor
from benchmarks.verdict import COUNTED, FASTER, Claim, at_least, at_most
from mr_elm.estimators import KernelELMClassifier, OELMClassifier, SparseELMClassifier
from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.machines.dual import BoxMachine
from mr_elm.machines.pairs import ClassScheme, LabelledKernel, cross_validate
from mr_elm.scores.selection import PAPER, fold_numbers
from mr_elm.solvers.box.box_qp import BoxQP, Result, Settings
from mr_elm.solvers.box.path import ready_rows
from mr_elm.solvers.rules import solve_dual
from mr_elm.solvers.shared.workspace import Workspace
from mr_elm.typing import Floats

SETTINGS = ((0.3, 1), (1, 10), (3, 100), (1, 1000))  # gamma in 1/d, C
WIDE = 50  # features
RULES = ('oelm', 'newton', 'bas')  # of active sets
RULE_ROWS = 1000  # of a set, for these
STEPS = {'newton': 'Newton', 'gradient_path': 'gradient', 'one_variable': 'one-variable',
         'two_variables': 'two-variable'}


def make_svc(gamma: float, C: float) -> Any:
    """Return LIBSVM."""
    from sklearn.svm import SVC
    return SVC(gamma=gamma, C=C, cache_size=1000)


def make_sparse_elm(gamma: float, C: float) -> Any:
    """Return ours."""
    return SparseELMClassifier(gamma=gamma, C=float(C), scale='none')


def make_pairs(n_features: int) -> dict[str, tuple]:
    """Return setting -> (our estimator, SVC)."""
    return {f'gamma {scale:g}/d C {C}': (make_sparse_elm(scale / n_features, C), make_svc(scale / n_features, C))
            for scale, C in SETTINGS}


def compare_sets(bench: Bench) -> list[Claim]:
    """Compare fits on every set at every setting: a row a set, and the claims over all of them."""
    results = list(race(make_pairs, bench))
    two = [one for one in results if one.n_classes == 2]
    groups = (('of several classes', [one for one in results if one.n_classes > 2], at_least(2.0)),
              (f'of two classes and at least {WIDE} features', [one for one in two if one.n_features >= WIDE],
               at_least(3.3)),
              (f'of two classes and fewer than {WIDE} features', [one for one in two if one.n_features < WIDE],
               at_least(2.7)))
    rows = [judge_sets(some, f'sparse ELM on all sets {name}, times faster than SVC, geometric mean', aim)
            for name, some, aim in groups]
    return [*sum(rows, []), *judge_slowest(results, 'sparse ELM', 'SVC'),
            *(judge_set(result, 'sparse ELM', 'SVC') for result in results)]


def compare_predictions(bench: Bench) -> list[Claim]:
    """Compare predictions of the rows fitted, on every set at every setting."""
    results = list(race(make_pairs, bench, 'predict'))
    what = 'predictions by sparse ELM on all sets, times faster than SVC, geometric mean'
    return [*judge_sets(results, what, at_least(5.0)), *judge_slowest(results, 'predictions by sparse ELM', 'SVC')]


def compare_adult(bench: Bench) -> list[Claim]:
    """Compare fit and prediction on a9a, first 32,561 rows for training, gamma 1/123, C 1."""
    if bench.size == QUICK or not find_or_warn('a9a'):
        return []
    X, y = read_set('a9a')
    train, test = X[:32_561], X[32_561:]
    models = ours, _ = make_sparse_elm(1 / 123, 1), make_svc(1 / 123, 1)
    for model in models:
        model.fit(X[:3000], y[:3000]).predict(test[:100])  # once uncounted: loads compiled code
    fits = measure_processor([partial(model.fit, train, y[:32_561]) for model in models])
    predictions = measure_processor([partial(model.predict, test) for model in models])
    result = ours.results_[0]
    note = (f'{len(ours.support_):,} support vectors, {result.n_kernel_rows:,} computed rows of the kernel matrix, '
            f'duality gap {result.gap:.2g}, objective {result.objective:.4f}')
    return [judge_ratio('fit on a9a, 32,561 x 123, times faster than SVC', fits[0], fits[1], at_least(5.0), note),
            judge_ratio('predict 16,281 rows of a9a, times faster than SVC', predictions[0], predictions[1],
                        at_least(10.0))]


def compare_words(bench: Bench) -> list[Claim]:
    """Compare fits on few rows of very many words, of which a row has some, with SVC on the same CSR rows."""
    import scipy.sparse as sp
    from sklearn.svm import SVC
    n, d, n_words = 300, 200_000, 50
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((np.ones(n * n_words), rng.integers(1, d, n * n_words), np.arange(n + 1) * n_words), shape=(n, d))
    X.sum_duplicates()
    y = rng.integers(0, 2, n)
    rows: list[Claim] = []
    for kernel, reference in (('linear', SVC(kernel='linear')), ('gaussian', SVC())):
        for kind in (SparseELMClassifier, OELMClassifier, KernelELMClassifier):
            ours = kind(kernel=kernel, scale='none')
            rows.append(compare(f'{kind.__name__} on {n} x {d:,} words, {kernel}, time over that of SVC',
                                partial(ours.fit, X, y), partial(reference.fit, X, y), at_most(2.0)))
    return rows


def compare_grid(bench: Bench) -> list[Claim]:
    """Compare the paper's grid, 5 folds, on rows of covtype with SVC, by a random tenth of its fits."""
    if not find_or_warn('covtype-20k'):
        return []
    n_rows = bench.pick(1_000, 5_000)
    X, y = standardise('covtype-20k', n_rows, (1, 2))
    codes, folds = (y == y.max()).astype(int), fold_numbers(X, 5, 0)
    fits = list(product(PAPER, PAPER, range(5)))
    chosen = np.random.default_rng(0).permutation(len(fits))[:len(fits) // 10]

    def theirs() -> None:
        for number in chosen:
            sigma, C, fold = fits[number]
            held = folds == fold
            machine = make_svc(0.5 / sigma**2, C).fit(X[~held], y[~held])
            machine.score(X[held], y[held])

    def ours() -> None:
        space = Workspace()
        for sigma in PAPER:
            source = ready_rows(kernel_rows(X, make_kernel('gaussian', sigma=sigma)), space=space)
            kernel = LabelledKernel(source, codes, np.ones(len(X)))
            list(cross_validate(kernel, ClassScheme(2), BoxMachine(1.0, 'block', Settings()), PAPER, folds, range(5)))

    for machine in (make_sparse_elm(1, 1), make_svc(1, 1)):
        machine.fit(X[:2000], y[:2000])  # once uncounted: loads compiled code
    mine, some = measure_processor([ours, theirs])
    whole = [seconds * len(fits) / len(chosen) for seconds in some]
    return [judge_ratio(f'14 x 14 grid, 5 folds, {n_rows:,} rows of covtype, times faster than SVC', mine, whole,
                        at_least(30.0), f'SVC: estimated from {len(chosen)} of {len(fits)} fits')]


def compare_active_sets(bench: Bench) -> list[Claim]:
    """Compare the steps and the seconds of the active set rules: the paper's oelm, and newton (ours), with bas."""
    rows: list[Claim] = []
    for name in filter(find_or_warn, ('australian', 'diabetes', 'ionosphere', 'svmguide1')):
        X, y = read_set(name)
        some = np.random.default_rng(0).permutation(len(y))[:RULE_ROWS]
        kernel = make_kernel('gaussian', gamma=1 / X.shape[1])
        source, t = kernel_rows(scale_to_box(X[some].toarray()), kernel), np.where(y[some] == y.max(), 1.0, -1.0)
        for C in (1, 10, 100):
            rows += compare_rules(f'on {len(some):,} rows of {name} at C {C}', BoxQP(source, t, C))
    return rows


def compare_rules(where: str, problem: BoxQP) -> list[Claim]:
    """Compare the rules on one problem, each warmed by one run that is not counted."""
    found = {rule: solve_dual(problem, rule) for rule in RULES}
    runs = dict(zip(RULES, measure_processor([partial(solve_dual, problem, rule) for rule in RULES]), strict=True))
    rows = []
    for rule in RULES[:-1]:
        counts = '; '.join(f'steps of {name}: {describe_steps(found[name])}' for name in (rule, 'bas'))
        share = sum(found[rule].steps.values()) / sum(found['bas'].steps.values())
        rows += [judge_ratio(f'{rule} {where}, times faster than bas', runs[rule], runs['bas'], FASTER,
                             group=f'{rule} : bas'),
                 Claim('the same: number of steps divided by that of bas', share, at_most(0.1), COUNTED, counts)]
    return rows


def describe_steps(found: Result) -> str:
    """Say how many steps of each kind a rule made."""
    return ', '.join(f'{number:,} {STEPS[kind]}' for kind, number in found.steps.items() if number)


def scale_to_box(X: Floats) -> Floats:
    """Scale features to [-1, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.where(high > low, 2 * (X - low) / np.where(high > low, high - low, 1) - 1, 0)


PARTS = {'a9a': compare_adult, 'words': compare_words, 'sets': compare_sets, 'predictions': compare_predictions,
         'grid': compare_grid, 'active-sets': compare_active_sets}
