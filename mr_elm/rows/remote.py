"""Reach files that are elsewhere, on HDFS or on S3, by file systems of fsspec."""

import errno
import io
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, BinaryIO

from fsspec.spec import AbstractBufferedFile

from mr_elm.rows.storage import ANSWER_SECONDS, COPY_BYTES, PATTERN, Entry
from mr_elm.store import temporary_folder

DENIED = 'ACCESS_DENIED', 'FORBIDDEN', 'AccessControlException'
REFUSED = re.compile(r"host='([^']*)', port=(\d+).*(\[Errno \d+\][^'\")]*)")  # in what requests says
CONNECTION: dict[str, str] = {}  # what -r emr was told of S3: options of boto3.client
S3_ATTEMPTS = 3


class RemoteStore:
    """Files of a file system of fsspec.

    scheme, host : of the paths, such as hdfs and the NameNode; paths of another host are refused.
    system : the file system. is_s3 : whether paths begin with a bucket, and folders are only the
    beginnings of names.
    """

    def __init__(self, system: Any, host: str = '', is_s3: bool = False) -> None:
        self.system, self.host, self.is_s3 = system, host, is_s3

    def absolute(self, path: str) -> str:
        """Return the absolute path, the same for all spellings."""
        return path.rstrip('/')

    def key(self, path: str) -> str:
        """Return what the file system calls a path. Raises OSError if it is on another cluster, or has no bucket."""
        scheme, _, rest = path.partition('://')
        host, slash, name = rest.partition('/')
        if self.is_s3:
            if not host:
                raise ValueError(f'{path}: expected a bucket, as in {scheme}://bucket/key')
            return rest.rstrip('/')
        if host and self.host and host not in (self.host, self.host.partition(':')[0]):
            raise OSError(
                f'{path}: expected a path on hdfs://{self.host}, found the host {host} in it: write '
                'hdfs:///... with three slashes, or let HADOOP_HOME name the Hadoop of that host'
            )
        return slash + name.rstrip('/') or '/'

    @contextmanager
    def reach(self, path: str) -> Iterator[str]:
        """Give what the file system calls a path; what it raises becomes an OSError of one sentence."""
        with translate_errors(path):
            yield self.key(path)

    def find(self, path: str) -> Entry | None:
        """Return the Entry of a path, or None. Raises FileNotFoundError when there is no such bucket."""
        with self.reach(path) as key:
            with suppress(FileNotFoundError):
                return make_entry(path.rstrip('/'), self.system.info(key))
            bucket = key.partition('/')[0]
            if self.is_s3 and bucket != key and not self.system.exists(bucket):
                raise FileNotFoundError(f'{path}: the bucket {bucket} does not exist')
        return None

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that a pattern matches, sorted."""
        if not PATTERN & set(pattern.partition('://')[2].partition('/')[2]):
            if self.find(pattern):
                return [pattern]
            return []
        above, _, name = pattern.rpartition('/')
        folders = [folder for folder in map(self.find, self.glob(above)) if folder and folder.is_folder]
        return sorted(
            entry.path for folder in folders for entry in self.entries(folder.path) if fnmatchcase(entry.name, name)
        )

    def entries(self, folder: str) -> list[Entry]:
        """List what is in a folder."""
        with self.reach(folder) as key:
            listing = self.system.ls(key, detail=True)
        names = [info['name'].rstrip('/').rpartition('/')[2] for info in listing]
        return [make_entry(f'{folder.rstrip("/")}/{name}', info) for name, info in zip(names, listing, strict=True)]

    def open(self, path: str, ahead: int = COPY_BYTES) -> BinaryIO:
        """Open a file for reading bytes, from any position. ahead : bytes that are asked for at a time."""
        entry = self.find(path)
        if entry is None:
            raise FileNotFoundError(f'{path}: expected a file, found none')
        if hasattr(self.system, 'cat_file'):
            ranges = Ranges(self.system, path, size=entry.size, cache_type='none', key=self.key(path))
            return io.BufferedReader(ranges, ahead)
        with self.reach(path) as key, temporary_folder() as folder:
            local = os.path.join(folder, 'file')  # the hadoop command reads whole files
            self.system.get_file(key, local)
            return open(local, 'rb')

    def put(self, source: str, path: str) -> None:
        """Copy a file of this machine to a path; replaces what is there.

        It is written under another name first: also on S3, where pyarrow finishes an object whose upload failed.
        """
        folder, _, name = path.rpartition('/')
        temporary = f'{folder}/_{name}.{uuid.uuid4().hex[:8]}.tmp'
        self.make_folder(folder)
        with translate_errors(path):
            try:
                with open(source, 'rb') as stream, self.system.open(self.key(temporary), 'wb') as target:
                    shutil.copyfileobj(stream, target, COPY_BYTES)
                if self.find(path) is not None and not self.is_s3:
                    self.remove(path)
                self._rename(temporary, path)
            except BaseException:
                self.remove(temporary)
                raise

    def move(self, source: str, path: str) -> None:
        """Give a file or a folder a new name, under which there must be nothing.

        On S3, where files are copied one by one, those whose names begin with _ (all is there) come last.
        """
        if self.is_s3:
            entry = self.find(source)
            if entry is None:
                raise FileNotFoundError(f'{source}: expected a file or a folder, found none')
            if entry.is_folder:
                for child in sorted(self.entries(source), key=lambda child: (child.name.startswith('_'), child.name)):
                    self.move(child.path, f'{path}/{child.name}')
                self.remove(source)
                return
        self.make_folder(path.rpartition('/')[0])
        self._rename(source, path)

    def _rename(self, source: str, path: str) -> None:
        """Rename on HDFS, which does nothing, and says nothing, where the new name exists."""
        with self.reach(path) as key:
            self.system.mv(self.key(source), key)
        if self.find(source) is not None:
            raise FileExistsError(f'{path}: expected a new name, it exists')

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it; S3 has none."""
        if self.is_s3:
            return
        with self.reach(path) as key:
            self.system.makedirs(key, exist_ok=True)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        with self.reach(path) as key:
            if self.find(path) is not None:
                self.system.rm(key, recursive=True)


def open_remote(scheme: str) -> RemoteStore:
    """Return the store of a scheme."""
    if scheme == 'hdfs':
        return RemoteStore(*import_module('mr_elm.rows.hdfs').open_hdfs())
    return RemoteStore(open_s3(), is_s3=True)


class Ranges(AbstractBufferedFile):
    """Read a file from any position. path : for messages. key : what the file system calls it."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        """Read the bytes from start to end. Raises OSError when these are cut short."""
        end = min(end, self.size)
        with translate_errors(self.path):
            data = self.fs.cat_file(self.kwargs['key'], start=start, end=end, seekable=True)
        if len(data) != end - start:  # fsspec's WebHDFS does not look whether an answer is an error
            raise OSError(errno.EIO, f'{self.path}: expected {end - start} bytes from byte {start}, found {len(data)}')
        return data


def make_entry(path: str, info: dict) -> Entry:
    """Make the Entry that fsspec's description of a file means."""
    modified = info.get('modificationTime', info.get('mtime', ''))
    return Entry(path, info['type'] == 'directory', info['size'] or 0, str(modified))


def find_reason(error: Exception) -> str:
    """Return in one line why a file system refused: what HDFS answered, where its client has hidden that."""
    try:
        answer = error.response.json()['RemoteException']  # type: ignore[attr-defined]
        return f'{answer["exception"]}: {answer["message"].splitlines()[0]}'
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        pass
    reason = ' '.join(str(error).split())
    refused = REFUSED.search(reason)
    if refused:
        return '{}:{}: {}'.format(*refused.groups())
    return reason


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Turn what file systems raise into an OSError of one sentence that names the path."""
    try:
        yield
    except (ValueError, KeyError, TypeError):
        raise
    except Exception as error:
        reason = find_reason(error)
        if isinstance(error, OSError) and reason.startswith((path, f'[Errno {error.errno}] {path}')):
            raise
        service = path.partition('://')[0].upper().rstrip('AN')
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(errno.ENOENT, f'{path}: expected a file, found none') from None
        if isinstance(error, PermissionError) or any(word in reason for word in DENIED):
            raise PermissionError(errno.EACCES, f'{path}: {service} refused access: {reason}') from None
        if any(word in type(error).__name__ + reason for word in ('Connection', 'NETWORK_CONNECTION', 'Timeout')):
            raise OSError(errno.EIO, f'{path}: {service} does not answer: is the service up? ({reason})') from None
        raise OSError(errno.EIO, f'{path}: {service} refused: {reason}') from None


def open_s3() -> Any:
    """Return a file system of fsspec for S3. Raises PermissionError when there are no keys.

    Keys, region and endpoint are those of the environment, of a profile or of the role of this machine, as AWS's own
    command line finds them, unless CONNECTION names them.
    """
    from pyarrow import fs

    region = CONNECTION.get('region_name') or os.environ.get('AWS_REGION') or os.environ.get('AWS_DEFAULT_REGION')
    endpoint = (
        CONNECTION.get('endpoint_url') or os.environ.get('AWS_ENDPOINT_URL_S3') or os.environ.get('AWS_ENDPOINT_URL')
    )
    attempts = int(os.environ.get('AWS_MAX_ATTEMPTS', S3_ATTEMPTS))
    system = fs.S3FileSystem(
        **find_keys(),
        region=region,
        endpoint_override=endpoint,
        request_timeout=ANSWER_SECONDS,
        connect_timeout=ANSWER_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=attempts),
    )
    return import_module('fsspec.implementations.arrow').ArrowFSWrapper(system, skip_instance_cache=True)


def find_keys() -> dict[str, str | None]:
    """Return access key, secret key and token; none where pyarrow finds and renews them itself, as those of a role.

    Nodes of a cluster may lack boto3: they have a role.
    """
    named = {name: value for name, value in CONNECTION.items() if name.startswith('aws_')}
    try:
        session = import_module('boto3').Session(**named)
    except ModuleNotFoundError:
        return {}
    credentials = session.get_credentials()
    if credentials is None:
        raise PermissionError(
            'files on S3: expected AWS credentials in the environment, in a profile of the AWS command '
            'line or by the role of this machine, found none'
        )
    if hasattr(credentials, 'refresh_needed'):
        return {}
    return {
        'access_key': credentials.access_key,
        'secret_key': credentials.secret_key,
        'session_token': credentials.token,
    }
