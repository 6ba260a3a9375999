"""Choose nu, map, scale and L of a PESVM that is solved by passes: the rows of one fold are held out and judge.

For each kind and number of nodes nu goes up, and each solution starts from the one before. The pass that measures its
residual scores it on the held-out rows. The training on all rows starts from the best solution.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

from mr_elm.drivers.pesvm_passes import JobProblem, open_problem, train_on_all
from mr_elm.drivers.summary import NodeInputs
from mr_elm.machines.grid_task import Folds
from mr_elm.machines.pass_problem import PassSolution
from mr_elm.machines.passes import choose_type
from mr_elm.machines.search_options import NodeSearch
from mr_elm.model.models import HiddenNodeModel
from mr_elm.scores.selection import NodeChoice, NodeScore, Tuned, best_nodes
from mr_elm.solvers.folds import GridCell

PATIENCE = 2  # so many values of nu in a row that are worse than the best one end the path


def tune(inputs: NodeInputs, search: NodeSearch, folds: Folds) -> tuple[Tuned, HiddenNodeModel]:
    """Search, and train the best.

    folds : which rows to look at and to hold out. Warns when the passes allowed do not suffice. Raises DataFormatError
    where the preconditioner does not fit into the memory, ValueError where no solution has reached its residual.
    """
    choose_type(inputs.options.memory, max(search.hidden))
    nodes = list(product(search.kinds, search.hidden))
    scores: list[NodeScore] = []
    solutions: list[PassSolution] = []
    for kind, n_hidden in nodes:
        with open_nodes(inputs, kind, n_hidden, max(search.nu)) as problem:
            of_nodes = climb_nu(problem.hold_out(folds), kind, search.nu)
            scores += [score for score, _ in of_nodes]
            solutions += [solution for _, solution in of_nodes]
            if len(nodes) == 1:  # the problem of the best one is open
                best = best_nodes(scores)
                return Tuned(scores, best), train_on_all(problem, solutions[scores.index(best)], folds.n_folds)
    best = best_nodes(scores)
    with open_nodes(inputs, best.kind, best.n_hidden, best.nu) as problem:
        return Tuned(scores, best), train_on_all(problem, solutions[scores.index(best)], folds.n_folds)


@contextmanager
def open_nodes(inputs: NodeInputs, kind: NodeChoice, n_hidden: int, largest_nu: float) -> Iterator[JobProblem]:
    """Give the JobProblem of a kind and number of nodes. largest_nu : see `open_problem`."""
    inputs = inputs.take_candidate(kind, n_hidden)
    layer = inputs.make_layer()
    with open_problem(inputs, layer, inputs.choose_grid(layer), largest_nu) as problem:
        yield problem


def climb_nu(problem: JobProblem, kind: NodeChoice, nus: Sequence[float]) -> list[tuple[NodeScore, PassSolution]]:
    """Return each solution with what the held-out rows say of it, from the smallest nu to where larger ones are worse.

    Raises ValueError when none has reached its residual.
    """
    path: list[tuple[NodeScore, PassSolution]] = []
    B = None
    for nu in sorted(nus):
        solution = problem.solve(nu, B)
        B = solution.B
        score = describe_solution(problem, kind, solution)
        path.append((score, solution))
        accuracy = ''
        if score.accuracy is not None:
            accuracy = f', accuracy {score.accuracy:.6g}'
        problem.inputs.data.engine.reporter.say(
            f'{kind.describe()} --hidden {score.n_hidden} --nu {nu:g}: error {score.error:.6g}{accuracy}'
        )
        best = best_nodes([score for score, _ in path])
        if all(score is not best for score, _ in path[-PATIENCE:]):
            break
    return path


def describe_solution(problem: JobProblem, kind: NodeChoice, solution: PassSolution) -> NodeScore:
    """Return the NodeScore of a solution."""
    n_hidden = problem.layer.n_hidden
    rows: Any = solution.score
    trusted = solution.residual <= problem.tolerance
    cell = GridCell(solution.nu, n_hidden, 0, rows.error, rows.weight * solution.B.shape[1], trusted)
    score = NodeScore(kind, solution.nu, n_hidden, (cell,))
    if problem.inputs.classes:
        return replace(score, correct=int(rows.correct), total=int(rows.total))
    return score
