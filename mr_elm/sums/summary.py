"""Hold what a method must know of a data set before it looks at the rows; the manifest of a pack keeps it too."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from mr_elm.errors import one_line
from mr_elm.features.landmarks import rows_from_arrays
from mr_elm.features.scaling import ScaledMoments, choose_scaling, count_from_0
from mr_elm.rows.blocks import stack
from mr_elm.rows.encoding import Encoding
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.options import RowOptions
from mr_elm.rows.wire import decode_arrays, encode_arrays, split_key
from mr_elm.sparse import issparse
from mr_elm.sums.statistics import ColumnStatistics, LabelTable, join_columns, make_zeros
from mr_elm.typing import Floats

MEMORY = 'memory'  # kind of the rows of estimators


@dataclass
class Summary:
    """Hold the statistics of a data set.

    columns : ColumnStatistics of the features; target, weights : of labels as numbers and of row weights, or None.
    labels : LabelTable, empty for regression. landmarks : rows (L, d) chosen by hash, or None.
    n_rows : rows used. rejected : rows left out, by reason. input : what a reader of similar rows must know.
    encoding : Encoding of rows that were a table, else None.
    sparse_rows : of rows in memory, whether they are sparse.
    """

    columns: ColumnStatistics = field(default_factory=partial(make_zeros, 0, 0))
    labels: LabelTable = field(default_factory=LabelTable)
    target: ColumnStatistics | None = None
    weights: ColumnStatistics | None = None
    landmarks: Any = None
    n_rows: int = 0
    rejected: dict = field(default_factory=dict)
    input: dict = field(default_factory=dict)
    encoding: Encoding | None = None
    sparse_rows: bool = False
    __repr__ = one_line

    @property
    def sparse(self) -> bool:
        """Tell whether the rows are sparse, as text or once they are encoded."""
        if self.encoding is not None:
            return self.encoding.sparse
        if self.in_memory:
            return self.sparse_rows
        return find_kind(self.input['kind']).sparse

    @property
    def in_memory(self) -> bool:
        """Tell whether the rows are those of an estimator."""
        return self.input.get('kind', MEMORY) == MEMORY

    @property
    def separator(self) -> str | None:
        """Return what stands between the labels of a row, None where a row has one label."""
        return self.input.get('labels_separator')

    @property
    def n_targets(self) -> int:
        """Return how many targets a row of a regression has, 0 for a classification."""
        if self.target is None:
            return 0
        return self.target.n_features

    def choose_scaling(self, kind: str, power: int = 2) -> tuple[Floats, Floats]:
        """Return (offset, scale), each (d,); see `choose_scaling` of features."""
        return choose_scaling(kind, self.columns, self._indicators, self.name_column, power)

    def measure_scaled(self, kind: str) -> ScaledMoments:
        """Return mean and variance of the features behind the scaling that `choose_scaling` chooses."""
        return ScaledMoments.of(kind, self.columns, self.choose_scaling(kind), self._indicators)

    @property
    def _indicators(self) -> Any:
        if self.encoding is None:
            return None
        return self.encoding.indicators

    def count_numbers(self, offset: Floats, scale: Floats) -> int:
        """Return how many numbers a scaled row has, an index as half a number; of sparse rows landmarks tell it.

        offset, scale : (d,) or ().
        """
        d = self.columns.n_features
        if self.landmarks is None or not issparse(self.landmarks):
            return d
        if offset.any():
            filled = np.count_nonzero(np.broadcast_to(scale, d))
        else:
            filled = self.landmarks.nnz / self.landmarks.shape[0]
        return min(ceil(1.5 * filled) + 1, d)

    def name_column(self, feature: int) -> str:
        """Return how a message calls the column of a feature: by its name, or as options and LIBSVM text count it."""
        if self.encoding is not None:
            return repr(self.encoding.columns[bisect_right(self.encoding.starts, feature) - 1].name)
        if self.input.get('names'):
            return repr(self.input['names'][feature])
        if self.in_memory:
            return count_from_0(feature)
        if self.sparse:
            return str(feature + 1)
        positions = RowOptions.from_json(self.input).feature_positions
        if positions:
            feature = positions[feature]
        return count_from_0(feature)

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, Any]], input: dict) -> Summary:
        """Read the output pairs of mr_stats; n_rows and rejected stand in the accounts of the pass."""
        summary = cls(input=input)
        columns = {}
        landmarks = {}
        for key, value in pairs:
            kind, coordinates = split_key(key)
            if kind == 'columns':
                columns[int(coordinates[0])] = ColumnStatistics.from_arrays(value)
            elif kind == 'landmarks':
                landmarks[int(coordinates[0])] = rows_from_arrays(value)
            elif kind == 'labels':
                summary.labels = LabelTable(value)
            else:
                setattr(summary, kind, ColumnStatistics.from_arrays(value))
        if columns:
            summary.columns = join_columns([columns[start] for start in sorted(columns)])
        if landmarks:
            summary.landmarks = stack([landmarks[number] for number in sorted(landmarks)])
        return summary

    @classmethod
    def of_manifest(cls, manifest: Mapping[str, Any]) -> Summary:
        """Read the manifest of a pack; see `rows.packs`."""
        statistics: dict[str, Any] = {
            name: ColumnStatistics.from_arrays(decode_arrays(text.encode()))
            for name, text in manifest['statistics'].items()
        }
        encoding = manifest.get('encoding')
        return cls(
            labels=LabelTable(manifest['labels']),
            n_rows=manifest['n_rows'],
            rejected=manifest['rejected'],
            input=manifest['input'],
            encoding=encoding and Encoding.from_json(encoding),
            **statistics,
        )

    def to_manifest(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return what closes a pack: what readers of its rows need to know."""
        statistics = {
            name: encode_arrays(getattr(self, name).to_arrays()).decode()
            for name in ('columns', 'target', 'weights')
            if getattr(self, name) is not None
        }
        if self.encoding is None:
            encoding = {}
        else:
            encoding = {'encoding': self.encoding.to_json()}
        return {
            'n_rows': self.n_rows,
            'n_features': self.columns.n_features,
            **facts,
            **encoding,
            'labels': self.labels.entries,
            'statistics': statistics,
        }
