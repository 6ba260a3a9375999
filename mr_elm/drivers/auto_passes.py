"""Train the landmarks of --auto by passes: more of them than a Gram can hold.

That needs a budget which allows twice the nodes, and held-out rows of the sample whose error still falls with the
number of landmarks.
"""
from dataclasses import replace

from mr_elm.drivers.calibrate import fit_held_out
from mr_elm.drivers.node_inputs import NodeInputs
from mr_elm.drivers.pesvm_passes import hold_out_fold, open_problem
from mr_elm.features.nodes import NODES
from mr_elm.machines.budget import Budget
from mr_elm.machines.calibrating import keep_held_out
from mr_elm.machines.fold_machines import FOLDS
from mr_elm.machines.metric import SampleRows
from mr_elm.machines.node_choice import Candidate
from mr_elm.machines.node_refinement import held_out_ratio
from mr_elm.machines.options import PESVMOptions
from mr_elm.models import NodeModel, join_members

FALLS = 0.96  # error(2 L) / error(L) up to which more landmarks pay
ABSOLUTE = 3  # times as long as multiplications in float32 the differences of a distance of norm 1 take
DOUBLED = 2  # times the nodes of a Gram: fewer by passes are not worth their preconditioner


def choose_for_passes(inputs: NodeInputs, members: list[Candidate], rows: SampleRows,
                      budget: Budget) -> list[Candidate]:
    """Return the machines to train by passes, with their number of landmarks; none where a Gram is to train.

    members : the best first, with the nodes that a Gram would train. Says why, where a budget is given.
    """
    best, landmarks = members[0], [each for each in members if each.options.map == 'nystrom']
    if not budget.said:
        return []
    say, n_gram = inputs.data.engine.reporter.say, best.options.n_hidden
    if best not in landmarks:
        say('solving by a Gram: the best machine has random nodes, which take many passes')
        return []
    most = count_landmarks(inputs, budget, rows, landmarks)
    if most < DOUBLED * n_gram:
        say(f'solving by a Gram: rows and budget allow {most:,} landmarks by passes, expected at least '
            f'{DOUBLED * n_gram:,}')
        return []
    compared, ratio = best.layer.n_hidden, held_out_ratio(inputs, rows, best)
    found = f'{compared:,} landmarks have {ratio:.3f} times the squared error of {compared // 2:,} on held-out rows'
    if ratio > FALLS:
        say(f'solving by a Gram: {found}, expected at most {FALLS}')
        return []
    say(f'solving by passes: {found}, and the budget allows {most:,}')
    return [replace(each, options=replace(each.options, n_hidden=most)) for each in landmarks]


def count_landmarks(inputs: NodeInputs, budget: Budget, rows: SampleRows, machines: list[Candidate]) -> int:
    """Return how many landmarks each of some machines may have: of the rows, within budget and half of the memory."""
    n_rows, d = inputs.summary.n_rows, inputs.summary.columns.n_features
    fitting = int(inputs.options.memory * 1e6 / 2 / (8 * d))
    slow = any(NODES[each.options.node_kind].norm == 1 for each in machines)
    width = (ABSOLUTE if slow else 1) * d + 2 * rows.T.shape[1]
    return min(n_rows, fitting, budget.largest_by_passes(n_rows, width, len(machines)))


def train_by_passes(inputs: NodeInputs, members: list[Candidate], options: PESVMOptions) -> NodeModel:
    """Train machines on landmarks by passes, one after another: the model that averages them.

    options : say whether probabilities or intervals are wanted; rows of a fold held out give them.
    """
    models, held = [], []
    for each in members:
        machine = each.state(inputs).with_options(probabilities=options.probabilities)
        layer, start = machine.make_layer(), None
        with open_problem(machine, layer, machine.choose_grid(layer)) as problem:
            if options.holds_out:
                found = hold_out_fold(problem, options).solve(each.options.nu)
                start = found.B
                held.append(problem.describe(found))
            models.append(problem.describe(problem.solve(each.options.nu, start)))
    model = join_members(models)
    if not held:
        return model
    scored = fit_held_out(inputs.data, join_members(held), options, inputs.weights, FOLDS)
    return keep_held_out(scored, model)
