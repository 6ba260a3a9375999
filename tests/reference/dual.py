"""The box-constrained dual, written from its formulas."""

import numpy as np
from scipy.optimize import lsq_linear
from scipy.spatial.distance import cdist

KERNELS = {
    'gaussian': lambda A, B, sigma: np.exp(-(cdist(A, B) ** 2) / (2 * sigma**2)),
    'laplacian': lambda A, B, sigma: np.exp(-cdist(A, B) / sigma),
    'polynomial': lambda A, B, degree: (1 + A @ B.T) ** degree,
    'linear': lambda A, B: A @ B.T,
}


def gaussian(A, B, gamma):
    """exp(-gamma |a - b|^2)."""
    return np.exp(-gamma * cdist(A, B, 'sqeuclidean'))


def signed(K, t):
    """Q_ij = t_i t_j K_ij."""
    return K * np.outer(t, t)


def bounded_least_squares(Q, upper):
    """The optimum by the Cholesky factor R of Q: 1/2 |R a - R^-T e|^2 is the objective up to a constant."""
    R = np.linalg.cholesky(Q).T
    return lsq_linear(R, np.linalg.solve(R.T, np.ones(len(Q))), (0, upper), method='bvls', tol=1e-14).x


def objective(Q, a):
    """1/2 a'Qa - e'a."""
    return 0.5 * a @ Q @ a - a.sum()


def gap(Q, a, upper):
    """Primal - dual, each by its own definition: 1/2 |w|^2 + sum C_i hinge, and e'a - 1/2 a'Qa."""
    norm = a @ Q @ a
    return 0.5 * norm + upper @ np.maximum(0, 1 - Q @ a) - (a.sum() - 0.5 * norm)


def kkt_residual(Q, a, upper):
    """The largest |g_i| among variables that could still move that way."""
    g = Q @ a - 1
    return max(max((-g[i] if a[i] < upper[i] else 0), (g[i] if a[i] > 0 else 0), 0) for i in range(len(a)))


def algorithm_1(Q, C, eps, steps):
    """Paper 001's Algorithm 1 line by line: alpha, and the objective after each step."""
    a, g, history = np.zeros(len(Q)), -np.ones(len(Q)), []
    for _ in range(steps):
        d = np.where(a == 0, 1, np.where(a == C, -1, -np.sign(g)))
        J = g * d
        c = J.argmin()
        if J[c] > -eps:
            break
        new = min(max(a[c] - g[c] / Q[c, c], 0), C)
        g = g + (new - a[c]) * Q[c]
        a[c] = new
        history.append(objective(Q, a))
    return a, history


def one_against_one(decisions, n_classes):
    """The majority vote, ties by summed decision values, row by row."""
    answer = []
    for row in decisions:
        votes, sums, p = [0] * n_classes, [0.0] * n_classes, 0
        for i in range(n_classes):
            for j in range(i + 1, n_classes):
                votes[j if row[p] > 0 else i] += 1
                sums[j] += row[p]
                sums[i] -= row[p]
                p += 1
        answer.append(max(range(n_classes), key=lambda k: (votes[k], sums[k])))
    return np.array(answer)
