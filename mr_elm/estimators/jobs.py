"""Read n_jobs as joblib does, and compute decision values in threads."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from mr_elm.errors import describe_memory
from mr_elm.estimators.parameters import find_options
from mr_elm.features.hidden import HiddenLayer
from mr_elm.option import speaking_python
from mr_elm.parallel import map_in_threads, using_threads
from mr_elm.progress import LogLines
from mr_elm.rows.blocks import BLOCK_ROWS
from mr_elm.solvers.ridge import Sums, TrainingRows, sum_up
from mr_elm.sums.gram import GridSteps
from mr_elm.typing import Rows


def watched(method: Callable) -> Callable:
    """Return a method of an estimator that says what it does, as `verbose` asks, and what memory it lacked.

    Its warnings and errors name parameters of the estimator, not options of the command line.
    """

    @wraps(method)
    def run(self: Any, *args: Any, **more: Any) -> Any:
        names = {}
        for name, each in find_options(self.__class__).items():
            names[each.flag] = name
            if each.kind is bool:
                names[each.flag] = f'{name}=True'
        try:
            with (
                speaking_python(names),
                LogLines(self._reporter).listening(),
                using_threads(count_threads(self.n_jobs)),
            ):
                return method(self, *args, **more)
        except MemoryError as error:
            raise MemoryError(describe_memory(error)) from error

    return run


def sum_up_rows(estimator: Any, layer: HiddenLayer, rows: TrainingRows, steps: GridSteps) -> Sums:
    """Sum up the rows of a fit on a layer, and show how far that is."""
    with estimator._reporter.follow('Gram', len(rows.y)) as count:
        return sum_up(layer, rows, steps, count)


def count_threads(n_jobs: int | None) -> int | None:
    """Return how many threads n_jobs asks for; None where nobody asks for a number, and BLAS takes what it takes."""
    n_threads = effective_n_jobs(n_jobs)
    if n_jobs is None and n_threads == 1:
        return None
    return n_threads


def map_rows(function: Callable[[Rows], np.ndarray], X: Rows, n_scores: int, n_jobs: int | None) -> np.ndarray:
    """Return function(X), computed block by block in threads. n_scores : decision values of a row."""
    # 3 million decision values a block: memory that is used again is faster than new memory
    n_rows = min(max(3_000_000 // n_scores, 1), BLOCK_ROWS)
    if n_jobs is None and X.shape[0] <= n_rows:
        return function(X)  # to ask joblib takes as long as to predict a few rows
    blocks = [X[start : start + n_rows] for start in range(0, X.shape[0], n_rows)]
    with using_threads(count_threads(n_jobs)):
        return np.concatenate(map_in_threads(function, blocks))
