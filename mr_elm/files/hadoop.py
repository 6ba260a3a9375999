"""Meet a Hadoop cluster: its configuration, and its file system, over HTTP or by its own command."""
import os
import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from subprocess import DEVNULL, PIPE, CalledProcessError, Popen
from typing import IO

from mrjob.fs.hadoop import HadoopFilesystem

from mr_elm.files.webhdfs import WebHDFS

SITE_FILES = ('core-site.xml', 'hdfs-site.xml', 'yarn-site.xml', 'mapred-site.xml')

OF_WEB_HDFS = ('fs.defaultFS', 'dfs.namenode.http-address', 'dfs.http.policy', 'dfs.nameservices',
               'dfs.webhdfs.enabled', 'hadoop.security.authentication')


def find_home() -> Path | None:
    """Return the folder of the Hadoop to use, or None.

    HADOOP_HOME names it; else it is the local cluster of this folder or checkout; else that of the command `hadoop`.
    """
    named = os.environ.get('HADOOP_HOME')
    if named:
        return Path(named)
    for folder in (Path.cwd(), Path(__file__).resolve().parents[2]):
        home = folder / 'build' / 'hadoop' / 'home'  # where `make hadoop-up` puts a cluster
        if (home / 'bin' / 'hadoop').exists():
            return home.resolve()
    found = shutil.which('hadoop')
    return Path(found).resolve().parent.parent if found else None


def is_local_cluster() -> bool:
    """Tell whether the nodes are this machine, as those that cluster.py starts are."""
    home = find_home()
    return home is not None and (home.parent / 'settings.json').exists()


def read_configuration(home: Path | None) -> dict[str, str]:
    """Read the properties of a Hadoop's site files: name -> value; those of HADOOP_CONF_DIR come first."""
    named = os.environ.get('HADOOP_CONF_DIR')
    usual = [*([home / 'etc' / 'hadoop'] if home else []), Path('/etc/hadoop/conf')]
    folders = [Path(named)] if named else usual
    properties: dict[str, str] = {}
    for folder in folders:
        for site in SITE_FILES:
            if (folder / site).exists():
                for entry in ElementTree.parse(folder / site).iter('property'):
                    properties.setdefault(entry.findtext('name', '').strip(), entry.findtext('value', '').strip())
    return properties


def make_web_hdfs(properties: dict[str, str]) -> WebHDFS | None:
    """Return WebHDFS for a cluster, or None where it needs more than plain HTTP (Kerberos, TLS, high availability)."""
    secure = properties.get('hadoop.security.authentication', 'simple') != 'simple'
    plain = properties.get('dfs.http.policy', 'HTTP_ONLY') != 'HTTPS_ONLY' and not properties.get('dfs.nameservices')
    default = re.match(r'hdfs://(([^/:]+)[^/]*)', properties.get('fs.defaultFS', ''))
    if secure or not plain or not default or properties.get('dfs.webhdfs.enabled') == 'false':
        return None
    host, _, port = properties.get('dfs.namenode.http-address', '0.0.0.0:9870').partition(':')
    return WebHDFS(f'{default.group(2) if host == "0.0.0.0" else host}:{port or 9870}', default.group(1))


class HadoopCommand(HadoopFilesystem):
    """Do what `WebHDFS` does with the hadoop command: slower, but with whatever security the cluster has."""

    def status(self, path: str) -> dict | None:
        """Return type, length and time of a path, or None when there is nothing."""
        if not self.exists(escape_glob(path)):
            return None
        stat = self.invoke_hadoop(['fs', '-stat', '%F %b %Y', escape_glob(path)], return_stdout=True).decode()
        kind, size, time = stat.rsplit(None, 2)
        return {'type': 'DIRECTORY' if kind == 'directory' else 'FILE', 'length': int(size), 'modificationTime': time}

    def children(self, path: str) -> list[dict]:
        """List name, type, length and time of what is in a folder."""
        listing = self.invoke_hadoop(['fs', '-ls', escape_glob(path)], return_stdout=True).decode()
        return [{'pathSuffix': fields[7].rpartition('/')[2], 'length': int(fields[4]),
                 'modificationTime': ' '.join(fields[5:7]),
                 'type': 'DIRECTORY' if fields[0].startswith('d') else 'FILE'}
                for fields in (line.split(None, 7) for line in listing.splitlines()) if len(fields) == 8]

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that a pattern matches, sorted."""
        try:
            listing = self.invoke_hadoop(['fs', '-ls', '-d', '-C', pattern], return_stdout=True).decode()
        except CalledProcessError:
            return []
        return sorted(listing.splitlines())

    def open(self, path: str) -> IO[bytes] | None:
        """Open a file for reading bytes."""
        return Popen([*self.get_hadoop_bin(), 'fs', '-cat', escape_glob(path)], stdout=PIPE, stderr=DEVNULL).stdout

    def rename(self, source: str, target: str) -> None:
        """Give a file another name."""
        self.invoke_hadoop(['fs', '-mv', escape_glob(source), target])

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        self.rm(escape_glob(path))


def escape_glob(path: str) -> str:
    """Escape a name that Hadoop would take for a pattern, or, with commas outside of {}, for several names."""
    return re.sub(r'([*?\[\]{}\\])', r'\\\1', path).replace(',', r'{\,}')


def find_command() -> str:
    """Return the hadoop command of the Hadoop to use. Raises FileNotFoundError when there is none."""
    home = find_home()
    advice = 'set HADOOP_HOME to the folder of a Hadoop installation, or start a local cluster with `make hadoop-up`'
    if home is None:
        raise FileNotFoundError(f'expected a Hadoop installation, found none: {advice}')
    if not (home / 'bin' / 'hadoop').exists():
        raise FileNotFoundError(f'{home}: expected a Hadoop installation, found no bin/hadoop in it: {advice}')
    return str(home / 'bin' / 'hadoop')


def read_job_configuration() -> dict[str, str]:
    """Read what a task of Hadoop needs of the configuration of its job, which is in its environment: name -> value."""
    values = {name: os.environ.get(re.sub(r'\W', '_', name), '') for name in OF_WEB_HDFS}
    return {name: value for name, value in values.items() if value} if values['fs.defaultFS'] else {}


def make_hdfs_client() -> WebHDFS | HadoopCommand:
    """Return a client of the cluster's HDFS: over HTTP where that is possible, else the hadoop command."""
    job = read_job_configuration()
    if not job:
        find_command()
    return make_web_hdfs(job or read_configuration(find_home())) or make_hadoop_command()


def make_hadoop_command() -> HadoopCommand:
    """Return a client of all file systems that the hadoop command reaches."""
    return HadoopCommand([find_command()])
