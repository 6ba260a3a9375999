"""Run stages on Spark: in one session for all jobs of a command, so that a job costs tenths of a second to start.

Jobs are DataFrames, which classic sessions and those of Spark Connect run alike. mrjob has a harness for Spark, but it
starts Java once a job, and gives tasks lines of text instead of planned splits.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mr_elm.engines.base import Engine, pairs_of
from mr_elm.engines.bundle import UNPACKED
from mr_elm.engines.cluster import Remote
from mr_elm.engines.local import LocalCopies
from mr_elm.engines.spark.job import REDUCERS, SparkJob, separate_files
from mr_elm.engines.spark.session import (
    LOCAL,
    OURS,
    PYTHON,
    SERVER,
    STAGING,
    add_attempts,
    close_session,
    find_master,
    find_session,
    import_pyspark,
    open_session,
    runs_here,
    send_code,
)
from mr_elm.engines.spark.task import ENDED, REPEATED, StageTask, list_reports
from mr_elm.engines.tasks import name_stage
from mr_elm.errors import TaskError
from mr_elm.passes.data_set import JobOutput
from mr_elm.passes.work import ROOT, Work, new_staging
from mr_elm.progress import Stage, repeat
from mr_elm.rows.hdfs import is_local_cluster
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.splits import plan_splits
from mr_elm.rows.storage import store_of
from mr_elm.store import temporary_folder, write_json

OPTIONS = ('--master', '--partitions-of-rows', '-D', '--jobconf')
MAX_SLICES = 1 << 16  # more than any cluster has cores
POLL_SECONDS = 5.0  # seconds between two looks at how many tasks have ended


@dataclass(frozen=True)
class Spark(Engine):
    """Run jobs on Spark. Makes itself a LocalSpark or a ClusterSpark, as the master says.

    frame : DataFrame whose session runs the jobs, or None: the session of this process, or a new one.
    partitions : of that DataFrame, see `StageTask`, where tasks take the rows from it: there is no folder that they and
        this process reach. Else empty.
    """

    name = 'spark'

    frame: Any = None
    partitions: dict[int, tuple[int, int]] = field(default_factory=dict)

    def __new__(
        cls, arguments: tuple[str, ...] = (), *_: Any, frame: Any = None, partitions: dict | None = None, **values: Any
    ) -> Spark:
        """Choose the class by the place of the tasks; a server of Spark Connect must be asked for it."""
        if cls is not Spark:
            return super().__new__(cls)
        if partitions:
            return super().__new__(FrameSpark)
        if frame is None:
            session = find_session()
        else:
            session = frame.sparkSession
        master = find_master(None, dict(pairs_of(arguments)).get('--master'))
        if session is None and master.startswith(SERVER):
            session = open_session(master, read_properties(arguments))
        is_here = runs_here(session) if session else LOCAL.fullmatch(master or 'local')
        return super().__new__(LocalSpark if is_here else ClusterSpark)

    def __enter__(self) -> Any:
        """Start Spark, before anything is recorded of the run."""
        _ = self.session
        super().__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
        """Remove what was put elsewhere, and end Spark unless it was there before."""
        try:
            super().__exit__(kind, error, trace)
        finally:
            if self.frame is None:
                close_session(self.session)

    @cached_property
    def session(self) -> Any:
        """Return the SparkSession that runs the jobs."""
        session = self.found_session or open_session(self.master, self.properties)
        python = self.python_of_workers()
        if python is not None and 'PYSPARK_PYTHON' not in os.environ and session.conf.get(PYTHON, None) is None:
            session.conf.set(PYTHON, python)
        return session

    @property
    def found_session(self) -> Any:
        """Return the SparkSession that is there, or None."""
        if self.frame is None:
            return find_session()
        return self.frame.sparkSession

    @cached_property
    def master(self) -> str:
        """Return where Spark runs; '' where nobody says."""
        return find_master(self.found_session, self.option('--master'))

    @cached_property
    def properties(self) -> dict[str, str]:
        """Return the properties of Spark that the user has set."""
        return read_properties(self.arguments)

    def prepare(self, inputs: Iterable[str]) -> None:
        """Raise ValueError when there is no pyspark or no master, or an option is none of Spark's."""
        import_pyspark()
        demand_options(self.arguments)
        session = self.found_session
        named = self.option('--master')
        if session is None and not self.master:
            raise ValueError(
                '-r spark: expected --master, such as local[*], yarn or sc://HOST; no session and no '
                'spark-submit says where Spark runs'
            )
        if named and session and session not in OURS and add_attempts(named) != add_attempts(self.master):
            raise ValueError(f'--master {named}: expected the master of the session, {self.master}')
        super().prepare(inputs)

    def python_of_workers(self) -> str | None:
        """Return the Python of the workers, None for the one that Spark finds."""
        return self.python

    def reducers(self, n: int) -> list[str]:
        """Return the arguments that ask for n reduce tasks, none where one will do."""
        if n > 1:
            return ['-D', f'{REDUCERS}={n}']
        return []

    @property
    def wanted_maps(self) -> int | None:
        """Return the value of --partitions-of-rows, or None."""
        partitions = self.option('--partitions-of-rows')
        if partitions is None:
            return None
        return int(partitions)

    def write(self, job_class: Any, plan: InputPlan, arguments: list[str], output: str, stage: str) -> None:
        """Run a job that writes to a new folder. Raises TaskError when it fails."""
        plan = self.copy_inputs(plan)
        with temporary_folder() as folder:
            argv = ['--no-conf', '--plan', write_json(os.path.join(folder, 'plan.json'), plan.to_json()), *arguments]
            mr_job = job_class(args=argv)
            splits = plan_splits(plan, self.wanted_maps or self.maps_over(plan.size))
            reports = ''
            if not (self.reporter.quiet or self.partitions):
                reports = f'{output}.reports'
            words, files = separate_files(self.session, mr_job, argv)
            task = StageTask(name_stage(job_class), words, files, splits, reports, self.partitions)
            job = SparkJob(self.session, mr_job, task, self.frame)
            with (
                Stage(self.reporter, stage, plan.size, plan.n_rows) as progress,
                self.follow(reports, len(splits), progress),
            ):
                try:
                    job.write(output, self.uri_of(output))
                except Exception as error:
                    cause = job.explain(f'{type(error).__name__}: {error}')
                    raise TaskError(f'{job_class.__name__}: {cause}') from error

    @contextmanager
    def follow(self, reports: str, n_tasks: int, progress: Stage) -> Iterator[None]:
        """Tell the user now and then how many map tasks have ended, and at the end which tasks ran more than once.

        They report it themselves: Spark has one way to tell it for sessions of Connect, and another one for others.
        reports : the folder for their reports, or '' for none.
        """
        if not reports:
            yield
            return
        store_of(reports).make_folder(reports)

        def tell() -> None:
            progress.set_status(f'{len(list_reports(reports, ENDED))} of {n_tasks} tasks have ended')

        try:
            with repeat(tell, POLL_SECONDS):
                yield
            for name in list_reports(reports, REPEATED):
                kind, number, attempt = name.removeprefix(REPEATED).split('-')
                self.reporter.say(f'{progress.name}: {kind} {number} ran again, its attempt {attempt} failed')
        finally:
            store_of(reports).remove(reports)

    def uri_of(self, folder: str) -> str:
        """Return how Spark names a folder."""
        return folder


class LocalSpark(Spark, LocalCopies):
    """Run jobs on Spark on the cores of this machine."""

    def python_of_workers(self) -> str | None:
        """Return this Python, unless the user names another one."""
        return self.python or sys.executable

    def uri_of(self, folder: str) -> str:
        """Return the URI of a folder of this machine, whatever file system Spark is configured for."""
        return Path(folder).absolute().as_uri()

    @contextmanager
    def run_job(self, job_class: type, plan: InputPlan, arguments: list[str], stage: str) -> Iterator[JobOutput]:
        """Run a job; the context's value is its `JobOutput`, which vanishes at the end."""
        with temporary_folder() as folder:
            output = os.path.join(folder, 'output')
            self.write(job_class, plan, arguments, output, stage)
            yield JobOutput(job_class, output)

    @property
    def n_processes(self) -> int:
        """Return how many tasks the master runs at once."""
        cores = LOCAL.sub(r'\1', self.master)
        if cores == '*':
            return os.cpu_count() or 1
        return int(cores or 1)

    def maps_over(self, n_bytes: int) -> int:
        """Return how many map tasks there are: one a core."""
        return self.n_maps


class FrameSpark(LocalSpark):
    """Run jobs over the rows of a DataFrame, and bring their output to this process."""

    @cached_property
    def session(self) -> Any:
        """Return the SparkSession, whose workers are given the code."""
        session = super().session
        send_code(session)
        return session

    def python_of_workers(self) -> None:
        """Leave the workers the Python that they have."""

    def uri_of(self, folder: str) -> str:
        """Return '': Spark does not reach the folders of this machine."""
        return ''

    @property
    def n_processes(self) -> int:
        """Return how many map tasks there are: one a partition."""
        return len(self.partitions)

    def maps_over(self, n_bytes: int) -> int:
        """Return how many map tasks there are at most, so that each partition has one of its own."""
        return n_bytes


class ClusterSpark(Spark, Remote):
    """Run jobs on a cluster of Spark, which keeps inputs and outputs on HDFS, or where `STAGING` says."""

    schemes = ('hdfs', 's3a')
    location = 'on HDFS or S3'

    @cached_property
    def work(self) -> Work:
        """Return what the run keeps on the cluster."""
        return Work(new_staging(self.properties.get(STAGING, ROOT)), self.reporter, None, self.output, self.resume)

    @cached_property
    def session(self) -> Any:
        """Return the SparkSession, whose workers are given the code."""
        session = super().session
        if self.bundle is None:
            send_code(session)
        return session

    @cached_property
    def properties(self) -> dict[str, str]:
        """Return the properties of the user, with the archive of the environment."""
        properties = super().properties
        if self.bundle is None:
            return properties
        return {'spark.archives': f'{self.bundle}#{UNPACKED}', **properties}

    def python_of_workers(self) -> str | None:
        """Return the Python of the archive, or the one that the user names; this one where nodes are this machine."""
        if self.bundle is not None:
            return f'./{UNPACKED}/bin/python'
        return self.python or (sys.executable if is_local_cluster() else None)

    def write_output(self, job_class: type, plan: InputPlan, arguments: list[str], folder: str, stage: str) -> None:
        """Run a job that writes to a folder of the cluster."""
        self.write(job_class, plan, arguments, folder, stage)

    @cached_property
    def n_processes(self) -> int:
        """Return how many cores the cluster gives: into so many pieces Spark cuts a range."""
        return self.session.range(MAX_SLICES).selectExpr('spark_partition_id() as number').distinct().count()

    def maps_over(self, n_bytes: int) -> int:
        """Return how many map tasks there are: one for each of Hadoop's usual splits, and for each core."""
        return max(super().maps_over(n_bytes), self.n_maps)


def read_properties(arguments: tuple[str, ...]) -> dict[str, str]:
    """Return the properties of Spark among the options of the engine."""
    return dict(value.split('=', 1) for flag, value in pairs_of(arguments) if flag in ('-D', '--jobconf'))


def demand_options(arguments: tuple[str, ...]) -> None:
    """Raise ValueError when an option is none of Spark's."""
    for flag, value in pairs_of(arguments):
        if flag.startswith('-') and flag not in OPTIONS:
            raise ValueError(f'{flag}: -r spark does not take this option of mrjob')
        if flag in ('-D', '--jobconf') and not (value.startswith('spark.') and '=' in value):
            raise ValueError(f'{flag} {value}: -r spark expects a property spark.NAME=VALUE')
