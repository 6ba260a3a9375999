"""Measure `--auto` against a tuned SVC, the cost of a grid against one training, and of an update against all.

Processor seconds on one thread. Data sets are looked for in the folders that MR_ELM_DATA names; those that are not
there are left out.
"""
import sys
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.bench.context import Bench
from benchmarks.public_sets import find_or_warn, read_set
from benchmarks.tables.peers import train_auto, write_plan
from benchmarks.timing import judge_ratio, measure_processor, run_mr_elm
from benchmarks.verdict import COUNTED, FASTER, Claim, at_most
from mr_elm.data.generators import generate, write_rows
from mr_elm.drivers import increment, pesvm
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.tune_pesvm import Search, evaluate_grid
from mr_elm.engines import make_engine
from mr_elm.machines.options import PESVMOptions
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan, plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.scores.selection import NodeCandidate
from mr_elm.solvers.ridge.fold_grid import FoldGrid
from mr_elm.typing import Floats, Labels

SETS = ('letter', 'cod-rna', 'a9a', 'usps', 'shuttle', 'pendigits', 'magic', 'phoneme')
SVC_C, SVC_GAMMA = (0.1, 1, 10, 100, 1000), (0.1, 0.4, 1.6, 6.4)  # gamma in 1/d
D = 50
GRID = Search((NodeCandidate('sigmoid', 1.0),), tuple(10.0**k for k in range(-4, 8)), tuple(range(100, 1001, 100)),
              n_counted=0)


def split_set(name: str, n_rows: int) -> list[tuple[Floats, Labels]]:
    """Return (X, y) for training, two thirds or n_rows, and (X, y) for testing, a third, dense."""
    X, y = read_set(name)
    order = np.random.default_rng(0).permutation(len(y))
    cut = 2 * len(y) // 3
    return [(X[rows].toarray(), y[rows]) for rows in (order[:cut][:n_rows], order[cut:])]


class TunedSVC:
    """Train SVC as a careful user does. X, X_test : standardised here. n_rows : on which C and gamma are chosen."""

    def __init__(self, train: tuple[Floats, Labels], test: tuple[Floats, Labels], n_rows: int) -> None:
        mean, deviation = train[0].mean(axis=0), train[0].std(axis=0)
        self.X, self.X_test = ((X - mean) / np.where(deviation > 0, deviation, 1) for X, _ in (train, test))
        self.y, self.y_test, self.n_rows = train[1], test[1], n_rows

    def fit(self) -> None:
        """Choose C and gamma by 5 folds on some of the rows, and train on all of them."""
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import SVC
        grid = {'C': SVC_C, 'gamma': [gamma / self.X.shape[1] for gamma in SVC_GAMMA]}
        search = GridSearchCV(SVC(cache_size=1000), grid, cv=5, refit=False)
        search.fit(self.X[:self.n_rows], self.y[:self.n_rows])
        self.model = SVC(cache_size=1000, **search.best_params_).fit(self.X, self.y)

    def score(self) -> float:
        """Return the accuracy on the test rows."""
        return self.model.score(self.X_test, self.y_test)


class AutoTraining:
    """Train by --auto, of rows in a file of the folder."""

    def __init__(self, train: tuple[Floats, Labels], test: tuple[Floats, Labels], folder: Path) -> None:
        self.plan, self.test = write_plan(*train, folder), test

    def fit(self) -> None:
        """Train, all choices included."""
        self.model = train_auto(self.plan)

    def score(self) -> float:
        """Return the accuracy on the test rows."""
        said = np.array(self.model.classes, dtype=float)[self.model.predict(self.test[0])]
        return float((said == self.test[1]).mean())

    def describe(self) -> str:
        """Say what was chosen."""
        given = [member.header.parameters for member in self.model.members]
        return ' + '.join(f'{one.get("kernel", one["map"])}, metric {one.get("metric", "none")}, L {one["n_hidden"]}'
                          for one in given)


def compare_with_svc(bench: Bench) -> list[Claim]:
    """Compare --auto with a tuned SVC on every set, in turn and on one thread: accuracy and time."""
    rows, below, runs = [], [], []
    for name in filter(find_or_warn, bench.pick(SETS[-1:], SETS)):
        train, test = split_set(name, bench.pick(2_000, 10_000, 50_000))
        ours, theirs = AutoTraining(train, test, bench.folder), TunedSVC(train, test, bench.pick(500, 2_000, 5_000))
        pair = measure_processor([ours.fit, theirs.fit])
        below.append(100 * (theirs.score() - ours.score()))
        runs.append(pair)
        rows.append(Claim(f'{name}, {len(train[1]):,} rows: accuracy of a tuned SVC minus accuracy of --auto, points',
                          below[-1], at_most(0.7), COUNTED,
                          f'SVC {100 * theirs.score():.2f} %, --auto {100 * ours.score():.2f} %; --auto chose '
                          f'{ours.describe()}'))
        rows.append(judge_ratio('the same, --auto times faster than a tuned SVC', pair[0], pair[1],
                                FASTER, group='train --auto : tuned SVC'))
        print(f'{name}: {rows[-2].note}, {rows[-1].note}', file=sys.stderr, flush=True)
    if below:
        rows.append(Claim('the same difference of accuracies, mean of all sets', float(np.mean(below)), at_most(-0.3),
                          COUNTED))
        mine, theirs = np.sum(runs, axis=0).tolist()
        rows.append(judge_ratio('time of --auto divided by that of a tuned SVC, all sets', mine, theirs, at_most(0.1)))
    return rows


def pack_rows(folder: Path, n_rows: int, seed: int) -> InputPlan:
    """Return the plan of a pack of NDC rows."""
    path = folder / f'{n_rows}-{seed}.csv'
    write_rows(generate('ndc', n_rows, D, seed), path)
    run_mr_elm('pack', path, '-o', path.with_suffix('.packed'))
    path.unlink()
    return plan_inputs([str(path.with_suffix('.packed'))], RowOptions())


def compare_updates(bench: Bench) -> list[Claim]:
    """Compare a grid with one training, and an update by 1 % of the rows with a training on all."""
    n, options, engine = bench.pick(100_000, 1_000_000), PESVMOptions(), make_engine()
    plan, new = pack_rows(bench.folder, n, 1), pack_rows(bench.folder, n // 100, 2)
    models, found = [], []

    def train(rows: InputPlan) -> None:
        models.append(pesvm.train(rows, options, engine)[0])

    def score(rows: InputPlan) -> None:
        found.append(evaluate_grid(NodeInputs.learn(DataSet(rows, engine), options), GRID))

    def update(rows: InputPlan) -> None:
        increment.update(models[-1], rows, engine)

    for action in (train, score, update):
        action(new)  # once uncounted: loads compiled code
    whole, grid, added = measure_processor([partial(train, plan), partial(score, plan), partial(update, new)])
    folds, = found[-1].folds.values()
    finisher, = measure_processor([lambda: FoldGrid(folds, False).score(GRID.nus, GRID.sizes)])
    data = f'{n:,} x {D} packed rows, L = 1000'
    return [judge_ratio(f'time of a grid of 12 nu x 10 L x 5 folds divided by that of one training, {data}', grid,
                        whole, at_most(1.5)),
            Claim('minutes of the solves of the grid, after its jobs', min(finisher) / 60, at_most(2.0), [finisher],
                  f'{min(finisher):.1f} s'),
            judge_ratio('time of an update by 1 % of the rows divided by that of a training on all', added, whole,
                        at_most(0.05))]


PARTS = {'auto': compare_with_svc, 'living': compare_updates}
