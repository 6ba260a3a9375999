"""Write the decision values of machines as a graph of ONNX, by operators that onnxruntime has for float64."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from mr_elm import sparse as sp
from mr_elm.export.machines import Writer
from mr_elm.features.forest import Forest
from mr_elm.features.kernels import ROUNDING, row_squares
from mr_elm.features.nodes import NODES
from mr_elm.model.base import PRESENCE_THRESHOLD, Model
from mr_elm.model.models import HiddenNodeModel
from mr_elm.typing import Floats, Rows

OWN = '/'  # what our names begin with, and those of columns do not
OPERATORS = {'sigmoid': 'Sigmoid', 'tanh': 'Tanh', 'sine': 'Sin', 'relu': 'Relu', 'exp': 'Exp', 'root': 'Sqrt'}
MAX_SINGLE_NORM = 50.0  # norm of the weights of a machine whose scores float32 spoils by less than 1e-4


class Graph(Writer):
    """Collect operators and constants. real : the type of all numbers that are not whole, float64 or float32.

    Values are names of arrays (N, k). prefix : what our names begin with, unlike those of columns.
    """

    def __init__(self, real: Any = np.float64, prefix: str = OWN) -> None:
        self.real, self.prefix = np.dtype(real), prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def put(self, kind: str, *inputs: Any, domain: str = '', **attributes: Any) -> str:
        """Add an operator and return the name of its output. inputs : names, or values that become constants."""
        names = [each if isinstance(each, str) else self.keep(each) for each in inputs]
        output = f'{self.prefix}{kind}_{len(self.nodes)}'
        self.nodes.append(helper.make_node(kind, names, [output], domain=domain, **attributes))
        return output

    def keep(self, values: Any) -> str:
        """Add a constant and return its name. values : numbers, or an array of objects that are texts."""
        values = np.asarray(values)
        if values.dtype.kind == 'f':
            values = values.astype(self.real)
        name = f'{self.prefix}constant_{len(self.constants)}'
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def cast(self, values: str, kind: Any) -> str:
        """Turn values into another type."""
        return self.put('Cast', values, to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def take(self, values: Any, numbers: Any, axis: int = 0) -> str:
        """Take some of the values along an axis."""
        return self.put('Gather', values, numbers, axis=axis)

    def multiply(self, Z: str, W: Rows, b: Floats) -> str:
        """Write Z W' + b, (N, L): of CSR rows W without the columns that hold no number."""
        columns = None
        if sp.issparse(W):
            columns = sp.find_columns(W)
        if columns is not None:
            Z, W = self.take(Z, columns.astype(np.int64), axis=1), sp.take_columns(W, columns)
        return self.add(self.put('MatMul', Z, np.ascontiguousarray(sp.expand(W).T)), b)

    def measure(self, Z: str, A: Rows, norm: int, takes_root: bool) -> str:
        """Write distances, (N, L).

        The root of a square that float32 has computed by cancellation would be wrong: there differences are added up.
        """
        if norm == 1:
            return self._sum_differences(Z, sp.expand(A), 'Abs')
        if takes_root and self.real == np.float32:
            return self.put('Sqrt', self._sum_differences(Z, sp.expand(A), 'Mul'))
        squares, row_norms = self.square(Z), row_squares(A)
        D = self.put('Max', self.put('Add', self.multiply(Z, -2 * A, row_norms), squares), 0.0)
        if takes_root:
            equal = self.put('LessOrEqual', D, self.put('Mul', self.add(squares, row_norms), ROUNDING))
            D = self.put('Where', equal, 0.0, D)
        D = self.put('Where', self.put('IsInf', squares), squares, D)
        if takes_root:
            return self.put('Sqrt', D)
        return D

    def _sum_differences(self, Z: str, A: Floats, kind: str) -> str:
        """Return the sum over the features of |z - a|, or of its square, (N, L), feature by feature.

        It needs no more memory than the result. kind : Abs, or Mul for squares.
        """
        real, last = helper.np_dtype_to_tensor_dtype(self.real), f'{self.prefix}body_{len(self.nodes)}'
        names = [f'{last}_{name}' for name in ('total', 'z', 'a', 'column', 'difference', 'size', 'sum', 'shape')]
        total, z, a, column, difference, size, result, shape = names
        nodes = [
            helper.make_node('Reshape', [z, shape], [column]),
            helper.make_node('Sub', [column, a], [difference]),
            helper.make_node(kind, [difference] * (2 if kind == 'Mul' else 1), [size]),
            helper.make_node('Add', [total, size], [result]),
        ]
        total_in, z_in, a_in, total_out = (
            helper.make_tensor_value_info(name, real, dimensions)
            for name, dimensions in ((total, [None, None]), (z, [None]), (a, [None]), (result, [None, None]))
        )
        body = helper.make_graph(
            nodes, last, [total_in, z_in, a_in], [total_out], [numpy_helper.from_array(np.array([-1, 1]), shape)]
        )
        n_rows = self.put('Shape', Z, start=0, end=1)
        zeros = self.put('Expand', 0.0, self.put('Concat', n_rows, np.array([len(A)]), axis=0))
        return self.put('Scan', zeros, Z, A, body=body, num_scan_inputs=2, scan_input_axes=[1, 1])

    def activate(self, kind: str, values: str) -> str:
        """Write a function of values; onnxruntime has no cosine of float64: cos(z) = sin(z + pi/2)."""
        if kind == 'rff':
            return self.put('Sin', self.put('Add', values, np.pi / 2))
        if kind == 'hardlimit':
            return self.cast(self.put('GreaterOrEqual', values, 0.0), self.real)
        if kind == 'squeeze':
            return self.put('Div', values, self.put('Mul', self.put('Add', self.put('Abs', values), 1.0), 3.0))
        return self.put(OPERATORS[kind], values)

    def power(self, values: str, degree: float) -> str:
        """Write values^degree."""
        return self.put('Pow', values, float(degree))

    def square(self, Z: str) -> str:
        """Write |z|^2, (N, 1)."""
        return self.put('ReduceSumSquare', Z, np.array([1]))

    def divide(self, values: str, squares: str) -> str:
        """Write values / sqrt(square), and 0 where the square is 0."""
        return self.put(
            'Div', values, self.put('Where', self.put('Greater', squares, 0.0), self.put('Sqrt', squares), np.inf)
        )

    def fall(self, forest: Forest, X: str, B: Floats) -> str:
        """Write the sums over the trees of the weights of leaves: all rows fall through all trees, step by step.

        TreeEnsemble of ONNX answers in float32. A leaf is its own child, and no x is above its threshold.
        """
        inner, numbers = forest.features >= 0, np.arange(len(forest.features))
        features = np.where(inner, forest.features, 0).astype(np.int64)
        thresholds = np.where(inner, forest.thresholds, np.inf)
        children = np.where(inner, forest.children, numbers).astype(np.int64)
        values = np.zeros((len(numbers), B.shape[1]))
        values[~inner] = B[forest.children[~inner]]
        compared = self.take(X, features[forest.roots], axis=1)
        nodes: Any = self.put('Add', children[forest.roots], self._exceeds(compared, thresholds[forest.roots]))
        constants = [self.keep(each) for each in (features, thresholds, children)]
        for _ in range(forest.depths.max() - 1):
            where, limits, targets = (self.take(table, nodes) for table in constants)
            compared = self.put('GatherElements', X, where, axis=1)
            nodes = self.put('Add', targets, self._exceeds(compared, limits))
        return self.put('ReduceSum', self.take(values, nodes), np.array([1]), keepdims=0)

    def _exceeds(self, values: str, limits: Any) -> str:
        return self.cast(self.put('Greater', values, limits), np.int64)

    def operate(self, sign: str, values: str, others: Any) -> str:
        """Write values + others, or values * others. others : values, or numbers (k,)."""
        return self.put({'+': 'Add', '*': 'Mul'}[sign], values, others)

    def precede(self, number: float, values: str) -> str:
        """Write a number before one value, (N, 2)."""
        return self.put('Pad', values, np.array([0, 1, 0, 0]), number)

    def pick(self, values: str, number: int) -> str:
        """Write one of several values, (N, 1)."""
        return self.take(values, np.array([number]), axis=1)

    def keep_largest(self, votes: str, values: str) -> str:
        """Write the values whose votes are the most of a row, and below all others where they are not, (N, k)."""
        most = self.put('ReduceMax', votes, np.array([1]))
        return self.put('Where', self.put('Equal', votes, most), values, -np.inf)

    def softmax(self, values: str) -> str:
        """Write e^f / sum e^f, (N, k)."""
        return self.put('Softmax', values, axis=1)

    def choose(self, values: str, names: Any) -> str:
        """Write the name of the largest value, the first of equal ones, (N,). names : texts, or whole numbers."""
        return self.take(np.asarray(names), self.put('ArgMax', values, axis=1, keepdims=0))

    def join_names(self, scores: str, names: Sequence[str], separator: str) -> str:
        """Write the names of the labels whose score is above PRESENCE_THRESHOLD, (N,)."""
        texts = np.array(names, object)
        present = self.put('Greater', scores, PRESENCE_THRESHOLD)
        before = self.put('CumSum', self.cast(present, np.int64), np.array(1), exclusive=1)
        later = self.put('Where', self.put('Greater', before, np.array(0)), separator + texts, texts)
        pieces = self.put('Where', present, later, np.array('', object))
        label = self.take(pieces, np.array(0), axis=1)
        for k in range(1, len(names)):
            label = self.put('StringConcat', label, self.take(pieces, np.array(k), axis=1))
        return label


def suits_single(model: Model) -> bool:
    """Tell whether float32 computes decision values to about 1e-4: of bounded nodes, and weights of about 1.

    Rounding errors of values of about 1 are independent: they add up to about 1e-7 |B| and a few times of it at most.
    """

    def suits(machine: Any) -> bool:
        if isinstance(machine, HiddenNodeModel):
            bounded, weights = NODES[machine.layer.kind].bounded, machine.arrays['output_weights'][:-1]
        else:
            bounded, weights = bool(machine.kernel.kind.exponent), machine.arrays['dual_coef']
        return bounded and bool(np.linalg.norm(weights, axis=0).max(initial=0.0) < MAX_SINGLE_NORM)

    return not model.numeric and all(map(suits, model.members))
