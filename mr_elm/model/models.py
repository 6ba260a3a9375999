"""Hold trained models: frozen, asked for decision values and labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mr_elm.features.forest import add_leaf_weights
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernel_tiles import TILE_BYTES, TILE_ROWS, KernelTiles, PairProduct
from mr_elm.features.kernels import Kernel
from mr_elm.features.metric import apply_metric
from mr_elm.features.scaling import scale_rows
from mr_elm.model.base import Model
from mr_elm.model.checks import check_arrays, check_header, check_metric, check_scaling, check_sums, check_vectors
from mr_elm.model.parts import VECTORS, check_layer, join_arrays, kernel_of, layer_of, take_arrays, vectors_of
from mr_elm.rows.blocks import BLOCK_ROWS, widen
from mr_elm.solvers.multiclass import (
    ONE_VS_ONE,
    group_coefficients,
)
from mr_elm.sums.gram import expand
from mr_elm.sums.product import EXPANDED_NUMBERS
from mr_elm.typing import Floats, Rows


@dataclass(frozen=True, repr=False)
class HiddenNodeModel(Model):
    """Predict from hidden nodes: f(x) = [Phi(x), -1] B."""

    @cached_property
    def layer(self) -> HiddenLayer:
        """Return the HiddenLayer."""
        return layer_of(self.header.parameters, self.arrays, self.n_features)

    def check(self) -> None:
        """Raise KeyError or ValueError when parts are missing or do not fit."""
        check_header(self.header)
        self.check_features()
        check_layer(self.header.parameters, self.arrays, self.n_features)
        n_columns = self.layer.n_hidden + 1
        check_arrays(self.arrays, {'output_weights': (n_columns, self.n_scores)})
        if self.sums is not None:
            check_sums(self.sums, n_columns, len(self.classes) or self.n_scores)

    def decision_function(self, X: Rows) -> Floats:
        """Return decision values: (n, K), K = 1 for two classes or a regression.

        X : (n, d) dense or CSR; narrower CSR rows are taken to end in zeros. Raises ValueError on another width.
        """
        X, nodes = widen(X, self.n_features), self.layer.nodes
        width = nodes.n_hidden + 1
        step = max(1, min(BLOCK_ROWS, EXPANDED_NUMBERS // width))
        buffer = np.empty(min(step, X.shape[0]) * width)
        blocks = (X[start : start + step] for start in range(0, X.shape[0], step))
        parts = [
            self.decide_expanded(expand(nodes, block, buffer=buffer), self.layer.find_leaves(block)) for block in blocks
        ]
        if parts:
            return np.concatenate(parts)
        return np.zeros((0, self.arrays['output_weights'].shape[1]))

    def decide_expanded(self, E: Floats, leaves: np.ndarray | None = None) -> Floats:
        """Return decision values, (n, K), of rows of E = [Phi(x), -1]. The mean of targets is added last, at once.

        leaves : (n, n_trees), of the rows, where E is without the outputs of leaves.
        """
        B = self.arrays['output_weights']
        of_nodes = B[-E.shape[1] :]
        if self.numeric:
            values = E[:, :-1] @ of_nodes[:-1]
        else:
            values = E @ of_nodes
        if leaves is not None:
            add_leaf_weights(leaves, B, values)
        if self.numeric:
            return values - B[-1]
        return values


@dataclass(frozen=True, repr=False)
class AveragedModel(Model):
    """Predict the mean of the decision values of several machines of hidden nodes that were trained on the same rows.

    Arrays : those of machine k are called `k/NAME`, also among the sums. The parameters in which machines differ stand
    in header.members.
    """

    @classmethod
    def of(cls, members: Sequence[HiddenNodeModel]) -> 'AveragedModel':
        """Put machines together that were trained on the same rows."""
        first, parameters = members[0].header, [member.header.parameters for member in members]
        shared = {
            name: value
            for name, value in first.parameters.items()
            if all(name in one and one[name] == value for one in parameters)
        }
        differences: list[Mapping[str, Any]] = [
            {name: value for name, value in one.items() if name not in shared} for one in parameters
        ]
        sums = [each.sums for each in members if each.sums is not None]
        return cls(
            replace(first, parameters=shared, members=differences),
            join_arrays([each.arrays for each in members]),
            join_arrays(sums) if len(sums) == len(members) else None,
        )

    @cached_property
    def members(self) -> tuple[HiddenNodeModel, ...]:  # type: ignore[override]
        """Return the machines whose decision values are averaged."""
        return tuple(
            HiddenNodeModel(
                replace(self.header, members=None).change_parameters(**differences),
                take_arrays(self.arrays, k),
                None if self.sums is None else take_arrays(self.sums, k),
            )
            for k, differences in enumerate(self.header.members or ())
        )

    def check(self) -> None:
        """Raise KeyError or ValueError when there are no machines, or parts of one are missing or do not fit."""
        if not self.members:
            raise ValueError('expected machines to average, found none')
        for member in self.members:
            member.check()

    def decision_function(self, X: Rows) -> Floats:
        """Return decision values: (n, K), the means of those of the machines."""
        return np.mean([member.decision_function(X) for member in self.members], axis=0)


NodeModel = HiddenNodeModel | AveragedModel


def join_members(members: Sequence[HiddenNodeModel]) -> NodeModel:
    """Return the model that averages machines; a single machine is the model itself."""
    if len(members) == 1:
        return members[0]
    return AveragedModel.of(members)


@dataclass(frozen=True, repr=False)
class KernelModel(Model):
    """Predict from support vectors s on scaled rows z: f(z) = K(z, s) A + r."""

    @cached_property
    def kernel(self) -> Kernel:
        """Return the Kernel."""
        return kernel_of(self.header.parameters)

    @cached_property
    def support_vectors(self) -> Rows:
        """Return the support vectors, (n_sv, d), dense or CSR as the file has them."""
        return vectors_of(self.arrays, check_metric(self.arrays, self.n_features))

    @cached_property
    def tiles(self) -> KernelTiles:
        """Return the KernelTiles of the support vectors."""
        return KernelTiles(self.support_vectors, self.kernel)

    def check(self) -> None:
        """Raise KeyError or ValueError when parts are missing or do not fit."""
        check_header(self.header)
        self.check_features()
        d, k, width = self.n_features, self.n_scores, check_metric(self.arrays, self.n_features)
        check_scaling(self.arrays, d)
        check_arrays(self.arrays, {'intercept': (k,)})
        n_vectors = check_vectors(self.arrays, width, VECTORS)
        check_arrays(self.arrays, {'dual_coef': (n_vectors, k)})
        self.kernel  # noqa: B018 - raises ValueError when the header names none

    def decision_function(self, X: Rows) -> Floats:
        """Return decision values: (n, P), computed in tiles, so that memory does not grow with the rows.

        X : (n, d) dense or CSR; narrower CSR rows are taken to end in zeros. Raises ValueError on another width.
        """
        X = widen(X, self.n_features)
        if X.shape[1] != self.n_features:
            raise ValueError(f'expected rows of {self.n_features} features, found rows of {X.shape[1]}')
        pairs = self.pairs
        scores = np.zeros((X.shape[0], self.arrays['dual_coef'].shape[1]), order='F' if pairs else 'C')
        if not self.numeric:
            scores += self.arrays['intercept']
        step = int(min(max(TILE_BYTES // (8 * self.n_features), 1), TILE_ROWS))
        for start in range(0, X.shape[0], step):
            Z, part = self.scale(X[start : start + step]), scores[start : start + step]
            if pairs:
                pairs.add_product(Z, scores.T, start)
            else:
                self.tiles.add_product(separate(Z, self.support_vectors), self.arrays['dual_coef'], part)
        if self.numeric:
            scores += self.arrays['intercept']  # the mean of targets: added first, it would round every other term
        return scores

    @cached_property
    def pairs(self) -> PairProduct | None:
        """Return the PairProduct of machines of pairs, or None, also where a product with all is as fast."""
        # of pairs most coefficients are 0: of up to 10,000, one product with all of them is faster
        dual_coef, groups = self.arrays['dual_coef'], []
        if self.scheme == ONE_VS_ONE and dual_coef.size > 10_000:
            groups = group_coefficients(dual_coef, len(self.classes))
        if groups:
            return PairProduct(self.support_vectors, self.kernel, dual_coef, groups)
        return None

    def scale(self, X: Rows) -> Rows:
        """Scale rows, and let them pass the metric."""
        Z = scale_rows(X, self.arrays['feature_offset'], self.arrays['feature_scale'])
        return apply_metric(Z, self.arrays.get('feature_metric'))


def separate(A: Rows, B: Rows) -> Rows:
    """Return A, or a copy if it shares memory with B: BLAS has a routine for A @ A.T that rounds differently."""
    if type(A) is type(B) is np.ndarray and np.may_share_memory(A, B):
        return A.copy()
    return A
