"""Objects of S3 as files, by boto3. Keys with a common beginning up to a slash make a folder."""
import io
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, BinaryIO

import boto3
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
)

from mr_elm.files.storage import Entry

CONNECTION: dict[str, str] = {}  # options of boto3.client that its own rules (environment, profile, role) do not know
BATCH = 1000  # objects that one request may remove
BUFFER = 1 << 20
GLOB = set('*?[')
KINDS = {'404': FileNotFoundError, 'NoSuchKey': FileNotFoundError, 'NoSuchBucket': FileNotFoundError,
         '403': PermissionError, 'AccessDenied': PermissionError, 'InvalidAccessKeyId': PermissionError,
         'SignatureDoesNotMatch': PermissionError, 'ExpiredToken': PermissionError}


def make_s3_store() -> 'S3Store':
    """Make the store; keys, region and endpoint are found by boto3's own rules, unless CONNECTION names them."""
    with translate_errors('s3://'):
        return S3Store(boto3.client('s3', **CONNECTION))


class S3Store:
    """Objects of S3; readers see the old object or the new one, never a part.

    client : boto3's client of S3.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def absolute(self, path: str) -> str:
        """Return the absolute path, the same for all spellings."""
        return path.rstrip('/')

    def find(self, path: str) -> Entry | None:
        """Return the Entry of a path, or None. Raises FileNotFoundError when there is no such bucket."""
        root, bucket, key = split_path(path)
        with translate_errors(path, bucket):
            found = self._head(bucket, key)
            if found:
                return Entry(path, False, *found)
            below = self.client.list_objects_v2(Bucket=bucket, Prefix=f'{key}/' if key else '', MaxKeys=1)
        return Entry(self.absolute(path), True, 0) if below['KeyCount'] or not key else None

    def _head(self, bucket: str, key: str) -> tuple[int, str] | None:
        try:
            found = self.client.head_object(Bucket=bucket, Key=key) if key else None
            return found and (found['ContentLength'], found['ETag'])
        except ClientError as error:
            if get_code(error) == '404':
                return None
            raise

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that a pattern matches, sorted."""
        root, _, key = split_path(pattern)
        found = [root]
        for part in key.split('/'):
            if GLOB & set(part):
                found = [entry.path for folder in found for entry in self.entries(folder)
                         if fnmatchcase(entry.name, part)]
            else:
                found = [f'{folder}/{part}' for folder in found]
        return sorted(path for path in found if self.find(path))

    def entries(self, folder: str) -> list[Entry]:
        """List what is in a folder."""
        root, bucket, key = split_path(folder)
        prefix = f'{key}/' if key else ''
        with translate_errors(folder, bucket):
            pages = self.client.get_paginator('list_objects_v2').paginate(Bucket=bucket, Prefix=prefix, Delimiter='/')
            return [entry for page in pages for entry in (
                *(Entry(f'{root}/{item["Prefix"].rstrip("/")}', True, 0) for item in page.get('CommonPrefixes', ())),
                *(Entry(f'{root}/{item["Key"]}', False, item['Size'], item['ETag']) for item in page.get('Contents', ())
                  if not item['Key'].endswith('/')))]

    def open(self, path: str) -> BinaryIO:
        """Open an object for reading bytes."""
        _, bucket, key = split_path(path)
        with translate_errors(path, bucket):
            body = self.client.get_object(Bucket=bucket, Key=key)['Body']
        return io.BufferedReader(Body(path, body), BUFFER)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Read some bytes of an object."""
        _, bucket, key = split_path(path)
        with translate_errors(path, bucket):
            answer = self.client.get_object(Bucket=bucket, Key=key, Range=f'bytes={start}-{start + length - 1}')
            return answer['Body'].read()

    def put(self, source: str, path: str) -> None:
        """Copy a file of this machine to an object; replaces what is there."""
        _, bucket, key = split_path(path)
        with translate_errors(path, bucket), open(source, 'rb') as stream:
            self.client.upload_fileobj(stream, bucket, key)

    def move(self, source: str, path: str) -> None:
        """Give an object, or all below a folder, a new name; names that begin with _ (all is there) come last."""
        found = self.find(source)
        if found is None:
            raise FileNotFoundError(f'{source}: expected an object or a folder, found none')
        if not found.is_folder:
            _, bucket, key = split_path(path)
            with translate_errors(path, bucket):
                self.client.copy(dict(zip(('Bucket', 'Key'), split_path(source)[1:], strict=True)), bucket, key)
        else:
            for entry in sorted(self.entries(source), key=lambda entry: (entry.name.startswith('_'), entry.name)):
                self.move(entry.path, f'{path}/{entry.name}')
        self.remove(source)

    def remove(self, path: str) -> None:
        """Remove an object, and all that is below it as a folder."""
        _, bucket, key = split_path(path)
        with translate_errors(path, bucket):
            self.client.delete_object(Bucket=bucket, Key=key)
            pages = self.client.get_paginator('list_objects_v2').paginate(
                Bucket=bucket, Prefix=f'{key}/', PaginationConfig={'PageSize': BATCH})
            for page in pages:
                if page['KeyCount']:
                    self._remove_all(bucket, [{'Key': item['Key']} for item in page['Contents']])

    def _remove_all(self, bucket: str, keys: list[dict]) -> None:
        answer = self.client.delete_objects(Bucket=bucket, Delete={'Objects': keys, 'Quiet': True})
        for error in answer.get('Errors', ()):
            raise PermissionError(f's3://{bucket}/{error["Key"]}: S3 refused to remove it: {error["Message"]}')


class Body(io.RawIOBase):
    """Read the body of an answer of S3. Raises OSError when it breaks off."""

    def __init__(self, path: str, body: Any) -> None:
        self.path, self.body = path, body

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of the buffer; 0 at the end of the object."""
        with translate_errors(self.path):
            data = self.body.read(len(buffer))
        buffer[:len(data)] = data
        return len(data)

    def close(self) -> None:
        """Let go of the connection."""
        self.body.close()
        super().close()


def split_path(path: str) -> tuple[str, str, str]:
    """Return (scheme and bucket, bucket, key) of a path, the key without a slash at its end."""
    scheme, _, rest = path.partition('://')
    bucket, _, key = rest.partition('/')
    if not bucket:
        raise ValueError(f'{path}: expected a bucket, as in {scheme}://bucket/key')
    return f'{scheme}://{bucket}', bucket, key.rstrip('/')


def get_code(error: ClientError) -> str:
    """Return the name that S3 gives to an error."""
    return error.response.get('Error', {}).get('Code', '')


@contextmanager
def translate_errors(path: str, bucket: str | None = None) -> Iterator[None]:
    """Turn errors of boto3 into an OSError of one sentence."""
    try:
        yield
    except (NoCredentialsError, PartialCredentialsError, TokenRetrievalError):
        raise PermissionError(f'{path}: expected AWS credentials in the environment, in a profile of the AWS command '
                              'line or by the role of this machine, found none') from None
    except ClientError as error:
        code = get_code(error)
        if code == 'NoSuchBucket':
            raise FileNotFoundError(f'{path}: the bucket {bucket} does not exist') from None
        reason = error.response.get('Error', {}).get('Message', code)
        kind = KINDS.get(code, OSError)
        raise kind(f'{path}: AWS refused {error.operation_name}: {code}: {reason}') from None
    except BotoCoreError as error:
        raise OSError(f'{path}: AWS does not answer ({" ".join(str(error).split())})') from None
