"""A task tells Hadoop that it lives for as long as it computes, and no longer."""

import os
import subprocess
import sys

import pytest

from mr_elm.streaming.pulse import SIGN

BODY = """
import time
import numpy as np
from scipy.linalg.blas import dsyrk
from mr_elm.streaming.pulse import report_alive
with report_alive():
    {work}
"""
COMPUTES = 'A = np.ones((2000, 2000)); end = time.monotonic() + {}\n    while time.monotonic() < end: dsyrk(1.0, A)'


def signs(work, timeout):
    """Count the signs of life of a process that works under a timeout in milliseconds."""
    environ = {**os.environ, **({} if timeout is None else {'mapreduce_task_timeout': str(timeout)})}
    done = subprocess.run([sys.executable, '-c', BODY.format(work=work)], env=environ, capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stderr.replace(SIGN, b'') == b''
    return done.stderr.count(SIGN)


@pytest.mark.skipif(not os.path.exists('/proc/self/stat'), reason='/proc is missing: run this test on Linux')
def test_it_reports_while_compiled_code_computes_and_is_silent_while_nothing_does():
    assert signs(COMPUTES.format(1), 400) >= 3
    assert signs('time.sleep(1)', 400) <= 1  # the first interval may hold the end of the start


@pytest.mark.parametrize('timeout', [None, 0])
def test_it_says_nothing_where_nobody_waits(timeout):
    assert signs(COMPUTES.format(0.3), timeout) == 0
