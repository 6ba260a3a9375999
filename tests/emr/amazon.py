"""Amazon in small: moto's server for its interfaces, and a thread in place of its machines, which runs each step."""

import gzip
import re
import threading
from collections.abc import MutableMapping
from datetime import datetime, timezone
from pathlib import Path

import boto3
import moto.emr.models
from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.responses import ActionResult
from moto.emr.exceptions import ValidationException
from moto.emr.responses import ElasticMapReduceResponse
from moto.server import ThreadedMotoServer

from emr.streaming import Streaming

REGION = 'eu-central-1'
SECRET = 'wJalrXUtnFEMI-not-a-real-secret'
HOST = 'ip-10-0-0-7.eu-central-1.compute.internal'
CREDENTIALS = {'AWS_ACCESS_KEY_ID': 'AKIANOTAREALKEY', 'AWS_SECRET_ACCESS_KEY': SECRET}
STAMP = '1700000000000'
INTERVAL = 0.05
PLAIN_STEPS = ElasticMapReduceResponse.add_job_flow_steps


class Bucket(MutableMapping):
    """Objects of S3 by their address."""

    def __init__(self, client):
        self.client = client

    def _place(self, path):
        bucket, _, key = path.partition('://')[2].partition('/')
        return {'Bucket': bucket, 'Key': key}

    def __getitem__(self, path):
        try:
            return self.client.get_object(**self._place(path))['Body'].read()
        except self.client.exceptions.NoSuchKey:
            raise KeyError(path) from None

    def __setitem__(self, path, data):
        self.client.put_object(**self._place(path), Body=data)

    def __delitem__(self, path):
        self.client.delete_object(**self._place(path))

    def __iter__(self):
        for bucket in self.client.list_buckets()['Buckets']:
            for page in self.client.get_paginator('list_objects_v2').paginate(Bucket=bucket['Name']):
                for item in page.get('Contents', ()):
                    yield f's3://{bucket["Name"]}/{item["Key"]}'

    def __len__(self):
        return sum(1 for _ in self)


class Application(moto.emr.models.Application):
    """Know its version, as EMR does and moto does not."""

    def __init__(self, name, version, args, additional_info):
        super().__init__(name, version or '3.4.2', args, additional_info)


def cancel_steps(response):
    """Cancel steps, as EMR does and moto cannot."""
    asked = response._get_param('StepIds')
    for step in response.backend.clusters[response._get_param('ClusterId')].steps:
        if step.id in asked:
            step.state = 'CANCELLED'
    return ActionResult({'CancelStepsInfoList': [{'StepId': step, 'Status': 'SUBMITTED'} for step in asked]})


def add_steps(response):
    """Add steps; with runtime roles, which moto does not know, take none without a role."""
    cluster = response.backend.clusters[response._get_param('JobFlowId')]
    role = response._get_param('ExecutionRoleArn')
    if cluster.security_configuration and not role:
        raise ValidationException(
            'Runtime roles are required for this cluster. Please specify the role using the ExecutionRoleArn parameter.'
        )
    answer = PLAIN_STEPS(response)
    for step in cluster.steps[-len(response._get_param('Steps')) :]:
        step.execution_role = role
    return answer


class Amazon:
    """Serve S3, EMR, EC2 and IAM on a loopback port, and run what is asked for. A context."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.server = ThreadedMotoServer('127.0.0.1', 0, verbose=False)
        self.stopped = threading.Event()
        self.jobs = []
        self.bootstraps = {}

    def __enter__(self):
        moto.emr.models.Application, self.plain = Application, moto.emr.models.Application
        ElasticMapReduceResponse.cancel_steps = cancel_steps
        ElasticMapReduceResponse.add_job_flow_steps = add_steps
        self.server.start()
        self.endpoint = 'http://{}:{}'.format(*self.server.get_host_and_port())
        self.client = boto3.client(
            's3',
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=CREDENTIALS['AWS_ACCESS_KEY_ID'],
            aws_secret_access_key=SECRET,
        )
        self.client.create_bucket(Bucket='bucket', CreateBucketConfiguration={'LocationConstraint': REGION})
        self.files = Bucket(self.client)
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        return self

    def __exit__(self, kind, error, trace):
        self.stopped.set()
        self.thread.join()
        self.server.stop()
        moto.emr.models.Application = self.plain
        del ElasticMapReduceResponse.cancel_steps
        ElasticMapReduceResponse.add_job_flow_steps = PLAIN_STEPS

    @property
    def environment(self):
        """Return the variables that lead a client here."""
        return {**CREDENTIALS, 'AWS_ENDPOINT_URL': self.endpoint, 'AWS_DEFAULT_REGION': REGION}

    @property
    def clusters(self):
        """List what moto knows of each cluster; its server takes all of them for one region's."""
        return [
            cluster
            for backend in list(moto.emr.models.emr_backends[DEFAULT_ACCOUNT_ID].values())
            for cluster in list(backend.clusters.values())
        ]

    def work(self):
        """Run the steps of all clusters, one after another, until told to stop."""
        while not self.stopped.wait(INTERVAL):
            for cluster in self.clusters:
                if cluster.steps and cluster.id not in self.bootstraps:
                    self.bootstraps[cluster.id] = self.fetch_bootstrap(cluster)
                for step in cluster.steps:
                    if step.state in ('PENDING', 'RUNNING'):
                        self.run_step(cluster, step)

    def fetch_bootstrap(self, cluster):
        """Fetch what the machines of a cluster do at their start: the first script, and by name what it fetches."""
        script = self.files.get(cluster.bootstrap_actions[0].script_path, b'').decode()
        paths = re.findall(r's3://\S+', script)
        return script, {path.rpartition('/')[2]: self.files.get(path) for path in paths}

    def run_step(self, cluster, step):
        """Run a step, leave its logs where EMR does, and say how it ended."""
        step.state, cluster.state = 'RUNNING', 'RUNNING'
        step.start_date_time = datetime.now(timezone.utc).replace(tzinfo=None)
        number = len(self.jobs) + 1
        job = f'job_{STAMP}_{number:04d}'
        logs = f'{cluster.log_uri}{cluster.id}/'
        try:
            assert (step.jar, step.args[0]) == ('command-runner.jar', 'hadoop-streaming')
            streaming = Streaming(step.args[1:], self.files, self.folder / job, job, lambda: step.state == 'CANCELLED')
            self.jobs.append(streaming)
            done = streaming.run()
            self.write_task_logs(logs, streaming)
            self.write(f'{logs}steps/{step.id}/syslog.gz', client_log(streaming))
        except Exception as error:
            done = False
            self.write(f'{logs}steps/{step.id}/stderr.gz', f'Exception in thread "main" {error}\n')
        cluster.state = 'WAITING' if cluster.keep_job_flow_alive_when_no_steps else 'RUNNING'
        if step.state == 'RUNNING':
            step.state = 'COMPLETED' if done else 'FAILED'

    def write_task_logs(self, logs, streaming):
        """Write the logs of the containers; the first is that of the application master."""
        application = streaming.job.replace('job', 'application', 1)
        folder, stem = f'{logs}containers/{application}', streaming.job.replace('job', 'container', 1)
        started = []
        for number, attempt in enumerate(streaming.attempts, 2):
            container = f'{stem}_01_{number:06d}'
            self.write(f'{folder}/{container}/stderr.gz', attempt.stderr.decode())
            self.write(f'{folder}/{container}/syslog.gz', line('mapred.MapTask', f'Processing split: {attempt.split}'))
            started.append(
                line(
                    'impl.TaskAttemptImpl',
                    f'TaskAttempt: [{attempt.name}] using containerId: [{container} on NM: [{HOST}:8041]',
                )
            )
        self.write(f'{folder}/{stem}_01_000001/syslog.gz', ''.join(started))

    def write(self, path, text):
        """Write a log, compressed."""
        self.files[path] = gzip.compress(text.encode())


def line(source, message):
    """Write a line of a log of Hadoop."""
    return f'2026-01-01 00:00:00,000 INFO org.apache.hadoop.{source} (main): {message}\n'


def client_log(streaming):
    """Write what the client of a job logs."""
    lines = [
        line(
            'yarn.client.api.impl.YarnClientImpl',
            f'Submitted application {streaming.job.replace("job", "application", 1)}',
        ),
        line('mapreduce.Job', f'Running job: {streaming.job}'),
    ]
    lines += [
        line(
            'mapreduce.Job',
            f'Task Id : {attempt.name}, Status : FAILED\nError: java.lang.RuntimeException: '
            f'PipeMapRed.waitOutputThreads(): subprocess failed with code {attempt.code}',
        )
        for attempt in streaming.attempts
        if attempt.code
    ]
    text = f'Counters: {len(streaming.counters)}'
    for group in sorted({group for group, _ in streaming.counters}):
        text += f'\n\t{group}' + ''.join(
            f'\n\t\t{name}={amount}' for (where, name), amount in streaming.counters.items() if where == group
        )
    return ''.join(lines) + line('mapreduce.Job', text)
