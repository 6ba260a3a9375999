"""Choose hidden nodes and the grids of their sums from the statistics of the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.landmarks import hash_rows, place_landmarks
from mr_elm.features.nodes import NODES, draw_nodes
from mr_elm.features.scaling import ScaledMoments, moments_of_nodes
from mr_elm.features.synthetic import draw_landmarks
from mr_elm.machines.metric import LearnedMetric, learn_metric
from mr_elm.machines.options import PESVMOptions
from mr_elm.machines.sample import SampleRows
from mr_elm.machines.shared_options import SYNTHETIC, TrainingOptions
from mr_elm.model.header import ModelHeader, make_event
from mr_elm.model.models import HiddenNodeModel
from mr_elm.model.parts import describe_map, landmark_widths
from mr_elm.rows.blocks import widen
from mr_elm.scores.selection import NodeChoice
from mr_elm.scores.threshold import choose_positive
from mr_elm.sums.gram import GridSteps, bound_targets
from mr_elm.sums.statistics import Classes, class_weights, list_classes
from mr_elm.sums.summary import Summary

Self = TypeVar('Self', bound='NodeProblem')


@dataclass(frozen=True)
class NodeProblem:
    """Hold what the nodes of a training depend on.

    options : PESVMOptions. summary : of the rows. classes : Classes, or None for a regression.
    learned : the metric that nodes are behind.
    known_sigma : of the model whose nodes are taken, None for nodes of these rows.
    """

    options: PESVMOptions
    summary: Summary
    classes: Classes | None
    learned: LearnedMetric = field(default=LearnedMetric(), kw_only=True)
    known_sigma: float | None = field(default=None, kw_only=True)

    @cached_property
    def weights(self) -> dict | None:
        """Return the weight of each label, None when all count once."""
        return class_weights(self.options.class_weight, self.classes)

    @property
    def class_numbers(self) -> dict[str, int] | None:
        """Return label -> class number, None for a regression."""
        if self.classes:
            return self.classes.index
        return None

    @cached_property
    def moments(self) -> ScaledMoments:
        """Return mean and variance of the scaled features, as the nodes see them; see `moments_of_nodes`."""
        options = self.options
        return moments_of_nodes(options.other_map, options.scale, self.summary.measure_scaled(options.scale))

    @property
    def sigma(self) -> float:
        """Return the width of a kernel that the weight scale s stands for: sqrt(v) / s, see `ScaledMoments.measure`."""
        if self.known_sigma is not None:
            return self.known_sigma
        return self.moments.measure(NODES[self.options.node_kind].norm) / self.options.weight_scale

    def take_candidate(self: Self, kind: NodeChoice, n_hidden: int) -> Self:
        """Return the same problem for a training on nodes of a kind, without its metric."""
        return self.with_options(map=kind.map, kernel=kind.kernel, weight_scale=kind.weight_scale, n_hidden=n_hidden)

    def take_nodes(self: Self, model: HiddenNodeModel) -> Self:
        """Return the same problem for a training on the nodes of a model."""
        return replace(self, learned=LearnedMetric.of_model(model), known_sigma=model.header.parameters['sigma'])

    def with_options(self: Self, **changed: Any) -> Self:
        """Return the same problem for a training with other options."""
        return replace(self, options=replace(self.options, **changed))

    def learn_metric(self: Self, sample: SampleRows) -> Self:
        """Return the same problem behind the metric that the options ask for, learned from a sample of the rows."""
        options = self.options
        rows = sample.take(np.argsort(hash_rows(sample.X, options.seed), kind='stable'))  # whatever their order
        # as strong beside all errors as in the training; beyond 1e8 rounding shows
        nu = min(options.nu * self.summary.n_rows / len(rows), 1e8)
        return replace(self, learned=learn_metric(self.make_layer(), rows, nu, options.metric, options.seed))

    def make_layer(self) -> HiddenLayer:
        """Draw the nodes, or scale the first n_hidden landmarks, behind the metric where there is one."""
        options, summary = self.options, self.summary
        d, (offset, scale) = summary.columns.n_features, summary.choose_scaling(options.scale)
        if options.other_map != 'nystrom':
            n_hidden = 0
            if options.other_map:
                n_hidden = options.n_hidden
            weights, biases = draw_nodes(
                options.node_kind, n_hidden, d, options.seed, options.weight_scale, options.weights, self.moments
            )
        else:
            if options.landmarks == SYNTHETIC:
                rows = draw_landmarks(summary.columns, summary.encoding, options.n_hidden, options.seed)
            else:
                rows = widen(summary.landmarks[: options.n_hidden], d)
            weights, offset = place_landmarks(rows, offset, scale)
            biases = landmark_widths(options.kernel, weights.shape[0], self.sigma)
        return HiddenLayer(options.node_kind, weights, biases, offset, scale).pass_metric(self.learned.metric)

    def choose_grid(self, layer: HiddenLayer) -> GridSteps:
        """Choose the grids of the exact sums from bounds on nodes, targets and row weights."""
        return grid_for(layer, self.summary, self.weights, self.origin)

    @property
    def origin(self) -> tuple[float, ...]:
        """Return m_0, the weighted mean of each target; none where targets are taken as they are."""
        target = self.summary.target
        if self.options.center and target is not None:
            return target.origin
        return ()

    def describe(self, layer: HiddenLayer, steps: GridSteps, blas: Iterable[str]) -> ModelHeader:
        """Make the header of a machine on these nodes and grids; None stands where the solver has its say."""
        options, summary = self.options, self.summary
        centring: dict[str, Any] = {}
        if options.numeric:
            centring = {'center': steps.centres}
        if steps.centres:
            centring['origin'] = list(steps.origin)
        parameters = {
            **describe_map(layer),
            **({'landmarks': SYNTHETIC} if options.landmarks == SYNTHETIC else {}),
            'n_hidden': layer.n_hidden,
            'seed': options.seed,
            'nu' if options.bias else 'C': options.nu,
            **describe_leaves(options),
            'weight_scale': options.weight_scale,
            'weights': options.weights,
            'scale': options.scale,
            'sigma': self.sigma,
            'class_weight': options.class_weight,
            'solver': None,
            'condition': None,
            'grid': list(steps.steps),
            **centring,
            'blas': sorted(blas),
            'input': summary.input,
            'peak': None,
        }
        if self.learned.n_steps is not None:
            parameters |= self.learned.facts
        return make_header(options, summary, self.classes, layer.n_features, parameters)


def make_header(
    options: TrainingOptions, summary: Summary, classes: Classes | None, n_features: int, parameters: dict[str, Any]
) -> ModelHeader:
    """Make the header of a model that was just trained. parameters : those of the method and of its solver."""
    names = list_classes(classes)
    return ModelHeader(
        method=options.method,
        task=options.task,
        classes=names,
        positive=choose_positive(options.positive, names),
        n_features=n_features,
        n_rows_used=summary.n_rows,
        n_rows_rejected=sum(summary.rejected.values()),
        encoding=summary.encoding.to_json() if summary.encoding else None,
        targets=describe_targets(summary),
        parameters=parameters,
        history=[make_event('train', summary.n_rows, summary.rejected)],
    )


def describe_leaves(options: PESVMOptions) -> dict[str, float]:
    """Return the parameters of a model that say how many leaves it may have, and what their weights cost."""
    if options.has_leaves:
        return {'leaves': options.leaves, 'leaf_ridge': options.leaf_ridge}
    return {}


def describe_targets(summary: Summary) -> dict[str, Any] | None:
    """Return what a header says of several targets or labels, None where rows have one label."""
    if summary.separator is not None:
        return {'separator': summary.separator}
    if summary.n_targets <= 1:
        return None
    return {'names': list(map(str, summary.input.get('target_names') or summary.input['targets']))}


def grid_for(layer: HiddenLayer, summary: Summary, weights: dict | None, origin: tuple[float, ...]) -> GridSteps:
    """Choose the grids of the exact sums of rows on a layer.

    weights : of the labels, None when all count once. origin : of the targets.
    """
    node_bound = layer.bound(summary.columns.minimum, summary.columns.maximum)
    weight_bound = 1.0
    if weights:
        weight_bound = max(weights.values())
    if summary.weights is not None:
        weight_bound *= float(summary.weights.maximum[0])
    target = summary.target
    if target is None:
        target_bound = 1.0
    else:
        target_bound = bound_targets(target.minimum, target.maximum, origin)
    return GridSteps.of(node_bound, target_bound, weight_bound, origin)
