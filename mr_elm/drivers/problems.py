"""Run jobs whose tasks read a problem, one file, from the distributed cache."""

import os
from collections.abc import Iterator
from typing import Any

from mr_elm.engines.base import REDUCE_TASKS
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.wire import split_key
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
        reducers = data.engine.reducers(min(n_keys, REDUCE_TASKS))
        yield from data.run(job_class, ['--problem', path, *reducers], stage)


def score_kernels(data: DataSet, job_class: type[MRRows], problem: Any, stage: str, n: int) -> list[Any]:
    """Run a job that scores n kernels, each in a reducer: what these say, in order."""
    answers = {int(split_key(key)[1][0]): value for key, value in run_problem(data, job_class, problem, stage, n)}
    return [answers[number] for number in range(n)]
