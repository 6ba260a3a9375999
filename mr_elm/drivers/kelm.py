"""Train the kernel ELM: rows to the driver, Omega or its products by jobs, one small solve."""
from dataclasses import replace

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.kelm_data import gathered
from mr_elm.drivers.kelm_stages import kernel_matrix, multiplier, multiply_factors
from mr_elm.errors import DataFormatError
from mr_elm.header import ModelHeader
from mr_elm.history import event
from mr_elm.solvers.kernel.kelm import (
    KernelSolution,
    decompose,
    decompose_by_passes,
    relative_residual,
    solve_cholesky,
    unweigh,
    weigh,
)
from mr_elm.solvers.kernel.kelm_cg import approximate, approximate_well, solve_cg

CACHE_BYTES = 1 << 30  # of X in the memory of each task
MOST_RANK = 4000  # unless the user says more: beyond it the preconditioner costs more than the passes it saves


# solver -> matrices of N x N numbers that it keeps
WHOLE = {'cholesky': 1, 'svd': 3}


def train(plan, options, runner):
    """Train on a data set: (header, arrays) of the model, and the Accounts of the first pass over text.

    plan : InputPlan. options : KELMOptions. runner : Engine.
    Raises DataFormatError when the rows cannot be used, or are too many; AccountingError when two passes disagree.
    """
    with gathered(plan, options, runner, settle) as data:
        options = data.options
        with one_thread():
            solution, found = SOLVERS[options.solver](data, options, runner)
        arrays = {**data.model_arrays, 'dual_coef': solution.dual_coef, 'intercept': np.zeros(data.targets.shape[1])}
        return describe(data, options, found), arrays, data.summary.accounts


def settle(plan, options, n_rows, n_features):
    """Choose solver and emission. Raises DataFormatError where N is too large for the one that was asked for."""
    room = int(np.sqrt(options.memory * 1e6 / 8))
    solver = options.solver or ('cholesky' if n_rows <= room else 'cg')
    whole = 0 if solver == 'svd' and options.rank else WHOLE.get(solver, 0)
    if whole * n_rows**2 * 8 > options.memory * 1e6:
        raise DataFormatError(
            f'{plan.name}: at most {int(room / np.sqrt(whole)):,} rows fit --solver {solver} in --memory '
            f'{options.memory:g} MB, {n_rows:,} came: raise --memory to {-(-whole * 8 * n_rows**2 // 10**6)}, or take '
            '--solver cg')
    if not whole and most_vectors(options, n_rows) < 1:
        raise DataFormatError(f'{plan.name}: vectors of {n_rows:,} rows were expected to fit into half of --memory '
                              f'{options.memory:g} MB: raise --memory')
    emit = options.emit or ('rows' if 8 * n_rows * n_features <= CACHE_BYTES else 'tiles')
    return replace(options, solver=solver, emit=emit)


def most_vectors(options, n_rows):
    """Return how many vectors of N numbers fit into half of the memory."""
    return int(options.memory * 1e6 / 2 / (8 * n_rows))


def by_cholesky(data, options, runner):
    """Factorise I/C + Omega in place."""
    omega = kernel_matrix(data, options.emit)
    s, T = weigh(omega, data.targets, data.rows.weights)
    solution = unweigh(solve_cholesky(omega, T, options.C, options.leave_one_out), s)
    return solution, left_out(data, solution, options, runner)


def by_decomposition(data, options, runner):
    """Decompose I/C + Omega, whole in the driver or its largest eigenvalues by passes; multiply by Algorithm 2."""
    if options.rank:
        s, T = weigh(None, data.targets, data.rows.weights)
        multiply = multiplier(data, s)
        found = decompose_by_passes(multiply, data.n_rows, options.rank, options.seed)
    else:
        omega = kernel_matrix(data, options.emit)
        s, T = weigh(omega, data.targets, data.rows.weights)
        found = decompose(omega)
    inverse, tail = found.inverse(options.C)
    with np.errstate(divide='ignore'):
        UT, VS = multiply_factors(data, found.vectors, 1 / inverse, T,
                                  'entries' if options.emit == 'entries' else 'blocks')
    diagonal = found.inverse_diagonal(inverse, tail) if options.leave_one_out else None
    solution = KernelSolution(VS @ UT + tail * T, diagonal)
    facts = {'rank': len(found.values)}
    if options.rank:
        facts['residual'] = relative_residual(multiply(solution.dual_coef), solution.dual_coef, T, options.C)
        runner.reporter.say(f'svd: rank {len(found.values):,}, relative residual {facts["residual"]:.1e}')
    solution = unweigh(solution, s)
    return solution, {**facts, **left_out(data, solution, options, runner)}


def by_gradients(data, options, runner):
    """Run conjugate gradients, a job a pass."""
    s, T = weigh(None, data.targets, data.rows.weights)
    most = min(most_vectors(options, data.n_rows), data.n_rows)
    if options.rank:
        M = approximate(data.rows.X, data.kernel, min(options.rank, most), s, options.seed)
    else:
        M = approximate_well(data.rows.X, data.kernel, options.C, min(most, MOST_RANK), s, options.seed)
    d_eff = M.effective_dimension(options.C)
    expected = M.expected_passes(options.C, options.tolerance, T.shape[1])
    hint = '' if M.rank >= min(2 * d_eff, data.n_rows) else ': a larger --rank or --memory would save some'
    runner.reporter.say(f'cg: rank {M.rank:,}, effective dimension about {d_eff:,.0f}, about {expected} passes to '
                        f'{options.tolerance:g} expected, mostly fewer{hint}')
    solution, passes, residual = solve_cg(
        multiplier(data, s), T, options.C, M, options.tolerance, options.max_passes,
        lambda n, size: runner.reporter.say(f'cg: pass {n}, relative residual {size:.1e}'))
    return unweigh(solution, s), {'rank': M.rank, 'passes': passes, 'residual': residual, 'expected_passes': expected,
                                  'effective_dimension': d_eff, 'tolerance': options.tolerance}


SOLVERS = {'cholesky': by_cholesky, 'svd': by_decomposition, 'cg': by_gradients}


def left_out(data, solution, options, runner):
    """Return what leave-one-out says, for the header, when it was asked for."""
    if not options.leave_one_out:
        return {}
    score = data.score(data.targets - solution.residuals)
    runner.reporter.say('leave-one-out: ' + ', '.join(f'{name} {value:.6g}' for name, value in score.items()))
    return {'leave_one_out': score}


def describe(data, options, found):
    """Make the header of the model."""
    rejected = data.summary.rejected
    shown = {'emit': options.emit} if options.solver != 'cg' and not (options.solver == 'svd' and options.rank) else {}
    return ModelHeader(
        method='mr-kelm', task=options.task, classes=data.classes.names if data.classes else [],
        n_features=data.problem.n_features, n_rows_used=data.n_rows, n_rows_rejected=sum(rejected.values()),
        parameters={
            'kernel': data.kernel.name, **data.kernel.parameters, 'C': options.C, 'solver': options.solver, **shown,
            **found, 'multiclass': 'one-vs-all', 'scale': options.scale, 'seed': options.seed,
            'class_weight': options.class_weight, 'blas': sorted(data.source.blas),
            'input': data.summary.input},
        history=[event('train', data.n_rows, rejected)])
