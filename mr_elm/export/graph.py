"""Write the decision values of machines as a graph of ONNX, by operators that onnxruntime has for float64."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from mr_elm import sparse as sp
from mr_elm.export.machines import Writer
from mr_elm.features.forest import Forest
from mr_elm.model.base import PRESENCE_THRESHOLD
from mr_elm.typing import Floats, Rows

OWN = '/'  # what our names begin with, and those of columns do not
OPERATORS = {
    '+': 'Add',
    '-': 'Sub',
    '*': 'Mul',
    '/': 'Div',
    'power': 'Pow',
    'exp': 'Exp',
    'root': 'Sqrt',
    'abs': 'Abs',
    'sigmoid': 'Sigmoid',
    'tanh': 'Tanh',
    'sine': 'Sin',
    'relu': 'Relu',
}


class Graph(Writer):
    """Collect operators and constants. Values are names of arrays (N, k).

    single : whether the rows come in float32. prefix : what our names begin with, unlike those of columns.
    """

    def __init__(self, single: bool = False, prefix: str = OWN) -> None:
        self.single, self.prefix = single, prefix
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
        name = f'{self.prefix}constant_{len(self.constants)}'
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
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

    def add_differences(self, Z: str, A: Floats) -> str:
        """Write the distances |z - a|_1, (N, L), feature by feature: that needs no more memory than the result."""
        body = Graph(prefix=f'{self.prefix}body_{len(self.nodes)}/')
        total, z, a = (f'{body.prefix}{name}' for name in ('total', 'z', 'a'))
        difference = body.put('Sub', body.put('Reshape', z, np.array([-1, 1])), a)
        result = body.put('Add', total, body.put('Abs', difference))
        total_in, z_in, a_in, total_out = (
            helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape)
            for name, shape in ((total, [None, None]), (z, [None]), (a, [None]), (result, [None, None]))
        )
        scanned = helper.make_graph(body.nodes, body.prefix, [total_in, z_in, a_in], [total_out], body.constants)
        n_rows = self.put('Shape', Z, start=0, end=1)
        zeros = self.put('Expand', 0.0, self.put('Concat', n_rows, np.array([len(A)]), axis=0))
        return self.put('Scan', zeros, Z, A, body=scanned, num_scan_inputs=2, scan_input_axes=[1, 1])

    def apply(self, kind: str, *operands: Any) -> str:
        """Write a function of one or several values, number by number."""
        a, b, c = (*operands, None, None)[:3]
        if kind == 'hardlimit':
            return self.cast(self.put('GreaterOrEqual', a, 0.0), float)
        if kind == 'normalised':
            return self.put('Div', a, self.put('Where', self.put('Greater', b, 0.0), self.put('Sqrt', b), np.inf))
        if kind == 'squares':
            return self.put('Where', self.put('IsInf', b), b, self.put('Relu', a))
        if kind == 'distances':
            return self.put('Sqrt', self.put('Where', self.put('Less', a, b), 0.0, a))
        if kind == 'largest':
            return self.put('Where', self.put('Equal', a, b), c, -np.inf)
        return self.put(OPERATORS[kind], *operands)

    def total(self, values: str) -> str:
        """Write the sum of the values of a row, (N, 1)."""
        return self.put('ReduceSum', values, np.array([1]))

    def most(self, values: str) -> str:
        """Write the largest of the values of a row, (N, 1)."""
        return self.put('ReduceMax', values, np.array([1]))

    def fall(self, forest: Forest, X: str, B: Floats) -> str:
        """Write the sums over the trees of the weights of leaves: all rows fall through all trees, step by step.

        TreeEnsemble of ONNX answers in float32. A leaf is its own child, and no x is above its threshold.
        """
        inner, numbers = forest.features >= 0, np.arange(len(forest.features))
        features = np.where(inner, forest.features, 0).astype(np.int64)
        thresholds = np.where(inner, forest.thresholds, np.inf)
        if self.single:  # a number that equals a threshold still does when both are rounded
            thresholds = thresholds.astype(np.float32).astype(float)
        children = np.where(inner, forest.children, numbers).astype(np.int64)
        values = np.zeros((len(numbers), B.shape[1]))
        values[~inner] = B[forest.children[~inner]]
        compared = self.take(X, features[forest.roots], axis=1)
        nodes = self.put('Add', children[forest.roots], self._exceeds(compared, thresholds[forest.roots]))
        constants = [self.keep(each) for each in (features, thresholds, children)]
        for _ in range(forest.depths.max() - 1):
            where, limits, targets = (self.take(table, nodes) for table in constants)
            compared = self.put('GatherElements', X, where, axis=1)
            nodes = self.put('Add', targets, self._exceeds(compared, limits))
        return self.put('ReduceSum', self.take(values, nodes), np.array([1]), keepdims=0)

    def _exceeds(self, values: str, limits: Any) -> str:
        return self.cast(self.put('Greater', values, limits), np.int64)

    def precede(self, number: float, values: str) -> str:
        """Write a number before one value, (N, 2)."""
        return self.put('Pad', values, np.array([0, 1, 0, 0]), number)

    def pick(self, values: str, number: int) -> str:
        """Write one of several values, (N, 1)."""
        return self.take(values, np.array([number]), axis=1)

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
