"""Learn what a method must know of a data set before it looks at the rows: from one job, or from a pack's manifest."""
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.features.landmarks import rows_from_arrays
from mr_elm.files.storage import write_file
from mr_elm.io.blocks import stack
from mr_elm.io.kinds import find_kind
from mr_elm.io.packed import MANIFEST, checksum
from mr_elm.io.wire import decode_arrays, encode_arrays, split_key
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan
from mr_elm.streaming.mr_stats import MRStats, check_classes
from mr_elm.sums.statistics import ColumnStatistics, LabelTable, join_columns, make_zeros
from mr_elm.typing import Rows


@dataclass
class Summary:
    """Hold the statistics of a data set.

    columns : ColumnStatistics of the features; target, weights : of labels as numbers and of row weights, or None.
    labels : LabelTable, empty for regression.
    landmarks : rows (L, d) chosen by hash, or None.
    accounts : Accounts of the pass that found all this, or None when a manifest said it.
    n_rows : rows used. rejected : rows left out, by reason. input : what a reader of similar rows must know.
    """

    columns: ColumnStatistics = field(default_factory=partial(make_zeros, 0, 0))
    labels: LabelTable = field(default_factory=LabelTable)
    target: ColumnStatistics | None = None
    weights: ColumnStatistics | None = None
    landmarks: Any = None
    accounts: Accounts | None = None
    n_rows: int = 0
    rejected: dict = field(default_factory=dict)
    input: dict = field(default_factory=dict)

    @property
    def sparse(self) -> bool:
        """Tell whether the rows were sparse as text."""
        return find_kind(self.input['kind']).sparse


def summarise(data: DataSet, landmarks: int = 0, seed: int = 0) -> Summary:
    """Return the Summary of a DataSet, whose sparse rows have from then on the width that was found.

    Packed rows need a pass only for landmarks. Raises DataFormatError when no row can be used.
    """
    summary = summary_of(data, landmarks, seed)
    data.fix_width(summary.columns.n_features)
    return summary


def summary_of(data: DataSet, landmarks: int, seed: int) -> Summary:
    """Return the Summary from a pass, from a pack's manifest, or from both."""
    manifest = data.plan.manifest
    if manifest and not landmarks:
        return read_manifest(manifest)
    summary = survey(data, landmarks, seed)
    demand_rows(data.plan, summary)
    if manifest:  # a pass rounds its means by its splits, the manifest does not
        return replace(read_manifest(manifest), landmarks=summary.landmarks, accounts=summary.accounts)
    return summary


def survey(data: DataSet, landmarks: int = 0, seed: int = 0) -> Summary:
    """Run the statistics job: the Summary of a DataSet, which may be empty."""
    summary = Summary(input=data.plan.input_facts)
    columns: dict[int, ColumnStatistics] = {}
    rows: dict[int, Rows] = {}
    job = data.run(MRStats, ['--landmarks', str(landmarks), '--seed', str(seed)], 'statistics')
    for key, value in job:
        take(summary, key, value, columns, rows)
    check_classes(summary.labels, f'{data.plan.name}: ')
    summary.accounts = job.accounts
    summary.n_rows, summary.rejected = summary.accounts.used, dict(summary.accounts.reasons)
    if columns:
        summary.columns = join_columns([columns[start] for start in sorted(columns)])
    if rows:
        summary.landmarks = stack([rows[number] for number in sorted(rows)])
    elif landmarks and job.accounts.used:
        raise AccountingError(f'{data.plan.name}: landmarks were expected, the statistics brought none')
    return summary


def demand_rows(plan: InputPlan, summary: Summary) -> None:
    """Raise DataFormatError when a data set has no row, or no feature."""
    if not summary.n_rows:
        raise DataFormatError(f'{plan.name}: rows were expected, not one could be used')
    if not summary.columns.n_features:
        raise DataFormatError(f'{plan.name}: rows with features were expected, all are empty')


def take(summary: Summary, key: str, value: Any, columns: dict[int, ColumnStatistics], rows: dict[int, Rows]) -> None:
    """Put one output pair of the statistics job where it belongs."""
    kind, coordinates = split_key(key)
    if kind == 'columns':
        columns[int(coordinates[0])] = ColumnStatistics.from_arrays(value)
    elif kind == 'landmarks':
        rows[int(coordinates[0])] = rows_from_arrays(value)
    elif kind == 'labels':
        summary.labels = LabelTable(value)
    else:
        setattr(summary, kind, ColumnStatistics.from_arrays(value))


def write_manifest(folder: str, summary: Summary, facts: Mapping[str, Any]) -> None:
    """Close a pack: write what its readers need to know, last of all."""
    statistics = {name: encode_arrays(getattr(summary, name).to_arrays()).decode()
                  for name in ('columns', 'target', 'weights') if getattr(summary, name) is not None}
    manifest = {'format': 'mr_elm-pack', 'version': 1, 'n_rows': summary.n_rows,
                'n_features': summary.columns.n_features, **facts, 'labels': summary.labels.entries,
                'statistics': statistics}
    text = json.dumps({**manifest, 'crc32': checksum(manifest)}, indent=1)
    with write_file(f'{folder}/{MANIFEST}') as local, open(local, 'w') as stream:
        stream.write(text + '\n')


def read_manifest(manifest: Mapping[str, Any]) -> Summary:
    """Return the Summary that the manifest of a pack, a dictionary, holds."""
    statistics: dict[str, Any] = {name: ColumnStatistics.from_arrays(decode_arrays(text.encode()))
                                  for name, text in manifest['statistics'].items()}
    return Summary(labels=LabelTable(manifest['labels']), n_rows=manifest['n_rows'], rejected=manifest['rejected'],
                   input=manifest['input'], **statistics)
