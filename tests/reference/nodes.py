"""Evaluate hidden nodes one row and one node at a time."""

import math


def dot(u, v):
    """Return the exactly rounded sum of products."""
    return math.fsum(a * b for a, b in zip(u, v, strict=True))


def squared_distance(u, v):
    """Return |u - v|^2."""
    return math.fsum((a - b) ** 2 for a, b in zip(u, v, strict=True))


def logistic(x):
    """Return 1 / (1 + exp(-x)) without overflow."""
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


NODES = {
    'sigmoid': lambda z, w, b: logistic(dot(w, z) + b),
    'tanh': lambda z, w, b: math.tanh(dot(w, z) + b),
    'sine': lambda z, w, b: math.sin(dot(w, z) + b),
    'rff': lambda z, w, b: math.cos(dot(w, z) + b),
    'relu': lambda z, w, b: max(0.0, dot(w, z) + b),
    'hardlimit': lambda z, w, b: 1.0 if dot(w, z) + b >= 0 else 0.0,
    'rbf': lambda z, w, b: math.exp(-squared_distance(z, w) / b),
    'nystrom': lambda z, w, b: math.exp(-squared_distance(z, w) / b),
    'laplacian': lambda z, w, b: math.exp(-math.sqrt(squared_distance(z, w)) / b),
    'product-laplacian': lambda z, w, b: math.exp(-math.fsum(abs(a - c) for a, c in zip(z, w, strict=True)) / b),
    'multiquadric': lambda z, w, b: math.sqrt(squared_distance(z, w) + b**2),
    'identity': lambda z, w, b: dot(w, z) + b,
}


def evaluate(kind, rows, weights, biases, offset, scale):
    """Return Phi as a list of rows."""
    scaled = [[(x - m) * s for x, m, s in zip(row, offset, scale, strict=True)] for row in rows]
    return [[NODES[kind](z, w, b) for w, b in zip(weights, biases, strict=True)] for z in scaled]
