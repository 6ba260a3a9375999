"""Write the decision values of machines as operators of ONNX, in the types that onnxruntime knows for float64."""
from dataclasses import replace
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.export.graph import Graph
from mr_elm.features.forest import Forest
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernels import ROUNDING, Kernel, invert_root, row_squares
from mr_elm.features.nodes import NODES
from mr_elm.model.base import Model
from mr_elm.model.models import HiddenNodeModel, KernelModel
from mr_elm.model.parts import spread_scaling
from mr_elm.typing import Floats, Rows

# onnxruntime has no cosine of float64: cos(z) = sin(z + pi/2)
PROJECTIONS = {'sigmoid': 'Sigmoid', 'tanh': 'Tanh', 'sine': 'Sin', 'rff': 'Sin', 'relu': 'Relu'}
LARGEST = 50.0  # norm of the weights of a machine whose scores float32 spoils by less than 1e-4


def write_scores(graph: Graph, model: Model, X: str) -> str:
    """Write decision values, (N, P). X : rows of features, (N, d). Raises ValueError for an unknown machine."""
    parts = [write_machine(graph, machine, X) for machine in model.members]
    return parts[0] if len(parts) == 1 else graph.add('Div', graph.add('Sum', *parts), float(len(parts)))


def write_machine(graph: Graph, machine: Model, X: str) -> str:
    """Write the decision values of one machine."""
    if isinstance(machine, HiddenNodeModel):
        layer, B = machine.layer, machine.arrays['output_weights']
        values = write_nodes(graph, layer.nodes, X, B[layer.n_leaves:-1])
        if layer.forest is not None:
            values = graph.add('Add', values, write_leaves(graph, layer.forest, X, B[:layer.n_leaves]))
        return graph.add('Sub', values, B[-1])
    if not isinstance(machine, KernelModel):
        raise ValueError(f'export: expected machines of hidden nodes or support vectors, found {machine}')
    Z = scale_rows(graph, X, *spread_scaling(machine.arrays, machine.n_features))
    Z = pass_metric(graph, Z, machine.arrays.get('feature_metric'))
    values = write_kernel(graph, machine.kernel, Z, machine.support_vectors, machine.arrays['dual_coef'])
    return graph.add('Add', values, machine.arrays['intercept'])


def scale_rows(graph: Graph, X: str, offset: Floats, scale: Floats) -> str:
    """Write (x - offset) * scale."""
    Z = graph.add('Sub', X, offset) if offset.any() else X
    return graph.add('Mul', Z, scale) if (scale != 1).any() else Z


def pass_metric(graph: Graph, Z: str, metric: Floats | None) -> str:
    """Write A z."""
    if metric is None:
        return Z
    return graph.add('Mul', Z, metric) if metric.ndim == 1 else graph.add('MatMul', Z, metric.T)


def write_nodes(graph: Graph, layer: HiddenLayer, X: str, B: Floats) -> str:
    """Write Phi(x) B of nodes that are no leaves. B : (L, K)."""
    Z, node, kind = scale_rows(graph, X, layer.offset, layer.scale), NODES[layer.kind], layer.kind
    if kind == 'identity':
        return graph.add('Add', graph.add('MatMul', Z, layer.projections.T @ B), layer.biases @ B)
    if node.family == 'distance':
        D = write_distances(graph, pass_metric(graph, Z, layer.metric), layer.weights, node.norm, node.takes_root)
        return graph.add('MatMul', write_function(graph, kind, D, layer.biases), B)
    biases = layer.biases + np.pi / 2 if kind == 'rff' else layer.biases
    activations = graph.add('Add', graph.add('MatMul', Z, layer.projections.T), biases)
    if kind == 'hardlimit':
        values = graph.cast(graph.add('GreaterOrEqual', activations, 0.0), graph.real)
    elif kind in PROJECTIONS:
        values = graph.add(PROJECTIONS[kind], activations)
    else:
        raise ValueError(f'export: expected nodes of kind {", ".join(PROJECTIONS)}, found {kind}')
    return graph.add('MatMul', values, B)


def write_function(graph: Graph, kind: str, D: str, widths: Floats) -> str:
    """Write the values of nodes that are a function of a distance."""
    if kind == 'multiquadric':
        return graph.add('Sqrt', graph.add('Add', D, widths**2))
    return graph.add('Exp', graph.add('Div', D, -widths))


def write_distances(graph: Graph, Z: str, A: Rows, norm: int, takes_root: bool) -> str:
    """Write the distances of rows Z (N, d) and centres A (L, d): |z - a|_1, |z - a|, or |z - a|^2 without a root.

    The root of a square that float32 has computed by cancellation would be wrong: there differences are added up.
    """
    if norm == 1:
        return graph.sum_differences(Z, sp.expand(A), 'Abs')
    if takes_root and graph.real == np.float32:
        return graph.add('Sqrt', graph.sum_differences(Z, sp.expand(A), 'Mul'))
    squares = graph.add('ReduceSumSquare', Z, np.array([1]))
    sums = graph.add('Add', squares, row_squares(A))
    D = graph.add('Max', graph.add('Add', multiply(graph, Z, -2 * A), sums), 0.0)
    if takes_root:
        equal = graph.add('LessOrEqual', D, graph.add('Mul', sums, ROUNDING))
        D = graph.add('Where', equal, 0.0, D)
    D = graph.add('Where', graph.add('IsInf', squares), squares, D)
    return graph.add('Sqrt', D) if takes_root else D


def multiply(graph: Graph, Z: str, A: Rows) -> str:
    """Write Z A' of rows Z (N, d) and A (L, d): of CSR rows A without the columns that hold no number."""
    columns = sp.find_columns(A) if sp.issparse(A) else None
    if columns is not None:
        Z, A = graph.take(Z, columns.astype(np.int64), axis=1), sp.take_columns(A, columns)
    return graph.add('MatMul', Z, np.ascontiguousarray(sp.expand(A).T))


def write_kernel(graph: Graph, kernel: Kernel, Z: str, A: Rows, coefficients: Floats) -> str:
    """Write K(z, A) coefficients, (N, P). A linear machine has one weight a feature, however many rows A has."""
    if kernel.kind.of_distance:
        if not kernel.kind.exponent:
            raise ValueError(f'export: expected a kernel that graphs know, found {kernel.name}')
        D = write_distances(graph, Z, A, 2, kernel.takes_root)
        return graph.add('MatMul', graph.add('Exp', graph.add('Mul', D, -kernel.factor)), coefficients)
    if kernel.normalised:
        own = replace(kernel, normalised=False).diagonal(row_squares(A))
        coefficients = coefficients * invert_root(own)[:, None]
    if kernel.name == 'linear':
        values = graph.add('MatMul', Z, np.asarray(A.T @ coefficients))
    else:
        values = graph.add('MatMul', write_power(graph, kernel, multiply(graph, Z, A)), coefficients)
    if not kernel.normalised:
        return values
    square = write_power(graph, kernel, graph.add('ReduceSumSquare', Z, np.array([1])))
    size = graph.add('Where', graph.add('Greater', square, 0.0), graph.add('Sqrt', square), np.inf)
    return graph.add('Div', values, size)


def write_power(graph: Graph, kernel: Kernel, P: str) -> str:
    """Write the kernel of inner products."""
    if kernel.name == 'linear':
        return P
    if kernel.name != 'polynomial':
        raise ValueError(f'export: expected a kernel that graphs know, found {kernel.name}')
    return graph.add('Pow', graph.add('Add', P, 1.0), float(kernel.factor))


def write_leaves(graph: Graph, forest: Forest, X: str, B: Floats) -> str:
    """Write the sums over the trees of the weights of leaves, (N, K): all rows fall through all trees, step by step.

    TreeEnsemble of ONNX answers in float32. A leaf is its own child, and no x is above its threshold.
    B : (n_leaves, K).
    """
    inner, numbers = forest.features >= 0, np.arange(len(forest.features))
    features = np.where(inner, forest.features, 0).astype(np.int64)
    thresholds = np.where(inner, forest.thresholds, np.inf)
    children = np.where(inner, forest.children, numbers).astype(np.int64)
    values = np.zeros((len(numbers), B.shape[1]))
    values[~inner] = B[forest.children[~inner]]
    nodes: Any = forest.roots
    compared = graph.take(X, features[nodes], axis=1)
    kept = [graph.keep(each) for each in (features, thresholds, children)]
    limits, targets = thresholds[nodes], children[nodes]
    for step in range(measure_depth(forest)):
        if step:
            compared = graph.add('GatherElements', X, graph.take(kept[0], nodes), axis=1)
            limits, targets = (graph.take(table, nodes) for table in kept[1:])
        nodes = graph.add('Add', targets, graph.cast(graph.add('Greater', compared, limits), np.int64))
    return graph.add('ReduceSum', graph.take(values, nodes), np.array([1]), keepdims=0)


def measure_depth(forest: Forest) -> int:
    """Return the largest number of comparisons on the way to a leaf, 1 at least."""
    depths = np.zeros(len(forest.features), int)
    for node in np.flatnonzero(forest.features >= 0):  # children stand behind their parents
        first = forest.children[node]
        depths[first:first + 2] = depths[node] + 1
    return max(1, int(depths.max()))


def suits_single(model: Model) -> bool:
    """Tell whether float32 computes decision values to about 1e-4: of bounded nodes, and weights of about 1.

    Rounding errors of values of about 1 are independent: they add up to about 1e-7 |B| and a few times of it at most.
    """
    def suits(machine: Any) -> bool:
        if isinstance(machine, HiddenNodeModel):
            bounded, weights = NODES[machine.layer.kind].bounded, machine.arrays['output_weights'][:-1]
        else:
            bounded, weights = bool(machine.kernel.kind.exponent), machine.arrays['dual_coef']
        return bounded and bool(np.linalg.norm(weights, axis=0).max(initial=0.0) < LARGEST)

    return not model.numeric and all(map(suits, model.members))
