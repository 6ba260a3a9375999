"""SphereSVM, written from its formulas."""

import numpy as np
from scipy.optimize import nnls


def ball_kernel(K, y, C):
    """k~_ij = y_i y_j (k_ij + 1) + delta_ij / C; C a number, or one for each row."""
    return np.outer(y, y) * (K + 1) + np.diag(np.broadcast_to(1.0 / np.asarray(C, dtype=float), len(y)))


def nearest_point(B):
    """The weights a on the simplex of the point nearest to 0, by non-negative least squares on the factor of k~."""
    R = np.linalg.cholesky(B).T
    b = nnls(R, np.linalg.solve(R.T, np.ones(len(B))), maxiter=100 * len(B))[0]
    return b / b.sum()


def shortfall(B, a):
    """1 - min c.x~_i / |c|^2."""
    return 1 - (B @ a).min() / (a @ B @ a)


def algorithm_1(B, eps, subsets, attempts):
    """Paper 002's Algorithm 1 line by line over given subsets: a, and |c|^2 after each step."""
    a, e, i, history = np.zeros(len(B)), 0.5, 0, []
    a[0], radius = 1.0, np.sqrt(B[0, 0])
    for subset in subsets:
        e = max(e, eps)
        distance = np.sqrt(a @ B @ a - 2 * B @ a + np.diag(B))
        v = max(subset, key=lambda j: distance[j])
        if distance[v] <= (1 + e) * radius:
            i += 1
            if i > attempts:
                if e == eps:
                    break
                e, i = e / 2, 0
            continue
        i = 0
        u = min(np.flatnonzero(a > 0), key=lambda j: distance[j])
        apart = B[v, v] + B[u, u] - 2 * B[v, u]
        rho = (B[v] @ -a + B[v, v] - (B[u] @ -a + B[u, v])) / apart
        beta = min(rho - np.sqrt(rho**2 - (distance[v] ** 2 - radius**2) / apart), a[u])
        a[v] += beta
        a[u] -= beta
        history.append(a @ B @ a)
    return a, history
