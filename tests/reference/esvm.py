"""Train an ESVM from its sums, in this process, as no engine does it."""

from mr_elm.solvers.ridge import finish, sum_up


def fit_esvm(layer, rows, nu=1.0):
    """Return (Sums, Solution) of TrainingRows on nodes that are bounded by 1."""
    sums = sum_up(layer, rows, rows.choose_steps(1.0))
    return sums, finish(sums, nu, rows.classes is None)
