"""Warn where a linear machine is far better than the one that was trained, as it often is on rows of words.

A random node sees a sum over all features. A row that has few of very many features changes this sum little, and
standard scaling makes the rarest features the largest ones. So two machines label each row of a sample, trained on the
other rows: a ridge regression on the nodes, or on the kernel, of the trained machine, and one on the features as they
are. G holds the inner products of the rows of the sample, and the rows of the sample are distinct:

    t - f = A / diag(H),  H = (G + I/nu)^-1,  A = H T

Source: ours.
"""

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.errors import warn_unsuitable
from mr_elm.features.kernels import multiply_transposed
from mr_elm.features.landmarks import Landmarks
from mr_elm.features.metric import apply_metric
from mr_elm.features.sample import join_labels, make_sample, number_label, part_labels
from mr_elm.features.scaling import scale_rows
from mr_elm.model.base import Model
from mr_elm.model.models import HiddenNodeModel, KernelModel
from mr_elm.rows.blocks import Block, take_weights, widen
from mr_elm.sums.gram import expand
from mr_elm.sums.statistics import Classes
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats, Rows, RowWeights

N_ROWS = 400  # of the sample: three inverse matrices of so many rows take 0.03 s
FEWEST_FEATURES = 500  # below which random nodes do well, and a fit can be too short for a comparison
# Measured in 2026-11: on 48 public sets of 2 to 7,129 features, machines with their defaults make more errors than the
# linear one by at most 4 deviations; on documents random nodes do so by 10 to 20.
MIN_DEVIATIONS = 5.0
MAX_ERROR_SHARE = 2 / 3  # of the errors of the machine: what the linear one may make


def sample_labelled(X: Rows, names: tuple[str, ...], codes: np.ndarray, weights: RowWeights, seed: int) -> Rows:
    """Return the sample of rows in memory that `mr_stats` chooses of rows in files: see `join_labels`."""
    sample: Landmarks = make_sample(N_ROWS, seed, X)
    for start in range(0, X.shape[0], N_ROWS):  # few rows at a time: they are copied
        part = slice(start, start + N_ROWS)
        block = Block(X[part], names, codes[part], take_weights(weights, part))
        sample.add(join_labels(block, numeric=False))
    return sample.rows


def is_doubtful(model: Model) -> bool:
    """Tell whether a linear machine may be far better: rows are wide, and the model is not what is advised then."""
    parameters = model.header.parameters
    return model.n_features >= FEWEST_FEATURES and (
        parameters.get('kernel') != 'gaussian' or parameters.get('scale') != 'none'
    )


def judge_machine(model: Model, summary: Summary, classes: Classes | None) -> None:
    """Warn when a linear machine is far better than one that was just trained.

    summary : of the rows, with a sample where they are wide. classes : None for a regression.
    """
    if classes is None or model.multilabel or summary.sample is None:  # there is none where stages were run by hand
        return
    if is_doubtful(model):
        with one_thread():
            warn_of_linear(model, summary.sample, classes.index)


def warn_of_linear(model: Model, sample: Rows, numbers: dict[str, int]) -> None:
    """Warn when a linear machine is far better than that of a model.

    model : of one machine for classes. sample : rows behind label and weight, see `join_labels`.
    numbers : label -> class number.
    """
    X, labels, _ = part_labels(sample[:N_ROWS])
    named = {number_label(name): number for name, number in numbers.items()}
    codes = np.array([named[label] for label in labels])
    X, n_classes = widen(X, model.n_features), len(model.classes)
    strength = model.header.parameters.get('nu', model.header.parameters.get('C'))
    with np.errstate(over='ignore', invalid='ignore'):
        inner, linear = multiply_placed(model, X), multiply_transposed(X, X)
    linear += linear.diagonal().mean()  # a bias beside the features
    if strength is None or inner is None or not (is_usable(inner) and is_usable(linear)):
        return
    ridge = len(codes) / (strength * model.header.n_rows_used)  # as strong beside all errors as in the training
    # Whether the features are seen in the right way is the question, and not nu: a small sample may want another one.
    wrong = min(
        (find_errors(inner, each, codes, n_classes) for each in (ridge, 0.3 * inner.diagonal().mean())), key=np.sum
    )
    wrong_linear = find_errors(linear, linear.diagonal().mean() / 2, codes, n_classes)
    more, fewer = np.sum(wrong & ~wrong_linear), np.sum(wrong_linear & ~wrong)
    if more - fewer > MIN_DEVIATIONS * np.sqrt(more + fewer) and wrong_linear.sum() <= MAX_ERROR_SHARE * wrong.sum():
        warn_unsuitable(
            f'a linear machine on the features labels {wrong_linear.mean():.0%} of the rows that were held out wrong, '
            f'this machine {wrong.mean():.0%}: rows of so many features, such as words, need a Gaussian kernel on '
            "unscaled rows (mr-elm train mr-kelm --scale none; KernelELMClassifier(scale='none')), see docs/text.md",
        )


def multiply_placed(model: Model, X: Rows) -> Floats | None:
    """Return the inner products (n, n) of rows as a model sees them; None where these rows would be too large."""
    if isinstance(model, HiddenNodeModel):
        E = expand(model.layer, X)
        return E @ E.T
    if not isinstance(model, KernelModel):
        return None
    offset, scale = model.arrays['feature_offset'], model.arrays['feature_scale']
    filled = np.count_nonzero(np.broadcast_to(scale, X.shape[1]))
    if hasattr(X, 'toarray') and offset.any() and 8 * X.shape[0] * filled > 1 << 28:  # bytes, once rows are dense
        return None
    Z = apply_metric(scale_rows(X, offset, scale), model.arrays.get('feature_metric'))
    return model.kernel.tile(Z, Z)


def is_usable(inner: Floats) -> bool:
    """Tell whether inner products are finite, and not all 0."""
    return bool(np.isfinite(inner).all() and inner.diagonal().mean() > 0)


def find_errors(inner: Floats, ridge: float, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Tell which rows a ridge regression of all other rows labels wrong, (n,) bool; see `solvers.ridge`."""
    T = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    ridge = max(ridge, 1e-10 * inner.diagonal().mean())  # beyond rounding
    inverse = np.linalg.inv(inner + ridge * np.eye(len(codes)))
    values = T - inverse @ T / inverse.diagonal()[:, None]
    return values.argmax(axis=1) != codes
