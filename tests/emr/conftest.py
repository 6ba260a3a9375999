"""An account at Amazon of the tests' own, and the command line that uses it."""

import re
import shlex
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest
from reference.commands import elm, succeed

from emr.amazon import Amazon
from mr_elm.rows import remote, storage

CONF = Path(__file__).parents[2] / 'hadoop-conf' / 'mrjob-emr.conf'
TEMPORARY = 's3://bucket/mr-elm/tmp/'
REQUIREMENTS = CONF.with_name('emr-requirements.txt')
LABEL = "it's the label; $(touch x) & `touch x`"
NAMED = ('--label-column', LABEL)
PACK = 's3://bucket/packed'
OPTIONS = (*NAMED, '--hidden', 30, '--nu', 10, '--class-weight', 'balanced')
# the code of the job, and what Python 3.11 itself has, or mrjob's substitutes for it
OF_A_NODE = {'mr_elm', 'mrjob', 'setuptools', 'standard-pipes'}
ABSENCE = """
import sys

class Absent:
    def find_spec(name, path=None, target=None):
        if name.partition('.')[0] in {absent}:
            raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)

sys.meta_path.insert(0, Absent)
"""


class Account(Amazon):
    """Run mr-elm with an account."""

    settings = ('-r', 'emr', '-c', CONF, '--cloud-tmp-dir', TEMPORARY, '--check-cluster-every', 0.15)

    def elm(self, *words, n_maps=1, pool='--no-pool-clusters', python=None):
        """Run mr-elm on a cluster that ends with the command, unless it is to be kept; each task is a process."""
        assert self.thread.is_alive(), 'nobody runs steps any more: a command would wait for ever'
        tasks = '-D', f'mapreduce.job.maps={n_maps}', *(python or ('--python', self.folder / 'python'))
        return elm(*words, *self.settings, pool, *tasks)

    def done(self, *words, n_maps=1):
        """Run mr-elm on a cluster, which must succeed; returns its standard output."""
        return succeed(self.elm(*words, n_maps=n_maps))

    def left(self):
        """List what is on S3, but for the logs of the clusters and the empty objects that stand for folders."""
        return sorted(path for path in self.files if not path.startswith(f'{TEMPORARY}logs/') and path[-1] != '/')


def write_python(folder, environment):
    """Write a Python that has what mrjob-emr.conf installs on a node and no other package of this machine.

    environment : of the node, instead of the role by which nodes reach S3.
    """
    installed = {line.partition('==')[0] for line in REQUIREMENTS.read_text().splitlines() if '==' in line}
    absent = {module for module, names in packages_distributions().items() if not {*names} <= installed | OF_A_NODE}
    (folder / 'sitecustomize.py').write_text(ABSENCE.format(absent=absent))
    (folder / 'python').write_text(
        '#!/bin/sh\n'
        + ''.join(f'export {name}={shlex.quote(value)}\n' for name, value in environment.items())
        + f'PYTHONPATH={folder}:$PYTHONPATH exec {shlex.quote(sys.executable)} "$@"\n'
    )
    (folder / 'python').chmod(0o755)


@pytest.fixture(scope='package')
def account(tmp_path_factory):
    """Open the account; the environment leads to it, and to no other."""
    with pytest.MonkeyPatch.context() as patch, Account(tmp_path_factory.mktemp('machines')) as account:
        for name, value in account.environment.items():
            patch.setenv(name, value)
        patch.setenv('AWS_EC2_METADATA_DISABLED', 'true')
        patch.setenv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null')
        patch.setenv('AWS_CONFIG_FILE', '/dev/null')
        patch.setattr(remote, 'CONNECTION', {})
        storage.make_store.cache_clear()
        write_python(account.folder, account.environment)
        yield account
    storage.make_store.cache_clear()


@pytest.fixture(scope='session')
def rows(tmp_path_factory):
    """Write rows of three classes, with awkward names for file, column and classes: the path of a csv file."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 4))
    y = (X[:, 0] > 0.4).astype(int) + (X[:, 1] * X[:, 2] > 0.3)
    names = np.array(["it's; $(touch x)", 'a "b" c', 'plain'])[y]
    path = tmp_path_factory.mktemp('rows') / "it's a [1] {file}; $(touch x).csv"
    quoted = (name.replace('"', '""') for name in names)
    path.write_text(
        f'{LABEL},a,b,c,d\n'
        + ''.join(f'"{name}",{",".join(f"{x:.9g}" for x in row)}\n' for name, row in zip(quoted, X, strict=True))
    )
    return path


@pytest.fixture(scope='session')
def inline_model(here, rows, tmp_path_factory):
    """Train inline from text."""
    path = tmp_path_factory.mktemp('inline') / 'm.npz'
    here('train', 'pesvm', rows, *OPTIONS, '--model', path, '-q')
    return path


@pytest.fixture(scope='package')
def packed(account, rows):
    """Pack on EMR, to S3: the logs of its two jobs."""
    before = set(account.files)
    account.done('pack', rows, *NAMED, '-o', PACK, '--block-rows', 200, '-q')
    return [path for path in set(account.files) - before if re.search('/steps/.*/syslog', path)]
