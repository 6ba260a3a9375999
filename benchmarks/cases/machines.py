"""Cases of the estimators: fits, predictions and accuracies beside those of other programs, on public sets."""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV

from benchmarks.harness import Bench, Case, Pair, Side
from benchmarks.peers import HPELM, TunedSVC, make_lightgbm, make_sampler, make_svc
from benchmarks.public.sets import DATA_SETS
from benchmarks.sets import (
    list_more_sets,
    list_sets,
    read_set,
    read_split,
    sample_rows,
    scale_to_box,
    split_halves,
    standardise,
)
from mr_elm.estimators import (
    AutoClassifier,
    ESVMClassifier,
    KernelELMClassifier,
    SparseELMClassifier,
    SphereSVMClassifier,
)
from mr_elm.features.kernel_tiles import compute_lower_triangle
from mr_elm.features.kernels import make_kernel
from mr_elm.solvers.kelm import solve_cholesky
from mr_elm.solvers.multiclass import class_targets
from mr_elm.typing import Floats, Labels

QUICK_SETS = ('iris', 'wine')
L = 1000
SETTINGS = ((0.3, 1), (1, 10), (3, 100), (1, 1000))  # gamma in 1/d, C
COSTS = (1, 10, 100)
FEW = 300  # rows of a small set
AUTO_SETS = ('phoneme', 'pendigits', 'magic', 'usps', 'letter', 'a9a', 'shuttle', 'cod-rna')
OURS = ('sparse ELM', 'SphereSVM', 'kernel ELM', 'PESVM')


def choose_sets(bench: Bench) -> list[str]:
    """Return the names of the sets of a race, those of few rows first."""
    return bench.pick(list(QUICK_SETS), list_sets())


def make_pair(ours: Side, theirs: Side, X: Floats, y: Labels) -> Pair:
    """Return a Pair whose sides get some rows."""
    return Pair(ours, theirs, len(X), X.shape[1], len(np.unique(y)))


def pair_fits(ours: Any, theirs: Any, name: str, most: int) -> Pair:
    """Return the fits of two estimators on the same rows of a set."""
    X, y = sample_rows(name, most)
    return make_pair(lambda trial: fit(ours, X, y), lambda trial: fit(theirs, X, y), X, y)


def fit(estimator: Any, X: Floats, y: Labels) -> None:
    """Fit, and hand back nothing: a score is not asked for."""
    estimator.fit(X, y)


def pair_predictions(ours: Any, theirs: Any, name: str, most: int) -> Pair:
    """Return the predictions of two estimators of the rows that they were fitted to."""
    X, y = sample_rows(name, most)
    machines = [estimator.fit(X, y) for estimator in (ours, theirs)]
    mine, peer = (partial(predict, machine, X) for machine in machines)
    return make_pair(mine, peer, X, y)


def predict(machine: Any, X: Floats, trial: int) -> None:
    """Predict, and hand back nothing."""
    machine.predict(X)


def list_kernel_cases(
    bench: Bench,
    make: Callable[[float, float], Any],
    settings: tuple,
    most: int = 2000,
    pair: Callable = pair_fits,
    fewer_than: float = float('inf'),
) -> Iterator[Case]:
    """List a case for each set and setting, beside SVC of the same gamma and C.

    make : (gamma, C) -> our estimator. settings : (gamma in 1/d, C). pair : how both run. fewer_than : rows of the sets
    that count.
    """
    for name in choose_sets(bench):
        facts = DATA_SETS[name]
        if facts.n_rows >= fewer_than:
            continue
        for scale, C in settings:
            gamma = scale / facts.n_features
            yield Case(
                name,
                partial(pair, make(gamma, float(C)), make_svc(gamma, C), name, bench.pick(500, most)),
                f'gamma {scale:g}/d, C {C}',
            )


def make_sparse_elm(gamma: float, C: float, rule: str = 'block') -> Any:
    """Return sparse ELM by a rule."""
    return SparseELMClassifier(sigma=(2 * gamma) ** -0.5, C=C, rule=rule, scale='none')


def make_sphere_svm(gamma: float, C: float, rule: str = 'exact') -> Any:
    """Return SphereSVM by a rule."""
    return SphereSVMClassifier(sigma=(2 * gamma) ** -0.5, C=C, rule=rule, scale='none')


def list_peers_of_pesvm(bench: Bench) -> Iterator[Case]:
    """Fit PESVM and its two peers with as many nodes, on every set."""
    peers: dict[str, Callable[[int], Any]] = {
        'hpelm': lambda d: HPELM(L),
        'RBFSampler + RidgeClassifier': partial(make_sampler, L),
    }
    for name in choose_sets(bench):
        for peer, make in peers.items():
            yield Case(
                name,
                partial(
                    pair_fits,
                    ESVMClassifier(n_hidden=L, scale='none'),
                    make(DATA_SETS[name].n_features),
                    name,
                    bench.pick(500, 2000),
                ),
                peer,
            )


def list_kernel_elm(bench: Bench) -> Iterator[Case]:
    """Fit the kernel ELM and KernelRidge on the same targets."""
    from sklearn.kernel_ridge import KernelRidge

    def prepare(name: str) -> Pair:
        X, y = sample_rows(name, bench.pick(500, 2000))
        classes, codes = np.unique(y, return_inverse=True)
        T, sigma = class_targets(codes, len(classes)), (X.shape[1] / 2) ** 0.5
        ours = KernelELMClassifier(sigma=sigma, C=1.0, scale='none')
        theirs = KernelRidge(alpha=1.0, kernel='rbf', gamma=1 / X.shape[1])
        return make_pair(lambda trial: fit(ours, X, y), lambda trial: fit(theirs, X, T), X, y)

    for name in choose_sets(bench):
        yield Case(name, partial(prepare, name))


def list_decompositions(bench: Bench) -> Iterator[Case]:
    """Solve the system of the kernel ELM by a Cholesky factor, and decompose its matrix by singular values."""
    n, d, n_classes = bench.pick(300, 2000), 50, 10

    def prepare() -> Pair:
        generator = np.random.default_rng(0)
        X = generator.standard_normal((n, d))
        T = class_targets(generator.integers(n_classes, size=n), n_classes)
        omega = compute_lower_triangle(X, make_kernel('gaussian', d))
        system = np.tril(omega) + np.tril(omega, -1).T + np.eye(n)
        return Pair(
            lambda trial: solve_cholesky(omega.copy(), T, 1.0), lambda trial: np.linalg.svd(system), n, d, n_classes
        )

    yield Case('normal numbers', prepare)


def list_threads(bench: Bench) -> Iterator[Case]:
    """Fit and predict with two threads and with one."""
    d, n_classes = 30, 8

    def draw(n: int) -> tuple[Floats, Labels]:
        generator = np.random.default_rng(0)
        y = generator.integers(0, n_classes, n)
        X = generator.standard_normal((n, d))
        X[np.arange(n), y] += 2  # overlapping classes, shifted in one feature each
        return X, y

    def prepare(estimator: Any, n: int, action: str) -> Pair:
        X, y = draw(n)
        sides = []
        for n_jobs in (2, 1):
            machine = clone(estimator).set_params(n_jobs=n_jobs)
            if action == 'predict':
                sides.append(partial(predict, machine.fit(X[:4000], y[:4000]), X))
            else:
                sides.append(partial(lambda machine, trial: fit(machine, X, y), machine))
        return make_pair(sides[0], sides[1], X, y)

    for name, estimator, n in (
        ('PESVM', ESVMClassifier(n_hidden=L), 30_000),
        ('kernel ELM', KernelELMClassifier(), 6000),
        ('sparse ELM', SparseELMClassifier(C=10), 6000),
    ):
        yield Case(name, partial(prepare, estimator, bench.pick(500, n), 'fit'), 'fit')
        yield Case(name, partial(prepare, estimator, bench.pick(2000, 20_000), 'predict'), 'predict')


def list_landmarks(bench: Bench) -> Iterator[Case]:
    """Train ridge regression on landmarks, and Nystroem with Ridge of scikit-learn on as many, scored on other rows."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline

    def prepare(name: str, n_landmarks: int) -> Pair:
        X, y = read_set(name)
        train, test = split_halves(y, 0, bench.pick(500, 5_000))
        Z, Z_test = standardise(X[train], X[test])
        data = Z, y[train], Z_test, y[test]
        ours = ESVMClassifier('nystrom', n_hidden=n_landmarks, weight_scale=2.0, nu=1e6, scale='none')
        theirs = make_pipeline(
            Nystroem(n_components=n_landmarks, gamma=2 / X.shape[1], random_state=0), RidgeClassifier(alpha=1e-4)
        )
        return make_pair(partial(fit_and_score, ours, data), partial(fit_and_score, theirs, data), Z, y[train])

    for name in bench.pick(['digits'], ['letter', 'covtype-20k']):
        for n_landmarks in bench.pick((50,), (500, 1000, 2000)):
            yield Case(name, partial(prepare, name, n_landmarks), f'{n_landmarks:,} landmarks')


def fit_and_score(estimator: Any, data: tuple, trial: int) -> Callable[[], float]:
    """Fit; returns a function that scores on other rows. data : X, y, X_test, y_test."""
    estimator.fit(*data[:2])
    return lambda: estimator.score(*data[2:])


def list_auto(bench: Bench) -> Iterator[Case]:
    """Train the method that chooses for itself and a tuned SVC on half of a set, scored on the other half."""

    def prepare(name: str) -> Pair:
        X, y = read_set(name)
        train, test = split_halves(y, 0, bench.pick(100, 2000))
        data = X[train], y[train], X[test], y[test]
        return make_pair(
            partial(fit_and_score, AutoClassifier(), data), partial(fit_and_score, TunedSVC(), data), *data[:2]
        )

    for name in bench.pick(QUICK_SETS[:1], AUTO_SETS):
        yield Case(name, partial(prepare, name))


def list_boosting(bench: Bench) -> Iterator[Case]:
    """Count right labels of the method that chooses for itself, and of boosted trees with their defaults."""
    peers: dict[str, Callable[[], Any]] = {
        'HistGradientBoosting': HistGradientBoostingClassifier,
        'LightGBM': make_lightgbm,
    }

    @lru_cache(maxsize=3)
    def score_auto(name: str, trial: int) -> float:
        return score(AutoClassifier, name, trial)

    def score(make: Callable[[], Any], name: str, trial: int) -> float:
        X, y = read_set(name)
        train, test = read_split(name, trial) or split_halves(y, trial, bench.pick(100, 2000))
        return make().fit(X[train], y[train]).score(X[test], y[test])

    def prepare(name: str, peer: str) -> Pair:
        peers[peer]()  # is it installed?
        return make_pair(partial(score_auto, name), partial(score, peers[peer], name), *read_set(name))

    for name in bench.pick(QUICK_SETS[:1], [*list_sets(), *list_more_sets()]):
        for peer in peers:
            yield Case(name, partial(prepare, name, peer), peer)


def list_accuracies(bench: Bench) -> Iterator[Case]:
    """Train four machines and SVC on halves of every set, each with C and gamma, or nu and the map, that it chooses."""
    n_rows = bench.pick(100, 600)
    for name in choose_sets(bench):
        for machine in OURS:
            yield Case(name, partial(pair_accuracies, name, machine, n_rows), machine)


def pair_accuracies(name: str, machine: str, n_rows: int) -> Pair:
    """Return the accuracies of a machine and of SVC."""
    mine, peer = (partial(find_accuracy, name, one, n_rows) for one in (machine, 'SVC'))
    return make_pair(mine, peer, *read_set(name))


@lru_cache(maxsize=64)
def find_accuracy(name: str, machine: str, n_rows: int, trial: int) -> float:
    """Choose parameters on some rows of a trial by 5 folds, train on these rows, and return the accuracy on others."""
    X, y = read_set(name)
    train, test = split_halves(y, trial, n_rows)
    Z, Z_test = scale_to_box(X[train], X[test])
    sigmas = [width * X.shape[1] ** 0.5 for width in WIDTHS]
    widths = {'gamma': [0.5 / sigma**2 for sigma in sigmas]} if machine == 'SVC' else {'sigma': sigmas}
    estimator, grid = MACHINES[machine]
    if machine != 'PESVM':
        grid = {**grid, **widths}
    search = GridSearchCV(clone(estimator), grid, cv=5).fit(Z, y[train])
    return float(search.score(Z_test, y[test]))


WIDTHS, BOUNDS = (0.25, 0.5, 1.0), {'C': [1.0, 10.0, 100.0]}  # of sigma, in sqrt(d)
MACHINES: dict[str, tuple[Any, dict]] = {
    'sparse ELM': (SparseELMClassifier(scale='none'), BOUNDS),
    'SphereSVM': (SphereSVMClassifier(scale='none'), BOUNDS),
    'kernel ELM': (KernelELMClassifier(scale='none'), BOUNDS),
    'SVC': (make_svc(1.0, 1.0), BOUNDS),
    'PESVM': (ESVMClassifier(n_hidden=L, scale='none'), {'map': ['sigmoid', 'rff', 'rbf'], 'nu': [1.0, 1e2, 1e4]}),
}
