"""Every job runs on EMR and gives what it gives inline."""

import json
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.commands import elm, succeed
from reference.ledgers import demand_ledger_of_inline

from emr.amazon import CREDENTIALS
from emr.conftest import CONF, NAMED, OPTIONS, PACK, TEMPORARY
from mr_elm.engines.bundle import source_digest
from mr_elm.engines.cluster import Cluster
from mr_elm.model.sums import name_sums
from mr_elm.rows.storage import copy

MODEL = 's3://bucket/models/m.npz'
PROGRAM = Path(sys.executable).with_name('mr-elm')


@pytest.fixture
def fetched(account, tmp_path, model_of):
    """Read a model from S3."""

    def read(path):
        (tmp_path / 'fetched.npz').write_bytes(account.files[path])
        (tmp_path / 'fetched.sums.npz').write_bytes(account.files[name_sums(path)])
        return model_of(tmp_path / 'fetched.npz')

    return read


def test_text_gives_the_model_that_it_gives_inline(account, rows, inline_model, model_of, fetched, caplog):
    caplog.set_level('DEBUG', 'mrjob')
    before = set(account.left())
    words = ('train', 'pesvm', rows, *OPTIONS, '--model', MODEL, '--core-instance-bid-price', '0.1')
    done = account.elm(*words, n_maps=2, pool='--pool-clusters')
    assert done.status == 0, done.err
    (header, arrays), (expected, inline) = fetched(MODEL), model_of(inline_model)
    assert {**header, 'parameters': 0} == {**expected, 'parameters': 0}
    assert np.abs(arrays['output_weights'] - inline['output_weights']).max() < 1e-8
    assert set(account.left()) - before == {MODEL, name_sums(MODEL)}
    check_that_the_jobs_shared_a_cluster(account, done)
    check_that_nothing_holds_a_secret(account, done.err + caplog.text + CONF.read_text())
    again = account.elm('train', 'pesvm', rows, *OPTIONS, '--model', MODEL)
    assert again.status == 1 and f'{MODEL}: expected a new file, it exists (--overwrite' in again.err


def check_that_the_jobs_shared_a_cluster(account, done):
    """Look at the cluster that was made: its steps, and what mrjob-emr.conf asked for."""
    (cluster,) = (cluster for cluster in account.clusters if cluster.id in done.err)
    assert len(cluster.steps) == 2 and cluster.state == 'WAITING'
    assert done.err.count(cluster.id) == 4  # each stage names it once, in an address too
    assert cluster.release_label.startswith('emr-7.') and cluster.step_concurrency_level == 1
    assert {tag['Key']: tag['Value'] for tag in cluster.tags}['project'] == 'mr-elm'
    groups = {group.role: group for group in cluster.instance_groups}
    assert (groups['CORE'].num_instances, groups['CORE'].market, groups['CORE'].bid_price) == (2, 'SPOT', '0.1')
    assert groups['MASTER'].market == 'ON_DEMAND'
    assert [action.name for action in cluster.bootstrap_actions] == ['master', 'idle timeout']


def check_that_nothing_holds_a_secret(account, text):
    """Search what was said and what is on S3, logs of tasks included."""
    things = [text.encode(), *account.files.values(), *(repr(job.arguments).encode() for job in account.jobs)]
    assert len(things) > 5
    assert [thing for thing in things for secret in CREDENTIALS.values() if secret.encode() in thing] == []


def test_packed_rows_give_the_same_bits_for_any_splits_and_sums(account, packed, here, fetched, model_of, tmp_path):
    options = (*OPTIONS[2:], '-q')
    here('train', 'pesvm', PACK, *options, '--model', tmp_path / 'inline.npz')
    words = ('train', 'pesvm', PACK, *options, '--model', 's3://bucket/p.npz', '-D', 'mapreduce.job.reduces=2')
    account.done(*words, n_maps=3)
    job = account.jobs[-1]
    assert len(job.splits) >= 3 and job.n_reduces == 2
    inline, arrays = model_of(tmp_path / 'inline.npz')[1], fetched('s3://bucket/p.npz')[1]
    assert [name for name in arrays if inline[name].tobytes() != arrays[name].tobytes()] == []


def test_a_ledger_has_the_rows_that_it_has_inline_and_leaves_no_key_on_s3(account, rows, here, tmp_path):
    before = account.left()
    demand_ledger_of_inline(account.done, here, rows, tmp_path, *NAMED, '--hidden', 10, n_headers=1, verify=here)
    assert account.left() == before
    key = (tmp_path / 'cluster.ledger.key').read_bytes()
    assert [path for path, text in account.files.items() if key in text] == []


def test_predictions_come_in_input_order(account, rows, here, inline_model, tmp_path):
    account.files['s3://bucket/model.npz'] = inline_model.read_bytes()
    head, *lines = rows.read_bytes().splitlines(keepends=True)
    for name, part in (("#1 it's [a]?", lines[:400]), ('#2 {b},c', lines[400:])):
        account.files[f's3://bucket/in/{name}.csv'] = b''.join([head, *part])
    here('predict', inline_model, rows, '-o', tmp_path / 'inline', '-q')
    before = set(account.left())
    account.done('predict', 's3://bucket/model.npz', 's3://bucket/in', '-o', 's3://bucket/out', '-q', n_maps=2)
    assert account.jobs[-1].splits[0][0] == 's3://bucket/in/#2 {b},c.csv'  # part 0 is not the first of the input
    assert account.files['s3://bucket/out'] == (tmp_path / 'inline').read_bytes()
    assert set(account.left()) - before == {'s3://bucket/out'}


def test_a_bad_row_reads_as_it_does_inline(account, rows, tmp_path):
    lines = rows.read_text().splitlines()
    lines[1400] += ',7'  # in the last split
    path = tmp_path / 'bad.csv'
    path.write_text('\n'.join(lines))
    before = account.left()
    words = ('train', 'pesvm', path, *OPTIONS, '--model', 's3://bucket/bad.npz', '-q')
    on_emr, inline = account.elm(*words, '-D', 'mapreduce.map.maxattempts=2', n_maps=2), elm(*words)
    assert on_emr == inline and inline.status == 1 and 'line 1401' in inline.err, on_emr
    assert account.left() == before


def test_names_were_not_executed(account, inline_model, packed):
    assert [attempt.left for job in account.jobs for attempt in job.attempts if attempt.left] == []


def test_a_run_that_is_interrupted_cancels_its_step_and_goes_on(account, rows, inline_model, model_of, tmp_path):
    before, first, model = account.left(), len(account.jobs), tmp_path / 'm.npz'
    words = ('train', 'pesvm', rows, *OPTIONS, '--model', model)
    where = ('--pool-clusters', '--pool-name', 'mine', '--python', sys.executable, '-D', 'mapreduce.job.maps=1')
    command = [PROGRAM, *words, *account.settings, *where]
    process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True)
    while len(account.jobs) < first + 2 and process.poll() is None:  # until the second job runs
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and not model.exists(), said
    assert {step.state for cluster in account.clusters for step in cluster.steps} >= {'CANCELLED'}
    resumed = account.elm(*words, '--resume')
    assert resumed.status == 0 and 'statistics: finished in the earlier run' in resumed.err, resumed
    assert np.abs(model_of(model)[1]['output_weights'] - model_of(inline_model)[1]['output_weights']).max() < 1e-8
    assert account.left() == before and {path.name for path in tmp_path.iterdir()} == {'m.npz', 'm.sums.npz'}


@pytest.mark.parametrize(
    'setup, cause',
    [('rm plan.json', "FileNotFoundError: .* 'plan.json'"), ('exit 3', 'PipeMapRed.* failed with code 3')],
)
def test_a_task_that_fails_is_explained(account, rows, inline_model, setup, cause):
    done = account.elm('evaluate', inline_model, rows, '-D', 'mapreduce.map.maxattempts=1', '--setup', setup, '-q')
    assert done.status == 1
    said = re.search(
        r'MREvaluate: (.*) \(task attempt_\w+_m_\d+_0 on ip-10-0-0-7.*, '
        rf'split s3://bucket/.*; its log: {TEMPORARY}logs/j-.*/containers/.*/stderr.gz\)',
        done.err,
    )
    assert said and re.search(cause, said.group(1)), done.err
    assert [path for path in account.left() if path.startswith(TEMPORARY)] == []


def test_a_job_that_hadoop_refuses_is_explained(account, inline_model, rows, monkeypatch):
    """The input vanishes between the driver's look at it and the job."""
    account.files['s3://bucket/vanishing.csv'] = rows.read_bytes()
    make_job = Cluster.make_job

    def later(*arguments):
        account.files.pop('s3://bucket/vanishing.csv', None)
        return make_job(*arguments)

    monkeypatch.setattr(Cluster, 'make_job', later)
    done = account.elm('evaluate', inline_model, 's3://bucket/vanishing.csv', '-q')
    assert done.status == 1
    assert re.search(r'MREvaluate: Hadoop did not take the job: .*vanishing\.csv matches 0 files', done.err), done.err


def test_a_bundle_is_unpacked_for_every_task(account, rows, here, inline_model, tmp_path):
    """This one holds nothing but the way to the Python of this machine."""
    program = tmp_path / 'python'
    program.write_text(f'#!/bin/sh\necho "from the bundle" >&2\nexec {shlex.quote(sys.executable)} "$@"\n')
    program.chmod(0o755)
    bundle = f's3://bucket/apps/mr_elm-{source_digest()}.tar.gz'
    with tarfile.open(tmp_path / 'bundle', 'w:gz') as archive:
        archive.add(program, 'bin/python')
    account.files[bundle] = (tmp_path / 'bundle').read_bytes()
    words = ('evaluate', inline_model, rows, '-q', '--json')
    scores = succeed(account.elm(*words, python=('--bundle', bundle)))
    assert scores == here(*words)
    assert all(b'from the bundle' in attempt.stderr for attempt in account.jobs[-1].attempts)


def test_a_model_on_s3_is_inspected_without_a_cluster(account, inline_model, here):
    account.files['s3://bucket/inspected.npz'] = inline_model.read_bytes()
    assert json.loads(here('inspect', 's3://bucket/inspected.npz', '--json'))['n_rows_used'] == 1500


def test_tasks_read_parquet_on_s3_by_ranges(account, here, tmp_path):
    rng = np.random.default_rng(5)
    city, age = rng.choice(['Oslo', 'Rome'], 600), rng.normal(40, 5, 600)
    table = pa.table({'y': age + 5 * (city == 'Oslo') > 42, 'age': age, 'city': city})
    pq.write_to_dataset(table, tmp_path / 'set', partition_cols=['city'], row_group_size=100)
    for path in (tmp_path / 'set').rglob('*.parquet'):
        copy(str(path), f's3://bucket/set/{path.relative_to(tmp_path / "set")}')
    words = ('--encode', 'auto', '--hidden', 20, '-q', '--model')
    here('train', 'pesvm', tmp_path / 'set', *words, tmp_path / 'm.npz')
    account.done('train', 'pesvm', 's3://bucket/set', *words, tmp_path / 'emr.npz', n_maps=2)
    scores = []
    for model, path in (('m.npz', tmp_path / 'set'), ('emr.npz', 's3://bucket/set')):
        here('predict', tmp_path / model, path, '--scores', '-q', '-o', tmp_path / f'{model}.txt')
        scores.append([line.split('\t')[1] for line in (tmp_path / f'{model}.txt').read_text().splitlines()])
    assert np.abs(np.subtract(*np.array(scores, float))).max() < 1e-8
