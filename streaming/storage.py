"""Find, read and write files wherever they are: on this machine, on HDFS, on S3.

A new place is a class with the methods of `LocalStore` and an entry in `STORES`. A file is written whole or not at
all: under another name first on this machine and on HDFS, by one PUT on S3.
"""
import glob
import io
import os
import shutil
import tempfile
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from mr_elm.io.store import replacing
from mr_elm.streaming.hadoop import hdfs_client

COPY = 4 << 20


@dataclass(frozen=True)
class Entry:
    """Name a file or a folder, with its size in bytes."""

    path: str
    is_folder: bool
    size: int

    @property
    def name(self):
        """Return the last part of the path."""
        return self.path.rstrip('/').rsplit('/', 1)[-1]


class LocalStore:
    """Files of this machine."""

    def absolute(self, path):
        """Return the one name of a path."""
        return os.path.abspath(path)

    def find(self, path):
        """Return the Entry of a path, or None."""
        if not os.path.exists(path):
            return None
        return Entry(path, os.path.isdir(path), os.path.getsize(path))

    def glob(self, pattern):
        """Return the paths that a pattern matches, sorted."""
        return sorted(glob.glob(pattern, recursive=True))

    def entries(self, folder):
        """List what is in a folder."""
        with os.scandir(folder) as found:
            return [Entry(item.path, item.is_dir(), item.stat().st_size) for item in found]

    def open(self, path):
        """Open a file for reading bytes."""
        return open(path, 'rb')

    def put(self, source, path):
        """Copy a file of this machine to a path; replaces what is there."""
        with open(source, 'rb') as stream, replacing(path) as target:
            shutil.copyfileobj(stream, target, COPY)

    def remove(self, path):
        """Remove a file, or a folder with all that is in it."""
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


class HDFSStore:
    """Files of HDFS, through WebHDFS or the hadoop command.

    client : an object with status, children, glob, open, put, rename, rm, mkdir, as `WebHDFS` and `HadoopCommand` have.
    """

    def __init__(self, client):
        self.client = client

    def absolute(self, path):
        """Return the one name of a path."""
        return path.rstrip('/')

    def find(self, path):
        """Return the Entry of a path, or None."""
        status = self.client.status(path)
        return None if status is None else Entry(path, status['type'] == 'DIRECTORY', status['length'])

    def glob(self, pattern):
        """Return the paths that a pattern matches, sorted."""
        return self.client.glob(pattern)

    def entries(self, folder):
        """List what is in a folder."""
        return [Entry(f'{folder.rstrip("/")}/{child["pathSuffix"]}', child['type'] == 'DIRECTORY', child['length'])
                for child in self.client.children(folder)]

    def open(self, path):
        """Open a file for reading bytes."""
        return self.client.open(path)

    def put(self, source, path):
        """Copy a file of this machine to a path; replaces what is there."""
        folder, _, name = path.rpartition('/')
        temporary = f'{folder}/_{name}.{uuid.uuid4().hex[:8]}.tmp'
        self.client.mkdir(folder)
        try:
            self.client.put(source, temporary)
            if self.client.status(path) is not None:
                self.client.rm(path)
            self.client.rename(temporary, path)
        except BaseException:
            if self.client.status(temporary) is not None:
                self.client.rm(temporary)
            raise

    def remove(self, path):
        """Remove a file, or a folder with all that is in it."""
        self.client.rm(path)


class S3Store:
    """Objects of S3, by boto3. Keys with a common beginning up to a slash make a folder."""

    def __init__(self, client):
        self.client = client

    def absolute(self, path):
        """Return the one name of a path: s3a: and s3n: are other names of s3:."""
        return f's3://{path.partition("://")[2].rstrip("/")}'

    def find(self, path):
        """Return the Entry of a path, or None."""
        bucket, key = bucket_and_key(path)
        found = self.client.list_objects_v2(Bucket=bucket, Prefix=key, Delimiter='/', MaxKeys=2)
        for item in found.get('Contents', ()):
            if item['Key'] == key and key:
                return Entry(path, False, item['Size'])
        folders = [item['Prefix'] for item in found.get('CommonPrefixes', ())]
        return Entry(path, True, 0) if not key or f'{key.rstrip("/")}/' in folders else None

    def glob(self, pattern):
        """Return the paths that a pattern matches, sorted."""
        bucket, key = bucket_and_key(pattern)
        plain = key[:min((key.find(c) for c in '*?[' if c in key), default=len(key))]
        folder = plain.rpartition('/')[0]
        paths = (entry.path for entry in self._below(bucket, f'{folder}/' if folder else '', ''))
        depth = key.count('/')
        return sorted(path for path in paths
                      if path.count('/') - 3 == depth and fnmatchcase(bucket_and_key(path)[1], key))

    def entries(self, folder):
        """List what is in a folder."""
        bucket, key = bucket_and_key(folder)
        return list(self._below(bucket, f'{key.rstrip("/")}/' if key else '', '/'))

    def _below(self, bucket, prefix, delimiter):
        pages = self.client.get_paginator('list_objects_v2').paginate(Bucket=bucket, Prefix=prefix,
                                                                      Delimiter=delimiter)
        for page in pages:
            for item in page.get('CommonPrefixes', ()):
                yield Entry(f's3://{bucket}/{item["Prefix"].rstrip("/")}', True, 0)
            for item in page.get('Contents', ()):
                if not item['Key'].endswith('/'):
                    yield Entry(f's3://{bucket}/{item["Key"]}', False, item['Size'])

    def open(self, path):
        """Open an object for reading bytes."""
        bucket, key = bucket_and_key(path)
        return io.BufferedReader(self.client.get_object(Bucket=bucket, Key=key)['Body'])

    def put(self, source, path):
        """Copy a file of this machine to an object; readers see the old or the new one."""
        bucket, key = bucket_and_key(path)
        self.client.upload_file(source, bucket, key)

    def remove(self, path):
        """Remove an object, or all below a folder."""
        bucket, key = bucket_and_key(path)
        for entry in [*self._below(bucket, f'{key.rstrip("/")}/', ''), Entry(path, False, 0)]:
            self.client.delete_object(Bucket=bucket, Key=bucket_and_key(entry.path)[1])


def bucket_and_key(path):
    """Take an S3 path apart."""
    bucket, _, key = path.partition('://')[2].partition('/')
    return bucket, key


def make_s3_store():
    """Make the store for S3; keys, region and endpoint are found by boto3's own rules."""
    import boto3
    return S3Store(boto3.client('s3'))


STORES = {'': LocalStore, 'hdfs': lambda: HDFSStore(hdfs_client()), 's3': make_s3_store, 's3a': make_s3_store,
          's3n': make_s3_store}


def scheme_of(path):
    """Return the scheme of a path that is on a store of ours, else ''."""
    scheme, colon, rest = path.partition(':')
    return scheme if colon and rest.startswith('//') and scheme in STORES else ''


def is_local(path):
    """Tell whether a path is on this machine."""
    return not scheme_of(path)


def store_of(path):
    """Return the store that a path is on."""
    return make_store(scheme_of(path))


@cache
def make_store(scheme):
    """Make the store for a scheme, once."""
    return STORES[scheme]()


@contextmanager
def written(path):
    """Give a file of this machine to write; it is put at `path`, whole, when all went well."""
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        local = os.path.join(folder, 'file')
        yield local
        store_of(path).put(local, path)


@contextmanager
def fetched(path, name='file'):
    """Give a copy on this machine of the file at `path`, under a plain name."""
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        local = os.path.join(folder, name)
        with store_of(path).open(path) as source, open(local, 'wb') as target:
            shutil.copyfileobj(source, target, COPY)
        yield local


def demand_free(path, overwrite=False):
    """Refuse an output that exists, or whose folder does not, before any work is done."""
    store = store_of(path)
    found = store.find(path)
    if found is not None and found.is_folder:
        raise IsADirectoryError(f'{path}: the name of a file was expected, it is a folder')
    if found is not None and not overwrite:
        raise FileExistsError(f'{path}: a new file was expected, it exists (--overwrite replaces it)')
    folder = os.path.dirname(os.path.abspath(path))
    if is_local(path) and not os.path.isdir(folder):
        raise FileNotFoundError(f'{path}: the folder {folder} was expected to exist')
