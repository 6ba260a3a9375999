"""A command runs on EMR Serverless as it runs here: moto serves the interfaces, and spark-submit runs the job runs."""

import gzip
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import boto3
import moto.emrserverless.models as service
import numpy as np
import pytest
from moto.core import DEFAULT_ACCOUNT_ID
from reference.commands import elm, succeed

from emr.amazon import INTERVAL, REGION
from emr.conftest import CONF, OPTIONS, TEMPORARY
from mr_elm.engines.spark.session import ON_THIS_MACHINE

pytest.importorskip('pyspark')
pytestmark = pytest.mark.skipif(shutil.which('java') is None, reason='Spark needs Java')
ROLE = f'arn:aws:iam::{DEFAULT_ACCOUNT_ID}:role/mr-elm-jobs'
SETTINGS = (
    '-r',
    'emr-serverless',
    '-c',
    CONF,
    '--cloud-tmp-dir',
    TEMPORARY,
    '--check-cluster-every',
    0.3,
    '--extra-cluster-param',
    f'ExecutionRoleArn={ROLE}',
    '--bundle',
    's3://bucket/apps/mr_elm.tar.gz',
)
# the machines of Amazon have no checkout, only what was sent
WITHOUT_CHECKOUT = b"""import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if 'editable' not in repr(finder).lower()]
import mr_elm
assert 'code.zip' in mr_elm.__file__
"""
SUBMIT = Path(sys.executable).with_name('spark-submit')


class Worker:
    """Run the job runs that moto keeps, as Spark on one core of this machine. A context."""

    def __init__(self, account, folder):
        self.account, self.folder, self.stopped, self.ran = account, folder, threading.Event(), []
        self.thread = threading.Thread(target=self.work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    def work(self):
        """Run what is submitted until told to stop."""
        while not self.stopped.wait(INTERVAL):
            for backend in list(service.emrserverless_backends[DEFAULT_ACCOUNT_ID].values()):
                for run in [run for runs in list(backend.job_runs.values()) for run in runs]:
                    if run.state == 'SUBMITTED':
                        self.run(run)

    def run(self, run):
        """Run a job run, and leave its logs where Amazon does."""
        run.state = 'RUNNING'
        driver = run.job_driver['sparkSubmit']
        script, code = self.folder / 'run.py', self.folder / 'code.zip'
        script.write_bytes(WITHOUT_CHECKOUT + self.account.files[driver['entryPoint']])
        settings = dict(pair.split('=', 1) for pair in driver['sparkSubmitParameters'].split()[1::2])
        code.write_bytes(self.account.files[settings['spark.submit.pyFiles']])
        environment = {**os.environ, **self.account.environment, 'PYSPARK_PYTHON': sys.executable}
        command = [
            SUBMIT,
            '--master',
            'local[1]',
            '--conf',
            'spark.driver.bindAddress=127.0.0.1',
            '--conf',
            f'spark.driver.extraJavaOptions={ON_THIS_MACHINE["spark.driver.extraJavaOptions"]}',
            '--py-files',
            code,
            script,
            *driver['entryPointArguments'],
        ]
        done = subprocess.run(command, capture_output=True, env=environment, cwd=self.folder)
        monitoring = run.configuration_overrides['monitoringConfiguration']['s3MonitoringConfiguration']
        folder = f'{monitoring["logUri"]}applications/{run.application_id}/jobs/{run.id}/SPARK_DRIVER'
        for name, text in (('stdout', done.stdout), ('stderr', done.stderr)):
            self.account.files[f'{folder}/{name}.gz'] = gzip.compress(text)
        run.billed_resource_utilization = {'vCPUHour': 0.25, 'memoryGBHour': 1.5, 'storageGBHour': 0.0}
        self.ran.append(run)
        run.state = 'SUCCESS' if done.returncode == 0 else 'FAILED'


@pytest.fixture(scope='module')
def worker(account, tmp_path_factory):
    """Start a worker; moto would call job runs done as soon as they are submitted."""
    with pytest.MonkeyPatch.context() as patch, Worker(account, tmp_path_factory.mktemp('serverless')) as worker:
        patch.setattr(service, 'JOB_STATUS', 'SUBMITTED')
        yield worker


def test_a_model_trained_there_is_the_one_trained_here(account, worker, rows, inline_model, model_of, tmp_path):
    account.files['s3://bucket/serverless/rows.csv'] = rows.read_bytes()
    before = set(account.left())
    done = elm(
        'train',
        'pesvm',
        's3://bucket/serverless/rows.csv',
        *OPTIONS,
        '--model',
        's3://bucket/serverless/m.npz',
        *SETTINGS,
    )
    assert done.status == 0, done.err
    assert 'billed: 0.250 vCPU-hours, 1.500 GB-hours' in done.err and 'success' in done.err
    (tmp_path / 'm.npz').write_bytes(account.files['s3://bucket/serverless/m.npz'])
    (_, arrays), (_, inline) = model_of(tmp_path / 'm.npz'), model_of(inline_model)
    assert np.abs(arrays['output_weights'] - inline['output_weights']).max() < 1e-8
    assert set(account.left()) - before == {'s3://bucket/serverless/m.npz', 's3://bucket/serverless/m.sums.npz'}
    check_what_was_asked_for(worker.ran[-1])


def check_what_was_asked_for(run):
    """Look at a job run: role, tags, release, and the archive with Python."""
    assert run.execution_role_arn == ROLE and run.tags['project'] == 'mr-elm'
    assert run.release_label.startswith('emr-7.') and run.application_type.upper() == 'SPARK'
    assert 'spark.archives=s3://bucket/apps/mr_elm.tar.gz#' in run.job_driver['sparkSubmit']['sparkSubmitParameters']


def test_what_a_command_prints_comes_back_and_the_application_is_used_again(account, worker, rows, inline_model, here):
    for name, path in (('rows.csv', rows), ('inline.npz', inline_model)):
        account.files[f's3://bucket/serverless/{name}'] = path.read_bytes()
    words = ('evaluate', 's3://bucket/serverless/inline.npz', 's3://bucket/serverless/rows.csv', '--json', '-q')
    assert succeed(elm(*words, *SETTINGS)) == here('evaluate', inline_model, rows, '--json')
    client = boto3.client('emr-serverless', region_name=REGION)
    assert len(client.list_applications()['applications']) == 1


def test_a_command_that_fails_there_says_the_same_as_here(account, worker, inline_model):
    account.files['s3://bucket/serverless/inline.npz'] = inline_model.read_bytes()
    done = elm('evaluate', 's3://bucket/serverless/inline.npz', 's3://bucket/serverless/none.csv', '-q', *SETTINGS)
    assert done.status == 1 and len(done.err.splitlines()) == 1
    assert 'none.csv: expected an input file or folder, found none (its logs: s3://bucket/' in done.err


def test_an_interrupt_cancels_the_job_run(account, worker, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    submitted = []
    monkeypatch.setattr(worker, 'run', submitted.append)
    monkeypatch.setattr('mr_elm.engines.emr.serverless.time.sleep', interrupt)
    before = account.left()
    done = elm('pack', 's3://bucket/serverless/rows.csv', '-o', 's3://bucket/serverless/pack', *SETTINGS)
    client = boto3.client('emr-serverless', region_name=REGION)
    (application,) = client.list_applications()['applications']
    runs = client.list_job_runs(applicationId=application['id'])['jobRuns']
    assert done.status == 130 and runs[-1]['state'] == 'CANCELLED' and account.left() == before


READ, PACKED = 's3://bucket/rows.csv', ('-o', 's3://bucket/p')


@pytest.mark.parametrize(
    'words, message',
    [
        (('train', 'pesvm', READ, '--model', 'm.npz', *SETTINGS), 'm.npz: -r emr-serverless expects a path on S3'),
        (('pack', READ, *PACKED, *SETTINGS[:-2]), 'expected an archive of `mr-elm bundle` on S3'),
        (
            ('pack', READ, *PACKED, *SETTINGS[:8], *SETTINGS[-2:]),
            'expected the role of the job, by --extra-cluster-param',
        ),
        (('pack', READ, *PACKED, *SETTINGS[:-1], 's3://bucket/a b.tar.gz'), 'a b.tar.gz: expected a path of letters'),
        (('pack', READ, *PACKED, '--resume', *SETTINGS), '--resume: cannot be used with -r emr-serverless'),
    ],
)
def test_what_a_run_there_needs_is_asked_for_before_it(account, words, message):
    before = account.left()
    done = elm(*words)
    assert done.status == 1 and message in done.err and account.left() == before


MODEL = ('--model', 's3://bucket/m.npz')


@pytest.mark.parametrize(
    'words, status, message',
    [
        (('train', 'pesvm', READ, *MODEL, '--hiden', 9), 2, 'mr-elm train pesvm has no option --hiden'),
        (('train', 'pesvm', READ, *MODEL, '--nu', -1), 2, '--nu: expected a number above 0'),
        (('train', 'pesvm', READ, *MODEL, '-D', 'mapreduce.job.maps=8'), 1, 'expects a property spark.NAME=VALUE'),
        (
            ('train', 'pesvm', READ, *MODEL, '--num-cores', 2),
            1,
            '--num-cores: -r emr-serverless does not take this option',
        ),
        (('tune', 'pesvm', READ, '--nu', '1,two'), 2, '--nu'),
        (('update', 's3://bucket/m.npz', READ), 2, 'required: --model'),
        (('forget', 's3://bucket/m.npz', READ, *MODEL, '--jobs', 'few'), 2, '--jobs'),
        (('predict', 's3://bucket/m.npz', READ), 2, 'required: -o/--output'),
        (('evaluate', 's3://bucket/m.npz', READ, '--no-label'), 2, 'labels are needed'),
        (('pack', READ, *PACKED, '--dtype', 'float16'), 2, "expected one of float64, float32, found 'float16'"),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(account, monkeypatch, words, status, message):
    monkeypatch.setattr('mr_elm.cli.serverless.submit', lambda argv: pytest.fail('it was sent'))
    done = elm(*words, *SETTINGS)
    assert done.status == status and message in done.err
