"""Follow a search for the minimum of the box-constrained dual: its point, what it took, and whether it gets anywhere.

Symbols: box. Where kernel values differ by many orders, as those of a linear kernel on columns of very different size,
rounding ends a search long before eps.
"""

import time

import numpy as np

from mr_elm.solvers.box import BoxQP, Result, Settings, SolverWork, conclude, objective_of, violations
from mr_elm.solvers.interior import find_near_minimum
from mr_elm.solvers.row_cache import RowCache
from mr_elm.typing import Floats


class Search:
    """Hold a point, its running gradient, and the kernel rows met so far.

    patience : so many steps without less violation ask for a look at the objective. Between two looks it falls by a
        millionth, or the search has ended.
    """

    cache: RowCache

    def __init__(self, problem: BoxQP, settings: Settings, patience: int) -> None:
        self.started = time.process_time()
        self.problem, self.settings, self.patience = problem, settings, patience
        self.alpha, self.gradient = np.zeros(problem.n_samples), -np.ones(problem.n_samples)
        self.n_iter = self.n_certified = 0
        self.certified = False
        self.forget_progress()

    def forget_progress(self) -> None:
        """Begin to watch the search anew."""
        self.idle, self.least = 0, np.inf
        self.objective = self.best = np.inf
        self.lowest: tuple[Floats, Floats] | None = None

    def violations(self) -> Floats:
        """Return the violations by the running gradient."""
        return violations(self.alpha, self.gradient, self.problem.upper)

    def certify(self) -> None:
        """Replace the running gradient by that of float64 rows."""
        if not self.certified:
            self.gradient, n_rows = self.problem.gradient(self.alpha)
            self.n_certified, self.certified = self.n_certified + n_rows, True

    def waits(self, worst: float) -> bool:
        """Tell whether the largest violation has not fallen by a tenth in the last steps."""
        self.idle += 1
        if worst < 0.9 * self.least:
            self.least, self.idle = worst, 0
        return self.idle >= self.patience

    def look(self) -> bool:
        """Look at the objective, and keep the lowest point; returns whether it still falls."""
        before, self.objective, self.idle = self.objective, objective_of(self.alpha, self.gradient), 0
        if self.objective < self.best:
            self.best, self.lowest = self.objective, (self.alpha.copy(), self.gradient.copy())
        return before - self.objective > 1e-6 * abs(self.objective)

    def jump(self) -> None:
        """Go to about where the minimum is, if that can be found and is lower than where the search is."""
        self.certify()
        self.look()
        alpha = find_near_minimum(self.problem)
        if alpha is None:
            return
        gradient, n_rows = self.problem.gradient(alpha)
        self.n_certified += n_rows
        if objective_of(alpha, gradient) < self.objective:  # rounding may have ended the method before
            self.alpha, self.gradient = alpha, gradient
            self.forget_progress()

    def tell(self) -> None:
        """Report where the search is."""
        self.settings.tell(self.n_iter, self.alpha, self.gradient, self.problem.upper)

    def conclude(self) -> Result:
        """Return the Result of the point, or of the lowest one that was looked at where eps is not reached."""
        self.certify()
        if self.violations().max() > self.settings.eps and self.lowest is not None:
            self.look()
            self.alpha, self.gradient = self.lowest
            self.certified = False
            self.certify()
        work = SolverWork(self.n_iter, self.cache.n_computed + self.n_certified, self.started)
        return conclude(self.problem, self.alpha, self.gradient, work, self.settings)
