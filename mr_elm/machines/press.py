"""Judge each row of a training as if it had not been there, without training again: PRESS.

    t_i - f_(i)(x_i) = (t_i - f(x_i)) / (1 - h_i),  h_i = w_i e_i'(I/nu + E'WE)^-1 e_i

f_(i) is the machine of all rows but i, e_i the row's expansion, w_i its weight, h_i its leverage.

Source: Allen, The relationship between variable selection and data augmentation and a method for prediction, 1974.
"""
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mr_elm.errors import DataFormatError
from mr_elm.io.blocks import Block, widen
from mr_elm.models import HiddenNodeModel, NodeModel
from mr_elm.solvers.ridge.regularized import factor_ridge
from mr_elm.solvers.shared.multiclass import class_targets
from mr_elm.sums.gram import expand, unpack_upper
from mr_elm.typing import Floats


@dataclass(frozen=True)
class LeaveOneOut:
    """Predict the rows of a training by the model of all other rows.

    model : HiddenNodeModel of pesvm or elm, with its sums. factor : (m, m), lower factor of I/nu + E'E.
    """

    model: HiddenNodeModel
    factor: np.ndarray

    @classmethod
    def of(cls, model: HiddenNodeModel) -> 'LeaveOneOut':
        """Factor the sums of a model. Raises ValueError when nu is too large for their rounding errors."""
        parameters, gram = model.header.parameters, unpack_upper(model.arrays['gram'])
        if model.header.method == 'elm':
            gram = gram[:-1, :-1]
        factor = factor_ridge(gram, 1 / parameters.get('nu', parameters.get('C')))
        if factor is None:
            raise ValueError("expected a smaller nu: I/nu + E'E is not positive definite in floating point")
        return cls(model, factor)

    def decision_function(self, block: Block) -> Floats:
        """Return decision values of each row of a Block, (n, K)."""
        X = widen(block.X, self.model.n_features)
        E = expand(self.model.layer, X)
        left, T = 1 - self.leverages(E, block.weights), self.targets(block)
        return T - (T - E @ self.model.arrays['output_weights']) / left[:, None]

    def leverages(self, E: Floats, weights: Floats | None = None) -> Floats:
        """Return h_i of each row of E, (n,)."""
        half = solve_triangular(self.factor, E[:, :len(self.factor)].T, lower=True, check_finite=False)
        squares = np.einsum('ij,ij->j', half, half)
        return squares if weights is None else squares * weights

    def targets(self, block: Block) -> Floats:
        """Return T, (n, K): numbers, or +-1 as they were trained. Raises DataFormatError for a class never seen."""
        if self.model.numeric:
            return block.targets[:, None]
        names = [self.model.class_of(name) for name in block.names]
        if unknown := sorted(set(names) - set(self.model.classes)):
            raise DataFormatError(f'expected rows that the model was trained on, found rows of class {unknown[0]!r}')
        codes = np.array([self.model.classes.index(name) for name in names])[block.codes]
        return class_targets(codes, len(self.model.classes))


@dataclass(frozen=True)
class LeaveOneOutModel:
    """Predict the rows of a training by the model of all other rows, also where it is the mean of several machines."""

    model: NodeModel
    machines: list[LeaveOneOut]

    @classmethod
    def of(cls, model: NodeModel) -> 'LeaveOneOutModel':
        """Factor the sums of each machine. Raises ValueError when a nu is too large for their rounding errors."""
        return cls(model, [LeaveOneOut.of(member) for member in model.members])

    def predict(self, block: Block) -> np.ndarray:
        """Return a class number, or for a regression a number, for each row of a Block."""
        return self.model.decide(np.mean([machine.decision_function(block) for machine in self.machines], axis=0))
