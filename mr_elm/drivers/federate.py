"""Sum up the rows of several sites without bringing them together: statistics, one layer, sums, one model.

1. Each site writes the statistics of its rows.
2. The coordinator merges them, and writes the layer: scaling, nodes, grids and classes for all sites.
3. Each site writes the sums of its rows on this layer, which masks may hide, see `sums.masks`.
4. The coordinator adds the sums and solves.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.increment import sum_up_batch, summarise_new
from mr_elm.drivers.pesvm import solve
from mr_elm.drivers.summary import demand_rows, summarise
from mr_elm.engines.base import Engine
from mr_elm.errors import DataFormatError, ModelFormatError
from mr_elm.machines.living import LivingMachine, steps_of
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import PASSES, PESVMOptions
from mr_elm.machines.shared_options import demand
from mr_elm.model.checks import check_sums
from mr_elm.model.file import refusing
from mr_elm.model.header import ModelHeader, make_event
from mr_elm.model.models import HiddenNodeModel
from mr_elm.model.parts import check_layer, layer_arrays
from mr_elm.model.sums import compute_digest
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.columns import MISSING
from mr_elm.rows.encoding import CATEGORY, Column, Encoding
from mr_elm.rows.options import MAX_CATEGORIES
from mr_elm.rows.storage import write_file
from mr_elm.solvers.increment import size_of, sum_arrays, sums_of
from mr_elm.store import load_arrays, read_json, save_arrays, write_json
from mr_elm.sums.masks import MAX_SITES, add, from_ring, make_mask, to_ring
from mr_elm.sums.statistics import Classes, ColumnStatistics, LabelTable, join_columns, make_zeros
from mr_elm.sums.summary import Summary
from mr_elm.sums.values import make_category

STATISTICS = {'format': 'mr_elm-statistics', 'version': 1}
SITE = 'site'  # in the header of a file of sums: whose they are


@dataclass(frozen=True)
class Mask:
    """Hold what hides the sums of a site.

    private_key : of X25519. others : name -> public key of each other site, 32 bytes. session : what no two rounds of
    sums on a layer share. Raises ValueError for a key that is the own one, or there twice: such masks never cancel.
    """

    private_key: Any
    others: Mapping[str, bytes]
    session: str

    def __post_init__(self) -> None:
        if len({self.public_key, *self.others.values()}) <= len(self.others):
            raise ValueError(
                '--with: expected the public keys of other sites, each once, found one twice or the own one'
            )

    @property
    def public_key(self) -> bytes:
        """Return the public key of the site."""
        return self.private_key.public_key().public_bytes_raw()

    def describe(self) -> dict[str, Any]:
        """Return what the file of sums says of the mask."""
        return {
            'session': self.session,
            'key': self.public_key.hex(),
            'others': {key.hex(): name for name, key in self.others.items()},
        }


def write_statistics(data: DataSet, task: str, out: str) -> Summary:
    """Write the statistics of the rows of a site."""
    summary = summarise(data)
    record = summary.to_manifest({**STATISTICS, 'task': task, 'input': summary.input, 'rejected': summary.rejected})
    with write_file(out) as local:
        write_json(local, record)
    return summary


def merge_statistics(paths: Sequence[str], task: str, max_categories: int) -> Summary:
    """Read the statistics of all sites, and merge them. Raises DataFormatError when they are of unlike rows."""
    summaries = [read_statistics(path, task) for path in paths]
    whole = summaries[0]
    for path, summary in zip(paths, summaries, strict=True):
        theirs = describe_rows(summary)
        for what, ours in describe_rows(whole).items():
            if ours == theirs[what]:
                continue
            differences = ''
            if what == 'columns':
                strangers = sorted({*(ours or ())} ^ {*(theirs[what] or ())})
                differences = f' ({", ".join(strangers) or "the same in another order"}): give all sites one --columns'
            raise DataFormatError(f'{path}: expected rows like those of {paths[0]}, found other {what}{differences}')
    whole = replace(
        whole,
        n_rows=sum(summary.n_rows for summary in summaries),
        labels=reduce(LabelTable.merge, [summary.labels for summary in summaries], LabelTable()),
        target=merge_columns(summaries, 'target'),
        weights=merge_columns(summaries, 'weights'),
    )
    if whole.encoding is None:
        return replace(whole, columns=merge_columns(summaries, 'columns'))
    encoding, columns = merge_tables(dict(zip(paths, summaries, strict=True)), max_categories)
    return replace(whole, encoding=encoding, columns=columns)


def merge_columns(summaries: Sequence[Summary], name: str) -> Any:
    """Merge the ColumnStatistics that all sites have under a name, None where these have none."""
    statistics = [getattr(summary, name) for summary in summaries]
    if statistics[0] is None:
        return None
    return reduce(ColumnStatistics.merge, statistics)


def describe_rows(summary: Summary) -> dict[str, Any]:
    """Return what the rows of all sites have in common."""
    return {
        'columns': summary.input.get('names'),
        'encoding': summary.encoding is None,
        'features': count_columns(summary),
        'targets': summary.n_targets,
        '--target': summary.input.get('target'),
        'separator': summary.separator,
        'weights': summary.weights is None,
    }


def count_columns(summary: Summary) -> int:
    """Count the columns that the rows of all sites must have, 0 where these may differ."""
    if summary.encoding is not None:
        return len(summary.encoding.columns)
    if summary.sparse:
        return 0
    return summary.columns.n_features


def merge_tables(summaries: Mapping[str, Summary], max_categories: int) -> tuple[Encoding, ColumnStatistics]:
    """Choose how columns become features, and merge their statistics, as if all rows were one table.

    summaries : path -> statistics of a site, in which each value of a category has a feature of its own.
    """
    columns = []
    statistics = []
    for number in range(count_columns(next(iter(summaries.values())))):
        pieces = {}
        for path, summary in summaries.items():
            encoding: Any = summary.encoding
            pieces[path] = encoding.columns[number], summary.columns.columns(*encoding.starts[number : number + 2])
        if any(column.kind == CATEGORY for column, _ in pieces.values()):
            column, merged = merge_categories(pieces, max_categories)
        else:
            column, merged = merge_numbers(pieces.values())
        columns.append(column)
        statistics.append(merged)
    return Encoding(tuple(columns)), join_columns(statistics)


def merge_categories(
    pieces: Mapping[str, tuple[Column, ColumnStatistics]], max_categories: int
) -> tuple[Column, ColumnStatistics]:
    """Merge a column that holds text. Raises DataFormatError where it holds numbers at a site."""
    counts = Counter[str]()
    for path, (column, piece) in pieces.items():
        n_of_features = (piece.n * piece.mean).round(6).tolist()  # whole numbers again, where rows have no weights
        if column.kind == CATEGORY:
            counts.update(dict(zip(column.categories, n_of_features, strict=False)))  # type: ignore[arg-type]
        elif column.missing and piece.mean[1] == 1:
            counts[MISSING] += n_of_features[1]
        else:
            raise DataFormatError(
                f'{path}: expected text in column {column.name!r}, as at other sites, found numbers: write the '
                f'statistics of all sites with --category {column.name}'
            )
    column = make_category(column.name, counts, max_categories)
    n_known = [counts[category] for category in column.categories]
    return column, describe_indicators(counts.total(), [*n_known, counts.total() - sum(n_known)])


def merge_numbers(pieces: Iterable[tuple[Column, ColumnStatistics]]) -> tuple[Column, ColumnStatistics]:
    """Merge a column of numbers; each site has put its own mean where one is missing, which adds to no square."""
    n_rows, n_missing, present = 0.0, 0.0, make_zeros(0, 1)
    for column, piece in pieces:
        n = piece.n
        if column.missing:
            n *= 1 - piece.mean[1]
        n_rows, n_missing = n_rows + piece.n, n_missing + piece.n - n
        if n:
            values = replace(piece.columns(0, 1), n=n)
            present = present.merge(values) if present.n else values
    merged = replace(present, n=n_rows)
    if n_missing:
        merged = join_columns([merged, describe_indicators(n_rows, [n_missing])])
    return replace(column, mean=float(present.mean[0]), missing=bool(n_missing)), merged


def describe_indicators(n_rows: float, counts: Sequence[float]) -> ColumnStatistics:
    """Return the statistics of features that are 1 in some rows, and 0 in the others. counts : how many these are."""
    shares = np.maximum(counts, 0.0) / n_rows
    return ColumnStatistics(n_rows, np.floor(shares), np.ceil(shares), shares, n_rows * shares * (1 - shares))


def read_statistics(path: str, task: str) -> Summary:
    """Read the statistics of a site. Raises DataFormatError when the file is something else, or for another task."""
    try:
        record = read_json(path)
        if {**record, **STATISTICS} != record:
            raise ValueError('another format or version')
        summary = Summary.of_manifest(record)
    except (ValueError, TypeError, KeyError) as error:
        raise DataFormatError(f'{path}: expected a file of `mr-elm sums --statistics` ({error})') from None
    if record['task'] != task:
        raise DataFormatError(f'{path}: expected statistics for --task {task}, found those for {record["task"]}')
    return summary


def make_layer(paths: Sequence[str], options: PESVMOptions, max_categories: int = MAX_CATEGORIES) -> HiddenNodeModel:
    """Make the layer for all sites from their statistics: a model without output weights and without rows."""
    for flag, is_asked in (
        (f'--map {options.map}', options.has_leaves),
        ('--map nystrom without --landmarks synthetic', options.n_landmarks),
        ('--metric', options.metric != 'none'),
        ('--class-weight', options.class_weight),
        (options.holds_out, options.holds_out),
        ('--solver passes', options.solver == PASSES),
    ):
        demand(not is_asked, f'{flag}: cannot be used with the statistics of sites, because it needs rows')
    summary = merge_statistics(paths, options.task, max_categories)
    classes = None
    if not options.numeric:
        classes = Classes.of(summary.labels)
        if len(classes.names) < 2 and summary.separator is None:
            raise DataFormatError(f'{paths[0]}: expected rows of at least two classes at all sites together')
    problem = NodeProblem(options, summary, classes)
    with one_thread():
        layer = problem.make_layer()
    header = problem.describe(layer, problem.choose_grid(layer), [])
    return HiddenNodeModel(replace(header, n_rows_used=0, n_rows_rejected=0, history=[]), layer_arrays(layer))


def read_layer(path: str) -> HiddenNodeModel:
    """Read a layer. Raises ModelFormatError when the file is something else."""
    return build_layer(path, *load_arrays(path))


def build_layer(path: str, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> HiddenNodeModel:
    """Return a layer as a model without output weights, which `read_model` would refuse."""
    with refusing(path):
        model = HiddenNodeModel(ModelHeader.from_json(header), arrays)
        check_layer(model.header.parameters, arrays, model.n_features)
        steps_of(model.header)
    return model


def write_sums(layer_path: str, data: DataSet, out: str, mask: Mask | None) -> int:
    """Write the sums of the rows of a site on a layer; returns how many rows there are."""
    model = read_layer(layer_path)
    summary = summarise_new(model, data)
    demand_rows(data.plan, summary)
    with one_thread():
        batch = sum_up_batch(model, summary, data)
    if strangers := [name for name in batch.classes if name not in model.classes]:
        raise DataFormatError(
            f'{data.plan.name}: expected a class of {layer_path}, found {strangers[0]!r}: merge the '
            'statistics of all sites again'
        )
    n_rows = np.array([batch.n_rows, sum(batch.rejected.values())], float)
    arrays = sum_arrays(batch.sums) | {'rows': n_rows, 'rows_low': np.zeros(2)}
    ring = np.concatenate(
        [
            to_ring(arrays[name].ravel(), arrays[f'{name}_low'].ravel(), step)
            for name, (_, step) in describe_ring(model).items()
        ]
    )
    digest = compute_digest(layer_path)
    facts: dict = {'layer': digest, 'blas': sorted(batch.blas)}
    if mask is not None:
        facts['mask'] = mask.describe()
        ring = add(ring, make_mask(mask.private_key, mask.others.values(), [digest, mask.session], len(ring)))
    with write_file(out) as local:
        save_arrays(local, {**model.header.to_json(), SITE: facts}, {**model.arrays, 'ring': ring})
    return batch.n_rows


def describe_ring(model: HiddenNodeModel) -> dict[str, tuple[tuple[int, ...], float]]:
    """Return shape and step of each array of sums on a layer, in their order on the ring.

    rows : how many were used, and rejected.
    """
    K, m, steps = len(model.classes) or model.n_scores, model.layer.n_hidden + 1, steps_of(model.header)
    of_targets, of_squares = steps.gram, 1.0  # of classes these are sums of rows of E, and numbers of rows
    if model.numeric:
        _, of_targets, of_squares = steps.steps
    return {
        'gram': ((m * (m + 1) // 2,), steps.gram),
        'class_sums': ((K, m), of_targets),
        'counts': ((K,), of_squares),
        'rows': ((2,), 1.0),
    }


def merge_sums(paths: Sequence[str], engine: Engine) -> HiddenNodeModel:
    """Add the sums of all sites, and solve: the model, with its sums.

    Raises ModelFormatError when a file is of another layer, or a site is missing whose mask is in the others.
    """
    sites = []
    seen: dict[bytes, str] = {}
    for path in paths:
        header, arrays = load_arrays(path)
        site, own = header.pop(SITE, None), arrays.pop('ring', np.zeros(0))
        if site is None or own.dtype != np.uint64 or own.shape[1:] != (2,):
            raise ModelFormatError(f'{path}: expected a file of `mr-elm sums --layer`, found another one')
        digest = hashlib.sha256(own.tobytes()).digest()
        if digest in seen:
            raise ModelFormatError(f'{path}: expected each site once, found the sums of {seen[digest]} again')
        seen[digest] = path
        sites.append(site)
        if len(sites) == 1:
            model, ring = build_layer(path, header, arrays), own
        elif site['layer'] != sites[0]['layer'] or own.shape != ring.shape:
            raise ModelFormatError(f'{path}: expected sums on the same layer as in {paths[0]}, found another layer')
        else:
            ring = add(ring, own)
    demand_all_sites(sites, paths)
    arrays, layout = {}, describe_ring(model)
    ends = np.cumsum([np.prod(shape) for shape, _ in layout.values()], dtype=int)
    try:
        for (name, (shape, step)), numbers in zip(layout.items(), np.split(ring, ends)[:-1], strict=True):
            high, low = from_ring(numbers, step)
            arrays |= {name: high.reshape(shape), f'{name}_low': low.reshape(shape)}
        (n_rows, n_rejected), _ = arrays.pop('rows'), arrays.pop('rows_low')
        check_sums(arrays, model.layer.n_hidden + 1, len(arrays['counts']))
    except (OverflowError, ValueError) as error:
        raise ModelFormatError(f'{paths[0]} and {len(paths) - 1} more: {error}') from None
    sums, blas = sums_of(arrays), sorted({name for site in sites for name in site['blas']})
    merged = replace(
        model.header,
        n_rows_used=int(n_rows),
        n_rows_rejected=int(n_rejected),
        history=[make_event('merge', int(n_rows))],
    )
    with one_thread():
        return solve(LivingMachine(merged.change_parameters(peak=size_of(sums), blas=blas), model.layer, sums), engine)


def demand_all_sites(sites: Sequence[Mapping[str, Any]], paths: Sequence[str]) -> None:
    """Raise ModelFormatError unless each site is there once whose mask another one has used."""
    if len(sites) > MAX_SITES:
        raise ModelFormatError(f'expected at most {MAX_SITES:,} sites, found {len(sites):,}')
    masks = [site.get('mask') for site in sites]
    keys = [mask['key'] for mask in masks if mask]
    sessions = {mask['session'] for mask in masks if mask}
    for mask, path in zip(masks, paths, strict=True):
        if sessions and (mask is None or len(sessions) > 1):
            raise ModelFormatError(f'{path}: expected sums that are masked in the same session as all others')
        if mask is None:
            continue
        if keys.count(mask['key']) > 1:
            raise ModelFormatError(f'{path}: expected each site once, found the sums of this one twice')
        for key, name in mask['others'].items():
            if key not in keys:
                raise ModelFormatError(
                    f'expected the sums of the site {name} too (key {key[:16]}...), found none: its mask is in {path}, '
                    'and without its sums no others can be used'
                )
        if len(mask['others']) + 1 < len(keys):
            raise ModelFormatError(f'{path}: expected a mask with each other site, found one with some of them')
