"""Measure SphereSVM's rules against LIBSVM, which is scikit-learn's SVC, and against each other.

In processor seconds on one thread, standardised features, gamma 1/d, 10,000 rows of each set that a folder of
MR_ELM_DATA has. The L2 machine has about twice the support vectors of SVC's L1 machine.
"""
import sys
from functools import partial

import numpy as np

from ...features.kernel_rows import kernel_rows
from ...features.kernels import make_kernel
from ...solvers.box_qp import Settings
from ...solvers.sphere_svm import SphereProblem, solve_sphere
from ..public_sets import have
from ..timing import UNKNOWN, Row, least_seconds
from .context import NORMAL, QUICK
from .dual import ROWS, mean, standardised, svc

SETS = {'cod-rna': ('cod-rna', None), 'a9a': ('a9a', None), 'w8a': ('w8a', None), 'shuttle': ('shuttle', (1, 4)),
        'magic': ('magic', None), 'covtype': ('covtype-20k', (1, 2))}
FEW = ('magic', 'covtype')
COSTS = (1, 10, 100)
PAPER = (1e-3, 1e-4, 1e-5)  # eps of Algorithm 1
STEPS = 50_000              # of it, at most
CONVERGED = 1e-6            # gap of the labels that both are held against


def sphere(X, y, C, rule='exact', settings=None):
    """Train SphereSVM."""
    problem = SphereProblem(kernel_rows(X, make_kernel('gaussian', gamma=1 / X.shape[1])), y, C)
    return solve_sphere(problem, rule, settings or Settings())


def ratios_to_svc(name, X, y, bench):
    """Return (ratios of seconds to SVC's, kernel rows over support vectors) for every C."""
    ratios, evaluations = [], []
    for C in COSTS:
        made = []
        theirs, ours = bench.seconds(f'SphereSVM on {name} {len(y)} {C}', partial(svc(1 / X.shape[1], C).fit, X, y),
                                     lambda made=made, C=C: made.append(sphere(X, y, C)))
        found = made[-1] if made else sphere(X, y, C)
        ratios.append(theirs / ours)
        evaluations.append(found.n_kernel_rows / np.count_nonzero(found.alpha))
        print(f'{name} C {C}: SVC {theirs:.3f} s, ours {ours:.3f} s, {ratios[-1]:.2f} x, '
              f'{np.count_nonzero(found.alpha)} support vectors, gap {found.violation:.1e}',
              file=sys.stderr, flush=True)
    return ratios, evaluations


def ratio_to_paper(name, X, y, C=1):
    """Return a Row: seconds of the paper's rule over those of exact, at the first eps where it errs no more than exact.

    An error is a label that is not the one of the nearest point itself.
    """
    labels = sphere(X, y, C, settings=Settings(eps=CONVERGED)).decision > 0
    seconds, exact, errors = least(labels, X, y, C)
    rows, support = kernel_rows(X, make_kernel('gaussian', gamma=1 / X.shape[1])), np.flatnonzero(exact.alpha)
    proof, = least_seconds([partial(rows.weighted_sum, support, exact.alpha[support])])
    notes, ratio = [], None
    for eps in PAPER:
        taken, found, wrong = least(labels, X, y, C, 'paper', Settings(eps=eps, max_iter=STEPS))
        notes.append(f'eps {eps:g}: {taken:.3f} s, gap {found.gap / found.objective:.2g}, {wrong} wrong')
        if wrong <= errors:
            ratio = taken / seconds
            break
    reached = '' if ratio else f'{UNKNOWN}: not reached; '
    return Row(f'exact on {name} at C {C}, times faster than Algorithm 1 to labels as good', ratio or 0.0, 5.0, False,
               f'{reached}exact {seconds:.3f} s, gap {exact.violation:.1g}, {errors} wrong, the kernel values of its '
               f'proof alone {proof:.3f} s; paper {"; ".join(notes)}')


def least(labels, *given):
    """Return (the least processor seconds of a fit, the Result, how many of the labels it has wrong)."""
    made = []
    seconds, = least_seconds([lambda: made.append(sphere(*given))])
    return seconds, made[-1], int(np.sum((made[-1].decision > 0) != labels))


def prepared(bench, n_rows):
    """Yield (name, X, y) of so many rows of every set that is there; y is -1 or 1."""
    for name in bench.pick(FEW, SETS):
        if have(SETS[name][0]):
            X, y = standardised(name, n_rows, SETS)
            y = np.where(y == y.max(), 1.0, -1.0)
            sphere(X[:2500], y[:2500], 1), sphere(X[:500], y[:500], 1, 'paper')  # once uncounted: loads compiled code
            yield name, X, y


def against_svc(bench):
    """Compare fits with SVC's at every C: a row a set, and the claims over all of them."""
    rows, everything, values = [], [], []
    for name, X, y in prepared(bench, ROWS[bench.size]):
        ratios, evaluations = ratios_to_svc(name, X, y, bench)
        everything += ratios
        values += evaluations
        note = ', '.join(f'C {C}: {ratio:.2f}' for C, ratio in zip(COSTS, ratios, strict=True))
        rows.append(Row(f'SphereSVM on {name}, {len(y):,} x {X.shape[1]}, to a gap of 0.001, times faster than SVC',
                        mean(ratios), 1.0, False, note))
    if not everything:
        return rows
    least = f'{len(everything)} settings, the least {min(everything):.2f}'
    return [*rows,
            Row('SphereSVM, the same over all sets, geometric mean', mean(everything), 1.5, False, least),
            Row('SphereSVM, most kernel values over N x support vectors', max(values), 1.3, True,
                f'the least {min(values):.2f}')]


def against_paper(bench):
    """Compare the exact rule with Algorithm 1: a row a set."""
    return [ratio_to_paper(*each) for each in prepared(bench, bench.pick(ROWS[QUICK], ROWS[NORMAL]))]


PARTS = {'svc': against_svc, 'paper': against_paper}
