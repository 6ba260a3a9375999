"""Define the kinds of hidden nodes: what each computes, in place, its slope, and how its parameters are drawn.

A new node is one entry of NODES. Two families: `projection` nodes see W z + b, `distance` nodes see |z - a|^2, or the
sum of |z_j - a_j| where their norm is 1, and their width b.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mr_elm.features.kernels import exponentiate
from mr_elm.features.scaling import ScaledMoments
from mr_elm.typing import Floats


def sigmoid(Z: Floats, b: Floats) -> None:
    """1 / (1 + exp(-z)) from -z: the exp of numpy takes a third of the time of its tanh. 1 / (1 + inf) is 0."""
    with np.errstate(over='ignore'):
        np.exp(Z, out=Z)
    Z += 1.0
    np.reciprocal(Z, out=Z)


def tanh(Z: Floats, b: Floats) -> None:
    """tanh(z)."""
    np.tanh(Z, out=Z)


def sine(Z: Floats, b: Floats) -> None:
    """sin(z)."""
    np.sin(Z, out=Z)


def cosine(Z: Floats, b: Floats) -> None:
    """cos(z): random Fourier features of the Gaussian kernel, without the factor sqrt(2/L), so that nodes nest."""
    np.cos(Z, out=Z)


def relu(Z: Floats, b: Floats) -> None:
    """max(z, 0)."""
    np.maximum(Z, 0.0, out=Z)


def hardlimit(Z: Floats, b: Floats) -> None:
    """1 where z >= 0, else 0."""
    np.greater_equal(Z, 0.0, out=Z)


def gaussian(D: Floats, b: Floats) -> None:
    """exp(-D / b) of distances D, |z - a|^2 for a Gaussian."""
    D /= b
    np.negative(D, out=D)
    exponentiate(D)


def laplacian(D: Floats, b: Floats) -> None:
    """exp(-|z - a| / b)."""
    np.sqrt(D, out=D)
    gaussian(D, b)


def multiquadric(D: Floats, b: Floats) -> None:
    """sqrt(|z - a|^2 + b^2)."""
    D += b * b
    np.sqrt(D, out=D)


def identity(Z: Floats, b: Floats) -> None:
    """z, a node for each feature: the linear machine."""


def sigmoid_slope(Z: Floats, b: Floats) -> None:
    """s (1 - s), where s is the sigmoid."""
    sigmoid(Z, b)
    Z -= np.square(Z)


def tanh_slope(Z: Floats, b: Floats) -> None:
    """1 - tanh(z)^2."""
    np.tanh(Z, out=Z)
    np.square(Z, out=Z)
    np.subtract(1.0, Z, out=Z)


def cosine_slope(Z: Floats, b: Floats) -> None:
    """-sin(z)."""
    np.sin(Z, out=Z)
    np.negative(Z, out=Z)


def identity_slope(Z: Floats, b: Floats) -> None:
    """1."""
    Z[...] = 1.0


def gaussian_slope(D: Floats, b: Floats) -> None:
    """-2 / b exp(-|z - a|^2 / b)."""
    gaussian(D, b)
    D *= -2.0 / b


def laplacian_slope(D: Floats, b: Floats) -> None:
    """-exp(-|z - a| / b) / (b |z - a|), and 0 at the centre, where the node has a peak."""
    distances = np.sqrt(D)
    laplacian(D, b)
    np.divide(D, -b * distances, out=D, where=distances > 0)
    D[distances == 0] = 0.0


def product_laplacian_slope(D: Floats, b: Floats) -> None:
    """-exp(-|z - a|_1 / b) / b."""
    gaussian(D, b)
    D /= -b


def multiquadric_slope(D: Floats, b: Floats) -> None:
    """1 / sqrt(|z - a|^2 + b^2)."""
    multiquadric(D, b)
    np.divide(1.0, D, out=D)


@dataclass(frozen=True)
class NodeKind:
    """Say what a node computes.

    family : projection or distance. activate : its function, in place. bounded : whether values stay within [-1, 1].
    gain : the function takes gain * z, a factor that is folded into the weights without rounding.
    slope : in place, the derivative by z, or for a distance node the number c with the gradient c (z - a), of norm 1
        c sign(z - a). None where it is 0 almost everywhere: such nodes cannot learn a metric.
    takes_root : it is a function of |z - a|, whose root would turn the rounding between equal rows into 1e-8.
    norm : p of the distance |z - a|_p that it is a function of, 1 or 2. `ScaledMoments.measure` chooses their width.
    """

    family: str
    activate: Callable
    bounded: bool = True
    gain: float = 1.0
    slope: Callable | None = None
    takes_root: bool = False
    norm: int = 2


NODES = {
    'sigmoid': NodeKind('projection', sigmoid, gain=-1.0, slope=sigmoid_slope),
    'tanh': NodeKind('projection', tanh, slope=tanh_slope),
    'sine': NodeKind('projection', sine, slope=cosine),
    'rff': NodeKind('projection', cosine, slope=cosine_slope),
    'relu': NodeKind('projection', relu, bounded=False, slope=hardlimit),
    'hardlimit': NodeKind('projection', hardlimit),
    'rbf': NodeKind('distance', gaussian, slope=gaussian_slope),
    'multiquadric': NodeKind('distance', multiquadric, bounded=False, slope=multiquadric_slope),
    'nystrom': NodeKind('distance', gaussian, slope=gaussian_slope),
    'laplacian': NodeKind('distance', laplacian, takes_root=True, slope=laplacian_slope),
    # exp(-|z - a|_1 / b), a product of exp(-|z_j - a_j| / b) over the features
    'product-laplacian': NodeKind('distance', gaussian, slope=product_laplacian_slope, norm=1),
    'identity': NodeKind('projection', identity, bounded=False, slope=identity_slope),
}
# kernel -> what `--map nystrom` computes with it
LANDMARK_NODES = {'gaussian': 'nystrom', 'laplacian': 'laplacian', 'product-laplacian': 'product-laplacian'}
MAPS = tuple(kind for kind in NODES if kind == 'nystrom' or kind not in LANDMARK_NODES.values())
LEAVES, BEFORE = 'leaves', 'leaves+'  # leaves of trees alone, or before nodes of another kind
MAPS_OF_LEAVES = (LEAVES, *(BEFORE + map for map in MAPS))
NO_NODES = 'sigmoid'  # the kind of a layer of leaves alone: of any kind there are none


def has_leaves(map: str) -> bool:
    """Tell whether a map has leaves of trees among its nodes."""
    return map == LEAVES or map.startswith(BEFORE)


def part_map(map: str) -> str:
    """Return the map of the nodes beside the leaves of trees, '' where there are none."""
    if map == LEAVES:
        return ''
    return map.removeprefix(BEFORE)


def name_nodes(map: str, kernel: str) -> str:
    """Return the key of NODES that a map, and for `nystrom` a kernel of landmarks, stand for; leaves do not count."""
    others = part_map(map)
    if others == 'nystrom':
        return LANDMARK_NODES[kernel]
    return others or NO_NODES


def draw_nodes(
    kind: str,
    n_hidden: int,
    n_features: int,
    seed: int = 0,
    weight_scale: float = 1.0,
    weights: str = 'normal',
    moments: ScaledMoments | None = None,
) -> tuple[Floats, Floats]:
    """Draw random nodes: (W, b) of shapes (L, d) and (L,). The first nodes do not depend on n_hidden.

    weight_scale : s; pre-activations have deviation about s, and a Gaussian has width sigma = sqrt(v) / s, where v is
        the sum of the variances of the scaled features.
    weights : normal (W normal with deviation s / sqrt(v), b uniform(-s, s)) or uniform (both uniform(-s, s)).
    moments : of the scaled features; None for those of standardised rows, v = d.
    identity draws nothing: a node for each feature, whatever n_hidden is.
    For rff b is uniform(-pi, pi). For rbf and multiquadric W are centres spread like the rows, b their widths.

    Source: Huang et al., Extreme learning machine, 2006; Rahimi, Recht, Random features, 2007 (rff).
    """
    if kind == 'identity':
        return np.eye(n_features), np.zeros(n_features)
    s, moments = weight_scale, moments or ScaledMoments.of_standardised(n_features)
    draw_weights, draw_biases = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    if NODES[kind].family == 'distance':
        centres = draw_weights.standard_normal((n_hidden, n_features))
        centres *= np.sqrt(moments.variances)  # in place: centres may be as large as the memory
        centres += moments.means
        sigma, u = moments.measure(NODES[kind].norm) / s, draw_biases.uniform(0.5, 1.5, n_hidden)
        return centres, (2 * sigma**2 if kind == 'rbf' else sigma) * u
    if weights == 'uniform':
        W = draw_weights.uniform(-s, s, (n_hidden, n_features))
    else:
        W = draw_weights.standard_normal((n_hidden, n_features))
        W *= s / moments.measure(2)
    if kind == 'rff':
        limit = np.pi
    else:
        limit = s
    return W, draw_biases.uniform(-limit, limit, n_hidden)
