"""The experiments of the papers, ready to run: hours, part by part; a stopped part goes on where it was."""

import argparse
import json
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from benchmarks.cases.commands import L, make_pack
from benchmarks.clocks import run_mr_elm
from benchmarks.harness import NORMAL, QUICK, Bench, Results
from benchmarks.machine import demand_clean, wait_until_quiet
from benchmarks.many_rows import measure_many
from benchmarks.peers import L2SVC
from benchmarks.scaling import experiments
from benchmarks.scaling.testbeds import TESTBEDS
from benchmarks.sets import read_set, scale_to_box, split_halves
from benchmarks.tables import tabulate, write_table
from mr_elm.arithmetic import one_thread
from mr_elm.estimators import (
    ELMClassifier,
    KernelELMClassifier,
    OELMClassifier,
    SparseELMClassifier,
    SphereSVMClassifier,
)
from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import make_kernel
from mr_elm.figures.figure import open_figure
from mr_elm.figures.heatmap import draw_cells
from mr_elm.solvers.box import BoxQP, Settings, free_variables
from mr_elm.solvers.choose_solver import solve_dual
from mr_elm.typing import Floats, Labels

SPARSE_SETS = (
    'iris',
    'wine',
    'heart',
    'liver-disorders',
    'ionosphere',
    'breast-cancer',
    'australian',
    'diabetes',
    'colon-cancer',
    'leukemia',
    'vowel',
    'segment',
    'dna',
    'svmguide1',
    'mushrooms',
    'usps',
    'magic',
    'cod-rna',
)
PUBLISHED = {'leukemia': 38, 'vowel': 528, 'dna': 2000, 'svmguide1': 3089, 'usps': 7291}  # rows that train come first
GENES, N_GENES = ('colon-cancer', 'leukemia'), 60
FIGURE_SETS = ('ionosphere', 'australian', 'diabetes', 'iris', 'segment')
SPHERE_SETS = (
    'liver-disorders',
    'ionosphere',
    'diabetes',
    'german-numer',
    'splice',
    'spambase',
    'svmguide1',
    'magic',
    'a9a',
    'cod-rna',
)
RULE_SETS = ('ionosphere', 'australian', 'diabetes', 'svmguide1')
BOUNDS = (0.01, 0.1, 1.0, 10.0, 100.0)  # C of the grid of five
WIDTHS = (0.125, 0.25, 0.5, 1.0, 2.0)  # sigma, in sqrt(d)
MORE_BOUNDS = tuple(10.0**power for power in range(-3, 5))  # of figures
SIZES = (10, 20, 50, 100, 200, 500, 1000)  # nodes, of figures
LOOKS = {'sparse ELM': 'o-', 'OELM': 's--', 'unified ELM': '^-'}
NODES = ('sigmoid', 'sine', 'multiquadric', 'rbf')
STEPS = 200_000  # at which Algorithm 1 and SVC stop: with a large C they need hours
TRIALS = 3
MOST_ROWS = 10_000  # that train; of them the first CHOOSING_ROWS choose the parameters
CHOOSING_ROWS = 1000


@dataclass(frozen=True)
class Run:
    """Hold what a part is measured with: where its rows are kept, and whether a small run is enough."""

    results: Results
    bench: Bench

    def say(self, row: dict) -> None:
        """Keep a row, and say so."""
        self.results.add(row)
        print(self.results.path.stem, *list(row.values())[:5], file=sys.stderr, flush=True)

    def read_sets(self, names: Iterable[str]) -> Iterator[tuple[str, Floats, Labels]]:
        """Yield the name, the rows and the labels of each set that is here; the others are left out."""
        for name in names:
            try:
                yield (name, *read_set(name))
            except OSError as error:
                self.results.left_out[name] = str(error)


@dataclass(frozen=True)
class Part:
    """Describe a part.

    what : what the paper claims and what runs, for the page. keys, columns : of the table of the page, which has the
    means of the columns over all rows that have the keys in common. over : only its values count that all keys have.
    show : (rows, folder) -> more paragraphs, and figures in the folder.
    """

    what: str
    measure: Callable[[Run], None]
    keys: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    over: str = ''
    show: Callable[[list[dict], Path], list[str]] = lambda rows, folder: []


def measure_scaling(methods: tuple[str, ...], sizes: dict[str, list[int]], small: dict[str, Any], run: Run) -> None:
    """Measure speedup, sizeup and scaleup of methods on this machine, Spark and a local Hadoop.

    sizes : experiment -> numbers of rows, of a small run as well; small : what a small run has less of.
    """
    folder = run.bench.folder
    rows = experiments.Rows(folder)
    for runner, experiment in product(run.bench.pick(('local',), ('local', 'spark', 'hadoop')), experiments.MEANING):
        options = argparse.Namespace(
            runner=runner,
            method=list(methods),
            nodes=[1, 2],
            sizes=sizes[experiment],
            features=None,
            hidden=None,
            repeats=1,
            store=None,
            port_base=25100,
            output=folder,
        )
        if run.bench.size == QUICK:
            vars(options).update(small)
        testbed = TESTBEDS[runner](folder, options)
        try:
            for point in experiments.list_points(experiment, options):
                if not run.results.has(experiment=experiment, **point):
                    row = experiments.measure(point, testbed, rows, ())
                    stages = {
                        stage: sum(seconds for name, seconds in row['jobs'].items() if name.startswith(stage))
                        for stage in ('kernel', 'products')
                    }
                    driver = row['seconds'] - sum(row['jobs'].values())
                    run.say({'experiment': experiment, **row, **stages, 'driver': driver})
                    experiments.demand_same_model(run.results.rows)
        except (OSError, RuntimeError) as error:
            run.results.left_out[f'{experiment} on {runner}'] = str(error).splitlines()[0][:200]
        finally:
            testbed.close()


def show_scaling(rows: list[dict], folder: Path) -> list[str]:
    """Lay out a line a curve, and draw a figure for each experiment."""
    lines, figures = [], []
    for experiment in experiments.MEANING:
        same = [row for row in rows if row['experiment'] == experiment]
        for name, curve in experiments.make_curves(experiment, same).items():
            measured, ideal = (', '.join(f'{one[key]:.2f}' for one in curve) for key in ('value', 'ideal'))
            lines.append([experiment, name, measured, ideal])
        if same:
            figures.append(f'![{experiment}]({same[0]["method"]}-{experiment}.svg)')
            experiments.draw(experiment, same, folder / f'{same[0]["method"]}-{experiment}.svg')
    return [write_table(('experiment', 'curve', 'measured', 'ideal'), lines), *figures]


def show_stages(rows: list[dict], folder: Path) -> list[str]:
    """Lay out the seconds of each stage on this machine besides; the decomposition is in those of the driver."""
    stages = tabulate(
        ('nodes', 'rows'),
        ('seconds', 'kernel', 'products', 'driver'),
        '',
        [row for row in rows if row['runner'] == 'local'],
    )
    return [stages, *show_scaling(rows, folder)]


def measure_updates(run: Run) -> None:
    """Add shares of new rows to a model, and train on all of them."""
    bench = run.bench
    n = bench.pick(4000, 1_000_000)
    for share, trial in product((0.01, 0.1, 0.5, 1.0), range(bench.pick(1, TRIALS))):
        if run.results.has(share=share, trial=trial):
            continue
        old, new = make_pack(bench, n), make_pack(bench, round(share * n), 2)
        whole, base, model = make_pack(bench, n + round(share * n)), bench.folder / 'base.npz', bench.folder / 'm.npz'
        if not base.exists():
            run_mr_elm('train', 'pesvm', old, '--hidden', L, '--model', base)
        seconds = []
        for words in (('update', base, new), ('train', 'pesvm', whole, '--hidden', L)):
            start = time.perf_counter()
            run_mr_elm(*words, '--model', model, '--overwrite')
            seconds.append(time.perf_counter() - start)
        run.say({'share': share, 'trial': trial, 'rows': n, 'update': seconds[0], 'retrain': seconds[1]})


def find_updates(rows: list[dict], folder: Path) -> list[str]:
    """Say how much an update saves, by the first trial of each share."""
    shares = [f'{row["update"] / row["retrain"]:.0%} for {row["share"]:.0%}' for row in rows if row['trial'] == 0]
    return [f'We find the claim: an update takes this share of the time, for so many new rows: {", ".join(shares)}.']


Methods = dict[str, tuple[Any, dict]]


def measure_trials(
    run: Run,
    sets: Iterable[str],
    make_methods: Callable[[int, int], Methods],
    split: Callable[[str, Labels], Iterable[tuple]],
    tune_each: bool = False,
) -> None:
    """Train and test methods on trials of sets; each chooses its parameters by 5 folds on the training rows.

    At most MOST_ROWS train, and CHOOSING_ROWS of them choose. make_methods : numbers of features and of classes -> name
    -> (estimator, grid). tune_each : choose in each trial, not in the first one of a set.
    """
    for name, X, y in run.read_sets(sets):
        try:
            for trial, (train, test) in enumerate(split(name, y)):
                some = np.random.default_rng(trial).permutation(train)[:MOST_ROWS]
                measure_trial(run, name, trial, prepare(name, X, y, some, test), make_methods, tune_each)
        except ImportError as error:
            run.results.left_out[name] = str(error)


def prepare(name: str, X: Floats, y: Labels, train: np.ndarray, test: np.ndarray) -> tuple:
    """Return (X_train, y_train, X_test, y_test), scaled to [-1, 1]; of a set of genes the N_GENES best features."""
    X_train, X_test = X[train], X[test]
    if name in GENES:
        from sklego.feature_selection import MaximumRelevanceMinimumRedundancy

        selection = MaximumRelevanceMinimumRedundancy(k=N_GENES).fit(X_train, y[train])
        X_train, X_test = selection.transform(X_train), selection.transform(X_test)
    X_train, X_test = scale_to_box(X_train, X_test)
    return X_train, y[train], X_test, y[test]


def measure_trial(run: Run, name: str, trial: int, data: tuple, make_methods: Callable, tune_each: bool) -> None:
    """Measure the methods of one trial that are not there yet."""
    X, y, X_test, y_test = data
    if run.bench.size == QUICK:
        X, y = X[:60], y[:60]
    for method, (estimator, grid) in make_methods(X.shape[1], len(np.unique(y))).items():
        if run.results.has(set=name, method=method, trial=trial):
            continue
        known = [row for row in run.results.rows if (row['set'], row['method']) == (name, method)]
        if known and not tune_each:
            chosen = json.loads(known[0]['parameters'])
        else:
            search = GridSearchCV(estimator, grid, cv=5, refit=False, n_jobs=-1)
            chosen = search.fit(X[:CHOOSING_ROWS], y[:CHOOSING_ROWS]).best_params_
        machine = clone(estimator).set_params(**chosen)
        if 'seed' in machine.get_params():
            machine.set_params(seed=trial)
        machine.fit(X[:CHOOSING_ROWS], y[:CHOOSING_ROWS])  # loads compiled code
        start = time.process_time()
        machine.fit(X, y)
        middle = time.process_time()
        accuracy = machine.score(X_test, y_test)
        end = time.process_time()
        run.say(
            {
                'set': name,
                'method': method,
                'trial': trial,
                'rows': len(y),
                'train_accuracy': machine.score(X, y),
                'accuracy': accuracy,
                'train_seconds': middle - start,
                'test_seconds': end - middle,
                'n_support': len(getattr(machine, 'support_', ())),
                'parameters': json.dumps(chosen),
            }
        )


def list_sparse_elm(n_features: int, n_classes: int) -> Methods:
    """Return the methods of tables IV to VII of the sparse ELM paper, and Algorithm 1 and our rule apart."""
    sigmas = [width * n_features**0.5 for width in WIDTHS]
    svc = SVC(max_iter=STEPS, cache_size=500)
    methods: Methods = {
        'SVC, gaussian': (svc, {'C': BOUNDS, 'gamma': [0.5 / sigma**2 for sigma in sigmas]}),
        'SVC, polynomial': (
            clone(svc).set_params(kernel='poly', gamma=1.0, coef0=1.0),
            {'C': BOUNDS, 'degree': [1, 2, 3, 4, 5]},
        ),
    }
    kernels = {'gaussian': {'C': BOUNDS, 'sigma': sigmas}, 'polynomial': {'C': BOUNDS, 'degree': [1, 2, 3, 4, 5]}}
    for kernel, grid in kernels.items():
        methods[f'sparse ELM by Algorithm 1, {kernel}'] = (
            SparseELMClassifier(kernel, rule='paper', max_iter=STEPS, scale='none'),
            grid,
        )
        methods[f'sparse ELM by block, {kernel}'] = SparseELMClassifier(kernel, rule='block', scale='none'), grid
        methods[f'unified ELM, {kernel}'] = KernelELMClassifier(kernel, scale='none'), grid
    n_hidden = 200 if n_classes == 2 else 1000
    grid = {'C': BOUNDS, 'weight_scale': [0.5, 1.0, 2.0, 4.0]}
    for nodes in ('sigmoid', 'sine'):
        methods[f'sparse ELM by Algorithm 1, {nodes} nodes'] = (
            SparseELMClassifier(nodes, n_hidden=n_hidden, rule='paper', max_iter=STEPS, scale='none'),
            grid,
        )
        methods[f'sparse ELM by coordinate, {nodes} nodes'] = (
            SparseELMClassifier(nodes, n_hidden=n_hidden, scale='none'),
            grid,
        )
        methods[f'unified ELM, {nodes} nodes'] = ELMClassifier(nodes, n_hidden=n_hidden, scale='none'), grid
    return methods


def split_as_published(n_trials: int, name: str, y: Labels) -> Iterator[tuple]:
    """Yield the rows of each trial: the published parts in another order, or random halves."""
    for trial in range(n_trials):
        if name in PUBLISHED:
            random, n = np.random.default_rng(trial), PUBLISHED[name]
            yield random.permutation(n), n + random.permutation(len(y) - n)
        else:
            yield split_halves(y, trial)


def measure_sparse_elm(run: Run) -> None:
    """Measure the tables of the sparse ELM paper."""
    measure_trials(
        run,
        run.bench.pick(('iris',), SPARSE_SETS),
        list_sparse_elm,
        partial(split_as_published, run.bench.pick(1, TRIALS)),
    )


def list_sphere_svm(n_features: int, n_classes: int) -> Methods:
    """Return the methods of the double cross-validation of the SphereSVM paper."""
    sigmas = [width * n_features**0.5 for width in WIDTHS[1:]]
    grid, theirs = {'C': BOUNDS[1:], 'sigma': sigmas}, {'C': BOUNDS[1:], 'gamma': [0.5 / sigma**2 for sigma in sigmas]}
    return {
        'SphereSVM by Algorithm 1': (SphereSVMClassifier(rule='paper', tol=1e-4, scale='none'), grid),
        'SphereSVM by exact': (SphereSVMClassifier(rule='exact', scale='none'), grid),
        'L1-SVM (SVC)': (SVC(cache_size=500), theirs),
        'L2-SVM (SVC on K + I/C)': (L2SVC(), theirs),
    }


def split_folds(n_folds: int, name: str, y: Labels) -> Iterator[tuple]:
    """Yield the outer folds of a set."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    yield from islice(folds.split(y, y), n_folds)


def measure_sphere_svm(run: Run) -> None:
    """Measure the double cross-validation of the SphereSVM paper."""
    measure_trials(
        run,
        run.bench.pick(('wdbc',), SPHERE_SETS),
        list_sphere_svm,
        partial(split_folds, run.bench.pick(1, 5)),
        tune_each=True,
    )


def show_figures(rows: list[dict], folder: Path) -> list[str]:
    """Draw the figures of each set, a panel each."""
    paragraphs, figures = [], list(dict.fromkeys(row['figure'] for row in rows))
    for name in dict.fromkeys(row['set'] for row in rows):
        paragraphs.append(f'![Accuracy on {name}](sparse-elm-{name}.svg)')
        with open_figure(
            folder / f'sparse-elm-{name}.svg', rows=len(figures), figsize=(7, 4 * len(figures)), squeeze=False
        ) as (_, panels):
            for axes, figure in zip(panels.flat, figures, strict=True):
                same = [row for row in rows if (row['set'], row['figure']) == (name, figure)]
                for method in dict.fromkeys(row['method'] for row in same):
                    draw_method(axes, method, [row for row in same if row['method'] == method])
                axes.set_title(f'{name}: {figure}', fontsize=10)
    return paragraphs


def draw_method(axes: Any, method: str, rows: list[dict]) -> None:
    """Draw the mean testing accuracy of a method over the nodes, or over C and another parameter."""
    other = 'sigma' if 'sigma' in rows[0] else 'n_hidden'
    places: dict[tuple, list[float]] = {}
    for row in rows:
        places.setdefault((row[other], row['C']), []).append(100 * row['accuracy'])
    others, bounds = (sorted({place[axis] for place in places}) for axis in (0, 1))
    values = np.array([[fmean(places[value, C]) for C in bounds] for value in others])
    if len(bounds) > 1:
        axes.figure.colorbar(draw_cells(axes, values, bounds, others), ax=axes, label='testing accuracy %')
        axes.set_ylabel(other)
        return
    axes.semilogx(others, values[:, 0], LOOKS[method], label=method)  # two curves may agree
    axes.set(xlabel='hidden nodes', ylabel='testing accuracy %')
    axes.legend()


def list_figures(bench: Bench, n_features: int) -> Iterator[tuple[Any, dict]]:
    """Yield (estimator, its place) for each training of figures 2 to 7 of the sparse ELM paper."""
    sizes, bounds = bench.pick(SIZES[:2], SIZES), bench.pick(MORE_BOUNDS[3:5], MORE_BOUNDS)
    kinds = {'sparse ELM': SparseELMClassifier, 'OELM': OELMClassifier, 'unified ELM': ELMClassifier}  # type: ignore[dict-item]
    for (method, kind), nodes, n_hidden in product(kinds.items(), NODES, sizes):
        yield (
            kind(nodes, n_hidden=n_hidden, scale='none'),
            {'figure': f'{nodes} nodes, C = 1', 'method': method, 'n_hidden': n_hidden, 'C': 1.0},
        )
    for C, n_hidden in product(bounds, sizes):
        yield (
            SparseELMClassifier('sine', n_hidden=n_hidden, C=C, scale='none'),
            {'figure': 'sparse ELM, sine nodes', 'method': 'sparse ELM', 'n_hidden': n_hidden, 'C': C},
        )
    for C, width in product(bounds, bench.pick(WIDTHS[:2], WIDTHS)):
        sigma = width * n_features**0.5
        for method, machine in (
            ('SVC', SVC(C=C, gamma=0.5 / sigma**2, max_iter=STEPS)),
            ('sparse ELM', SparseELMClassifier(sigma=sigma, C=C, scale='none')),
        ):
            yield machine, {'figure': f'{method}, Gaussian kernel', 'method': method, 'sigma': width, 'C': C}


def measure_figures(run: Run) -> None:
    """Measure the points of figures 2 to 7 of the sparse ELM paper."""
    for name, X, y in run.read_sets(run.bench.pick(('iris',), FIGURE_SETS)):
        for trial in range(run.bench.pick(1, 5)):
            data = prepare(name, X, y, *split_halves(y, trial))
            for estimator, place in list_figures(run.bench, X.shape[1]):
                row = {'set': name, 'trial': trial, **place}
                if not run.results.has(**row):
                    if 'seed' in estimator.get_params():
                        estimator.set_params(seed=trial)
                    machine = estimator.fit(*data[:2])
                    run.say({**row, 'train_accuracy': machine.score(*data[:2]), 'accuracy': machine.score(*data[2:])})


@dataclass(frozen=True)
class Watch(Settings):
    """Note, at each iteration of an active set rule, how many variables are free and how many at C, and when."""

    seen: tuple[list, ...] = ([],)

    def tell(self, n_iter: int, alpha: Floats, gradient: Floats, upper: Floats) -> None:
        """Note an iteration."""
        free = int(np.count_nonzero(free_variables(alpha, upper)))
        self.seen[0].append([free, int(np.count_nonzero(alpha >= upper)), round(time.process_time(), 4)])


def measure_oelm(run: Run) -> None:
    """Solve by the rules of OELM: Newton systems, other steps, seconds, and the active set by iteration."""
    for name, X, y in run.read_sets(run.bench.pick(('wdbc',), RULE_SETS)):
        some = np.random.default_rng(0).permutation(len(y))[: run.bench.pick(80, 1000)]
        rows = kernel_rows(scale_to_box(X[some])[0], make_kernel('gaussian', gamma=1 / X.shape[1]))
        for C, rule in product((1.0, 10.0, 100.0), ('bas', 'oelm', 'newton')):
            if not run.results.has(set=name, C=C, rule=rule):
                problem = BoxQP(rows, np.where(y[some] == y.max(), 1.0, -1.0), C)
                run.say({'set': name, 'C': C, 'rule': rule, 'rows': len(some), **watch_rule(problem, rule)})


def watch_rule(problem: BoxQP, rule: str) -> dict[str, Any]:
    """Solve a problem twice, the first time to load compiled code; returns what the second solution took."""
    solve_dual(problem, rule)
    watch, start = Watch(seen=([],)), time.process_time()
    solution = solve_dual(problem, rule, watch)
    seconds = time.process_time() - start
    seen = [[free, bound, round(when - start, 4)] for free, bound, when in watch.seen[0]]
    return {
        'Newton systems': solution.steps['newton'],
        'other steps': sum(solution.steps.values()) - solution.steps['newton'],
        'seconds': round(seconds, 4),
        'free at the end': seen[-1][0] if seen else 0,
        'most free': max((free for free, _, _ in seen), default=0),
        'active': seen,
    }


def find_rules(rows: list[dict], folder: Path) -> list[str]:
    """Say where the rules of OELM save Newton systems, and time."""
    ours = {(row['set'], row['C']): row for row in rows if row['rule'] == 'oelm'}
    theirs = [row for row in rows if row['rule'] == 'bas']
    fewer, faster = (
        sum(ours[row['set'], row['C']][name] < row[name] for row in theirs) for name in ('Newton systems', 'seconds')
    )
    return [
        f'`oelm` solves fewer Newton systems than `bas`, the baseline, on {fewer} of {len(ours)} problems, and takes '
        f'less time on {faster}. It has many other steps: we find the claim of less iterations only if these do not '
        'count.'
    ]


TABLE = (('method',), ('train_accuracy', 'accuracy', 'train_seconds', 'test_seconds', 'n_support'), 'set')
SMALL = {'repeats': 1, 'features': 5, 'hidden': 10, 'sizes': [300]}
PARTS = {
    'pesvm': Part(
        'PESVM, abstract: PESVM and PIESVM "scale well in terms of the evaluation metrics of speedup, sizeup '
        'and scaleup". Ours: L = 1,000, packed rows, on processes of this machine, Spark, and a local '
        'Hadoop, each once; `piesvm` is `mr-elm update`.',
        partial(
            measure_scaling,
            ('pesvm', 'piesvm'),
            {'speedup': [1_000_000], 'sizeup': [250_000, 500_000, 1_000_000], 'scaleup': [500_000]},
            SMALL,
        ),
        show=show_scaling,
    ),
    'iesvm': Part(
        'PESVM, abstract: it is "brutal" to train again on all rows when new ones come. Ours: `mr-elm '
        'update` beside `mr-elm train pesvm`, both on all cores (below 5 MB of new rows on one), seconds by the '
        'clock, L = 1,000, 3 trials.',
        measure_updates,
        ('share', 'rows'),
        ('update', 'retrain'),
        show=find_updates,
    ),
    'mr-kelm': Part(
        'MR-KELM, section 3, figures 3 and 4: the time of each stage over the rows, and the speedup. Ours: '
        'Algorithm 1 by tiles, each run once. The decomposition runs in the driver, not in jobs of Mahout.',
        partial(
            measure_scaling,
            ('mr-kelm-svd',),
            {'speedup': [4000], 'sizeup': [1000, 2000, 4000], 'scaleup': [2000]},
            SMALL,
        ),
        show=show_stages,
    ),
    'sparse-elm': Part(
        'Sparse ELM, abstract, with tables III to VIII: "better generalization performance with much faster training '
        'speed" than SVM, "similar generalization performance" to unified ELM on two classes. Ours: '
        f'{len(SPARSE_SETS)} sets, five values of C and of sigma or the degree (four weight scales), {TRIALS} trials '
        f'of the published parts or of halves. At most {MOST_ROWS:,} rows train, and {CHOOSING_ROWS:,} of them choose '
        f'the parameters. Algorithm 1 and SVC stop after {STEPS:,} steps. Times of Algorithm 1 alone, beside SVC, are '
        'on the page of speed.',
        measure_sparse_elm,
        *TABLE,
    ),
    'sparse-elm-figures': Part(
        'Sparse ELM, figures 2 to 7: accuracy over the nodes, C and sigma. Ours: testing accuracy, five trials '
        'of halves; sigma in sqrt(d).',
        measure_figures,
        show=show_figures,
    ),
    'sphere-svm': Part(
        'SphereSVM, section 1: "While keeping the level of accuracy, it achieves a significant speedup" '
        'over L1 and L2 LIBSVM and BallVM, of which LIBSVM has a maintained package. Ours: double '
        f'cross-validation, five outer folds, of which at most {MOST_ROWS:,} rows train, and {CHOOSING_ROWS:,} of them '
        'choose the parameters. Times of Algorithm 1 alone, beside SVC, are on the page of speed.',
        measure_sphere_svm,
        *TABLE,
    ),
    'oelm': Part(
        'OELM, abstract: it "can converge to the optimal solution with less iterations", and a problem with '
        'as few constraints in the active set as possible "is computationally most efficient". Ours: at most '
        '1,000 rows, gamma 1/d, eps 0.001, one trial; `newton` is not in the paper. Free variables are those between 0 '
        'and C.',
        measure_oelm,
        ('C', 'rule'),
        ('Newton systems', 'other steps', 'seconds', 'most free', 'free at the end'),
        'set',
        find_rules,
    ),
    'auto': Part(
        'Not of a paper: `auto` beside LightGBM with its defaults, both on all cores, on generated rows of 50 features '
        'in a csv file, of 2 (ndc) and 40 classes (blobs). Seconds are by the clock, megabytes of the largest process; '
        'the processor seconds of Spark are those of the command alone.',
        lambda run: measure_many(run.results, run.bench, run.say),
        ('set', 'rows', 'program'),
        ('accuracy', 'seconds', 'processor seconds', 'megabytes'),
    ),
}


def run_parts(names: list[str], folder: Path, small: bool) -> None:
    """Measure parts into a folder; those that are not small on a clean commit and a quiet machine only."""
    for name in names:
        if not small:
            demand_clean()
            wait_until_quiet()
        scratch = (folder / 'scratch' / name).absolute()
        results = Results.resume(folder / f'papers-{name}.json')
        if not results.rows:  # what lies there may be of another commit
            shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True, exist_ok=True)
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter('ignore')  # of machines that stop early
            PARTS[name].measure(Run(results, Bench(QUICK if small else NORMAL, str(scratch))))
        results.write()
