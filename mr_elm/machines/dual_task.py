"""Describe a dual training to its tasks: one file with the classes, the kernel or nodes, the scaling and the solver."""
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mr_elm.features.kernels import KERNELS, make_kernel
from mr_elm.io.store import load_arrays, save_arrays
from mr_elm.machines.dual import Machine
from mr_elm.machines.gathering import Rows
from mr_elm.machines.sphere import SphereMachine
from mr_elm.models import layer_of
from mr_elm.solvers.box.box_qp import Settings
from mr_elm.solvers.ridge.esvm import row_weights
from mr_elm.solvers.shared.multiclass import ONE_VS_ALL, class_pairs, machine_count

CERTIFICATE = ('objective', 'gap', 'violation', 'n_iter', 'n_kernel_rows', 'seconds', 'converged', 'intercept')
MACHINES = {'sphere-svm': SphereMachine}  # methods that are not a Machine of the box-constrained dual


@dataclass(frozen=True)
class TrainedMachine:
    """Hold what training one machine gave.

    certificate : what the Result says of itself, and the warnings that came with it; fit for JSON.
    support : Rows with alpha > 0, as they were read. coefficients : (n_support,), t_i alpha_i.
    beta : (L,) output weights of explicit nodes, else None.
    """

    certificate: dict
    support: Rows
    coefficients: np.ndarray
    beta: np.ndarray | None


@dataclass(frozen=True)
class DualProblem:
    """Know which machines there are, which rows each sees, and how it is trained.

    header : method, index (label -> class number; None where labels are targets), n_classes, class_weights (label ->
        weight, or None), partitions, and parameters: kernel, normalised and its parameters, or map; C, rule, eps,
        max_iter, cache_bytes, seed, multiclass.
    arrays : feature_offset, feature_scale, and hidden nodes where the kernel is explicit.
    """

    header: dict
    arrays: dict

    @property
    def parameters(self):
        """Return the parameters of the training, as in a model's header."""
        return self.header['parameters']

    @property
    def n_features(self):
        """Return the width of the rows."""
        return len(self.arrays['feature_offset'])

    @property
    def n_classes(self):
        """Return the number of classes."""
        return self.header['n_classes']

    @property
    def partitions(self):
        """Return into how many parts the rows of a machine are cut."""
        return self.header['partitions']

    @property
    def one_vs_all(self):
        """Tell whether a machine is a class against all others, and not a pair of classes."""
        return self.n_classes > 2 and self.parameters['multiclass'] == ONE_VS_ALL

    @property
    def n_machines(self):
        """Return how many two-class machines there are."""
        return machine_count(self.n_classes, self.parameters['multiclass'])

    @cached_property
    def machine(self):
        """Return the Machine: how each of them is trained."""
        return self.machine_with({})

    def machine_with(self, changes):
        """Return a Machine with some parameters changed."""
        given = {**self.parameters, **changes}
        settings = Settings(given['eps'], given['max_iter'], given['cache_bytes'], seed=given['seed'])
        kernel, layer = None, None
        if 'kernel' in given:
            names = KERNELS[given['kernel']].parameters
            kernel = make_kernel(given['kernel'], normalised=given['normalised'],
                                 **{name: given.get(name) for name in names})
        else:
            layer = layer_of(self.parameters, self.arrays)
        kind = MACHINES.get(self.header['method'], Machine)
        return kind(kernel, layer, self.arrays['feature_offset'], self.arrays['feature_scale'], given['C'],
                    given['rule'], settings)

    def class_numbers(self, block):
        """Return the class number, or the target, of each row of a block, (n,)."""
        if self.header['index'] is None:
            return block.targets
        return np.array([self.header['index'][name] for name in block.names])[block.codes]

    def row_weights(self, block):
        """Return the weight of each row of a block, (n,): its own times that of its class."""
        weights = row_weights(block, self.header['class_weights'])
        return np.ones(len(block)) if weights is None else weights

    def seen_by(self, machine, numbers):
        """Tell which rows, by their class numbers, a machine trains on: a mask (n,)."""
        if self.one_vs_all:
            return np.ones(len(numbers), bool)
        return np.isin(numbers, class_pairs(self.n_classes)[machine])

    def targets(self, machine, numbers):
        """Return +1 for rows of the machine's positive class and -1 for others, (n,)."""
        positive = machine if self.one_vs_all else class_pairs(self.n_classes)[machine][1]
        return np.where(numbers == positive, 1.0, -1.0)

    def solve(self, machine, rows, report=None):
        """Train a machine on Rows, all of which it sees; returns a TrainedMachine. report : see Settings."""
        targets = self.targets(machine, rows.numbers)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            result = self.machine.solve(self.machine.place(rows.X), targets, rows.weights, report)
        used = np.flatnonzero(result.alpha)
        facts = {name: np.asarray(getattr(result, name)).item() for name in CERTIFICATE}
        facts |= {'n_rows': len(rows), 'n_support': len(used), 'alpha_sum': float(result.alpha.sum()),
                  'warnings': [[warning.category.__name__, str(warning.message)] for warning in caught]}
        return TrainedMachine(facts, rows.take(used), (result.alpha * targets)[used], getattr(result, 'beta', None))

    def save(self, path):
        """Write the file."""
        save_arrays(path, self.header, self.arrays)


def load_problem(path):
    """Read what `DualProblem.save` wrote."""
    return DualProblem(*load_arrays(path))
