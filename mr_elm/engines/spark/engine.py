"""Run stages on Spark: in one session for all jobs of a command, so that a job costs tenths of a second to start.

mrjob has a harness for Spark, but it starts Java once a job, and gives tasks lines of text instead of planned splits.
"""
from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from typing import Any

from mr_elm.engines.base import Engine
from mr_elm.engines.bundle import UNPACKED
from mr_elm.engines.copies import LocalCopies
from mr_elm.engines.mrjob_engine import TaskError, pairs_of
from mr_elm.engines.remote import Remote
from mr_elm.engines.spark.cache import ParseTask, RowCache
from mr_elm.engines.spark.failures import explain_failure
from mr_elm.engines.spark.job import REDUCERS, SparkJob
from mr_elm.engines.spark.progress import follow_tasks
from mr_elm.engines.spark.session import (
    LOCAL,
    STAGING,
    add_attempts,
    count_cores,
    find_context,
    find_master,
    import_pyspark,
    open_context,
    pack_code,
)
from mr_elm.engines.trace import account, trace_job
from mr_elm.json_file import write_json
from mr_elm.passes.finished import Finished
from mr_elm.passes.work import ROOT, Work, new_staging
from mr_elm.rows.hdfs import is_local_cluster
from mr_elm.rows.inputs import InputPlan, demand_unchanged
from mr_elm.rows.splits import plan_splits

OPTIONS = ('--master', '--partitions-of-rows', '--cache', '-D', '--jobconf')


class Spark(Engine):
    """Run jobs on Spark. Makes itself a LocalSpark or a ClusterSpark, as the master says."""

    name = 'spark'
    adds_in_steps = True

    def __new__(cls, arguments: tuple[str, ...] = (), *_: Any, **known: Any) -> Spark:
        """Choose the class by the master."""
        kind = cls if cls is not Spark else LocalSpark if is_local_master(arguments) else ClusterSpark
        return super().__new__(kind)

    def __enter__(self) -> Any:
        """Start Spark, before anything is recorded of the run."""
        _ = self.context
        super().__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
        """Remove what was put elsewhere, and end Spark unless it was there before."""
        try:
            super().__exit__(kind, error, trace)
        finally:
            if self.context is self.found_context:
                self.cache.clear()
            else:
                self.context.stop()

    @cached_property
    def found_context(self) -> Any:
        """Return the SparkContext that was there before, or None."""
        return find_context()

    @cached_property
    def context(self) -> Any:
        """Return the SparkContext that runs the jobs."""
        if self.found_context is not None:
            return self.found_context
        return open_context(self.master, self.properties, self.python_of_workers())

    @cached_property
    def cache(self) -> RowCache:
        """Return what keeps rows in the memory of the executors."""
        return RowCache(self.context)

    @property
    def caches(self) -> bool:
        """Tell whether rows are kept in memory between passes."""
        return self.option('--cache') is not None

    @cached_property
    def master(self) -> str:
        """Return where Spark runs; '' where nobody says."""
        return find_master(self.option('--master'))

    @cached_property
    def properties(self) -> dict[str, str]:
        """Return the properties of Spark that the user has set."""
        return dict(value.split('=', 1) for flag, value in self.given() if flag in ('-D', '--jobconf'))

    def given(self) -> list[tuple[str, str]]:
        """Return the options of the engine: (option, value)."""
        return [(flag, value) for flag, value in pairs_of(self.arguments) if flag in OPTIONS]

    def option(self, name: str) -> str | None:
        """Return the last value given for an option, or None."""
        return dict(self.given()).get(name)

    def prepare(self, inputs: Iterable[str]) -> None:
        """Raise ValueError when there is no pyspark or no master, or an option is none of Spark's."""
        import_pyspark()
        demand_options(self.arguments, self.name)
        named = self.option('--master')
        if not self.master:
            raise ValueError('-r spark: expected --master, such as local[*] or yarn; no session and no spark-submit '
                             'says where Spark runs')
        if named is not None and find_context() is not None and add_attempts(named) != add_attempts(self.master):
            raise ValueError(f'--master {named}: expected the master of the session, {self.master}')
        super().prepare(inputs)

    def python_of_workers(self) -> str | None:
        """Return the Python of the workers, None for the one that Spark finds."""
        return self.python

    def reducers(self, n: int) -> list[str]:
        """Return the arguments that ask for n reduce tasks, none where one will do."""
        return ['-D', f'{REDUCERS}={n}'] if n > 1 else []

    @property
    def wanted_maps(self) -> int | None:
        """Return the value of --partitions-of-rows, or None."""
        wanted = self.option('--partitions-of-rows')
        return None if wanted is None else int(wanted)

    def keep_parsed(self, plan: InputPlan) -> InputPlan:
        """Return the plan for a data set of more than one pass: with --cache, with a name for its rows in memory."""
        if not self.caches:
            return super().keep_parsed(plan)
        return replace(plan, parsed=sha256(json.dumps(plan.to_record()).encode()).hexdigest())

    def find_kept(self, plan: InputPlan, options: Any, splits: list[list[list[int]]]) -> Any:
        """Return the RDD of the rows of splits, which are parsed when they are needed first; None without --cache.

        options : those of the stage.
        """
        if plan.parsed is None or not self.caches:
            return None
        encoding = plan.encoding if options.encoding else None
        task = ParseTask(json.dumps(plan.to_json()), json.dumps(encoding and encoding.to_json()),
                         options.bad_rows == 'stop', options.block_rows)
        return self.cache.find(plan.parsed, task, [json.dumps(split) for split in splits])

    def write(self, job_class: Any, plan: InputPlan, arguments: list[str], output: str, stage: str) -> str:
        """Run a job that writes to a folder, `output` unless the arguments name another one; returns which.

        Raises TaskError when it fails.
        """
        plan = self.copy_inputs(plan)
        with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
            argv = ['--no-conf', '--planned-splits', '--plan',
                    write_json(os.path.join(folder, 'plan.json'), plan.to_json()), *arguments]
            made = job_class(args=argv)
            splits = plan_splits(plan, self.wanted_maps or self.maps_over(plan.size))
            job = SparkJob(self.context, made, argv, splits, self.find_kept(plan, made.options, splits))
            target = made.options.output_dir or output
            with (self.reporter.stage(stage, plan.size, folder, plan.n_rows), self.follow(stage),
                  trace_job(self, job, stage, plan.size)):
                self.run(job, target, folder)
        return target

    def run(self, job: SparkJob, output: str, folder: str) -> None:
        """Run a job; when it fails, say why. folder : where tasks on this machine tell how far they are."""
        from py4j.protocol import Py4JError
        try:
            job.write(self.uri_of(output), folder if isinstance(self, LocalSpark) else None)
        except Py4JError as error:
            text = explain_failure(str(error), job.splits)
            raise TaskError(f'{type(job.stage).__name__}: {text}') from error

    def follow(self, stage: str) -> AbstractContextManager:
        """Tell the user how far a stage is, beside what its tasks count."""
        return nullcontext()

    def uri_of(self, folder: str) -> str:
        """Return how Spark names a folder."""
        return folder

    def task_times(self, running: SparkJob) -> dict[str, object]:
        """Put together what the tasks said of themselves."""
        times: dict[str, list] = {'mapper': [], 'reducer': []}
        sizes = {'mapper': 0, 'reducer': 0}
        for kind, begin, end, size in running.times:
            times[kind].append((begin, end))
            sizes[kind] += size
        reduced = bool(times['reducer'])
        return account(times['mapper'], times['reducer'], sizes['mapper'] if reduced else 0,
                       sizes['reducer'] if reduced else sizes['mapper'])


class LocalSpark(Spark, LocalCopies):
    """Run jobs on Spark on the cores of this machine."""

    def python_of_workers(self) -> str:
        """Return this Python, unless the user names another one."""
        return self.python or sys.executable

    def uri_of(self, folder: str) -> str:
        """Return the URI of a folder of this machine, whatever file system Spark is configured for."""
        return f'file://{os.path.abspath(folder)}'

    @contextmanager
    def run_job(self, job_class: type, plan: InputPlan, arguments: list[str], stage: str) -> Iterator[Finished]:
        """Run a job; the context's value is its `Finished` output, which vanishes at the end."""
        with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
            target = self.write(job_class, plan, arguments, os.path.join(folder, 'output'), stage)
            demand_unchanged(plan)
            yield Finished(job_class, target)

    @property
    def n_maps(self) -> int:
        """Return how many map tasks to plan."""
        return self.wanted_maps or count_cores(self.master)

    def maps_over(self, n_bytes: int) -> int:
        """Return how many map tasks there are: one a core."""
        return self.n_maps


class ClusterSpark(Spark, Remote):
    """Run jobs on a cluster of Spark, which keeps inputs and outputs on HDFS, or where `STAGING` says."""

    schemes, place = ('hdfs', 's3a'), 'on HDFS or S3'

    @cached_property
    def work(self) -> Work:
        """Return what the run keeps on the cluster."""
        return Work(new_staging(self.properties.get(STAGING, ROOT)), self.reporter, None, self.output, self.resume)

    @cached_property
    def context(self) -> Any:
        """Return the SparkContext, whose workers are given the code."""
        context = super().context
        if self.bundle is None:
            context.addPyFile(pack_code())
        return context

    @cached_property
    def properties(self) -> dict[str, str]:
        """Return the properties of the user, with the archive of the environment."""
        bundle = {} if self.bundle is None else {'spark.archives': f'{self.bundle}#{UNPACKED}'}
        return {**bundle, **super().properties}

    def python_of_workers(self) -> str | None:
        """Return the Python of the archive, or the one that the user names; this one where nodes are this machine."""
        if self.bundle is not None:
            return f'./{UNPACKED}/bin/python'
        return self.python or (sys.executable if is_local_cluster() else None)

    def write_output(self, job_class: type, plan: InputPlan, arguments: list[str], folder: str, key: str,
                     stage: str) -> None:
        """Run a job that writes to a folder of the cluster."""
        self.write(job_class, plan, arguments, folder, stage)

    def follow(self, stage: str) -> AbstractContextManager:
        """Tell the user how many tasks have ended."""
        return follow_tasks(self.context, self.reporter, stage)

    @property
    def n_maps(self) -> int:
        """Return how many map tasks to plan at least: one a core that the cluster gives."""
        return self.wanted_maps or self.context.defaultParallelism

    def maps_over(self, n_bytes: int) -> int:
        """Return how many map tasks there are: one for each of Hadoop's usual splits, and for each core."""
        return max(super().maps_over(n_bytes), self.n_maps)


def demand_options(arguments: tuple[str, ...], runner: str) -> None:
    """Raise ValueError when an option is none of Spark's. runner : as the user named it."""
    for flag, value in pairs_of(arguments):
        if flag.startswith('-') and flag not in OPTIONS:
            raise ValueError(f'{flag}: -r {runner} does not take this option of mrjob')
        if flag in ('-D', '--jobconf') and not (value.startswith('spark.') and '=' in value):
            raise ValueError(f'{flag} {value}: -r {runner} expects a property spark.NAME=VALUE')


def is_local_master(arguments: tuple[str, ...]) -> bool:
    """Tell whether options of the engine, or what is around, name a master on this machine, or none."""
    named = dict(pairs_of(arguments)).get('--master')
    return LOCAL.fullmatch(find_master(named) or 'local') is not None
