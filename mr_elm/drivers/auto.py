"""Train PESVM without being told anything: a search over few nodes on a sample, then one over nu on all rows.

The sample chooses the kind of nodes by rows held out, and how the error falls when the nodes double says whether many
pay. All rows then choose nu by one fold held out, and give the model.
"""
import numpy as np

from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.tune_pesvm import Kind, Search, evaluate_grid, train_best
from mr_elm.engines.base import Engine
from mr_elm.machines.budget import Budget
from mr_elm.machines.options import PESVMOptions
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import NodeScore

PILOT_ROWS, PILOT_SIZES, PILOT_FOLDS = 6000, (150, 300), 3
KINDS = (*(('sigmoid', s) for s in (1.0, 2.0, 4.0)), *(('rbf', s) for s in (1.0, 2.0)),
         *(('nystrom', s) for s in (0.5, 1.0, 2.0)))
NUS = tuple(10.0**k for k in range(-1, 6))
AROUND = (0.01, 0.1, 1.0, 10.0)  # times the pilot's nu: more nodes and more rows move it
STEEP = ((0.8, 3000), (0.9, 2000), (0.96, 1000), (np.inf, 500))  # error(2 L) / error(L) below this: so many pay
SETTLED = 0.98, 1000  # more do not once so many rows are labelled right
CHEAP = 6e9  # rows times squared nodes: up to this nodes cost nothing, and two kinds of them are compared in folds


def train(plan: InputPlan, options: PESVMOptions, engine: Engine, budget: Budget | None = None) -> tuple:
    """Choose map, scale, nu and L, and train: (header, arrays, accounts of a first pass over text).

    options : of which task, scaling, seed and class weights count.
    Raises DataFormatError when the rows cannot be used.
    """
    budget = budget or Budget()
    inputs = NodeInputs.learn(DataSet(plan, engine, options.bad_rows), options, budget.nodes)
    largest = budget.largest(inputs.summary.n_rows)
    sizes = tuple(sorted({min(size, largest) for size in PILOT_SIZES}))
    pilot = evaluate_grid(inputs, Search(KINDS, NUS, sizes, PILOT_FOLDS, sample=PILOT_ROWS, n_counted=len(KINDS)))
    leaders = rank_kinds(pilot.scores)
    free = int(np.sqrt(CHEAP / inputs.summary.n_rows))
    n_hidden = min(largest, max(free, choose_n_hidden(pilot.scores, leaders[0])))
    cheap = n_hidden <= free
    kinds, tested = (leaders[:2], 2) if cheap else (leaders[:1], 1)
    engine.reporter.say(f'a sample suggests {n_hidden} hidden nodes: '
                        + ', or '.join(f'{name} with weight scale {scale:g}' for name, scale in kinds))
    nus = tuple(pilot.best.nu * factor for factor in AROUND)
    n_counted = len(nus) * len(kinds) if cheap else 0  # of many rows the squared error says enough
    final = evaluate_grid(inputs, Search(kinds, nus, (n_hidden,), tested=tested, n_counted=n_counted))
    best = final.best
    engine.reporter.say(f'all rows chose --map {best.map} --weight-scale {best.weight_scale:g} --nu {best.nu:g} '
                        f'--hidden {best.n_hidden}')
    header, arrays = train_best(inputs, final)
    return header, arrays, inputs.data.first


def rank_kinds(scores: list[NodeScore]) -> tuple[Kind, ...]:
    """Return the kinds of nodes, the best first, by accuracy where it was counted, else by error."""
    ranked = sorted((score for score in scores if score.trusted and np.isfinite(score.error)),
                    key=lambda score: (-(score.accuracy or 0.0), score.error))
    return tuple(dict.fromkeys((score.map, score.weight_scale) for score in ranked))


def choose_n_hidden(scores: list[NodeScore], kind: Kind) -> int:
    """Return how many nodes to train: many where the error still falls steeply when nodes double."""
    of_kind = [score for score in scores if (score.map, score.weight_scale) == kind and score.trusted]
    least = [min(score.error for score in of_kind if score.n_hidden == size)
             for size in sorted({score.n_hidden for score in of_kind})]
    n_hidden = next(n_hidden for bound, n_hidden in STEEP if least[-1] <= bound * least[0])
    settled = any((score.accuracy or 0.0) > SETTLED[0] for score in of_kind)
    return min(n_hidden, SETTLED[1]) if settled else n_hidden
