"""Meet a Hadoop cluster: its configuration, and its file system, over WebHDFS or by its own command."""

import os
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from getpass import getuser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mr_elm.rows.storage import ANSWER_SECONDS
from mr_elm.store import temporary_prefix

SITE_FILES = ('core-site.xml', 'hdfs-site.xml', 'yarn-site.xml', 'mapred-site.xml')

OF_WEB_HDFS = (
    'fs.defaultFS',
    'dfs.namenode.http-address',
    'dfs.namenode.https-address',
    'dfs.http.policy',
    'dfs.nameservices',
    'dfs.webhdfs.enabled',
    'hadoop.security.authentication',
)


def find_home() -> Path | None:
    """Return the folder of the Hadoop to use, or None.

    HADOOP_HOME names it; else it is the local cluster of this folder or checkout, or the one that cluster.py started
    last; else that of the command `hadoop`.
    """
    named = os.environ.get('HADOOP_HOME')
    if named:
        return Path(named)
    homes = [folder / 'build' / 'hadoop' / 'home' for folder in (Path.cwd(), Path(__file__).resolve().parents[2])]
    with suppress(OSError):  # no local cluster runs
        homes.append(Path(find_state_file().read_text(encoding='utf-8')))
    for home in homes:
        if (home / 'bin' / 'hadoop').exists():
            return home.resolve()
    command = shutil.which('hadoop')
    if command:
        return Path(command).resolve().parent.parent
    return None


def find_state_file() -> Path:
    """Return the file of this user where cluster.py names the local cluster that runs."""
    return Path(os.environ.get('XDG_DATA_HOME') or Path.home() / '.local' / 'share') / 'mr-elm' / 'hadoop-home'


def is_local_cluster() -> bool:
    """Tell whether the nodes are this machine, as those that cluster.py starts are."""
    home = find_home()
    return home is not None and (home.parent / 'settings.json').exists()


def read_configuration(home: Path | None) -> dict[str, str]:
    """Read the properties of a Hadoop's site files: name -> value; those of HADOOP_CONF_DIR come first."""
    named = os.environ.get('HADOOP_CONF_DIR')
    folders = [*([home / 'etc' / 'hadoop'] if home else []), Path('/etc/hadoop/conf')]
    if named:
        folders = [Path(named)]
    properties: dict[str, str] = {}
    for folder in folders:
        for site in SITE_FILES:
            if (folder / site).exists():
                for entry in ElementTree.parse(folder / site).iter('property'):
                    properties.setdefault(entry.findtext('name', '').strip(), entry.findtext('value', '').strip())
    return properties


def open_web_hdfs(properties: dict[str, str], in_task: bool = False) -> tuple[Any, str] | None:
    """Return the file system of fsspec for WebHDFS, and the NameNode's host and port in full paths.

    None where the hadoop command must do: with two NameNodes, without WebHDFS, with Kerberos in a task, which has a
    token that only Java reads, and with Kerberos where requests_kerberos is not installed.
    """
    name_node = re.match(r'hdfs://(([^/:]+)[^/]*)', properties.get('fs.defaultFS', ''))
    secure = properties.get('hadoop.security.authentication', 'simple') != 'simple'
    if (
        not name_node
        or properties.get('dfs.nameservices')
        or properties.get('dfs.webhdfs.enabled') == 'false'
        or secure
        and (in_task or find_spec('requests_kerberos') is None)
    ):
        return None
    scheme = 'http'
    usual_port = 9870
    if properties.get('dfs.http.policy') == 'HTTPS_ONLY':
        scheme = 'https'
        usual_port = 9871
    host, _, port = properties.get(f'dfs.namenode.{scheme}-address', '').partition(':')
    if host in ('', '0.0.0.0'):
        host = name_node.group(2)
    user = None
    if not secure:
        user = os.environ.get('HADOOP_USER_NAME') or getuser()
    system = import_module('fsspec.implementations.webhdfs').WebHDFS(
        host,
        port=int(port or usual_port),
        user=user,
        kerberos=secure,
        use_https=scheme == 'https',
        skip_instance_cache=True,
    )
    system.session.request = partial(system.session.request, timeout=ANSWER_SECONDS)
    return system, name_node.group(1)


class HadoopCommand:
    """Offer what `RemoteStore` needs of a file system of fsspec by the hadoop command.

    It is slower than WebHDFS, but knows what only Java knows: two NameNodes, tokens, s3a.
    """

    def __init__(self, command: str) -> None:
        self.command = command

    def run(self, *words: str) -> str:
        """Run `hadoop fs`. Raises OSError when it fails."""
        done = subprocess.run([self.command, 'fs', *words], capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()] or ['no reason given']
            raise OSError(f'hadoop fs {words[0]}: {lines[-1]}')
        return done.stdout

    def info(self, path: str) -> dict:
        """Describe a file or a folder. Raises FileNotFoundError when there is none."""
        try:
            [entry] = self.ls(path, '-d')
        except OSError as error:
            if 'No such file' in str(error):
                raise FileNotFoundError(path) from None
            raise
        return entry

    def ls(self, path: str, *flags: str, detail: bool = True) -> list[dict]:
        """Describe what is in a folder."""
        lines = (line.split(None, 7) for line in self.run('-ls', *flags, escape_glob(path)).splitlines())
        return [
            {
                'name': f'{path.rstrip("/")}/{fields[7].rpartition("/")[2]}',
                'size': int(fields[4]),
                'type': 'directory' if fields[0].startswith('d') else 'file',
                'modificationTime': ' '.join(fields[5:7]),
            }
            for fields in lines
            if len(fields) == 8
        ]

    def get_file(self, path: str, target: str) -> None:
        """Copy a file to this machine."""
        self.run('-get', '-f', escape_glob(path), target)

    @contextmanager
    def open(self, path: str, mode: str) -> Iterator[Any]:
        """Open a file for writing; it is there when the context ends."""
        with tempfile.NamedTemporaryFile(prefix=temporary_prefix()) as stream:
            yield stream
            stream.flush()
            self.run('-put', stream.name, path)

    def makedirs(self, path: str, exist_ok: bool = True) -> None:
        """Make a folder and those above it."""
        self.run('-mkdir', '-p', path)

    def mv(self, source: str, target: str) -> None:
        """Give a file or a folder another name."""
        self.run('-mv', escape_glob(source), target)

    def rm(self, path: str, recursive: bool = True) -> None:
        """Remove a file, or a folder with all that is in it."""
        self.run('-rm', '-r', '-f', '-skipTrash', escape_glob(path))


def escape_glob(path: str) -> str:
    """Escape a name that Hadoop would take for a pattern, or, with commas outside of {}, for several names."""
    return re.sub(r'([*?\[\]{}\\])', r'\\\1', path).replace(',', r'{\,}')


def find_command() -> str:
    """Return the hadoop command of the Hadoop to use. Raises FileNotFoundError when there is none."""
    home = find_home()
    advice = 'set HADOOP_HOME to the folder of a Hadoop installation, or start a local cluster with `make hadoop-up`'
    if home is None or not (home / 'bin' / 'hadoop').exists():
        raise FileNotFoundError(f'expected a Hadoop installation, found {home or "none"} without bin/hadoop: {advice}')
    return str(home / 'bin' / 'hadoop')


def open_hdfs() -> tuple[Any, str]:
    """Return the file system of the cluster's HDFS, WebHDFS or `HadoopCommand`, and its NameNode in full paths."""
    # a task of Hadoop has the configuration of its job in its environment
    values = {name: os.environ.get(re.sub(r'\W', '_', name), '') for name in OF_WEB_HDFS}
    job = {name: value for name, value in values.items() if value}
    if not values['fs.defaultFS']:
        job = {}
        find_command()
    return open_web_hdfs(job or read_configuration(find_home()), bool(job)) or (HadoopCommand(find_command()), '')
