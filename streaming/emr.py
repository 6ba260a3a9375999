"""Meet Amazon EMR: mrjob's options for it, its runner, and what it tells while a job runs."""
import logging
import re
import time

from botocore.exceptions import BotoCoreError, ClientError
from mrjob.emr import _DEFAULT_IMAGE_VERSION, EMRJobRunner
from mrjob.fs.s3 import _endpoint_url
from mrjob.job import MRJob

from mr_elm.streaming import s3
from mr_elm.streaming.hadoop_progress import HadoopProgress
from mr_elm.streaming.storage import make_store

KEYS = ('aws_access_key_id', 'aws_secret_access_key', 'aws_session_token')
CONF = 'hadoop-conf/mrjob-emr.conf'
CLUSTER = re.compile(r'(?:Created new|Adding our job to existing) cluster (\S+)')
STATE = re.compile(r'^\s*(PENDING|RUNNING|Waiting .* for .* logs?)\b(.*)')
PERCENT = re.compile(r'([\d.]+)% complete')
PAUSE = 60.0  # seconds between two lines that say the same
log = logging.getLogger('mrjob.mr_elm')


class EMRRunner(EMRJobRunner):
    """Run jobs like mrjob's own runner, but make no bucket, and leave no step behind on a cluster that lives on."""

    def _set_cloud_tmp_dir(self):
        raise ValueError('-r emr: a folder on S3 for temporary files was expected, by --cloud-tmp-dir '
                         f's3://bucket/folder/ or by cloud_tmp_dir in the conf that -c names (see {CONF})')

    def cleanup(self, mode=None):
        """Clean up; a step that has not ended, as after Ctrl-C, is cancelled."""
        if self._step_ids and not self._ran_job:
            try:
                self._cancel_steps()
            except (BotoCoreError, ClientError) as error:  # what led here matters more
                log.warning('steps cannot be cancelled: %s', error)
        super().cleanup(mode)

    def _cancel_steps(self):
        client = self.make_emr_client()
        for step in self._step_ids:
            status = client.describe_step(ClusterId=self._cluster_id, StepId=step)['Step']['Status']
            if status['State'] in ('PENDING', 'RUNNING'):
                client.cancel_steps(ClusterId=self._cluster_id, StepIds=[step],
                                    StepCancellationOption='TERMINATE_PROCESS')


def read_options(arguments):
    """Return mrjob's options for EMR: those of its configuration files, and over them those of the command line.

    Raises ValueError when they name no folder on S3 or no release of EMR.
    """
    options = EMRRunner(**MRJob(args=['-r', 'emr', *arguments])._runner_kwargs())._opts
    if options['release_label'] in (None, f'emr-{_DEFAULT_IMAGE_VERSION}'):
        raise ValueError('-r emr: a release of EMR was expected, by --release-label or by release_label in the conf '
                         f'that -c names (see {CONF}): the default of mrjob is of 2020')
    return options


def use_connection(options):
    """Let S3 be found where mrjob's options for EMR say that it is."""
    s3.CONNECTION.update({name: options[name] for name in KEYS if options[name]})
    if options['s3_endpoint']:
        s3.CONNECTION['endpoint_url'] = _endpoint_url(options['s3_endpoint'])
    make_store.cache_clear()


class EMRProgress(HadoopProgress):
    """Listen to mrjob's log while a stage runs, and tell the user what the cluster does.

    reporter : Reporter. stage : the name of the stage. region : where the cluster is.
    """

    def __init__(self, reporter, stage, region):
        super().__init__(reporter, stage)
        self.region = region
        self.state = None

    def emit(self, record):
        """Take one line of the log."""
        text = record.getMessage()
        if found := CLUSTER.search(text):
            self.reporter.say(f'{self.stage}: cluster {found.group(1)}, https://{self.region}.console.aws.amazon.com'
                              f'/emr/home?region={self.region}#/clusterDetails/{found.group(1)}')
        elif found := STATE.search(text):
            self.tell(found.group(1), text.strip())
        elif found := PERCENT.search(text):
            self.tell(found.group(1), self.describe(float(found.group(1))))

    def tell(self, state, text):
        """Say what is new, and the same again after a while."""
        if state != self.state or time.monotonic() - self.spoke >= PAUSE:
            self.state, self.spoke = state, time.monotonic()
            self.reporter.say(f'{self.stage}: {text}')

    def describe(self, done):
        """Say how much of the job is done, and how long it may still take."""
        left = (time.monotonic() - self.start) * (100 - done) / max(done, 1)
        return f'{done:.0f} %' + (f', about {left:.0f} s left' if 0 < done < 100 else '')
