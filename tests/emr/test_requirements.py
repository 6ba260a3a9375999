"""What the nodes of EMR install is fixed: versions that fit together, digests of files, and no more than tasks need."""

import re
import subprocess
from importlib.metadata import requires
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import mr_elm.streaming
from emr.conftest import REQUIREMENTS

ENTRY = re.compile(r'([\w-]+)==([\w.]+)((?: +--hash=sha256:[0-9a-f]{64})+)')
# one wheel; others have one for each kind of machine
OF_ALL_MACHINES = (
    'fsspec',
    'threadpoolctl',
    'boto3',
    'botocore',
    'jmespath',
    'python-dateutil',
    's3transfer',
    'six',
    'urllib3',
)
ON_NODES = {'numpy', 'scipy', 'numba', 'threadpoolctl', 'pybase64', 'boto3', 'pyarrow', 'fsspec'}


@pytest.fixture(scope='module')
def lines():
    """Read the lines of the list, those that end in a backslash joined."""
    return REQUIREMENTS.read_text().replace('\\\n', '').splitlines()


@pytest.fixture(scope='module')
def program():
    """Import the program that writes the list."""
    spec = spec_from_file_location('emr_requirements', REQUIREMENTS.with_name('emr_requirements.py'))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope='module')
def versions(lines):
    """Read the version of each package."""
    return {found[1]: found[2] for line in lines if (found := ENTRY.fullmatch(line))}


def test_every_entry_has_a_version_and_a_digest_for_each_kind_of_machine(lines):
    for line in lines:
        if not line.startswith('#'):
            name, _, digests = ENTRY.fullmatch(line).groups()
            assert len(set(digests.split())) == (1 if name in OF_ALL_MACHINES else 2)


def test_versions_fit_together_and_suit_the_library(lines, versions):
    needs = [need for line in lines if line.startswith('# needs ') for need in line[8:].split(', ')]
    own = [need for need in map(Requirement, requires('mr_elm')) if need.name in versions]
    assert {need.name for need in own} == ON_NODES and len(needs) >= 3
    for need in (*own, *map(Requirement, needs)):
        assert versions[need.name] in need.specifier, str(need)


def reports_of(version, digests):
    """Write what pip reports of one package for each kind of machine."""
    return [
        {
            'metadata': {'name': 'package', 'version': version, 'requires_dist': ['numpy<3', 'pytest; extra == "x"']},
            'download_info': {'archive_info': {'hashes': {'sha256': digest}}},
        }
        for digest in digests
    ]


def test_the_program_that_writes_the_list_writes_such_entries(program):
    assert program.pin(reports_of('1.2', ['b' * 64, 'a' * 64])).replace('\\\n', '').splitlines() == [
        '# needs numpy<3',
        f'package==1.2     --hash=sha256:{"a" * 64}     --hash=sha256:{"b" * 64}',
    ]
    with pytest.raises(SystemExit, match='package: expected one version .*, pip chose 1.2 and 1.3'):
        program.pin(reports_of('1.2', ['a']) + reports_of('1.3', ['b']))
    assert [need.partition(' ')[0] for need in program.read_bounds()] == [
        'numpy',
        'scipy',
        'numba',
        'pyarrow',
        'fsspec',
        'boto3',
        'threadpoolctl',
        'pybase64',
    ]


def test_a_node_has_nothing_else_and_every_stage_starts_there(account):
    stages = [f'mr_elm.streaming.{path.stem}' for path in sorted(Path(mr_elm.streaming.__path__[0]).glob('mr_*.py'))]
    assert len(stages) > 10
    for modules, status in ((stages, 0), (['pandas'], 1), (['tqdm'], 1)):
        done = subprocess.run([account.folder / 'python', '-c', f'import {", ".join(modules)}'], capture_output=True)
        assert done.returncode == status, done.stderr


@pytest.mark.usefixtures('packed')
def test_machines_install_the_list_before_a_step_starts(account):
    install = 'python3.11 -m pip install --require-hashes --only-binary :all: -r $__mrjob_PWD/emr-requirements.txt'
    assert account.bootstraps
    for script, files in account.bootstraps.values():
        assert re.findall('^ *sudo (.*)$', script, flags=re.MULTILINE)[-1] == install
        assert files == {'emr-requirements.txt': REQUIREMENTS.read_bytes()}


def test_without_the_list_no_cluster_is_started(account, inline_model, rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = len(account.clusters)
    done = account.elm('evaluate', inline_model, rows, '-q')
    assert done.status == 1 and 'hadoop-conf/emr-requirements.txt' in done.err and len(account.clusters) == before
