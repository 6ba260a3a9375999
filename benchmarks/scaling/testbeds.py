"""Provide the nodes that a run is measured on: processes and cores of this machine, NodeManagers, machines of EMR."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from mr_elm.rows.packs import MANIFEST
from mr_elm.rows.storage import store_of

CLUSTER = Path(__file__).resolve().parents[2] / 'hadoop-conf' / 'cluster.py'


class LocalTestbed:
    """A node is a map process."""

    alias = 'local'

    def __init__(self, folder: str | Path, options: Any) -> None:
        self.folder = str(folder)

    def provide(self, nodes: int, size: int) -> list[str]:
        """Return the words of mr-elm that make it run on so many nodes; size : bytes of its input."""
        return ['-r', 'local', '--num-cores', str(nodes)]

    def put(self, packed: Path) -> str:
        """Bring a packed folder of this machine to where tasks read it; its path there."""
        return str(packed)

    def close(self) -> None:
        """Stop what was started."""


class SparkTestbed(LocalTestbed):
    """A node is a core of this machine that runs tasks of Spark."""

    alias = 'spark'

    def provide(self, nodes: int, size: int) -> list[str]:
        """Return the words of mr-elm that make it run on so many cores."""
        return ['-r', 'spark', '--master', f'local[{nodes}]', '--partitions-of-rows', str(nodes)]


class RemoteTestbed(LocalTestbed):
    """Rows are copied to where the cluster reads them."""

    def put(self, packed: Path) -> str:
        """Copy a packed folder unless it is there; its path there."""
        there = f'{self.folder}/{packed.name}'
        if store_of(there).find(f'{there}/{MANIFEST}') is None:
            put_pack(packed, there)
        return there


class HadoopTestbed(RemoteTestbed):
    """A node is a NodeManager that runs one task at once, and a core more for all of them, of a Hadoop of this machine.

    A Hadoop that HADOOP_HOME names is left as it is: there a node is a map task that may run.
    """

    alias = 'hadoop'

    def __init__(self, folder: str | Path, options: Any) -> None:
        super().__init__('hdfs:///mr_elm-scale', options)
        self.state, self.port_base = Path('build/hadoop-scale').absolute(), options.port_base
        self.own = 'HADOOP_HOME' not in os.environ
        self.nodes = 0
        if self.own and not CLUSTER.exists():
            raise FileNotFoundError(
                f'{CLUSTER}: expected the launcher of a local Hadoop, found none: run in a '
                'checkout, or name a cluster by HADOOP_HOME'
            )

    def provide(self, nodes: int, size: int) -> list[str]:
        """Start so many NodeManagers."""
        if self.own and nodes != self.nodes:
            self.nodes = nodes
            self.manage(
                'up', '--nodes', nodes, '--vcores', 1, '--memory', 3072, '--datanodes', 1, '--port-base', self.port_base
            )
            self.bind(nodes)
            os.environ['HADOOP_HOME'] = str(self.state / 'home')
        return [
            '-r',
            'hadoop',
            *write_properties(
                {
                    'mapreduce.job.maps': nodes,
                    'mapreduce.job.running.map.limit': nodes,
                    'mapreduce.input.fileinputformat.split.minsize': size // nodes + 1,
                }
            ),
        ]

    def bind(self, nodes: int) -> None:
        """Bind the NodeManagers, and so their tasks, to as many cores: else a node that is alone has all of them.

        To all of these, not each to its own: where the application master sits on one, two tasks may sit on another.
        """
        if not hasattr(os, 'sched_setaffinity'):
            return
        cores = sorted(os.sched_getaffinity(0))[:nodes]
        for process in re.findall(r'^nodemanager \d+ +(\d+) ', self.manage('status'), re.MULTILINE):
            for thread in os.listdir(f'/proc/{process}/task'):
                with suppress(ProcessLookupError):
                    os.sched_setaffinity(int(thread), cores)

    def manage(self, *words: object) -> str:
        """Run cluster.py; returns what it prints. Raises RuntimeError."""
        done = subprocess.run(
            [sys.executable, CLUSTER, '--state', self.state, *map(str, words)], text=True, capture_output=True
        )
        if done.returncode:
            raise RuntimeError(f'cluster.py {" ".join(map(str, words))}: {done.stderr.strip()}')
        return done.stdout

    def close(self) -> None:
        """Stop the cluster."""
        if self.own and self.nodes:
            self.manage('down')
            os.environ.pop('HADOOP_HOME', None)


class EMRTestbed(RemoteTestbed):
    """A node is a core instance."""

    alias = 'emr'

    def __init__(self, folder: str | Path, options: Any) -> None:
        if not str(options.store or '').startswith('s3://'):
            raise ValueError(f'--store: -r emr expects a folder on S3 for the rows, found {options.store}')
        super().__init__(options.store.rstrip('/'), options)

    def provide(self, nodes: int, size: int) -> list[str]:
        """Ask for a cluster with so many core instances; mrjob joins one of that size, or starts it."""
        return ['-r', 'emr', '--num-core-instances', str(nodes), *write_properties({'mapreduce.job.maps': nodes})]


def put_pack(packed: Path, there: str) -> None:
    """Copy a packed folder of this machine to any store, the manifest last: where it is, the pack is whole."""
    for file in sorted(packed.iterdir(), key=lambda file: file.name == MANIFEST):
        store_of(there).put(str(file), f'{there}/{file.name}')


def write_properties(values: dict[str, object]) -> list[str]:
    """Write properties of a job as words of a command line."""
    return [word for name, value in values.items() for word in ('-D', f'{name}={value}')]


TESTBEDS = {testbed.alias: testbed for testbed in (LocalTestbed, SparkTestbed, HadoopTestbed, EMRTestbed)}
