"""Start Spark, join a server of Spark Connect, or find the session that is there already."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet

from mr_elm.engines.bundle import source_digest, zip_code
from mr_elm.engines.tasks import task_variables
from mr_elm.errors import import_package
from mr_elm.passes.work import write_remote
from mr_elm.rows.hdfs import read_configuration
from mr_elm.rows.storage import is_local
from mr_elm.store import temporary_folder, temporary_prefix

LOCAL = re.compile(r'local(?:\[(\d+|\*)(?:, *\d+)?\])?')
SERVER = 'sc://'  # begins the address of a server of Spark Connect
SERVER_PORT = '15002'
STAGING = 'spark.mr_elm.staging'  # property: the folder of a cluster where a run keeps its files
PYTHON = 'spark.sql.execution.pyspark.python'  # property: the Python of the workers
ATTEMPTS = 4  # of a task, as on a cluster
OF_SPARK_SUBMIT = 'PYSPARK_GATEWAY_PORT'  # set where spark-submit has started this process
MASTER_SECONDS = 4.0  # seconds to wait for each address of a master; Spark alone tries for minutes
HTTP_REQUEST = b'GET / HTTP/1.0\r\n\r\n'  # which Hadoop's own protocol and TLS refuse
QUESTIONS = {  # what a master of a kind answers at once, if only by a refusal
    'sc': b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + bytes(3) + b'\4' + bytes(5),  # HTTP/2 with empty settings
    'spark': (21).to_bytes(8, 'big') + b'\3' + bytes(12),  # an empty call of Spark's own protocol
    'k8s': HTTP_REQUEST,
}
RAISED = re.compile(r'^(?:Caused by: |: |Exception |\w+Error).*', re.MULTILINE)
EXCEPTION = re.compile(r'(?:Caused by: |: |Exception in thread "[^"]*" )*[\w.$]+(?:Exception|Error): ')
ON_THIS_MACHINE = {
    'spark.driver.host': '127.0.0.1',
    'spark.driver.bindAddress': '127.0.0.1',
    # the sums of `auto` pass through it: with the default of 1g Spark ended at 3,000 rows, without a word (2026-11-27)
    'spark.driver.memory': '4g',
    # Java only moves bytes here: its second compiler takes more processor time than it saves
    'spark.driver.extraJavaOptions': '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC',
}
OURS: WeakSet = WeakSet()  # the sessions that nobody else uses


def import_pyspark() -> Any:
    """Return the module pyspark.sql. Raises ValueError where it is not installed."""
    import_package('pyspark', '-r spark')
    return import_module('pyspark.sql')


def find_session() -> Any:
    """Return the SparkSession of this process, or None; spark-submit has started one."""
    sql = import_pyspark()
    with suppress(import_module('pyspark.errors').PySparkException):  # there is none
        return sql.SparkSession.active()
    if OF_SPARK_SUBMIT not in os.environ:
        return None
    builder = sql.SparkSession.builder
    for name, value in choose_settings('', {}).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def is_remote(session: Any) -> bool:
    """Tell whether a session is one of Spark Connect."""
    return 'connect' in type(session).__module__


def find_master(session: Any, named: str | None) -> str:
    """Return the master: that of a session, or the one that is named, or that of SPARK_REMOTE; '' for none."""
    if session is None:
        return named or os.environ.get('SPARK_REMOTE', '')
    try:
        return session.conf.get('spark.master')
    except import_module('pyspark.errors').PySparkException:  # some services do not tell
        return ''


@lru_cache(maxsize=1)  # it holds the session
def runs_here(session: Any) -> bool:
    """Tell whether the tasks of a session run on this machine, and see its files."""
    if not LOCAL.fullmatch(find_master(session, None)):
        return False
    if not is_remote(session):
        return True
    with temporary_folder() as folder:
        return reads_from(session, folder)  # an address on this machine may be a tunnel


def reads_from(session: Any, folder: str) -> bool:
    """Tell whether a session reads what this process writes into a folder; the file stays there."""
    mark = f'{folder}/mark'
    write_remote(mark, 'mark')
    try:
        return not session.read.text(uri_of(mark)).isEmpty()
    except Exception:  # pyspark's, or that of Java where the session has no Connect
        return False


def uri_of(path: str) -> str:
    """Return how Spark names a file or folder of this machine, or of another store."""
    if is_local(path):
        return Path(path).as_uri()
    return path


def add_attempts(master: str) -> str:
    """Return a local master that runs a task again when it fails, as a cluster does; another one as it is."""
    local = LOCAL.fullmatch(master)
    if local:
        return f'local[{local.group(1) or 1},{ATTEMPTS}]'
    return master


def choose_settings(master: str, user_settings: dict[str, str]) -> dict[str, str]:
    """Return the properties of a new session. user_settings : those of the user, which come first.

    One BLAS thread a task, and no port that another machine could reach unless the master is on one.
    """
    return {
        'spark.app.name': 'mr_elm',
        'spark.ui.enabled': 'false',
        'spark.ui.showConsoleProgress': 'false',
        'spark.driver.maxResultSize': '0',
        **(ON_THIS_MACHINE if LOCAL.fullmatch(master) else {}),
        **{f'spark.executorEnv.{name}': value for name, value in task_variables().items()},
        **user_settings,
    }


def open_session(master: str, settings: dict[str, str]) -> Any:
    """Start Spark, or join a server: the SparkSession. What Java writes is shown by --verbose only.

    settings : properties. Raises ValueError where there is no Java, or Spark does not start, OSError where no master
    answers.
    """
    builder = import_pyspark().SparkSession.builder
    demand_answer(master)
    if master.startswith(SERVER):
        builder = builder.remote(master)
    else:
        demand_java()
        builder = builder.master(add_attempts(master))
        settings = choose_settings(master, settings)
    for name, value in settings.items():
        builder = builder.config(name, value)
    with tempfile.TemporaryFile() as log, send_output(log):
        try:
            session = builder.getOrCreate()
        except Exception as error:
            log.seek(0)
            text = log.read().decode(errors='replace')
            lines = RAISED.findall(f'{text}\n{error}') or text.splitlines() or ['']
            reason = EXCEPTION.sub('', lines[-1]) or error  # what was raised last, or else the last line
            raise ValueError(f'--master {master}: Spark did not start: {reason}') from error
    if is_remote(session):
        client = session.client
        policy = import_module('pyspark.sql.connect.client.retries').DefaultPolicy
        client.set_retry_policies([policy(max_retries=0)])
        try:
            _ = session.version  # the first call: so far only a process has answered, of whatever kind
        except import_module('pyspark.errors').PySparkException as error:
            raise OSError(f'--master {master}: expected a server of Spark there: {read_details(str(error))}') from error
        # 17 seconds for a call to a server that has gone; Spark's own 15 retries take more than ten minutes
        client.set_retry_policies([policy(max_retries=5)])
    OURS.add(session)
    return session


def close_session(session: Any) -> None:
    """End a session, unless it was there before."""
    if session in OURS:
        OURS.discard(session)
        with suppress(OSError):  # Java was killed
            session.stop()


def demand_answer(master: str) -> None:
    """Raise OSError where no process answers at the addresses of a master, each within MASTER_SECONDS."""
    words, addresses = find_addresses(master)
    reason = None
    for address in addresses:
        host, _, port = address.rpartition(':')
        if not host:
            host = address
            port = SERVER_PORT
        try:
            with socket.create_connection((host.strip('[]'), int(port)), MASTER_SECONDS) as connection:
                connection.sendall(words)
                connection.recv(1)  # a refusal is an answer
            return
        except (OSError, ValueError) as error:
            reason = error
    if reason is not None:
        raise OSError(f'--master {master}: expected Spark there, nobody answers ({reason})')


def find_addresses(master: str) -> tuple[bytes, list[str]]:
    """Return what to send to the addresses of a master so that it answers, and these addresses.

    There are none where it is no master of its own, and where the configuration of Hadoop names several ones.
    """
    kind, _, rest = master.partition('://')
    rest = rest.removeprefix('https://').removeprefix('http://').partition('/')[0]
    if kind == 'yarn':
        manager = read_configuration(None).get('yarn.resourcemanager.address')
        return HTTP_REQUEST, [manager] if manager else []
    if kind in QUESTIONS:
        return QUESTIONS[kind], rest.split(',')
    return b'', []


@contextmanager
def send_output(log: IO[bytes]) -> Iterator[None]:
    """Let a process that starts inside write to a file, unless the user wants to see what it writes."""
    if logging.getLogger().isEnabledFor(logging.INFO):
        yield
        return
    sys.stdout.flush(), sys.stderr.flush()
    copies = {number: os.dup(number) for number in (1, 2)}
    try:
        for number in copies:
            os.dup2(log.fileno(), number)
        yield
    finally:
        for number, copy in copies.items():
            os.dup2(copy, number)
            os.close(copy)


def demand_java() -> None:
    """Raise ValueError where there is no Java."""
    program = 'java'
    if home := os.environ.get('JAVA_HOME'):
        program = os.path.join(home, 'bin', program)
    if shutil.which(program) is None:
        raise ValueError(f'-r spark: expected Java 17 or newer, found no program {program}: set PATH or JAVA_HOME')


def read_details(text: str) -> str:
    """Return what an error of gRPC says in its details; the first line of another text."""
    details = re.search(r'details = "(.*)"', text)
    if details:
        return details[1]
    return text.strip().split('\n')[0]


@cache
def artifact_folder() -> str:
    """Return a folder for files that sessions send to workers. It stays until this process ends: executors that start
    later fetch them from there.
    """
    folder = tempfile.mkdtemp(prefix=temporary_prefix())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def send_file(session: Any, path: str) -> str:
    """Send a file to all workers, once; returns its name there, which tells its content: none can be replaced."""
    digest = sha256(Path(path).read_bytes()).hexdigest()[:16]
    name = f'mr_elm-{digest}-{os.path.basename(path)}'
    copy = os.path.join(artifact_folder(), name)
    if not os.path.exists(copy):
        shutil.copyfile(path, copy)
    session.addArtifacts(copy, file=True)
    return name


def send_code(session: Any) -> None:
    """Send this program to all workers, once."""
    path = os.path.join(artifact_folder(), f'mr_elm-{source_digest()}.zip')
    if not os.path.exists(path):
        zip_code(path)
    session.addArtifacts(path, pyfile=True)
