"""Name the arrays of nodes and of support vectors as the model file does, and make nodes and vectors of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mr_elm import sparse as sp
from mr_elm.errors import ModelFormatError, demand_choice, write_value
from mr_elm.features.forest import Forest
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.kernels import KERNELS, Kernel, make_kernel
from mr_elm.features.nodes import BEFORE, LANDMARK_NODES, LEAVES, MAPS, has_leaves, name_nodes, part_map
from mr_elm.model.checks import (
    PARTS,
    check_arrays,
    check_metric,
    check_scaling,
    check_vectors,
    demand,
)
from mr_elm.typing import Floats, Rows

VECTORS, LANDMARKS = 'support_vectors', 'landmarks'
TREES = 'tree_features', 'tree_thresholds', 'tree_children', 'tree_roots'


def vector_arrays(vectors: Rows, name: str = VECTORS) -> dict[str, np.ndarray]:
    """Name the arrays of rows that a model keeps as the model file does: CSR ones stay sparse where this is smaller."""
    vectors = sp.shrink(vectors)
    if not sp.issparse(vectors):
        return {name: vectors}
    return {f'{name}_{part}': getattr(vectors, part) for part in PARTS}


def vectors_of(arrays: Mapping[str, np.ndarray], n_features: int, name: str = VECTORS) -> Rows:
    """Undo `vector_arrays`."""
    if name in arrays:
        return arrays[name]
    parts = tuple(arrays[f'{name}_{part}'] for part in PARTS)
    return sp.csr_matrix(parts, shape=(len(parts[2]) - 1, n_features))


def join_arrays(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Put the arrays of several models into one dictionary: those of model k are called k/NAME."""
    return {f'{k}/{name}': array for k, part in enumerate(parts) for name, array in part.items()}


def take_arrays(arrays: Mapping[str, np.ndarray], k: int) -> dict[str, np.ndarray]:
    """Return the arrays of model k of those that `join_arrays` put together."""
    prefix = f'{k}/'
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def layer_of(parameters: Mapping[str, Any], arrays: Mapping[str, np.ndarray], n_features: int) -> HiddenLayer:
    """Build the HiddenLayer that the parameters and the arrays of a model describe."""
    map, kernel, metric = parameters['map'], parameters.get('kernel', 'gaussian'), arrays.get('feature_metric')
    forest = None
    if has_leaves(map):
        forest = find_forest(arrays)
    others = part_map(map)
    if others not in MAPS and map != LEAVES:
        raise ModelFormatError(f'expected a hidden layer of kind {", ".join(MAPS)}, found {write_value(map)}')
    if others == '':
        weights, biases = np.zeros((0, n_features)), np.zeros(0)
    elif others == 'nystrom':
        weights = vectors_of(arrays, n_features if metric is None else len(metric), LANDMARKS)
        biases = landmark_widths(kernel, weights.shape[0], float(parameters['sigma']))
    else:
        weights, biases = arrays['hidden_weights'], arrays['hidden_biases']
    return HiddenLayer(name_nodes(map, kernel), weights, biases, *spread_scaling(arrays, n_features), metric, forest)


def kernel_of(parameters: Mapping[str, Any]) -> Kernel:
    """Return the Kernel that the parameters of a model describe. Raises ValueError when they name none."""
    name = parameters['kernel']
    allowed: tuple[str, ...] = ()
    if name in KERNELS:
        allowed = KERNELS[name].parameters
    values = {each: parameters.get(each) for each in allowed}
    return make_kernel(name, normalised=parameters.get('normalised', False), **values)


def spread_scaling(arrays: Mapping[str, np.ndarray], n_features: int) -> tuple[Floats, Floats]:
    """Return offset and scale of each feature, (d,) both."""
    offset, scale = (np.array(np.broadcast_to(arrays[f'feature_{name}'], n_features)) for name in ('offset', 'scale'))
    return offset, scale


def scaling_arrays(offset: Floats, scale: Floats, metric: Floats | None = None) -> dict[str, np.ndarray]:
    """Name what rows pass, in this order, as the model file does: offset, scale, and a metric where there is one.

    offset, scale : (d,), or () where all are equal.
    """
    arrays = {'feature_offset': offset, 'feature_scale': scale}
    for name, values in arrays.items():
        if values.size and (values == values.flat[0]).all():  # one number stands for all
            arrays[name] = np.array(values.flat[0])
    if metric is not None:
        arrays['feature_metric'] = metric
    return arrays


def landmark_widths(kernel: str, n_landmarks: int, sigma: float) -> Floats:
    """Return the widths (L,) of landmark nodes as these take them: exp(-r^2 / b), or exp(-r / b) of a Laplacian."""
    return np.full(n_landmarks, 2 * sigma**2 if kernel == 'gaussian' else sigma)


def describe_map(layer: HiddenLayer) -> dict[str, str]:
    """Return the parameters map and kernel of a model; Gaussian landmarks need not name theirs."""
    kernel = next((name for name, kind in LANDMARK_NODES.items() if kind == layer.kind), None)
    if kernel in (None, 'gaussian'):
        named = {}
    else:
        named = {'kernel': kernel}
    map = 'nystrom'
    if kernel is None:
        map = layer.kind
    if layer.forest is not None:
        if len(layer.biases):
            map = BEFORE + map
        else:
            map = LEAVES
    return {'map': map, **named}


def layer_arrays(layer: HiddenLayer) -> dict[str, np.ndarray]:
    """Name the arrays of a HiddenLayer as the model file does."""
    if layer.kind in LANDMARK_NODES.values():
        nodes = vector_arrays(layer.weights, LANDMARKS)
    elif len(layer.biases):
        nodes = {'hidden_weights': layer.weights, 'hidden_biases': layer.biases}
    else:
        nodes = {}
    return {**scaling_arrays(layer.offset, layer.scale, layer.metric), **tree_arrays(layer), **nodes}


def kernel_arrays(scaling: dict, vectors: Rows, dual_coef: Floats, intercept: Floats | None = None) -> dict:
    """Name the arrays of f(z) = K(z, vectors) dual_coef + intercept.

    scaling : feature_offset and feature_scale. vectors : (n, d), scaled. dual_coef : (n, P).
    intercept : (P,), or None for 0.
    """
    if intercept is None:
        intercept = np.zeros(dual_coef.shape[1])
    return {
        **scaling,
        **vector_arrays(vectors),
        'dual_coef': dual_coef,
        'intercept': intercept,
    }


def node_arrays(layer: HiddenLayer, weights: Floats) -> dict:
    """Name the arrays of f(x) = h(x) weights; weights (L, P)."""
    return {**layer_arrays(layer), 'output_weights': np.pad(weights, ((0, 1), (0, 0)))}


def tree_arrays(layer: HiddenLayer) -> dict[str, np.ndarray]:
    """Name the arrays of the trees of a layer, none where it has none."""
    if layer.forest is None:
        return {}
    return {name: getattr(layer.forest, name.removeprefix('tree_')) for name in TREES}


def find_forest(arrays: Mapping[str, np.ndarray]) -> Forest | None:
    """Undo `tree_arrays`."""
    if TREES[0] in arrays:
        return Forest(*(arrays[name] for name in TREES))
    return None


def check_layer(parameters: Mapping[str, Any], arrays: Mapping[str, np.ndarray], n_features: int) -> None:
    """Raise KeyError, TypeError or ValueError when the parts of a HiddenLayer are missing or do not fit."""
    width = check_metric(arrays, n_features)
    check_scaling(arrays, n_features)
    if has_leaves(parameters['map']):
        check_trees(arrays, n_features)
    if parameters['map'] == LEAVES:
        return
    if part_map(parameters['map']) != 'nystrom':
        n_hidden = max(len(arrays['hidden_weights']), 1)
        check_arrays(arrays, {'hidden_weights': (n_hidden, width), 'hidden_biases': (n_hidden,)})
    else:
        demand(check_vectors(arrays, width, LANDMARKS), 'landmarks', 0)
        kernel = parameters.get('kernel', 'gaussian')
        demand_choice('kernel', kernel, LANDMARK_NODES)
        if kernel != 'gaussian':  # widths of both Laplacians are alike
            kernel = 'laplacian'
        make_kernel(kernel, sigma=parameters['sigma'])  # raises ValueError at another width


def check_trees(arrays: Mapping[str, np.ndarray], n_features: int) -> None:
    """Raise KeyError or ValueError unless every row ends at a leaf of each tree, each leaf once."""
    features, thresholds, children, roots = (arrays[name] for name in TREES)
    n = len(features)
    demand(
        all(each.dtype == np.int32 and each.ndim == 1 for each in (features, children, roots))
        and len(children) == n > 0,
        'trees: features, children and roots',
        [features.shape, children.shape],
    )
    check_arrays(arrays, {'tree_thresholds': (n,)})
    inner = features >= 0
    demand((features < n_features).all() and (features >= -1).all(), f'tree_features below {n_features}', features)
    demand(len(roots) and roots[0] == 0 and (np.diff(roots) > 0).all() and roots[-1] < n, 'tree_roots in order', roots)
    ends = np.append(roots[1:], n)
    last = ends[np.searchsorted(roots, np.arange(n), side='right') - 1] - 1  # the last node of the tree of each node
    after = np.arange(n) < children
    demand((after & (children < last))[inner].all(), 'tree_children behind their parents, in the same tree', children)
    demand((children[~inner] == np.arange(n - inner.sum())).all(), 'tree_children: leaves in order', children)
