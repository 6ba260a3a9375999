"""The archive of classes that `cluster.py up` makes is taken, and a JVM that cannot take it works without."""

import os
import subprocess

import pytest


@pytest.fixture
def said(cluster, tmp_path):
    """Run `hadoop version` with options of Java, and with an archive of one's own; returns the finished process."""

    def run(options='', archive=None):
        home = cluster.home
        if archive is not None:
            home = tmp_path
            for name in ('bin', 'etc', 'lib'):
                (home / name).symlink_to(cluster.home / name)
            (home / 'classes.jsa').write_bytes(archive)
        return subprocess.run(
            [home / 'bin' / 'hadoop', 'version'],
            env={**os.environ, 'HADOOP_OPTS': options},
            capture_output=True,
            text=True,
        )

    return run


@pytest.mark.long
def test_clients_and_containers_take_the_archive(cluster, said):
    done = said('-Xshare:on')  # Java then demands that the archive is one of this Java and of these jars
    assert done.returncode == 0 and done.stdout.startswith('Hadoop 3.'), done.stdout + done.stderr
    site = (cluster.home / 'etc' / 'hadoop' / 'mapred-site.xml').read_text()
    assert site.count(f'-XX:SharedArchiveFile={cluster.home}/classes.jsa') == 3


@pytest.mark.long
def test_a_damaged_archive_does_not_show(said):
    plain, damaged = said(), said(archive=b'no archive')
    assert (damaged.returncode, damaged.stdout, damaged.stderr) == (0, plain.stdout, plain.stderr)
