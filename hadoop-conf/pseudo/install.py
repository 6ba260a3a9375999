"""Make a HADOOP_HOME: Java checked, jars from Maven Central, launcher, site files."""

import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

from pseudo.errors import ClusterError
from pseudo.folders import CONF, Folders

OLDEST_JAVA, NEWEST_JAVA = 11, 22  # 23 took away a method of javax.security.auth that Hadoop 3.4 calls
STREAMING_JAR = 'hadoop-streaming-*.jar'
AGENT_JAR = 'loopback-agent.jar'
JARS_STAMP = 'pom.sha256'
_AGENT_MANIFEST = 'Manifest-Version: 1.0\nPremain-Class: LoopbackAgent\nCan-Retransform-Classes: true\n'


def find_java() -> Path:
    """Return the folder of a Java that Hadoop 3.4 runs on: JAVA_HOME, else the `java` on the PATH."""
    named = os.environ.get('JAVA_HOME')
    command = Path(named, 'bin', 'java') if named else shutil.which('java')
    if not command or not os.access(command, os.X_OK):
        where = f'JAVA_HOME ({named}) has no bin/java' if named else 'there is no `java` on the PATH'
        raise ClusterError(f'Java is missing: {where}; install Java 17 (Debian: apt-get install default-jdk-headless).')
    report = subprocess.run([command, '-XshowSettings:properties', '-version'], capture_output=True, text=True).stderr
    version = re.search(r'java\.specification\.version = (?:1\.)?(\d+)', report)
    home = re.search(r'java\.home = (.+)', report)
    if not version or not home:
        raise ClusterError(f'{command} does not run as Java should; it said: {report.strip()[:200] or "nothing"}')
    _check_version(int(version[1]), command)
    return Path(home[1].strip())


def _check_version(version: int, command: str | Path) -> None:
    if not OLDEST_JAVA <= version <= NEWEST_JAVA:
        what = 'too old' if version < OLDEST_JAVA else 'too new'
        raise ClusterError(
            f'Java {version} ({command}) is {what}: Hadoop 3.4 needs Java {OLDEST_JAVA} to {NEWEST_JAVA}, best 17; '
            'point JAVA_HOME at one.'
        )


def demand_loopback(folders: Folders, java: Path, insecure: bool, say: Callable[[str], None]) -> None:
    """Refuse to start daemons that would listen on all addresses, unless the user insists.

    What keeps them on 127.0.0.1 is the loopback agent: an earlier `up` compiled it, or the JDK `java` can.
    """
    if (folders.home / 'lib' / AGENT_JAR).exists() or _compiler(java).exists():
        return
    what = f'{java} has no javac (it is a JRE, not a JDK)'
    if not insecure:
        raise ClusterError(
            f'{what}, so shuffle and application masters would listen on all addresses of this machine: install a '
            'JDK (Debian: apt-get install default-jdk-headless), or insist with `up --insecure`.'
        )
    say(f'warning: {what}: shuffle and application masters will listen on all addresses')


def build_home(folders: Folders, java: Path, say: Callable[[str], None]) -> None:
    """Put jars, launcher, streaming jar and loopback agent into the home; what is there already is kept."""
    _fetch_jars(folders.home / 'lib', say)
    _build_agent(folders.home / 'lib', java)
    tools = folders.home / 'share' / 'hadoop' / 'tools' / 'lib'
    for folder in (tools, folders.home / 'bin'):
        folder.mkdir(parents=True, exist_ok=True)
    for jar in (folders.home / 'lib').glob(STREAMING_JAR):
        shutil.copy2(jar, tools)
    shutil.copy(CONF / 'bin' / 'hadoop', folders.home / 'bin')
    logs = folders.home / 'logs'  # where mrjob looks for userlogs/<application>/<container>
    if not logs.is_symlink():
        logs.symlink_to(Path('..', 'logs'))


def _fetch_jars(lib: Path, say: Callable[[str], None]) -> None:
    """Let Maven copy the jars of pom.xml into `lib`, unless they are those of this very pom.xml."""
    pom = CONF / 'pom.xml'
    stamp = lib / JARS_STAMP
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    maven = shutil.which('mvn')
    if not maven:
        raise ClusterError(
            'Maven is missing: there is no `mvn` on the PATH to fetch the jars with (Debian: apt-get install maven).'
        )
    say('fetching the jars of Hadoop with Maven (once, 100 MB)')
    for path in lib.glob('*.jar'):
        if path.name != AGENT_JAR:  # Maven does not have it, and there may be no javac to make it again
            path.unlink()
    done = subprocess.run(
        [maven, '-q', '-B', '-f', pom, 'dependency:copy-dependencies', f'-DoutputDirectory={lib}'],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ClusterError('Maven could not fetch the jars: ' + _first_error(done.stdout + done.stderr))
    stamp.write_text(digest)


def _first_error(output: str) -> str:
    lines = [line for line in output.splitlines() if line.startswith('[ERROR]')] or output.splitlines()
    return lines[0].removeprefix('[ERROR]').strip()[:400] if lines else 'it gave no reason.'


def _build_agent(lib: Path, java: Path) -> None:
    """Compile LoopbackAgent into a jar in `lib`; without javac the jar of an earlier `up` stays, if there is one."""
    source = CONF / 'java' / 'LoopbackAgent.java'
    jar = lib / AGENT_JAR
    newest = max(path.stat().st_mtime for path in (source, lib / JARS_STAMP))
    if jar.exists() and jar.stat().st_mtime >= newest:
        return
    compiler = _compiler(java)
    if not compiler.exists():
        return
    classes = lib / 'agent-classes'
    done = subprocess.run(
        [compiler, '--release', str(OLDEST_JAVA), '-cp', f'{lib}/*', '-d', classes, source],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ClusterError(f'javac could not compile {source.name}: {(done.stderr or done.stdout).strip()[:400]}')
    with zipfile.ZipFile(jar, 'w') as archive:
        archive.writestr('META-INF/MANIFEST.MF', _AGENT_MANIFEST)
        for file in sorted(classes.glob('*.class')):
            archive.write(file, file.name)
    shutil.rmtree(classes)


def _compiler(java: Path) -> Path:
    return java / 'bin' / 'javac'


def write_site_files(folders: Folders, values: dict[str, object]) -> None:
    """Fill the @name@ of the site files with `values` and write them where the launcher looks."""
    target = folders.home / 'etc' / 'hadoop'
    target.mkdir(parents=True, exist_ok=True)
    for template in (CONF / 'site').iterdir():
        (target / template.name).write_text(fill(template.read_text(), values))


def fill(template: str, values: dict[str, object]) -> str:
    """Replace each @name@ by its value, as XML text.

    Source: templates are site/*.xml. A name without a value is a mistake of ours: KeyError.
    """
    return re.sub(r'@([a-z]+(?:\.[a-z]+)*)@', lambda match: escape(str(values[match[1]])), template)
