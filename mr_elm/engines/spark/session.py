"""Start Spark, or join the session that is there already."""
from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import IO, Any

from mr_elm.engines.mrjob_engine import KERNELS, THREADS
from mr_elm.engines.shipping import zip_code
from mr_elm.engines.spark.class_archive import share_classes

LOCAL = re.compile(r'local(?:\[(\d+|\*)(?:, *\d+)?\])?')
STAGING = 'spark.mr_elm.staging'  # property: the folder of a cluster where a run keeps its files
ATTEMPTS = 4  # of a task, as on a cluster
OF_SPARK_SUBMIT = 'PYSPARK_GATEWAY_PORT'  # set where spark-submit has started this process
JAVA_OPTIONS = 'spark.driver.extraJavaOptions'
ON_THIS_MACHINE = {
    'spark.driver.host': '127.0.0.1', 'spark.driver.bindAddress': '127.0.0.1',
    # Java only moves bytes here: its second compiler takes more processor time than it saves
    JAVA_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'}


def import_pyspark() -> Any:
    """Return the module pyspark. Raises ValueError where it is not installed."""
    try:
        return import_module('pyspark')
    except ModuleNotFoundError:
        raise ValueError("-r spark: expected pyspark, it is not installed: pip install 'mr_elm[spark]'") from None


def find_context() -> Any:
    """Return the SparkContext of this process, or None."""
    pyspark = sys.modules.get('pyspark')
    return pyspark and pyspark.SparkContext._active_spark_context


def find_master(named: str | None) -> str:
    """Return the master: the one that is named, or that of the session or the spark-submit around; '' for none."""
    context = find_context()
    if context is not None:
        return context.master
    if named is None and OF_SPARK_SUBMIT in os.environ:
        pyspark = import_pyspark()
        pyspark.SparkContext._ensure_initialized()
        return pyspark.SparkConf().get('spark.master')
    return named or ''


def add_attempts(master: str) -> str:
    """Return a local master that runs a task again when it fails, as a cluster does; another one as it is."""
    local = LOCAL.fullmatch(master)
    return f'local[{local.group(1) or 1},{ATTEMPTS}]' if local else master


def count_cores(master: str) -> int:
    """Return how many tasks a local master runs together."""
    found = LOCAL.fullmatch(master)
    cores = found and found.group(1)
    return int(cores) if cores and cores != '*' else (os.cpu_count() or 1 if cores else 1)


def choose_settings(master: str, given: dict[str, str], java_option: str = '') -> dict[str, str]:
    """Return the properties of a new session; given : those of the user, which come first.

    java_option : one more for Java on this machine. One BLAS thread a task, and no port that another machine could
    reach unless the master is on one.
    """
    here = {**ON_THIS_MACHINE, JAVA_OPTIONS: f'{ON_THIS_MACHINE[JAVA_OPTIONS]} {java_option}'.rstrip()}
    values = {**dict.fromkeys(THREADS, '1'), **{name: os.environ[name] for name in KERNELS if name in os.environ}}
    return {
        'spark.app.name': 'mr_elm', 'spark.ui.enabled': 'false', 'spark.ui.showConsoleProgress': 'false',
        'spark.driver.maxResultSize': '0', **(here if LOCAL.fullmatch(master) else {}),
        **{f'spark.executorEnv.{name}': value for name, value in values.items()}, **given,
        'spark.master': add_attempts(master)}


def open_context(master: str, given: dict[str, str], python: str | None) -> Any:
    """Start Spark: its SparkContext. What Java writes is shown by --verbose only.

    given : properties. python : the Python of the workers, None for `python3`.
    Raises ValueError where there is no Java, RuntimeError where Spark does not start.
    """
    pyspark = import_pyspark()
    java = demand_java()
    option = share_classes(java, pyspark.__version__, pyspark.__file__) if java and LOCAL.fullmatch(master) else ''
    conf = pyspark.SparkConf(loadDefaults=False).setAll(choose_settings(master, given, option).items())
    with tempfile.TemporaryFile() as log, set_python(python):
        try:
            return pyspark.SparkContext(conf=conf, gateway=find_gateway(pyspark, conf, log))
        except Exception as error:
            raise RuntimeError(f'Spark did not start: {read_reason(log) or error}') from error


def find_gateway(pyspark: Any, conf: Any, log: IO[bytes]) -> Any:
    """Return the connection to Java, which is started unless spark-submit or an earlier session has done so."""
    if OF_SPARK_SUBMIT in os.environ or pyspark.SparkContext._gateway:
        return None
    verbose = logging.getLogger().isEnabledFor(logging.INFO)
    target = sys.stderr.fileno() if verbose else log
    return import_module('pyspark.java_gateway').launch_gateway(conf, {'stdout': target, 'stderr': target})


def demand_java() -> str | None:
    """Return the path of Java, None where one runs already. Raises ValueError where there is none."""
    if OF_SPARK_SUBMIT in os.environ:
        return None
    home = os.environ.get('JAVA_HOME')
    found = shutil.which(os.path.join(home, 'bin', 'java') if home else 'java')
    if found is None:
        where = f'JAVA_HOME is {home}' if home else 'on PATH'
        raise ValueError(f'-r spark: expected Java 17 or newer, found none ({where})')
    return os.path.realpath(found)


def read_reason(log: IO[bytes]) -> str:
    """Return the last exception in what Java wrote, or its last line."""
    log.seek(0)
    lines = log.read().decode(errors='replace').splitlines()
    raised = [line for line in lines if re.match(r'(?:Caused by: |Exception |\w+Error)', line)]
    return next(iter([*raised[-1:], *lines[-1:]]), '')


@cache
def pack_code() -> str:
    """Return an archive of the code, for executors. It stays until this process ends: each executor fetches it as it
    starts.
    """
    folder = tempfile.mkdtemp(prefix='mr_elm-')
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return zip_code(os.path.join(folder, 'mr_elm_code.zip'))


@contextmanager
def set_python(python: str | None) -> Iterator[None]:
    """Name the Python of the workers while a session starts, unless the user has done so."""
    before = os.environ.get('PYSPARK_PYTHON')
    if python is not None and before is None:
        os.environ['PYSPARK_PYTHON'] = python
    try:
        yield
    finally:
        if before is None:
            os.environ.pop('PYSPARK_PYTHON', None)
