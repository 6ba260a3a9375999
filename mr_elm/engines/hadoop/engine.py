"""Run stages on a Hadoop cluster, by one `hadoop jar` a job and HTTP for the rest."""

from __future__ import annotations

import os
import re
import sys
from functools import cached_property
from typing import Any

from mrjob.fs.base import Filesystem
from mrjob.fs.composite import CompositeFilesystem
from mrjob.fs.hadoop import HadoopFilesystem
from mrjob.fs.local import LocalFilesystem
from mrjob.hadoop import HadoopJobRunner

from mr_elm.engines.cluster import Cluster
from mr_elm.engines.hadoop.failures import explain_step
from mr_elm.engines.hadoop.progress import HadoopProgress
from mr_elm.engines.hadoop.yarn import Yarn
from mr_elm.engines.mrjob_private import last_step, options_of, runner_arguments
from mr_elm.passes.work import Work, new_staging
from mr_elm.progress import Stage
from mr_elm.rows.hdfs import HadoopCommand, find_command, is_local_cluster
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.storage import store_of

JAR_VERSION = re.compile(r'hadoop-streaming-(\d+(?:\.\d+)+)')


class Hadoop(Cluster):
    """Run jobs on Hadoop."""

    name = 'hadoop'
    schemes = ('hdfs', 's3a')
    location = 'on HDFS'

    def __enter__(self) -> Hadoop:
        """Demand that there is a Hadoop, before anything is recorded of the run. Raises FileNotFoundError."""
        find_command()
        super().__enter__()
        return self

    @cached_property
    def work(self) -> Work:
        """Return what the run keeps on HDFS."""
        return Work(new_staging(), self.reporter, Yarn(), self.output, self.resume)

    def make_runner(self, job: Any) -> Any:
        """Return a runner that speaks HTTP."""
        return HadoopRunner(**runner_arguments(job))

    def follow(self, progress: Stage) -> HadoopProgress:
        """Return what tells the user what the job's client logs."""
        return HadoopProgress(progress)

    def explain(self, error: Exception, running: Any) -> str | None:
        """Ask the history server for the log of a task that failed."""
        step = last_step(running)
        try:
            return explain_step(error, step)
        except (OSError, ValueError, KeyError) as problem:
            number = step['job_id'].removeprefix('job')
            raise OSError(f'{problem}: `yarn logs -applicationId application{number}` prints them') from None

    def job_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Let mrjob copy its files into the folder of the run."""
        if self.option('--hadoop-tmp-dir'):
            arguments = []
        else:
            arguments = ['--hadoop-tmp-dir', f'{self.work.staging}/mrjob']
        return [*arguments, *super().job_arguments(plan, folder)]

    def python_arguments(self, folder: str) -> list[str]:
        """Choose the Python of the tasks: on a local cluster, whose nodes are this machine, it is this one."""
        named = self.bundle or self.python or self.option('--task-python-bin')
        if not named and is_local_cluster():
            return ['--task-python-bin', sys.executable]
        return super().python_arguments(folder)


class WebFiles(Filesystem):
    """Put files on HDFS for mrjob over WebHDFS, where its own class starts a JVM for every call; nothing else is asked.

    What jobs write is read by `JobOutput`, not by mrjob.
    """

    def can_handle_path(self, path: str) -> bool:
        """Tell whether a path is on HDFS."""
        return path.startswith('hdfs:')

    def mkdir(self, path: str) -> None:
        """Make a folder and those above it."""
        store_of(path).make_folder(path)

    def put(self, src: str, path: str) -> None:
        """Copy a file of this machine."""
        store_of(path).put(src, path)

    def rm(self, path: str) -> None:
        """Remove a file or a folder."""
        store_of(path).remove(path)


class HadoopRunner(HadoopJobRunner):
    """Run jobs like mrjob's own runner, but speak to HDFS over HTTP where possible: one JVM a job, not twelve."""

    @cached_property
    def fs(self) -> CompositeFilesystem:
        """Return a file system for HDFS and this machine."""
        files = CompositeFilesystem()
        if not isinstance(store_of('hdfs:///').system, HadoopCommand):
            files.add_fs('webhdfs', WebFiles())
        files.add_fs('hadoop', HadoopFilesystem(options_of(self)['hadoop_bin'] or [find_command()]))
        files.add_fs('local', LocalFilesystem())
        return files

    def get_hadoop_version(self) -> str:
        """Read the version off the name of the streaming jar; ask Hadoop where it has none."""
        match = JAR_VERSION.search(os.path.basename(self.get_hadoop_streaming_jar() or ''))
        if match:
            return match.group(1)
        return super().get_hadoop_version()
