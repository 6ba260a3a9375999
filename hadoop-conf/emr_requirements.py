#!/usr/bin/env python3
"""Write emr-requirements.txt: what a node of EMR installs, by version and digest.

    .venv/bin/python hadoop-conf/emr_requirements.py [numpy==VERSION ...]

The pip of this Python (22.2 or later) chooses the newest versions that fit together, within the bounds of setup.cfg and
of the command line.
"""

import configparser
import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
TASKS_IMPORT = ('numpy', 'scipy', 'numba', 'threadpoolctl', 'pybase64', 'boto3', 'pyarrow', 'fsspec')
PYTHON = '3.11'  # task_python_bin of mrjob-emr.conf
MACHINES = ('x86_64', 'aarch64')  # Intel and AMD; Graviton
GLIBC = range(17, 35)  # Amazon Linux 2023 has glibc 2.34; a wheel for an older one runs too
HEAD = f"""\
# What a node of EMR installs beside Python {PYTHON}: versions that fit together, and the SHA-256 digests of their
# wheels for {' and '.join(MACHINES)}. `make emr-requirements` writes this file.
"""


def read_bounds() -> list[str]:
    """Return the requirements of setup.cfg that tasks have, such as 'numpy >= 1.24'."""
    setup = configparser.ConfigParser()
    setup.read(HERE.parent / 'setup.cfg')
    lines = setup['options']['install_requires'].splitlines()
    return [line for line in lines if re.split(r'[ <>=!~]', line)[0] in TASKS_IMPORT]


def resolve(machine: str, requirements: list[str]) -> list[dict]:
    """Let pip choose wheels for a machine; returns its report on each package. Raises SystemExit where it cannot."""
    platforms = [f'--platform=manylinux_2_{minor}_{machine}' for minor in GLIBC]
    with TemporaryDirectory() as folder:
        report = Path(folder, 'report.json')
        done = subprocess.run(
            [
                sys.executable,
                '-m',
                'pip',
                'install',
                '--quiet',
                '--dry-run',
                '--ignore-installed',
                '--only-binary=:all:',
                f'--python-version={PYTHON}',
                *platforms,
                f'--target={folder}',
                f'--report={report}',
                *requirements,
            ]
        )
        if done.returncode:
            raise SystemExit(f'expected wheels for {machine} that fit together, pip found none: see above')
        return json.loads(report.read_text())['install']


def pin(packages: list[dict]) -> str:
    """Write one package: its version, what it needs, and the digests of its wheels.

    packages : the reports on it for each machine. Raises SystemExit where machines have different versions.
    """
    versions = {package['metadata']['version'] for package in packages}
    name = packages[0]['metadata']['name']
    if len(versions) > 1:
        raise SystemExit(
            f'{name}: expected one version for {" and ".join(MACHINES)}, pip chose '
            f'{" and ".join(sorted(versions))}; name one on the command line'
        )
    needs = [need for need in packages[0]['metadata'].get('requires_dist', ()) if ';' not in need]
    digests = sorted({package['download_info']['archive_info']['hashes']['sha256'] for package in packages})
    comment = f'# needs {", ".join(needs)}\n' if needs else ''
    return comment + ' \\\n    '.join([f'{name}=={versions.pop()}', *(f'--hash=sha256:{it}' for it in digests)])


def main(words: list[str]) -> None:
    """Write the file."""
    reports: dict[str, list] = {}
    for machine in MACHINES:
        for package in resolve(machine, [*read_bounds(), *words]):
            reports.setdefault(package['metadata']['name'], []).append(package)
    pins = [pin(reports[name]) for name in sorted(reports)]
    (HERE / 'emr-requirements.txt').write_text(HEAD + '\n'.join(pins) + '\n')


if __name__ == '__main__':
    main(sys.argv[1:])
