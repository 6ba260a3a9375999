"""Run the Gram job over the rows of a training, with as few reduce tasks as its sums allow."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from mr_elm.drivers.problems import run_problem
from mr_elm.drivers.summary import NodeInputs
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.model.parts import describe_map, layer_arrays
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.wire import NUMBER_BYTES, split_key
from mr_elm.solvers.ridge import Sums, collect_sums
from mr_elm.store import save_arrays, temporary_folder, write_json
from mr_elm.streaming.mr_gram import MRGram, demand_parts, group_sums
from mr_elm.sums.gram import GridSteps, assemble, measure_tiles
from mr_elm.sums.statistics import Classes, ColumnStatistics
from mr_elm.typing import Floats

if TYPE_CHECKING:
    from mr_elm.machines.grid_task import GridTask

REDUCER_BYTES = 1 << 30  # of sums for one reduce task, about
BY_FILE = ('file',)  # --part-by: each input file is a part


def sum_up(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, finds_landmarks: bool = False) -> tuple[Sums, int]:
    """Run the Gram job over the rows: their Sums, and how many of them the layer keeps as landmarks, if asked for."""
    words, pairs, n_stored = [], [], 0
    if finds_landmarks:
        words.append('--find-landmarks')
    for key, value in run_gram(inputs, layer, steps, words):
        if split_key(key)[0] == 'stored':
            n_stored += value['rows']
        else:
            pairs.append((key, value))
    return assemble_sums(group_sums(pairs).get((), ({}, {})), layer, inputs.classes), n_stored


def sum_up_parts(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, part_by: Sequence[str]) -> list[Any]:
    """Run the Gram job over the rows: a `Part` for each file that has rows, or for each value of columns.

    part_by : see `name_parts`. Raises DataFormatError where the sums of all parts do not fit into the memory.
    """
    from mr_elm.machines.parts import Part, make_means

    names = name_parts(inputs.data.plan, part_by)
    most = int(inputs.options.memory * 1e6 / 16 / (layer.n_hidden + 1) ** 2)
    demand_parts(len(names), most)
    pairs = []
    n_rows = Counter[str]()
    columns: dict[str, ColumnStatistics] = {}
    for key, value in run_gram(inputs, layer, steps, ['--by-part', '--max-parts', str(most)]):
        kind, (part, *_) = split_key(key)
        names.setdefault(part, part)
        demand_parts(len(names), most)
        if kind != 'part':
            pairs.append((key, value))
            continue
        n_rows[part] += int(value[0])
        if len(value) > 1:
            means = make_means(value[1:])
            if part in columns:
                means = columns[part].merge(means)
            columns[part] = means
    return [
        Part(names[part], n_rows[part], assemble_sums(sums, layer, inputs.classes), columns.get(part))
        for (part,), sums in sorted(group_sums(pairs, 1, str).items())
    ]


def name_parts(plan: InputPlan, part_by: Sequence[str]) -> dict[str, str]:
    """Return path -> name of the part of each file of a plan; nothing where columns name the parts.

    part_by : `file`, or columns. Raises DataFormatError where the rows have no such columns.
    """
    if part_by != BY_FILE:
        if not plan.form.part_by:
            raise DataFormatError(
                f'{plan.name}: --part-by: expected rows of csv, parquet or arrow, perhaps packed, whose columns name '
                f'parts, found {plan.form.kind} rows: take --part-by file'
            )
        return {}
    paths = [file.path for file in plan.files]
    names = list(map(os.path.basename, paths))
    if len({*names}) < len(names):
        names = paths
    return dict(zip(paths, names, strict=True))


def sum_up_folds(inputs: NodeInputs, task: 'GridTask') -> list[list[Sums]]:
    """Run the job of folds: for each layer the Sums of each fold that is held out, and of all other rows.

    Raises DataFormatError where a fold has no rows.
    """
    from mr_elm.streaming.mr_folds import MRFolds

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


def assemble_sums(written: tuple[dict, dict], layer: HiddenLayer, classes: Classes | None) -> Sums:
    """Make the Sums of what a job has written of a layer; see `group_sums`."""
    tiles, named_sums = written
    high, low = assemble(tiles, layer.n_hidden + 1)
    return collect_sums(high, low, named_sums, classes)


def run_gram(
    inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, words: Sequence[str] = ()
) -> Iterator[tuple[str, Any]]:
    """Run the Gram job: yield its pairs. words : further options of the stage."""
    data, engine = inputs.data, inputs.data.engine
    data.fix_width(layer.n_features)
    n_maps = max(engine.maps_over(data.plan.size), len(data.plan.files))
    reducers = engine.reducers(count_reducers(n_maps, layer.n_hidden))
    with temporary_folder() as folder:
        yield from data.run(MRGram, [*write_layer(folder, inputs, layer, steps), *words, *reducers], 'Gram')


def count_reducers(n_maps: int, n_hidden: int) -> int:
    """Return how many reduce tasks add up the tiles that so many map tasks send, at most one for each tile."""
    sizes = [n for _, _, n in measure_tiles(n_hidden + 1)]
    n_bytes = 2 * NUMBER_BYTES * sum(sizes) * n_maps  # high and low parts
    return min(ceil(n_bytes / REDUCER_BYTES), len(sizes))


def write_layer(folder: str, inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps) -> list[str]:
    """Write what tasks must know of a layer and of the sums into a folder: the options that name the files."""
    path = os.path.join(folder, 'layer.npz')
    parameters = {**describe_map(layer), 'sigma': inputs.sigma}
    save_arrays(path, {'parameters': parameters, 'n_features': layer.n_features}, layer_arrays(layer))
    weights = write_json(os.path.join(folder, 'class_weights.json'), inputs.weights)
    grid = write_json(os.path.join(folder, 'grid.json'), steps.to_json())
    return ['--layer', path, '--grid', grid, '--class-weights', weights]


def check_counts(plan: InputPlan, classes: Classes | None, counts: Floats) -> None:
    """Raise AccountingError when a job saw other labels than the pass before. counts : (K,), rows of each class."""
    if classes and counts.tolist() != classes.counts:
        raise AccountingError(
            f'{plan.name}: expected the same number of rows of each class in every pass, found '
            'other numbers: the data changed between passes'
        )
