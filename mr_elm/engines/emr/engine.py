"""Run stages on a cluster of Amazon EMR."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mr_elm.engines.cluster import Cluster
from mr_elm.engines.emr.client import EMRRunner, Steps, connection, read_options
from mr_elm.engines.emr.failures import explain_emr
from mr_elm.engines.hadoop.progress import HadoopProgress
from mr_elm.engines.mrjob_private import options_of, runner_arguments
from mr_elm.engines.mrjob_runner import conf_arguments
from mr_elm.passes.work import Work, new_staging
from mr_elm.progress import Stage
from mr_elm.rows import remote
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.storage import make_store

CLUSTER = re.compile(r'(?:Created new|Adding our job to existing) cluster (\S+)')
STATE = re.compile(r'^\s*(?:PENDING|RUNNING|Waiting .* for .* logs?)\b.*|[\d.]+% complete')


@dataclass(frozen=True)
class EMR(Cluster):
    """Run jobs as steps of EMR.

    clusters : the cluster of EMR that the jobs share, once there is one.
    """

    name = 'emr'
    schemes = ('s3', 's3a', 's3n')
    location = 'on S3'

    clusters: list[str] = field(default_factory=list)

    @cached_property
    def options(self) -> dict[str, Any]:
        """Return mrjob's options for EMR."""
        return read_options((*conf_arguments(self.arguments), *self.arguments))

    @cached_property
    def work(self) -> Work:
        """Return what the run keeps on S3."""
        staging = new_staging(self.options['cloud_tmp_dir'])
        return Work(staging, self.reporter, Steps(self.options), self.output, self.resume)

    def prepare(self, inputs: Iterable[str]) -> None:
        """Let S3 be found where mrjob's options say that it is; raise ValueError when an input is elsewhere."""
        remote.CONNECTION.update(connection(self.options, 's3_endpoint'))
        make_store.cache_clear()
        super().prepare(inputs)

    def make_runner(self, job: Any) -> Any:
        """Return a runner that makes no bucket."""
        return EMRRunner(**runner_arguments(job))

    @contextmanager
    def start(self, job_class: Any, plan: InputPlan, arguments: list[str], output: str, stage: str) -> Any:
        """Run a job, and keep its cluster for the next one when clusters are pooled."""
        with super().start(job_class, plan, arguments, output, stage) as running:
            if options_of(running)['pool_clusters']:
                self.clusters[:] = [running.get_cluster_id()]
            yield running

    def follow(self, progress: Stage) -> EMRProgress:
        """Return what tells the user what the cluster does."""
        return EMRProgress(progress, self.options['region'])

    def explain(self, error: Exception, running: Any) -> str | None:
        """Read the logs that EMR keeps on S3."""
        return explain_emr(error, running)

    def job_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Let jobs share a cluster."""
        arguments = super().job_arguments(plan, folder)
        if self.clusters:
            return ['--cluster-id', *self.clusters, *arguments]
        return arguments


class EMRProgress(HadoopProgress):
    """Listen to mrjob's log while a stage runs, and tell the user what the cluster does.

    progress : of the stage. region : where the cluster is.
    """

    def __init__(self, progress: Stage, region: str) -> None:
        super().__init__(progress)
        self.region = region

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line of the log."""
        text = record.getMessage()
        if match := CLUSTER.search(text):
            console = f'https://{self.region}.console.aws.amazon.com/emr/home?region={self.region}'
            self.say(f'cluster {match[1]}, {console}#/clusterDetails/{match[1]}')
        elif match := STATE.search(text):
            self.progress.set_status(match[0].strip())
