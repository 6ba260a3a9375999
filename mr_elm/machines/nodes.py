"""Choose hidden nodes and the grids of their sums from the statistics of the rows."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes, measure_ones
from mr_elm.features.synthetic import draw_landmarks
from mr_elm.header import ModelHeader
from mr_elm.history import make_event
from mr_elm.machines.metric import LearnedMetric, SampleRows, learn_from_sample, sample_rows
from mr_elm.machines.option_fields import SYNTHETIC
from mr_elm.machines.options import PESVMOptions
from mr_elm.model_parts import describe_map, landmark_widths
from mr_elm.scores.selection import NodeCandidate
from mr_elm.scores.threshold import choose_positive
from mr_elm.sums.gram import GridSteps, bound_targets
from mr_elm.sums.statistics import Classes
from mr_elm.sums.summary import Summary
from mr_elm.sums.weights import class_weights
from mr_elm.typing import Floats

Self = TypeVar('Self', bound='NodeProblem')


@dataclass(frozen=True)
class NodeProblem:
    """Hold what the nodes of a training depend on.

    options : PESVMOptions. summary : of the rows. classes : Classes, or None for a regression.
    learned : the metric that nodes are behind, None where none was to be learned.
    """

    options: PESVMOptions
    summary: Summary
    classes: Classes | None
    learned: LearnedMetric | None = field(default=None, kw_only=True)

    @cached_property
    def weights(self) -> dict | None:
        """Return the weight of each label, None when all count once."""
        return class_weights(self.options.class_weight, self.classes)

    @property
    def class_numbers(self) -> dict[str, int] | None:
        """Return label -> class number, None for a regression."""
        return self.classes.index if self.classes else None

    def take_candidate(self: Self, kind: NodeCandidate, n_hidden: int) -> Self:
        """Return the same problem for a training on nodes of a kind, without its metric."""
        return self.with_options(map=kind.map, kernel=kind.kernel, weight_scale=kind.weight_scale, n_hidden=n_hidden)

    def with_options(self: Self, **changed: Any) -> Self:
        """Return the same problem for a training with other options."""
        return replace(self, options=replace(self.options, **changed))

    def learn_metric(self: Self, n_threads: int | None = None) -> Self:
        """Return the same problem behind the metric that the options ask for, learned from the sample of the rows.

        n_threads : see `map_in_threads`.
        """
        if not self.options.n_sampled:
            return self
        return replace(self, learned=learn_from_sample(self.make_layer(), self.read_sample(), self.options,
                                                       self.options.nu, self.summary.n_rows, n_threads))

    def read_sample(self) -> SampleRows:
        """Return the sample of the rows that the statistics hold."""
        return sample_rows(self.summary, self.classes, self.weights, self.options.center)

    def make_layer(self) -> HiddenLayer:
        """Draw the nodes, or scale the first n_hidden landmarks, behind the metric where there is one."""
        layer = make_nodes(self.options, self.summary, *self.summary.choose_scaling(self.options.scale))
        return layer if self.learned is None else layer.pass_metric(self.learned.metric)

    def choose_grid(self, layer: HiddenLayer) -> GridSteps:
        """Choose the grids of the exact sums from bounds on nodes, targets and row weights."""
        return grid_for(layer, self.summary, self.weights, self.origin)

    @property
    def origin(self) -> tuple[float, ...]:
        """Return m_0, the weighted mean of each target; none where targets are taken as they are."""
        target = self.summary.target
        return target.origin if self.options.center and target is not None else ()

    def describe(self, layer: HiddenLayer, steps: GridSteps, blas: Iterable[str]) -> ModelHeader:
        """Make the header of a machine on these nodes and grids; None stands where the solver has its say."""
        options, summary = self.options, self.summary
        names = self.classes.names if self.classes else []
        return ModelHeader(
            method=options.method, task=options.task, classes=names,
            positive=choose_positive(options.positive, names),
            n_features=layer.n_features, n_rows_used=summary.n_rows, n_rows_rejected=sum(summary.rejected.values()),
            encoding=summary.encoding_record, targets=describe_targets(summary),
            parameters={
                **describe_map(layer), **describe_landmarks(options), 'n_hidden': layer.n_hidden, 'seed': options.seed,
                'nu' if options.method == 'pesvm' else 'C': options.nu,
                'weight_scale': options.weight_scale, 'weights': options.weights, 'scale': options.scale,
                'sigma': kernel_width(options, layer.n_features), 'class_weight': options.class_weight,
                'solver': None, 'condition': None, 'grid': list(steps.steps), **describe_origin(options.numeric, steps),
                'blas': sorted(blas),
                'input': summary.input, 'peak': None, **(self.learned.facts if self.learned else {})},
            history=[make_event('train', summary.n_rows, summary.rejected)])


def describe_origin(numeric: bool, steps: GridSteps) -> dict[str, Any]:
    """Return what the parameters of a model say of the centring of its targets; nothing for classes."""
    if not numeric:
        return {}
    return {'center': steps.centres, **({'origin': list(steps.origin)} if steps.centres else {})}


def make_nodes(options: PESVMOptions, summary: Summary, offset: Floats, scale: Floats) -> HiddenLayer:
    """Draw the nodes, or scale the first n_hidden landmarks: those of the summary, or such as its statistics describe.
    """
    d = summary.columns.n_features
    if options.map != 'nystrom':
        weights, biases = draw_nodes(options.map, options.n_hidden, d, options.seed, options.weight_scale,
                                     options.weights)
    else:
        if options.landmarks == SYNTHETIC:
            rows = draw_landmarks(summary.columns, summary.encoding, options.n_hidden, options.seed)
        else:
            rows = summary.landmarks[:options.n_hidden]
            rows = rows.toarray() if hasattr(rows, 'toarray') else rows
        weights = (np.pad(rows, ((0, 0), (0, d - rows.shape[1]))) - offset) * scale
        biases = landmark_widths(options.kernel, len(weights), kernel_width(options, d))
    return HiddenLayer(options.node_kind, weights, biases, offset, scale)


def describe_landmarks(options: PESVMOptions) -> dict[str, str]:
    """Return the parameter of a model that says that its landmarks are no rows, none where they are."""
    return {'landmarks': SYNTHETIC} if options.map == 'nystrom' and options.landmarks == SYNTHETIC else {}


def describe_targets(summary: Summary) -> dict[str, Any] | None:
    """Return what a header says of several targets or labels, None where rows have one label."""
    if summary.separator is not None:
        return {'separator': summary.separator}
    if summary.n_targets <= 1:
        return None
    return {'names': list(map(str, summary.input.get('target_names') or summary.input['target_columns']))}


def kernel_width(options: PESVMOptions, n_features: int) -> float:
    """Return sigma, the width of a kernel that the weight scale s stands for: sqrt(d) / s, or d / s of norm 1."""
    return measure_ones(options.node_kind, n_features) / options.weight_scale


def grid_for(layer: HiddenLayer, summary: Summary, weights: dict | None = None,
             origin: tuple[float, ...] = ()) -> GridSteps:
    """Choose the grids of the exact sums of rows on a layer.

    weights : of the labels, None when all count once. origin : of the targets.
    """
    node_bound = layer.bound(summary.columns.minimum, summary.columns.maximum)
    weight_bound = max(weights.values()) if weights else 1.0
    if summary.weights is not None:
        weight_bound *= float(summary.weights.maximum[0])
    target = summary.target
    target_bound = 1.0 if target is None else bound_targets(target.minimum, target.maximum, origin)
    return GridSteps.of(node_bound, target_bound, weight_bound, origin)
