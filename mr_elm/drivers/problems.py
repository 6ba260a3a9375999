"""Run jobs whose tasks read a problem, one file, from the distributed cache."""

import os
from collections.abc import Iterator
from typing import Any

from mr_elm.engines.base import REDUCE_TASKS
from mr_elm.passes.data_set import DataSet
from mr_elm.store import temporary_folder
from mr_elm.streaming.stage import MRRows


def run_problem(
    data: DataSet, job_class: type[MRRows], problem: Any, stage: str, n_keys: int = 1
) -> Iterator[tuple[str, Any]]:
    """Run a job over a DataSet: yields its pairs, and demands at the end that every row is accounted for.

    problem : has `save(path)`. n_keys : of the rows that are sent to reducers, whose tasks share them.
    """
    with temporary_folder() as folder:
        path = os.path.join(folder, 'problem.npz')
        problem.save(path)
        yield from data.run(job_class, ['--problem', path, *data.engine.reducers(min(n_keys, REDUCE_TASKS))], stage)
