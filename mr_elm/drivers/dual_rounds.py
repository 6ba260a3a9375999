"""Close the global duality gap of machines trained in parts: solve on a working set, check on all rows, add violators.

    P(f) - D(a) = a'Qa + sum_i C_i max(0, 1 - t_i f(x_i)) - e'a      symbols: box_qp
    |c|^2 - min_i c.x~_i                                             of SphereSVM, symbols: sphere_svm

a is 0 outside of the working set, so that a'Qa and e'a are the working set's own, and the loss, or the least of the
other rows' margins, takes one pass over all rows. The gap of the whole problem is closed, so the result is its optimum
and not an approximation by parts.
"""
import os
import tempfile
import warnings
from dataclasses import replace

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.errors import AccountingError, ConvergenceWarning, DataFormatError
from mr_elm.io.store import save_arrays, save_model
from mr_elm.io.wire import split_key
from mr_elm.machines.dual_task import DualProblem
from mr_elm.machines.gathering import join, rows_from_piece
from mr_elm.streaming.mr_check import FINE, MRCheck, worst

ROUNDS = 50
MOST = 2000  # violators that a machine adds in a round
FINEST = 1e-9  # violation that a working set is solved to at the most


def close_gap(data, problem, parts, options, model_of, room):
    """Return a TrainedMachine for each machine whose gap over all rows is at most `options.gap` of its objective.

    parts : (machine, part) -> TrainedMachine, the start. model_of : function of the machines, (header, arrays).
    room : how many rows of the working set fit into memory.
    Raises DataFormatError when they do not; warns with the gap when it stays open.
    """
    working = distinct([machine.support for machine in parts.values()])
    for number in range(1, ROUNDS + 1):
        demand_room(data.plan, working, options, room)
        with one_thread():
            machines = [solve(problem, machine, working) for machine in range(problem.n_machines)]
        sums, violators = check(data, problem, model_of(machines), working)
        gaps = [problem.machine.gap_over_all(machine.certificate, *found)
                for found, machine in zip(sums, machines, strict=True)]
        machines = [with_gap(machine, gap) for machine, gap in zip(machines, gaps, strict=True)]
        share = max(gap / abs(machine.certificate['objective'])
                    for gap, machine in zip(gaps, machines, strict=True))
        added = sum(map(len, violators))
        data.runner.reporter.say(f'round {number}: {len(working):,} rows in the working set, gap {share:.2e} of the '
                            f'objective, {added:,} violators')
        if share <= options.gap:
            return machines
        if violators:
            working = distinct([working, *violators])
        elif problem.parameters['eps'] > FINEST:
            problem = finer(problem)
        else:
            break
    warnings.warn(f'the duality gap over all rows is {share:.2e} of the objective after {number} rounds, '
                  f'{options.gap:g} was wanted', ConvergenceWarning, stacklevel=2)
    return machines


def solve(problem, machine, working):
    """Train a machine on the rows of the working set that it sees."""
    return problem.solve(machine, working.take(problem.seen_by(machine, working.numbers)))


def with_gap(machine, gap):
    """Let the certificate tell the gap over all rows."""
    return replace(machine, certificate={**machine.certificate, 'gap': gap})


def finer(problem):
    """Ask for a smaller violation, where the working set itself leaves the gap open."""
    parameters = {**problem.parameters, 'eps': problem.parameters['eps'] / 10}
    return DualProblem({**problem.header, 'parameters': parameters}, problem.arrays)


def distinct(parts):
    """Join Rows, each row once, in input order."""
    rows = join(parts)
    return rows.take(np.unique(rows.places, axis=0, return_index=True)[1])


def demand_room(plan, working, options, room):
    """Raise DataFormatError when the working set outgrows the memory."""
    if len(working) > room:
        raise DataFormatError(f'{plan.name}: a working set of at most {room:,} rows was expected, as fits into half of '
                              f'--memory {options.memory:g} MB, {len(working):,} rows are support vectors or may be: '
                              'raise --memory or lower C')


def check(data, problem, model, working):
    """Run the checking pass: (loss, least margin) of each machine, and the Rows to add for each that has any."""
    sums, found = {}, {}
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        paths = [os.path.join(folder, f'{name}.npz') for name in ('problem', 'model', 'working')]
        problem.save(paths[0])
        save_model(paths[1], *model)
        save_arrays(paths[2], {}, {'places': working.places})
        arguments = ['--problem', paths[0], '--model', paths[1], '--working', paths[2], '--most', str(MOST)]
        for key, value in data.run(MRCheck, arguments, 'check'):
            kind, (machine,) = split_key(key)
            if kind == 'loss':
                sums[int(machine)] = value['loss'] / FINE, value['least']
            else:
                found.setdefault(int(machine), []).append(value)
    if set(sums) != set(range(problem.n_machines)):
        raise AccountingError(f'{data.plan.name}: the loss of each of {problem.n_machines} machines was expected from '
                              f'the checking pass, {len(sums)} came: run it again')
    violators = []
    for machine in sorted(found):
        margins = np.concatenate([piece[0] for piece in found[machine]])
        rows = join([rows_from_piece(piece[1:]) for piece in found[machine]])
        violators.append(worst(margins, rows, MOST)[1])
    return [sums[machine] for machine in range(problem.n_machines)], violators
