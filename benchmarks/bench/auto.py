"""Measure `--auto` against a tuned SVC, the cost of a grid against one training, and of an update against all.

Processor seconds on one thread. Data sets are looked for in the folders that MR_ELM_DATA names; those that are not
there are left out. What SVC needed is kept in svc.json and not measured again.
"""
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.bench.context import Bench
from benchmarks.public_sets import find_or_warn, read_set
from mr_elm.data.generators import generate, write_rows
from mr_elm.drivers import auto, increment, pesvm
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.tune_pesvm import Search, evaluate_grid
from mr_elm.engines import make_engine
from mr_elm.io.formats import RowOptions
from mr_elm.machines.options import PESVMOptions
from mr_elm.models import HiddenNodeModel
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan, plan_inputs
from mr_elm.scaling.timing import judge_ratio, measure_processor, run_mr_elm
from mr_elm.scaling.verdict import COUNTED, Claim, at_most
from mr_elm.solvers.ridge.fold_grid import FoldGrid
from mr_elm.typing import Floats, Labels

SETS = ('letter', 'cod-rna', 'a9a', 'usps', 'shuttle', 'pendigits', 'magic', 'phoneme')
SVC_C, SVC_GAMMA = (0.1, 1, 10, 100, 1000), (0.1, 0.4, 1.6, 6.4)  # gamma in 1/d
D = 50
GRID = Search((('sigmoid', 1.0),), tuple(10.0**k for k in range(-4, 8)), tuple(range(100, 1001, 100)), n_counted=0)


def split_set(name: str) -> list[tuple[Floats, Labels]]:
    """Return (X, y) for training and (X, y) for testing, two thirds and a third, dense."""
    X, y = read_set(name)
    order = np.random.default_rng(0).permutation(len(y))
    cut = 2 * len(y) // 3
    return [(X[rows].toarray(), y[rows]) for rows in (order[:cut], order[cut:])]


def tune_svcs(names: list[str], bench: Bench) -> dict[str, dict]:
    """Return name -> accuracy, seconds of two runs, C and gamma of a tuned SVC: kept, and measured on all cores."""
    path, n_rows = bench.kept / 'svc.json', bench.pick(1_000, 5_000)
    known = json.loads(path.read_text()) if path.exists() else {}
    keys = {name: f'{name}, chosen on {n_rows} rows, twice' for name in names}
    waiting = [name for name in names if keys[name] not in known]
    with ProcessPoolExecutor(mp_context=get_context('spawn')) as workers:
        for name, found in zip(waiting, workers.map(measure_svc, waiting, repeat(n_rows)), strict=True):
            known[keys[name]] = found
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(known, indent=1) + '\n')
    return {name: known[keys[name]] for name in names}


def measure_svc(name: str, n_rows: int) -> dict:
    """Choose C and gamma of SVC by 5 folds on a sample of the training rows, train on all of them, twice, and test."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC
    (X, y), (X_test, y_test) = split_set(name)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    X, X_test = ((rows - mean) / np.where(deviation > 0, deviation, 1) for rows in (X, X_test))
    grid = {'C': SVC_C, 'gamma': [gamma / X.shape[1] for gamma in SVC_GAMMA]}
    search = GridSearchCV(SVC(cache_size=1000), grid, cv=5, refit=False)
    made = []

    def choose_and_train() -> None:
        search.fit(X[:n_rows], y[:n_rows])
        made.append(SVC(cache_size=1000, **search.best_params_).fit(X, y))

    seconds, = measure_processor([choose_and_train])
    return {'accuracy': made[-1].score(X_test, y_test), 'seconds': seconds, **search.best_params_}


def measure_auto(name: str, folder: Path) -> tuple[float, list[float], str]:
    """Return accuracy and processor seconds of two runs of --auto, and what it chose."""
    from sklearn.datasets import dump_svmlight_file
    (X, y), (X_test, y_test) = split_set(name)
    path = str(folder / f'{name}.libsvm')
    dump_svmlight_file(X, y, path, zero_based=False)
    made = []
    seconds, = measure_processor([lambda: made.append(auto.train(
        plan_inputs([path], RowOptions(n_features=X.shape[1])), PESVMOptions(), make_engine()))])
    model = HiddenNodeModel(*made[-1][:2])
    said = np.array(model.classes, dtype=float)[model.predict(X_test)]
    given = model.header.parameters
    chosen = f'{given["map"]}, scale {given["weight_scale"]:g}, nu {given["nu"]:g}, L {given["n_hidden"]}'
    return float((said == y_test).mean()), seconds, chosen


def compare_with_svc(bench: Bench) -> list[Claim]:
    """Compare --auto with a tuned SVC on every set: accuracy and time."""
    rows, below, runs = [], [], []
    for name, svc in tune_svcs(list(filter(find_or_warn, bench.pick(SETS[-1:], SETS))), bench).items():
        accuracy, mine, chosen = measure_auto(name, bench.folder)
        below.append(100 * (svc['accuracy'] - accuracy))
        runs.append((mine, svc['seconds']))
        rows.append(Claim(f'--auto on {name}, points below a tuned SVC', below[-1], at_most(2.0), COUNTED,
                          f'{100 * accuracy:.2f} % in {min(mine):.1f} s against {100 * svc["accuracy"]:.2f} % in '
                          f'{min(svc["seconds"]):.1f} s; {chosen}'))
        print(f'{name}: {rows[-1].note}', file=sys.stderr, flush=True)
    if below:
        rows.append(Claim('the same, mean over the sets', float(np.mean(below)), at_most(0.7), COUNTED))
        mine, theirs = np.sum(runs, axis=0).tolist()
        rows.append(judge_ratio('seconds of --auto over those of SVC, all sets', mine, theirs, at_most(0.1)))
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
        models.append(HiddenNodeModel(*pesvm.train(rows, options, engine)[:2]))

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
    return [judge_ratio(f'grid of 12 nu x 10 L x 5 folds, over one training, {data}', grid, whole, at_most(1.5)),
            Claim('its finisher, minutes', min(finisher) / 60, at_most(2.0), [finisher], f'{min(finisher):.1f} s'),
            judge_ratio('update by 1 % of the rows, over training on all', added, whole, at_most(0.05))]


PARTS = {'auto': compare_with_svc, 'living': compare_updates}
