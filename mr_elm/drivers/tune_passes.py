"""Choose nu, map, scale and L of a PESVM that is solved by passes: the rows of one fold are held out and judge.

For each kind and number of nodes nu goes up, and each solution starts from the one before. The pass that measures its
residual scores it on the held-out rows. The training on all rows starts from the best solution.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.pesvm_passes import JobProblem, open_problem, train_on_all
from mr_elm.machines.grid_task import Folds, Search
from mr_elm.machines.pass_problem import PassSolution
from mr_elm.machines.passes import choose_type
from mr_elm.model.models import HiddenNodeModel
from mr_elm.scores.selection import NodeKind, NodeScore, best_nodes
from mr_elm.solvers.folds import GridCell

PATIENCE = 2  # so many values of nu in a row that are worse than the best one end the path
Place = tuple[NodeKind, int]  # kind of nodes, and L


@dataclass(frozen=True)
class Candidate:
    """Hold a NodeScore, its kind and number of nodes, and the PassSolution that has it."""

    score: NodeScore
    place: Place
    solution: PassSolution


@dataclass(frozen=True)
class PathResult:
    """Hold the NodeScores of a search, and the best one."""

    scores: list[NodeScore]
    best: NodeScore


def tune(inputs: NodeInputs, search: Search, folds: Folds) -> tuple[PathResult, HiddenNodeModel]:
    """Search, and train the best: (PathResult, model).

    folds : which rows to look at and to hold out. Warns when the passes allowed do not suffice. Raises DataFormatError
    where the preconditioner does not fit into the memory.
    """
    choose_type(inputs.options.memory, max(search.sizes))
    places, found = list(product(search.kinds, search.sizes)), []
    for place in places:
        with open_place(inputs, place, max(search.nus)) as problem:
            found += walk(problem.hold_out(folds), place, search.nus)
            if len(places) == 1:
                return train_best(problem, found, folds)
    best = choose_best(found)
    with open_place(inputs, best.place, best.solution.nu) as problem:
        return train_best(problem, found, folds)


@contextmanager
def open_place(inputs: NodeInputs, place: Place, largest_nu: float) -> Iterator[JobProblem]:
    """Give the JobProblem of a kind and number of nodes. largest_nu : see `open_problem`."""
    inputs = inputs.take_candidate(*place)
    layer = inputs.make_layer()
    with open_problem(inputs, layer, inputs.choose_grid(layer), largest_nu) as problem:
        yield problem


def walk(problem: JobProblem, place: Place, nus: tuple[float, ...]) -> list[Candidate]:
    """Return the Candidates of nu on one place, from the smallest nu on, up to where larger ones are worse."""
    found: list[Candidate] = []
    for nu in sorted(nus):
        solution = problem.solve(nu, found[-1].solution.B if found else None)
        found.append(Candidate(judge(problem, place, solution), place, solution))
        report(problem, found[-1].score)
        if all(choose_best(found) is not each for each in found[-PATIENCE:]):
            break
    return found


def judge(problem: JobProblem, place: Place, solution: PassSolution) -> NodeScore:
    """Return the NodeScore of a solution."""
    kind, n_hidden = place[0], problem.layer.n_hidden
    score: Any = solution.score
    n_targets = solution.B.shape[1]
    trusted = solution.residual <= problem.passes.tolerance
    cell = GridCell(solution.nu, n_hidden, 0, score.error, score.weight * n_targets, trusted)
    if problem.inputs.classes:
        correct, total = int(score.correct), int(score.total)
    else:
        correct, total = None, None
    return NodeScore(kind, solution.nu, n_hidden, (cell,), correct, total)


def report(problem: JobProblem, score: NodeScore) -> None:
    """Say what the held-out rows say."""
    if score.accuracy is None:
        accuracy = ''
    else:
        accuracy = f', accuracy {score.accuracy:.6g}'
    place = f'{score.kind.describe()} --hidden {score.n_hidden}'
    problem.inputs.data.engine.reporter.say(f'{place} --nu {score.nu:g}: error {score.error:.6g}{accuracy}')


def choose_best(found: list[Candidate]) -> Candidate:
    """Return the best Candidate. Raises ValueError when none has reached its residual."""
    best = best_nodes([each.score for each in found])
    return next(each for each in found if each.score is best)


def train_best(problem: JobProblem, found: list[Candidate], folds: Folds) -> tuple[PathResult, HiddenNodeModel]:
    """Train on all rows; see `tune`."""
    best = choose_best(found)
    return PathResult([each.score for each in found], best.score), train_on_all(problem, best.solution, folds.n_folds)
