"""Run the Gram job over the rows of a training, with as few reduce tasks as its sums allow."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil
from typing import Any

from mr_elm.drivers.summary import NodeInputs
from mr_elm.engines.base import Engine
from mr_elm.engines.partition import find_fewest_tasks
from mr_elm.engines.sum_tree import choose_fan_in
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.json_file import write_json
from mr_elm.model.parts import describe_map, layer_arrays
from mr_elm.passes.sum_tree import SumTree
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.wire import NUMBER_BYTES, make_key, split_key
from mr_elm.solvers.ridge import Sums, collect_sums
from mr_elm.store import save_arrays, temporary_folder
from mr_elm.streaming.mr_gram import MRGram, demand_parts, group_sums
from mr_elm.streaming.mr_sum import MRSum
from mr_elm.sums.gram import GridSteps, assemble, measure_tiles
from mr_elm.sums.statistics import Classes, ColumnStatistics
from mr_elm.typing import Floats

REDUCER_BYTES = 1 << 30
BY_FILE = ('file',)  # --part-by: each input file is a part


def sum_up(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps) -> Sums:
    """Run the Gram job over the rows: their Sums."""
    return assemble_sums(group_sums(run_gram(inputs, layer, steps)).get((), ({}, {})), layer, inputs.classes)


def sum_up_parts(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps, part_by: Sequence[str]) -> list[Any]:
    """Run the Gram job over the rows: a `Part` for each file that has rows, or for each value of columns.

    part_by : see `name_parts`. Raises DataFormatError where the sums of all parts do not fit into the memory.
    """
    from mr_elm.machines.parts import Part, make_means

    names, most = name_parts(inputs.plan, part_by), int(inputs.options.memory * 1e6 / 16 / (layer.n_hidden + 1) ** 2)
    demand_parts(len(names), most)
    pairs: list[tuple[str, Any]] = []
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


def sum_up_leaving(inputs: NodeInputs, layer: HiddenLayer, steps: GridSteps) -> tuple[Sums, int]:
    """Run the Gram job over rows that leave: their Sums, and how many of them the layer keeps as landmarks."""
    pairs, n_stored = [], 0
    for key, value in run_gram(inputs, layer, steps, ['--find-landmarks']):
        if split_key(key)[0] == 'stored':
            n_stored += value['rows']
        else:
            pairs.append((key, value))
    return assemble_sums(group_sums(pairs).get((), ({}, {})), layer, inputs.classes), n_stored


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
    n_maps = count_maps(engine, data.plan)
    fan_in = find_fan_in(engine, n_maps, layer.n_hidden)
    reducers = engine.reducers(share_tiles(ceil(n_maps / fan_in), layer.n_hidden)[0])
    with temporary_folder() as folder:
        arguments = [*write_layer(folder, inputs, layer, steps), *words]
        if fan_in > 1:
            yield from data.run(MRGram, arguments, 'Gram', SumTree(MRSum, fan_in, tuple(reducers)))
        else:
            yield from data.run(MRGram, [*arguments, *reducers], 'Gram')


def count_maps(engine: Engine, plan: InputPlan) -> int:
    """Return how many map tasks read a plan: on a cluster at least one for each file of lines."""
    n_maps = engine.maps_over(plan.size)
    if engine.is_cluster and not plan.in_parts:
        return max(n_maps, len(plan.files))
    return n_maps


def find_fan_in(engine: Engine, n_maps: int, n_hidden: int) -> int:
    """Return of how many map tasks a task of a second job adds up the sums; 1 for no such job.

    Only a cluster with many map tasks has one. It changes no sum, and so no model.
    """
    if engine.is_cluster and not engine.adds_in_steps:
        return choose_tree(n_maps, n_hidden)
    return 1


@lru_cache(maxsize=64)
def choose_tree(n_maps: int, n_hidden: int) -> int:
    """Return the fan-in that is the fastest for so many map tasks; 1 for no tree."""
    return choose_fan_in(n_maps, sum(measure_sums(n_hidden).values()), lambda n: share_tiles(n, n_hidden)[1])


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


@lru_cache(maxsize=64)
def share_tiles(n_maps: int, n_hidden: int) -> tuple[int, float]:
    """Return how many reduce tasks add up the tiles, so that none gets more than a GB, and the largest share of one.

    n_maps : tasks that send tiles.
    """
    sizes = measure_sums(n_hidden)
    return find_fewest_tasks(sizes, REDUCER_BYTES / (n_maps * sum(sizes.values())))


def measure_sums(n_hidden: int) -> dict[str, float]:
    """Return key -> bytes of what a map task sends: high and low part of the upper triangle of E'E, tile by tile."""
    return {make_key('gram', i, j): 2 * NUMBER_BYTES * n for i, j, n in measure_tiles(n_hidden + 1)}
