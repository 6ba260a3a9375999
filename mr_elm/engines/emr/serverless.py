"""Run a command of mr-elm on EMR Serverless: as one job run of Spark, whose driver is the command itself.

Amazon starts machines for the job run and stops them afterwards; nobody keeps a cluster. The options of a run stand in
the same configuration file as those of `-r emr`.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3

from mr_elm.engines.bundle import UNPACKED
from mr_elm.engines.emr.client import CONF, connection, translate_errors, use_connection
from mr_elm.engines.emr.failures import read_log
from mr_elm.engines.mrjob_private import RUNTIME_ROLE
from mr_elm.engines.shipping import zip_code
from mr_elm.engines.spark.session import STAGING
from mr_elm.progress import Reporter
from mr_elm.rows.storage import store_of
from mr_elm.store import temporary_folder

APPLICATION = 'mr-elm'  # the name of the application of EMR Serverless that runs our job runs
READY = ('CREATING', 'CREATED', 'STARTING', 'STARTED', 'STOPPING', 'STOPPED')  # it starts with a job run
ENDED = ('SUCCESS', 'FAILED', 'CANCELLED')
ENTRY = 'import sys\nfrom mr_elm.cli.serverless import perform\nsys.exit(perform(sys.argv[1], sys.argv[2:]))\n'
PYTHON = f'./{UNPACKED}/bin/python'
PLAIN = re.compile(r'[\w/:.=+@-]+', re.ASCII)  # a path that no shell changes


@dataclass(frozen=True)
class Serverless:
    """Submit job runs, and wait for them.

    options : those of mrjob for EMR, see `read_options`. bundle : archive of `mr-elm bundle` on S3.
    reporter : speaks to the user.
    """

    options: dict[str, Any]
    bundle: str
    reporter: Reporter

    @cached_property
    def client(self) -> Any:
        """Return boto3's client of EMR Serverless."""
        return boto3.client(
            'emr-serverless', region_name=self.options['region'], **connection(self.options, 'emr_endpoint')
        )

    @property
    def role(self) -> str:
        """Return the role of the job runs. Raises ValueError where none is named."""
        role = self.options['extra_cluster_params'].get(RUNTIME_ROLE)
        if role is None:
            raise ValueError(
                f'-r emr-serverless: expected the role of the job, by --extra-cluster-param {RUNTIME_ROLE}'
                f'=ARN or by extra_cluster_params in the configuration file that -c names (see {CONF})'
            )
        return role

    @cached_property
    def folder(self) -> str:
        """Return the folder of S3 for temporary files of this run."""
        return f'{self.options["cloud_tmp_dir"].rstrip("/")}/mr_elm-{uuid.uuid4().hex[:12]}'

    @property
    def code(self) -> str:
        """Return the path of the program on S3."""
        return f'{self.folder}/code.zip'

    @property
    def output(self) -> str:
        """Return the path on S3 of what the command writes to standard output."""
        return f'{self.folder}/stdout'

    @property
    def logs(self) -> str:
        """Return the folder of S3 for logs."""
        return (self.options['cloud_log_dir'] or f'{self.options["cloud_tmp_dir"].rstrip("/")}/logs').rstrip('/') + '/'

    def run(self, words: Sequence[str]) -> tuple[str, str]:
        """Run a command: (what it wrote to standard output, '' or why it failed).

        words : of mr-elm, with -r spark. Raises an OSError where Amazon refuses something.
        """
        use_connection(self.options)
        with translate_errors('EMR Serverless'):
            try:
                run_ids = self.start(words)
                job_run = self.wait(run_ids)
                out = read_log(self.output)
            finally:
                store_of(self.folder).remove(self.folder)
        self.report_cost(job_run)
        folder = f'{self.logs}applications/{run_ids["applicationId"]}/jobs/{run_ids["jobRunId"]}/SPARK_DRIVER'
        return out, '' if job_run['state'] == 'SUCCESS' else explain(job_run, folder)

    def start(self, words: Sequence[str]) -> dict[str, str]:
        """Start the job run of a command: the parameters that name it."""
        entry = self.upload_code()
        staging = self.folder.replace('s3://', 's3a://', 1)
        arguments = [self.output, *words, '-D', f'{STAGING}={staging}']
        application = self.find_application()
        started = self.client.start_job_run(
            applicationId=application,
            executionRoleArn=self.role,
            name=f'mr-elm {words[0]}',
            tags=self.options['tags'],
            jobDriver={
                'sparkSubmit': {
                    'entryPoint': entry,
                    'entryPointArguments': arguments,
                    'sparkSubmitParameters': self.describe_settings(),
                }
            },
            configurationOverrides={'monitoringConfiguration': {'s3MonitoringConfiguration': {'logUri': self.logs}}},
        )
        self.reporter.say(f'job run {started["jobRunId"]} of application {application}')
        return {'applicationId': application, 'jobRunId': started['jobRunId']}

    def upload_code(self) -> str:
        """Copy the program to S3: the path of the script that starts it."""
        entry = f'{self.folder}/run.py'
        with temporary_folder() as folder:
            script = Path(folder, 'run.py')
            script.write_text(ENTRY)
            store_of(entry).put(str(script), entry)
            store_of(self.code).put(zip_code(os.path.join(folder, 'code.zip')), self.code)
        return entry

    def find_application(self) -> str:
        """Return the application with our name and release; it is made where there is none."""
        release = self.options['release_label']
        for page in self.client.get_paginator('list_applications').paginate(states=list(READY)):
            for application in page['applications']:
                if (application.get('name'), application['releaseLabel']) == (APPLICATION, release):
                    return application['id']
        return self.client.create_application(
            name=APPLICATION, releaseLabel=release, type='SPARK', tags=self.options['tags']
        )['applicationId']

    def describe_settings(self) -> str:
        """Return the options of spark-submit: the archive with Python, and the code.

        Raises ValueError where a path has characters that a shell would take for more than themselves.
        """
        values = {
            'spark.archives': f'{self.bundle}#{UNPACKED}',
            'spark.submit.pyFiles': self.code,
            'spark.emr-serverless.driverEnv.PYSPARK_DRIVER_PYTHON': PYTHON,
            'spark.emr-serverless.driverEnv.PYSPARK_PYTHON': PYTHON,
            'spark.executorEnv.PYSPARK_PYTHON': PYTHON,
        }
        for path in (self.bundle, self.code):
            if not PLAIN.fullmatch(path):
                raise ValueError(
                    f'{path}: expected a path of letters, digits and any of /:.=+@_- only; Amazon splits '
                    'the options of spark-submit as a shell does'
                )
        return ' '.join(f'--conf {name}={value}' for name, value in values.items())

    def wait(self, run_ids: dict[str, str]) -> dict[str, Any]:
        """Wait until a job run has ended: what Amazon knows of it. It is cancelled when the user interrupts."""
        state = None
        try:
            while True:
                job_run = self.client.get_job_run(**run_ids)['jobRun']
                if job_run['state'] != state:
                    state = job_run['state']
                    self.reporter.say(f'job run {run_ids["jobRunId"]}: {state.lower()}')
                if state in ENDED:
                    return job_run
                time.sleep(self.options['check_cluster_every'])
        except KeyboardInterrupt:
            self.client.cancel_job_run(**run_ids)
            raise

    def report_cost(self, job_run: dict[str, Any]) -> None:
        """Say what Amazon bills."""
        billed = job_run.get('billedResourceUtilization', {})
        self.reporter.say(
            f'billed: {billed.get("vCPUHour", 0):.3f} vCPU-hours, {billed.get("memoryGBHour", 0):.3f} '
            'GB-hours of memory'
        )


def explain(job_run: dict[str, Any], folder: str) -> str:
    """Return why a job run failed: the last words of the command, or those of Amazon.

    job_run : what Amazon knows of the job run. folder : of its logs; that of standard output has all that a driver in
    Python writes.
    """
    lines = [line for name in ('stderr', 'stdout') for line in read_log(f'{folder}/{name}').splitlines()]
    sentences = [line.removeprefix('mr-elm: ') for line in lines if line.startswith('mr-elm: ')]
    details = job_run.get('stateDetails') or 'Amazon does not say why'
    return f'{sentences[-1] if sentences else details} (its logs: {folder}/)'
