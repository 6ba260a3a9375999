"""Dense linear algebra comes when it is needed, and uses as many threads as the rest."""

import json
import os
import subprocess
import sys

import pytest

from mr_elm import linalg

ONE_THREAD = """
import json
from threadpoolctl import threadpool_info, threadpool_limits
import numpy
from mr_elm import linalg
from mr_elm.arithmetic import one_thread

def threads():
    return [info['num_threads'] for info in threadpool_info() if info['user_api'] == 'blas']

threadpool_limits(limits={0})
with one_thread():
    try:
        with one_thread():
            {1}
            linalg.eigh(numpy.eye(3))
            inside = threads()
            raise KeyError
    except KeyError:
        between = threads()
print(json.dumps([inside, between, threads()]))
"""


def run(code):
    """Run code in a process of its own, where a library takes all cores unless something limits it."""
    environ = {name: value for name, value in os.environ.items() if not name.endswith('_NUM_THREADS')}
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    'before', ['pass', 'import scipy.spatial.distance', 'import scipy.special', 'import mr_elm.solvers.pairs']
)
@pytest.mark.parametrize('wanted', [1, 2])
def test_a_library_that_comes_within_one_thread_has_one_until_all_have_ended(wanted, before):
    inside, between, after = json.loads(run(ONE_THREAD.format(wanted, before)))
    assert set(inside) == set(between) == {1}
    assert wanted in after and set(after) <= {wanted, os.cpu_count()}


def test_the_names_are_those_of_scipy_and_no_others():
    import scipy.linalg
    import scipy.spatial.distance

    for names, module in (
        (linalg.NAMES, scipy.linalg),
        (linalg.LAPACK, scipy.linalg.lapack),
        (linalg.DISTANCES, scipy.spatial.distance),
    ):
        for name in names:
            assert getattr(linalg, name) is getattr(module, name)
    with pytest.raises(AttributeError, match="module 'mr_elm.linalg' has no attribute 'inv'"):
        linalg.inv  # noqa: B018
