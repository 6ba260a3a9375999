"""Without a JDK nothing can keep Hadoop's ports on 127.0.0.1: then none is started, unless the user insists."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def jre(tmp_path):
    """Make a Java without a compiler: the one of this machine, at home in another folder."""
    java = shutil.which('java')
    if not java:
        pytest.skip('java is missing: install a JDK (Debian: apt-get install default-jdk-headless)')
    home, command = Path(java).resolve().parents[1], tmp_path / 'jre' / 'bin' / 'java'
    command.parent.mkdir(parents=True)
    (tmp_path / 'jre' / 'lib').symlink_to(home / 'lib')
    command.write_text(f'#!/bin/sh\nexec {home}/bin/java -Djava.home={tmp_path}/jre "$@"\n')
    command.chmod(0o755)
    return tmp_path / 'jre'


@pytest.fixture
def up(jre, tmp_path):
    """Run `cluster.py up` with that Java and without Maven, so that no Hadoop is fetched or started."""

    def run(*words):
        command = [sys.executable, ROOT / 'hadoop-conf' / 'cluster.py', '--state', tmp_path / 'state', 'up', *words]
        environ = {**os.environ, 'JAVA_HOME': str(jre), 'PATH': str(tmp_path), 'PORT_BASE': '24200'}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        return done.stderr

    return run


def test_without_a_compiler_nothing_is_started(up, jre, tmp_path):
    said = up()
    assert said.count('\n') == 1 and f'{jre} has no javac' in said
    assert 'would listen on all addresses' in said and 'install a JDK' in said and '--insecure' in said
    assert not (tmp_path / 'state' / 'home').exists()


def test_who_insists_is_warned_and_goes_on(up, jre):
    warning, last = up('--insecure').splitlines()
    assert f'warning: {jre} has no javac' in warning and 'will listen on all addresses' in warning
    assert 'Maven is missing' in last


def test_an_agent_of_an_earlier_start_stays_when_the_jars_are_fetched_anew(up, tmp_path):
    library = tmp_path / 'state' / 'home' / 'lib'
    library.mkdir(parents=True)
    for name in ('loopback-agent.jar', 'hadoop-common-3.0.0.jar'):
        (library / name).write_bytes(b'')
    (tmp_path / 'mvn').write_text('#!/bin/sh\nexit 1\n')
    (tmp_path / 'mvn').chmod(0o755)
    said = up()
    assert 'warning' not in said and 'Maven could not fetch the jars' in said
    assert [path.name for path in library.iterdir()] == ['loopback-agent.jar']
