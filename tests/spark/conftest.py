"""One session of Spark on this machine for all tests of it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from reference.commands import elm, succeed

from mr_elm.engines.spark.session import OURS, PYTHON, demand_java, import_pyspark, open_session

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope='session')
def session():
    """Start Spark with two tasks at a time, which are tried twice, and whose workers find the stages of the tests."""
    try:
        import_pyspark(), demand_java()
    except ValueError as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('PYTHONPATH', str(TESTS))
        patch.setattr('mr_elm.engines.spark.session.ATTEMPTS', 2)
        session = open_session('local[2]', {})
    OURS.discard(session)  # a command of mr-elm joins it and leaves it
    session.conf.set(PYTHON, sys.executable)
    session.conf.set('spark.sql.shuffle.partitions', 1)
    yield session
    session.stop()


@pytest.fixture(scope='session')
def spark(session):
    """Run the command line in this session, where its rows are cut into n partitions; it must succeed."""
    return lambda n, *words: succeed(elm(*words, '-r', 'spark', '--partitions-of-rows', n))


@pytest.fixture(scope='session')
def folder(tmp_path_factory, here):
    """Give a folder with 300 rows of three classes, as text and packed in blocks of 40; 60 of them in blocks of 20."""
    folder, rng = tmp_path_factory.mktemp('a folder #1'), np.random.default_rng(3)
    X = rng.standard_normal((300, 3))
    y = (X[:, 0] > 0.3) * 1 + (X[:, 1] * X[:, 2] > 0) * 1
    np.savetxt(folder / 'rows.csv', np.column_stack([y, X]), delimiter=',', fmt='%.6g')
    here('pack', folder / 'rows.csv', '-o', folder / 'packed', '--block-rows', 40, '-q')
    (folder / 'few.csv').write_text(''.join((folder / 'rows.csv').read_text().splitlines(keepends=True)[:60]))
    here('pack', folder / 'few.csv', '-o', folder / 'few', '--block-rows', 20, '-q')
    return folder
