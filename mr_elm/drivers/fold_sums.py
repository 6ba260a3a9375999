"""Sum up the rows of every fold on every layer of hidden nodes, in one pass."""

from mr_elm.drivers.gram_job import assemble_sums
from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import NodeInputs
from mr_elm.errors import DataFormatError
from mr_elm.machines.grid_task import GridTask
from mr_elm.solvers.ridge import Sums
from mr_elm.streaming.mr_folds import MRFolds
from mr_elm.streaming.mr_gram import group_sums


def sum_up_folds(inputs: NodeInputs, task: GridTask) -> list[list[Sums]]:
    """Run the job: for each layer the Sums of each fold that is held out, and of all other rows.

    Raises DataFormatError where a fold has no rows.
    """
    inputs.data.fix_width(task.layers[0].n_features)
    written = group_sums(run_problem(inputs.data, MRFolds, task, 'folds'), 2)
    if len(written) < len(task.layers) * task.folds.n_parts:
        raise DataFormatError(
            f'{inputs.data.plan.name}: expected rows in each of {task.folds.n_folds} folds, one has none: lower --folds'
        )
    return [
        [assemble_sums(written.pop((number, part)), layer, inputs.classes) for part in range(task.folds.n_parts)]
        for number, layer in enumerate(task.layers)
    ]
