"""Name the arrays of a model that was just trained, as model files do."""

import numpy as np

from mr_elm.features.hidden import HiddenLayer
from mr_elm.model.parts import layer_arrays, vector_arrays
from mr_elm.typing import Floats, Rows


def kernel_arrays(scaling: dict, vectors: Rows, dual_coef: Floats, intercept: Floats | None = None) -> dict:
    """Name the arrays of f(z) = K(z, vectors) dual_coef + intercept.

    scaling : feature_offset and feature_scale. vectors : (n, d), scaled. dual_coef : (n, P).
    intercept : (P,), or None for 0.
    """
    return {
        **scaling,
        **vector_arrays(vectors),
        'dual_coef': dual_coef,
        'intercept': np.zeros(dual_coef.shape[1]) if intercept is None else intercept,
    }


def node_arrays(layer: HiddenLayer, weights: Floats, intercept: Floats | None = None) -> dict:
    """Name the arrays of f(x) = h(x) weights + intercept; weights (L, P), intercept (P,), or None for 0."""
    if intercept is None:
        last = np.zeros(weights.shape[1])
    else:
        last = -intercept
    return {**layer_arrays(layer), 'output_weights': np.vstack([weights, last])}
