"""Train the kernel ELM: rows to the driver, Omega or its products by jobs, one small solve."""

import time
from typing import Any

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.calibrate import fit_to
from mr_elm.drivers.kelm_data import KernelData, gather_data
from mr_elm.drivers.kelm_stages import compute_matrix, make_factor_product, make_product
from mr_elm.drivers.pass_report import PassReport
from mr_elm.engines.base import Engine
from mr_elm.machines.calibrating import demand_every_class
from mr_elm.machines.fold_machines import FOLDS
from mr_elm.machines.options import KELMOptions
from mr_elm.machines.press import HeldOut
from mr_elm.model.base import Model
from mr_elm.parallel import using_threads
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.selection import MACHINE_FOLD, score_values
from mr_elm.solvers.kelm import KernelSolution
from mr_elm.solvers.nystrom import Preconditioner, hash_rounded
from mr_elm.typing import Floats


def train(plan: InputPlan, options: KELMOptions, engine: Engine) -> tuple[Model, Accounts | None]:
    """Train on a data set: the Model, and the Accounts of the first pass over text.

    Raises DataFormatError when the rows cannot be used, or are too many; AccountingError when two passes disagree.
    """
    with gather_data(plan, options, engine) as data:
        with one_thread(), using_threads(engine.n_threads):
            fold = None
            if data.options.solver == 'cg' and data.options.holds_out:
                fold = score_fold(data)
            solution, facts = solve(data)
        if data.options.solver != 'cg':
            facts = {'emit': data.options.emit, **facts}
        model = data.make_model(data.rows.X, solution, facts, data.source.blas)
        if fold is not None:
            model = fit_to(data.source, model, fold, 'folds', data.options.threshold)
        elif data.options.holds_out:
            decisions = data.targets - solution.residuals
            rows = HeldOut(data.rows.numbers, data.rows.weights, decisions, np.zeros(data.n_rows))
            model = fit_to(data.source, model, rows, 'leave-one-out', data.options.threshold)
        return model, data.source.first


def score_fold(data: KernelData) -> HeldOut:
    """Return the rows of a fold with their decision values by the machine of all others, which weigh 0 there.

    Raises DataFormatError when a class has no row outside the fold.
    """
    data.reporter.say(f'{data.options.holds_out}: solving without one of {FOLDS} folds of the rows')
    rows, held = data.rows, hash_rounded(data.rows.X, data.options.seed + MACHINE_FOLD) % np.uint64(FOLDS) == 0
    weights = np.where(held, 0.0, rows.weights)
    if data.classes:
        counts = np.bincount(rows.numbers.astype(int), weights, len(data.classes.names))
        demand_every_class(data.classes.names, counts, f'of {data.source.plan.name} outside the fold that is held out')
    solution = solve_by_gradients(data, weights)[0]
    decisions = make_product(data)(solution.dual_coef)
    if solution.intercept is not None:
        decisions += solution.intercept
    return HeldOut(rows.numbers, rows.weights, decisions, np.zeros(data.n_rows)).take(held)


def solve(data: KernelData) -> tuple[KernelSolution, dict[str, Any]]:
    """Run the jobs of a solver: (solution, what the header says of it)."""
    if data.options.solver == 'cg':
        return solve_by_gradients(data, data.rows.weights)
    T, weights = data.targets, data.rows.weights
    facts: dict[str, Any] = {}
    omega = compute_matrix(data)
    data.reporter.announce(f'{data.options.solver} of the kernel matrix of {data.n_rows:,} rows', data.n_rows)
    multiply = None
    if data.options.emit == 'entries':
        multiply = make_factor_product(data)
    solution = data.solve_matrix(omega, T, weights, multiply)
    if data.options.solver == 'svd':
        facts = {'rank': data.n_rows}
    if data.options.leave_one_out:
        facts['leave_one_out'] = score_values(T - solution.residuals, data.rows.numbers, weights, data.task.n_classes)
    return solution, facts


def solve_by_gradients(data: KernelData, weights: Floats) -> tuple[KernelSolution, dict[str, Any]]:
    """Run conjugate gradients, a job a pass; see `solve`. weights : of the rows, (N,)."""
    facts: dict[str, Any] = {}
    report = PassReport(data.reporter, 'cg', data.options.tolerance, data.options.max_passes)

    def announce(M: Preconditioner) -> None:
        report.start = time.monotonic()
        d_eff = M.effective_dimension
        facts.update(rank=M.rank, effective_dimension=d_eff)
        data.reporter.say(f'cg: rank {M.rank:,}, effective dimension about {d_eff:,.0f}')

    most = data.largest_rank(data.n_rows)
    data.reporter.announce(f'cg: computing a preconditioner of rank at most {most:,}', data.n_rows)
    solution, passes, residual = data.solve_by_gradients(
        data.rows.X, make_product(data), data.targets, weights, announce, report
    )
    return solution, {**facts, 'passes': passes, 'residual': residual, 'tolerance': data.options.tolerance}
