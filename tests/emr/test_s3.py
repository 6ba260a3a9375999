"""Files on S3: found, read, written whole, refused; and what is refused before any cluster is started."""

import gzip
import re
import subprocess
import sys

import boto3
import numpy as np
import pytest
from reference.commands import elm

from emr.amazon import REGION
from emr.conftest import TEMPORARY
from mr_elm.rows import storage
from mr_elm.rows.blocks import Block
from mr_elm.rows.packs import PackWriter
from mr_elm.rows.storage import copy, store_of

ROWS = b'0,1,2\n1,2,1\n0,1,1\n1,2,3\n' * 5
TRAIN = ('train', 'pesvm', '--hidden', 3, '--model', 's3://bucket/refused.npz', '-q')


@pytest.fixture
def folder(account, request):
    """Name a folder on S3 of the test's own."""
    return f's3://bucket/{request.node.originalname}'


@pytest.fixture
def fresh(monkeypatch):
    """Forget how S3 was reached, before and after."""
    monkeypatch.setattr(boto3, 'DEFAULT_SESSION', None)
    storage.make_store.cache_clear()
    yield
    storage.make_store.cache_clear()


@pytest.mark.parametrize('scheme', ['s3', 's3a', 's3n'])
def test_files_come_back_and_folders_list_them(folder, tmp_path, scheme):
    folder = folder.replace('s3', scheme, 1)
    store = store_of(folder)
    (tmp_path / 'here').write_bytes(b'one\ntwo\n')
    for name in ('a b.csv', 'c.csv', 'c.csv', 'e/f.csv', "g'[1]?.csv"):  # the second of a name replaces the first
        store.put(tmp_path / 'here', f'{folder}/in/{name}')
    store.put(tmp_path / 'here', f'{folder}/in-between')
    assert store.find(f'{folder}/in').is_folder and not store.find(f'{folder}/in/c.csv').is_folder
    assert store.find(f'{folder}/i') is None and store.find(f'{folder}/in/c') is None
    assert sorted((entry.name, entry.size, entry.is_folder) for entry in store.entries(f'{folder}/in/')) == [
        ('a b.csv', 8, False),
        ('c.csv', 8, False),
        ('e', 0, True),
        ("g'[1]?.csv", 8, False),
    ]
    assert store.glob(f'{folder}/*/?.csv') == [f'{folder}/in/c.csv']
    assert store.glob(f'{folder}/in/*/f.csv') == [f'{folder}/in/e/f.csv'] and store.glob(f'{folder}/in/x') == []
    with store.open(f'{folder}/in/a b.csv') as stream:
        assert (stream.readline(), stream.read()) == (b'one\n', b'two\n')
    store.move(f'{folder}/in/e/f.csv', f'{folder}/f.csv')
    store.move(f'{folder}/in', f'{folder}/out')
    assert [entry.name for entry in store.entries(f'{folder}/out')] == ['a b.csv', 'c.csv', "g'[1]?.csv"]
    store.remove(f'{folder}/out')
    assert store.find(f'{folder}/out') is None and store.find(f'{folder}/f.csv').size == 8
    assert store.find(f'{folder}/in') is None and store.find(f'{folder}/in-between')


def test_large_files_come_back_and_many_go(account, folder, tmp_path, monkeypatch):
    (tmp_path / 'large').write_bytes(np.random.default_rng(0).bytes(20 << 20))
    copy(str(tmp_path / 'large'), f'{folder}/large')
    copy(f'{folder}/large', str(tmp_path / 'back'))
    assert (tmp_path / 'back').read_bytes() == (tmp_path / 'large').read_bytes()
    for number in range(10):
        account.files[f'{folder}/many/{number}'] = b''
    store = store_of(folder)
    store.remove(f'{folder}/many')
    assert [entry.name for entry in store.entries(folder)] == ['large']


def test_a_write_that_fails_leaves_what_was_there(account, folder, tmp_path):
    account.files[f'{folder}/m'] = b'old'
    with pytest.raises(RuntimeError), storage.write_file(f'{folder}/m') as local:
        with open(local, 'wb') as stream:
            stream.write(b'new, but not all of it')
        raise RuntimeError
    assert account.files[f'{folder}/m'] == b'old' and len(store_of(folder).entries(folder)) == 1


def test_inline_reads_s3_as_it_reads_this_machine(account, folder, tmp_path, model_of):
    account.files[f'{folder}/rows/a.csv'], account.files[f'{folder}/rows/b.csv.gz'] = ROWS, gzip.compress(ROWS)
    account.files[f'{folder}/rows/_log'] = b'left out'
    (tmp_path / 'rows').mkdir()
    for name in ('a.csv', 'b.csv.gz'):
        copy(f'{folder}/rows/{name}', str(tmp_path / 'rows' / name))
    arrays = []
    for number, source in enumerate((f'{folder}/rows', tmp_path / 'rows')):
        path = tmp_path / f'{number}.npz'
        assert elm('train', 'pesvm', source, '--hidden', 3, '--model', path, '-q') == (0, '', '')
        arrays.append(model_of(path)[1])
    assert [name for name in arrays[0] if arrays[0][name].tobytes() != arrays[1][name].tobytes()] == []


@pytest.mark.parametrize(
    'files, reason',
    [
        ({}, 'expected an input file or folder, found none'),
        ({'rows/part-0': ROWS, 'rows/_temporary/0/part-1': ROWS}, 'its _temporary says that a job did not finish'),
        ({'rows/part-00000.parquet': None}, 'expected a pack with its _manifest.json, found none'),
        ({'rows/a.csv': ROWS, 'rows/b.csv': b'1,2\n'}, 'expected 3 fields a row'),
        ({'rows/a.csv.gz': gzip.compress(ROWS)[:-9]}, 'a.csv.gz: the compressed file is cut'),
    ],
)
def test_inputs_that_are_not_whole_are_refused(account, folder, files, reason, request, tmp_path):
    folder = f'{folder}/{request.node.callspec.indices["files"]}'
    writer = PackWriter(str(tmp_path / 'packed'))
    writer.write(Block(np.ones((2, 2))))
    writer.close()
    packed = (tmp_path / 'packed').read_bytes()
    account.files.update({f'{folder}/{name}': packed if data is None else data for name, data in files.items()})
    done = elm(*TRAIN, f'{folder}/rows')
    assert done.status == 1 and re.search(f'{folder}/rows.*{reason}', done.err), done.err


@pytest.mark.parametrize(
    'words, reason',
    [
        (
            ('hdfs:///rows', '-r', 'emr', '--cloud-tmp-dir', TEMPORARY, '--release-label', 'emr-7.13.0'),
            'hdfs:///rows: -r emr expects a path on S3',
        ),
        (
            ('s3://bucket/rows', '-r', 'hadoop'),
            's3://bucket/rows: -r hadoop expects a path on HDFS: a cluster with hadoop-aws reads s3a://bucket/rows',
        ),
        (
            ('s3://bucket/rows', '-r', 'emr', '--release-label', 'emr-7.13.0'),
            'expected a folder on S3 for temporary files',
        ),
        (('s3://bucket/rows', '-r', 'emr', '--cloud-tmp-dir', TEMPORARY), 'expected a release of EMR'),
        (('s3://bucket/rows', '-r', 'emr', '--cloud-tmp-dir', 'nowhere'), 'nowhere'),
        (('s3:///rows',), 's3:///rows: expected a bucket'),
        (('s3://no-such-bucket/rows',), 's3://no-such-bucket/rows: the bucket no-such-bucket does not exist'),
    ],
)
def test_what_cannot_work_is_refused_before_a_cluster_is_started(account, words, reason):
    before = len(account.clusters)
    done = elm(*TRAIN, *words)
    assert done.status == 1 and reason in done.err and done.err.count('\n') == 1, done.err
    assert len(account.clusters) == before


def test_without_credentials_the_message_says_so(account, fresh, monkeypatch):
    for name in ('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'):
        monkeypatch.delenv(name)
    done = elm(*TRAIN, 's3://bucket/rows')
    assert done.status == 1 and 'expected AWS credentials' in done.err and done.err.count('\n') == 1


def test_without_a_network_the_message_says_so(account, fresh, monkeypatch):
    monkeypatch.setenv('AWS_ENDPOINT_URL', 'http://127.0.0.1:1')
    monkeypatch.setenv('AWS_MAX_ATTEMPTS', '1')
    done = elm(*TRAIN, 's3://bucket/rows')
    assert done.status == 1 and 'S3 does not answer' in done.err and done.err.count('\n') == 1


def test_s3_may_be_where_mrjobs_options_say(account, fresh, monkeypatch):
    """The endpoint comes by an option; the environment names none."""
    monkeypatch.delenv('AWS_ENDPOINT_URL')
    monkeypatch.setattr('mr_elm.rows.remote.CONNECTION', {})
    done = elm(
        *TRAIN,
        's3://bucket/nothing-here',
        '-r',
        'emr',
        '--cloud-tmp-dir',
        TEMPORARY,
        '--release-label',
        'emr-7.13.0',
        '--s3-endpoint',
        account.endpoint,
    )
    assert done.status == 1 and 'nothing-here: expected an input file or folder' in done.err


def test_who_does_not_name_s3_does_not_wait_for_boto3():
    program = 'import sys; from mr_elm.cli import train; assert "boto3" not in sys.modules'
    subprocess.run([sys.executable, '-c', program], check=True)


def test_the_key_that_a_bucket_names_encrypts_what_is_written(account, tmp_path):
    """Nothing that is asked of S3 stands in the way of the default of the bucket."""
    (tmp_path / 'here').write_bytes(b'x')
    rule = {'SSEAlgorithm': 'aws:kms', 'KMSMasterKeyID': 'my-key'}
    account.client.create_bucket(Bucket='private', CreateBucketConfiguration={'LocationConstraint': REGION})
    account.client.put_bucket_encryption(
        Bucket='private', ServerSideEncryptionConfiguration={'Rules': [{'ApplyServerSideEncryptionByDefault': rule}]}
    )
    copy(str(tmp_path / 'here'), 's3://private/there')
    found = account.client.head_object(Bucket='private', Key='there')
    assert (found['ServerSideEncryption'], found['SSEKMSKeyId']) == ('aws:kms', 'my-key')
