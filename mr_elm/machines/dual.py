"""Train one two-class machine on rows in memory: scale them, state the dual over a kernel or nodes, solve it.

    f(x) = sum_i a_i t_i K(z_i, z)   or   f(x) = h(x) beta,  beta = sum_i a_i t_i h(x_i)          symbols: box_qp
"""
from dataclasses import dataclass, replace

import numpy as np

from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernel_rows import kernel_rows
from mr_elm.features.kernels import Kernel
from mr_elm.features.scaling import scale_rows
from mr_elm.solvers.box.box_qp import BoxQP, Settings
from mr_elm.solvers.box.path import walk_path
from mr_elm.solvers.rules import solve_dual


@dataclass(frozen=True)
class Machine:
    """Say how a two-class machine is trained.

    kernel : Kernel on scaled rows, or None for the nodes of `layer`.
    layer : HiddenLayer, or None.
    offset, scale : (d,) of z = (x - offset) * scale; a layer has its own.
    C : > 0. rule : a solver of `dual.RULES`; nodes have one solver only.
    settings : Settings.
    """

    kernel: Kernel | None
    layer: HiddenLayer | None
    offset: np.ndarray
    scale: np.ndarray
    C: float
    rule: str
    settings: Settings

    def place(self, X):
        """Return what the dual is over: scaled rows for a kernel, node outputs (n, L) for nodes."""
        if self.kernel is not None:
            return scale_rows(X, self.offset, self.scale)
        return self.layer.evaluate(X, np.empty((X.shape[0], self.layer.n_hidden)))

    def solve(self, Z, targets, weights, report=None):
        """Solve the dual over placed rows Z; returns a Result, for nodes with beta.

        targets : (n,) of +1 and -1. weights : (n,) >= 0. report : see Settings.
        """
        settings = replace(self.settings, report=report)
        if self.kernel is not None:
            return solve_dual(BoxQP(kernel_rows(Z, self.kernel), targets, self.C, weights), self.rule, settings)
        from mr_elm.solvers.box.node_dual import solve_node_dual
        return solve_node_dual(Z, targets, self.C, weights, settings)

    def walk(self, *given):
        """Yield a PathPoint for every C of a list; see `path.walk_path`."""
        return walk_path(*given)

    def gap_over_all(self, certificate, loss, least):
        """Return the duality gap over all rows of a machine trained on some.

        certificate : objective, alpha_sum and gap of the training. loss : sum of C_i max(0, 1 - t_i f(x_i)) over all
        rows. least : the smallest t f(x) of rows it was not trained on, or 1.
        """
        return loss + 2 * certificate['objective'] + certificate['alpha_sum']
