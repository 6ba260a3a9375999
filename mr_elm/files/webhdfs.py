"""Talk to HDFS over HTTP, where mrjob's own file system starts a JVM for every call."""
import http.client
import json
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from getpass import getuser
from http.client import HTTPResponse
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from mrjob.fs.base import Filesystem

TIMEOUT = 60
CHUNK = 4 << 20
GLOB = set('*?[')


class WebHDFS(Filesystem):
    """Offer mrjob's file system methods, and renaming and ranges, over the WebHDFS protocol.

    address : host:port of the NameNode's web server. name_node : host or host:port in full paths; '' for any.
    user : the name to act under, for clusters without Kerberos.
    """

    def __init__(self, address: str, name_node: str = '', user: str | None = None) -> None:
        self.address, self.name_node = address, name_node
        self.user = user or os.environ.get('HADOOP_USER_NAME') or getuser()

    def can_handle_path(self, path: str) -> bool:
        """Tell whether a path is on HDFS."""
        return path.startswith('hdfs:')

    def call(self, method: str, path: str, operation: str, ok: tuple[int, ...] = (200, 201), body: Any = None,
             **parameters: Any) -> HTTPResponse:
        """Send one request, follow its redirect, and return the open response. Raises OSError when it is refused."""
        query = urlencode({'op': operation, 'user.name': self.user, **parameters})
        demand_host(path, self.name_node)
        target = f'http://{self.address}/webhdfs/v1{quote(strip_host(path))}?{query}'
        response = send(method, target, None)
        if response.status == 307:
            response.read()
            response = send(method, response.headers['Location'], body)
        if response.status not in ok:
            raise make_refusal(path, operation, response)
        return response

    def json(self, method: str, path: str, operation: str, **parameters: Any) -> dict:
        """Send one request and return what its answer holds."""
        with self.call(method, path, operation, **parameters) as response:
            text = response.read()
        return json.loads(text) if text else {}

    def status(self, path: str) -> dict | None:
        """Return the FileStatus of a path, or None when there is nothing."""
        try:
            return self.json('GET', path, 'GETFILESTATUS')['FileStatus']
        except FileNotFoundError:
            return None

    def children(self, path: str) -> list[dict]:
        """List the FileStatus of what is in a folder; of a file, its own with an empty name."""
        return self.json('GET', path, 'LISTSTATUS')['FileStatuses']['FileStatus']

    def ls(self, path_glob: str) -> Iterator[str]:
        """Yield the files at or below what a glob matches."""
        for path in self.glob(path_glob):
            status = self.status(path)
            if status is not None:
                yield from self._walk(path, status)

    def _walk(self, path: str, status: dict) -> Iterator[str]:
        if status['type'] == 'FILE':
            yield path
            return
        for child in self.children(path):
            yield from self._walk(self.join(path, child['pathSuffix']), child)

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that a pattern matches, sorted."""
        prefix, parts = take_host(pattern), strip_host(pattern).strip('/').split('/')
        found = ['']
        for part in parts:
            if GLOB & set(part):
                found = [f'{folder}/{child["pathSuffix"]}' for folder in found
                         for child in self._children_or_none(prefix + folder)
                         if child['pathSuffix'] and fnmatchcase(child['pathSuffix'], part)]
            else:
                found = [f'{folder}/{part}' for folder in found]
        return sorted(prefix + path for path in found if GLOB & set(parts[-1]) or self.status(prefix + path))

    def _children_or_none(self, path: str) -> list[dict]:
        try:
            return self.children(path or '/')
        except OSError:
            return []

    def exists(self, path_glob: str) -> bool:
        """Tell whether anything matches a glob."""
        return any(self.status(path) is not None for path in self.glob(path_glob))

    def _cat_file(self, path: str) -> Iterator[bytes]:
        with self.open(path) as stream:
            while chunk := stream.read(CHUNK):
                yield chunk

    def open(self, path: str) -> HTTPResponse:
        """Open a file for reading bytes."""
        return self.call('GET', path, 'OPEN')

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Read some bytes of a file."""
        with self.call('GET', path, 'OPEN', offset=start, length=length) as response:
            return response.read()

    def mkdir(self, path: str) -> None:
        """Make a folder and those above it."""
        self.json('PUT', path, 'MKDIRS')

    def put(self, src: str, path: str) -> None:
        """Copy a local file to a path where there is none."""
        with open(src, 'rb') as body:
            self.call('PUT', path, 'CREATE', body=body, overwrite='false').close()

    def rm(self, path_glob: str) -> None:
        """Remove all that matches."""
        for path in self.glob(path_glob):
            self.delete(path)

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        self.json('DELETE', path, 'DELETE', recursive='true')

    def rename(self, source: str, target: str) -> None:
        """Give a file another name. Raises OSError when the target exists."""
        if not self.json('PUT', source, 'RENAME', destination=strip_host(target))['boolean']:
            raise FileExistsError(f'{target}: expected a new name, it exists')


def send(method: str, target: str, body: Any) -> HTTPResponse:
    """Send one HTTP request and return the response, which closes its connection when it is closed."""
    parts = urlsplit(target)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=TIMEOUT)
    headers = {'Content-Type': 'application/octet-stream'}
    if hasattr(body, 'fileno'):
        headers['Content-Length'] = str(os.fstat(body.fileno()).st_size)
    try:
        connection.request(method, f'{parts.path}?{parts.query}', body=body, headers=headers)
        response = connection.getresponse()
    except OSError as error:
        raise OSError(f'{parts.scheme}://{parts.netloc}: HDFS does not answer ({error}): is the cluster up?') from None
    connection.sock = None  # the response keeps the socket
    return response


def make_refusal(path: str, operation: str, response: HTTPResponse) -> OSError:
    """Make the OSError that tells why a request was refused."""
    text = response.read()
    try:
        facts = json.loads(text)['RemoteException']
        kind, message = facts['exception'], facts['message'].split('\n')[0]
    except (ValueError, KeyError):
        kind, message = f'HTTP {response.status}', text[:200].decode('utf-8', 'replace')
    error = {'FileNotFoundException': FileNotFoundError, 'AccessControlException': PermissionError}.get(kind, OSError)
    return error(f'{path}: HDFS refused {operation.lower()}: {kind}: {message}')


def strip_host(path: str) -> str:
    """Return the path of an hdfs: URI, without scheme and host."""
    return urlsplit(path.replace('?', '%3F').replace('#', '%23')).path.replace('%3F', '?').replace('%23', '#') or '/'


def demand_host(path: str, name_node: str) -> None:
    """Raise OSError for a path on another cluster: its file would be looked for on this one."""
    host = urlsplit(path.partition('?')[0].partition('#')[0]).netloc
    if host and name_node and host not in (name_node, name_node.partition(':')[0]):
        raise OSError(f'{path}: expected a path on hdfs://{name_node}, found the host {host} in it: write hdfs:///... '
                      'with three slashes, or let HADOOP_HOME name the Hadoop of that host')


def take_host(path: str) -> str:
    """Return scheme and host of a URI."""
    parts = urlsplit(path.replace('?', '%3F').replace('#', '%23'))
    return f'{parts.scheme}://{parts.netloc}' if parts.scheme else ''
