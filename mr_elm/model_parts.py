"""Name the arrays of nodes and of support vectors as the model file does, and make nodes and vectors of them."""
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import ModelFormatError, write_value
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernels import make_kernel
from mr_elm.features.nodes import LANDMARK_NODES, MAPS, name_nodes
from mr_elm.model_checks import check_arrays, check_metric, name_landmark_kernel
from mr_elm.typing import Floats, Rows

DENSE_VALUES = 100_000_000  # support vectors of more values stay sparse


def vector_arrays(vectors: Rows) -> dict[str, np.ndarray]:
    """Name the arrays of support vectors as the model file does: CSR ones stay sparse when they are too many."""
    if not sp.issparse(vectors):
        return {'support_vectors': vectors}
    if vectors.shape[0] * vectors.shape[1] <= DENSE_VALUES:
        return {'support_vectors': vectors.toarray()}
    return {f'support_vectors_{part}': getattr(vectors, part) for part in ('data', 'indices', 'indptr')}


def vectors_of(arrays: Mapping[str, np.ndarray], n_features: int) -> Rows:
    """Undo `vector_arrays`."""
    if 'support_vectors' in arrays:
        return arrays['support_vectors']
    parts = tuple(arrays[f'support_vectors_{part}'] for part in ('data', 'indices', 'indptr'))
    return sp.csr_matrix(parts, shape=(len(parts[2]) - 1, n_features))


def join_arrays(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Put the arrays of several models into one dictionary: those of model k are called k/NAME."""
    return {f'{k}/{name}': array for k, part in enumerate(parts) for name, array in part.items()}


def take_arrays(arrays: Mapping[str, np.ndarray], k: int) -> dict[str, np.ndarray]:
    """Return the arrays of model k of those that `join_arrays` put together."""
    prefix = f'{k}/'
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def layer_of(parameters: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> HiddenLayer:
    """Build the HiddenLayer that the parameters and the arrays of a model describe."""
    map, kernel = parameters['map'], name_landmark_kernel(parameters)
    if map not in MAPS:
        raise ModelFormatError(f'expected a hidden layer of kind {", ".join(MAPS)}, found {write_value(map)}')
    if map == 'nystrom':
        weights = arrays['landmarks']
        biases = landmark_widths(kernel, len(weights), float(parameters['sigma']))
    else:
        weights, biases = arrays['hidden_weights'], arrays['hidden_biases']
    return HiddenLayer(name_nodes(map, kernel), weights, biases, arrays['feature_offset'], arrays['feature_scale'],
                       arrays.get('feature_metric'))


def scaling_arrays(offset: Floats, scale: Floats, metric: Floats | None = None) -> dict[str, np.ndarray]:
    """Name what rows pass, in this order, as the model file does: offset, scale, and a metric where there is one."""
    learned = {} if metric is None else {'feature_metric': metric}
    return {'feature_offset': offset, 'feature_scale': scale, **learned}


def landmark_widths(kernel: str, n_landmarks: int, sigma: float) -> Floats:
    """Return the widths (L,) of landmark nodes as these take them: exp(-r^2 / b), or exp(-r / b) of a Laplacian."""
    return np.full(n_landmarks, 2 * sigma**2 if kernel == 'gaussian' else sigma)


def describe_map(layer: HiddenLayer) -> dict[str, str]:
    """Return the parameters map and kernel of a model; see `name_landmark_kernel`."""
    kernel = next((name for name, kind in LANDMARK_NODES.items() if kind == layer.kind), None)
    named = {} if kernel in (None, 'gaussian') else {'kernel': kernel}
    return {'map': layer.kind if kernel is None else 'nystrom', **named}


def layer_arrays(layer: HiddenLayer) -> dict[str, np.ndarray]:
    """Name the arrays of a HiddenLayer as the model file does."""
    nodes = {'landmarks': layer.weights} if layer.kind in LANDMARK_NODES.values() else {
        'hidden_weights': layer.weights, 'hidden_biases': layer.biases}
    return {**scaling_arrays(layer.offset, layer.scale, layer.metric), **nodes}


def check_layer(parameters: Mapping[str, Any], arrays: Mapping[str, np.ndarray], n_features: int) -> None:
    """Raise KeyError, TypeError or ValueError when the parts of a HiddenLayer are missing or do not fit."""
    landmarks = parameters['map'] == 'nystrom'
    nodes = 'landmarks' if landmarks else 'hidden_weights'
    n_hidden = max(len(arrays[nodes]), 1)
    biases = {} if landmarks else {'hidden_biases': (n_hidden,)}
    check_arrays(arrays, {'feature_offset': (n_features,), 'feature_scale': (n_features,),
                          nodes: (n_hidden, check_metric(arrays, n_features)), **biases})
    if landmarks:
        check_landmarks(name_landmark_kernel(parameters), parameters['sigma'])


def check_landmarks(kernel: str, sigma: float) -> None:
    """Raise ValueError unless landmarks can have this kernel and this width."""
    if kernel not in LANDMARK_NODES:
        raise ValueError(f'kernel: expected one of {", ".join(LANDMARK_NODES)}, found {write_value(kernel)}')
    make_kernel('gaussian' if kernel == 'gaussian' else 'laplacian', sigma=sigma)  # both Laplacians have widths alike
