"""Build a graph of ONNX: operators and constants, by names."""
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from mr_elm.typing import Floats

OPSET, ML_OPSET = 20, 3  # 20 is the first that joins strings
OWN = '/'  # what our names begin with, unlike those of columns


class Graph:
    """Collect operators and constants. real : the type of all numbers that are not whole, float64 or float32."""

    def __init__(self, real: Any = np.float64) -> None:
        self.real = np.dtype(real)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, *inputs: Any, domain: str = '', **attributes: Any) -> str:
        """Add an operator and return the name of its output. inputs : names, or values that become constants."""
        names = [each if isinstance(each, str) else self.keep(each) for each in inputs]
        output = f'{OWN}{kind}_{len(self.nodes)}'
        self.nodes.append(helper.make_node(kind, names, [output], domain=domain, **attributes))
        return output

    def keep(self, values: Any) -> str:
        """Add a constant and return its name. values : numbers, or an array of objects that are texts."""
        values = np.asarray(values)
        if values.dtype.kind == 'f':
            values = values.astype(self.real)
        name = f'{OWN}constant_{len(self.constants)}'
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def cast(self, values: str, kind: Any) -> str:
        """Turn values into another type."""
        return self.add('Cast', values, to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def take(self, values: Any, numbers: Any, axis: int = 0) -> str:
        """Take some of the values along an axis."""
        return self.add('Gather', values, numbers, axis=axis)

    def sum_differences(self, Z: str, A: Floats, kind: str) -> str:
        """Return the sum over the features of |z - a|, or of its square, (N, L), feature by feature.

        It needs no more memory than the result. Z : (N, d). A : (L, d). kind : Abs, or Mul for squares.
        """
        real = helper.np_dtype_to_tensor_dtype(self.real)
        last = f'{OWN}body_{len(self.nodes)}'
        names = [f'{last}_{name}' for name in ('total', 'z', 'a', 'column', 'difference', 'size', 'sum', 'shape')]
        total, z, a, column, difference, size, result, shape = names
        nodes = [helper.make_node('Reshape', [z, shape], [column]),
                 helper.make_node('Sub', [column, a], [difference]),
                 helper.make_node(kind, [difference] * (2 if kind == 'Mul' else 1), [size]),
                 helper.make_node('Add', [total, size], [result])]
        shapes = {total: [None, None], z: [None], a: [None]}
        body = helper.make_graph(
            nodes, last, [helper.make_tensor_value_info(name, real, shape) for name, shape in shapes.items()],
            [helper.make_tensor_value_info(result, real, [None, None])],
            [numpy_helper.from_array(np.array([-1, 1]), shape)])
        n_rows = self.add('Shape', Z, start=0, end=1)
        zeros = self.add('Expand', 0.0, self.add('Concat', n_rows, np.array([len(A)]), axis=0))
        return self.add('Scan', zeros, Z, A, body=body, num_scan_inputs=2, scan_input_axes=[1, 1])
