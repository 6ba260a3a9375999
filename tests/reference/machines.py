"""Machines with random numbers in them, of every kind that a model file knows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import scipy.sparse as sp

from mr_elm.features.forest import Forest
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import LANDMARK_NODES, draw_nodes
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import HiddenNodeModel, KernelModel
from mr_elm.model.parts import describe_map, layer_arrays, scaling_arrays, vector_arrays

D, L = 5, 30
ROWS = 2 * np.random.default_rng(0).standard_normal((200, D))  # whose scores are 0 on average
KERNELS = {'gaussian': {'sigma': 1.7}, 'laplacian': {'sigma': 2.0}, 'polynomial': {'degree': 3}, 'linear': {}}


def labels_of(model, X):
    """Return what `mr-elm predict` calls the rows."""
    decided = model.decide(model.decision_function(X))
    if model.multilabel:
        return [model.header.separator.join(np.array(model.classes, object)[row]) for row in decided]
    return decided.tolist() if model.numeric else [model.classes[k] for k in decided]


def draw_forest(rng, n_trees=7, n_inner=9, grid=None):
    """Draw trees of different depths, and one that is a single leaf."""
    features, thresholds, children, roots, n_leaves = [], [], [], [], 0
    for tree in range(n_trees):
        roots.append(len(features))
        first, split = len(features), [None]
        for _ in range(n_inner if tree else 0):
            leaf = int(rng.choice([k for k, child in enumerate(split) if child is None]))
            split[leaf] = len(split)
            split += [None, None]
        for child in split:
            features.append(-1 if child is None else int(rng.integers(D)))
            thresholds.append(0.0 if child is None else float(rng.choice(grid)))
            children.append(n_leaves if child is None else first + child)
            n_leaves += child is None
    return Forest(
        np.array(features, np.int32), np.array(thresholds), np.array(children, np.int32), np.array(roots, np.int32)
    )


def metric_of(rng, kind):
    """Draw a metric."""
    if kind == 'none':
        return None
    return rng.uniform(0.3, 2, D) if kind == 'diagonal' else np.linalg.qr(rng.standard_normal((D, 3)))[0].T * 1.3


def node_model(rng, kind, n_outputs=1, classes='ab', metric='none', forest=None, sparse=False, **facts):
    """Make a machine of random nodes with random weights."""
    kernel = next((name for name, node in LANDMARK_NODES.items() if node == kind), None)
    W, b = draw_nodes('rbf' if kernel else kind, L, D, 3)
    b = np.full(L, 1.5 if kernel != 'gaussian' else 2 * 1.5**2) if kernel else b
    W = sp.csr_matrix(W * (rng.random(W.shape) < 0.2) * (np.arange(D) != 2)) if sparse else W
    layer = HiddenLayer(kind, W, b, rng.standard_normal(D), rng.uniform(0.5, 2, D)).pass_metric(metric_of(rng, metric))
    layer = replace(layer, forest=forest)
    header = ModelHeader(
        'pesvm',
        'classification' if classes else 'regression',
        list(classes),
        D,
        {**describe_map(layer), 'sigma': 1.5, 'metric': metric},
        **facts,
    )
    B = rng.standard_normal((layer.n_hidden + 1, n_outputs))
    B[-1] = 0
    B[-1] = HiddenNodeModel(header, {**layer_arrays(layer), 'output_weights': B}).decision_function(ROWS).mean(axis=0)
    model = HiddenNodeModel(header, {**layer_arrays(layer), 'output_weights': B})
    model.check_whole()
    return model


def kernel_model(
    rng, kernel, scheme='one-vs-all', classes='abcd', normalised=False, wrap=np.asarray, metric='none', **facts
):
    """Make a machine of random support vectors, one of them 0."""
    learned = metric_of(rng, metric)
    vectors = rng.standard_normal((40, D if learned is None or learned.ndim == 1 else len(learned)))
    vectors[0], vectors[:, 2] = 0, 0
    n = len(classes)
    n_scores = n * (n - 1) // 2 if scheme == 'one-vs-one' else n if n != 2 else 1
    arrays = {
        **scaling_arrays(rng.standard_normal(D), rng.uniform(0.5, 2, D), learned),
        **vector_arrays(wrap(vectors)),
        'intercept': np.zeros(n_scores),
        'dual_coef': rng.standard_normal((40, n_scores)),
    }
    header = ModelHeader(
        'sparse-elm',
        'classification',
        list(classes),
        D,
        {'kernel': kernel, **KERNELS[kernel], 'normalised': normalised, 'multiclass': scheme, 'metric': metric},
        **facts,
    )
    arrays['intercept'] = -KernelModel(header, arrays).decision_function(ROWS).mean(axis=0)
    model = KernelModel(header, arrays)
    model.check()
    return model


def constant_model(rng, values, classes, **facts):
    """Make a machine that gives every row these decision values, of pairs where there are several classes."""
    model = kernel_model(rng, 'gaussian', 'one-vs-one', classes, **facts)
    arrays = {'dual_coef': np.zeros((40, len(values))), 'intercept': np.array(values, dtype=float)}
    return KernelModel(model.header, {**model.arrays, **arrays})


def calibrated(model, values, **facts):
    """Give a model probabilities. values : of its calibration."""
    header = replace(model.header, calibration={'rows': 100}, **facts)
    return type(model)(header, {**model.arrays, 'calibration': np.array(values)})


def frame_of(rng, n):
    """Draw a table of numbers with gaps and of categories."""
    return pd.DataFrame(
        {
            'age': np.where(rng.random(n) < 0.2, np.nan, rng.uniform(20, 70, n)),
            'half': rng.normal(3e4, 1e4, n),
            'city': rng.choice(['Rome', 'Oslo', 'São Paulo', ''], n),
            'zone': rng.choice(['north', 'south'], n),
        }
    )
