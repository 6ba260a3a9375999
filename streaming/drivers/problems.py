"""Run jobs whose tasks read a problem, one file, from the distributed cache."""
import os
import tempfile

from mr_elm.streaming.drivers.checks import check_pack
from mr_elm.streaming.partition import tasks_for
from mr_elm.streaming.submit import run_job


def run_problem(job_class, problem, accounts, options, runner, stage, keys=()):
    """Run a job over the rows of a plan: yields its pairs, and demands at the end that every row is accounted for.

    problem : has `save(path)`. accounts : empty Accounts of the plan, filled on the way. options : has `bad_rows`.
    keys : those of the rows that are sent to reducers, whose tasks share them.
    """
    plan = accounts.plan
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        path = os.path.join(folder, 'problem.npz')
        problem.save(path)
        reducers = runner.reducers(tasks_for(keys)) if keys else []
        arguments = ['--problem', path, '--bad-rows', options.bad_rows, *reducers]
        with run_job(job_class, plan, arguments, runner, stage) as finished:
            yield from finished.pairs(accounts)
    accounts.settle(options.bad_rows)
    check_pack(plan, accounts)
