"""Name the arrays of nodes and of support vectors as the model file does, and make nodes and vectors of them."""
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from mr_elm.errors import ModelFormatError
from mr_elm.features.hidden import NODES, HiddenLayer
from mr_elm.features.kernels import make_kernel
from mr_elm.model_checks import check_arrays, check_metric
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


def layer_of(parameters: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> HiddenLayer:
    """Build the HiddenLayer that the parameters and the arrays of a model describe."""
    kind = parameters['map']
    if kind not in NODES:
        raise ModelFormatError(f'expected a hidden layer of kind {", ".join(NODES)}, found {kind!r}')
    if kind == 'nystrom':
        weights = arrays['landmarks']
        biases = np.full(len(weights), 2 * float(parameters['sigma'])**2)
    else:
        weights, biases = arrays['hidden_weights'], arrays['hidden_biases']
    return HiddenLayer(kind, weights, biases, arrays['feature_offset'], arrays['feature_scale'],
                       arrays.get('feature_metric'))


def scaling_arrays(offset: Floats, scale: Floats, metric: Floats | None = None) -> dict[str, np.ndarray]:
    """Name what rows pass, in this order, as the model file does: offset, scale, and a metric where there is one."""
    learned = {} if metric is None else {'feature_metric': metric}
    return {'feature_offset': offset, 'feature_scale': scale, **learned}


def layer_arrays(layer: HiddenLayer) -> dict[str, np.ndarray]:
    """Name the arrays of a HiddenLayer as the model file does."""
    nodes = {'landmarks': layer.weights} if layer.kind == 'nystrom' else {
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
        make_kernel('gaussian', sigma=parameters['sigma'])
