"""Run jobs whose tasks read a problem, one file, from the distributed cache."""
import os
import tempfile

from mr_elm.rows.partition import tasks_for


def run_problem(data, job_class, problem, stage, keys=()):
    """Run a job over a DataSet: yields its pairs, and demands at the end that every row is accounted for.

    problem : has `save(path)`. keys : those of the rows that are sent to reducers, whose tasks share them.
    """
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        path = os.path.join(folder, 'problem.npz')
        problem.save(path)
        reducers = data.runner.reducers(tasks_for(keys)) if keys else []
        yield from data.run(job_class, ['--problem', path, *reducers], stage)
