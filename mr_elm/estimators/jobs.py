"""Read n_jobs as joblib does, and compute decision values in threads."""
import numpy as np
from joblib import effective_n_jobs

from mr_elm.io.blocks import BLOCK_ROWS
from mr_elm.model_base import Model
from mr_elm.parallel import map_in_threads
from mr_elm.typing import Floats, Rows


def count_threads(n_jobs: int | None) -> int | None:
    """Return how many threads n_jobs asks for; None where nobody asks for a number, and BLAS takes what it takes."""
    found = effective_n_jobs(n_jobs)
    return None if n_jobs is None and found == 1 else found


def decide(model: Model, X: Rows, n_jobs: int | None) -> Floats:
    """Return the decision values of a model, (n, K), computed block by block in threads."""
    n_threads = count_threads(n_jobs)
    if n_threads is None:
        return model.decision_function(X)
    blocks = [X[start:start + BLOCK_ROWS] for start in range(0, X.shape[0], BLOCK_ROWS)]
    return np.concatenate(map_in_threads(model.decision_function, blocks, n_threads))
