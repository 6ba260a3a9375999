"""Dense linear algebra comes when it is needed, with as many threads as there are, and changes nothing else."""
import subprocess
import sys

import pytest

from mr_elm import linalg

THREADS = """
from threadpoolctl import threadpool_info, threadpool_limits

def threads():
    return [info['num_threads'] for info in threadpool_info() if info['user_api'] == 'blas']
"""
WITHOUT = """
import sys
from mr_elm.cli import main

status = main(sys.argv[1:])
sys.exit(status or ('scipy.linalg' in sys.modules and 'scipy.linalg was imported'))
"""


def run(code, *arguments):
    done = subprocess.run([sys.executable, '-c', code, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize('wanted', [1, 2])
def test_a_library_that_comes_within_one_thread_has_one_and_then_as_many_as_the_others(wanted):
    within, after = eval(run(f"""{THREADS}
import numpy
from mr_elm import linalg
from mr_elm.arithmetic import one_thread
threadpool_limits(limits={wanted})
try:
    with one_thread():
        linalg.eigh(numpy.eye(3))
        within = threads()
        raise KeyError
except KeyError:
    print([within, threads()])
"""))
    assert set(within) == {1} and set(after) == {wanted}


def test_what_numpy_imports_late_is_still_there():
    run("""
import numpy, sys
from mr_elm import linalg
linalg.load()
assert not set(linalg.NEEDLESS) & set(vars(numpy)) and 'numpy.f2py' not in sys.modules
numpy.testing.assert_equal(1, 1)
assert numpy.f2py.get_include() and numpy.ma.masked_array([1, 2], [0, 1]).sum() == 1
""")


def test_the_names_are_those_of_scipy_and_no_others():
    import scipy.linalg
    for name in linalg.NAMES:
        assert getattr(linalg, name) is getattr(scipy.linalg, name)
    for name in linalg.LAPACK:
        assert getattr(linalg, name) is getattr(scipy.linalg.lapack, name)
    with pytest.raises(AttributeError, match="module 'mr_elm.linalg' has no attribute 'inv'"):
        linalg.inv  # noqa: B018


def test_a_process_that_solves_nothing_starts_without_it(tmp_path):
    rows, model = tmp_path / 'rows.csv', tmp_path / 'm.npz'
    rows.write_text(''.join(f'{i % 2},{i},{i * i % 7}\n' for i in range(40)))
    run('import sys; from mr_elm.cli import main; sys.exit(main(sys.argv[1:]))',
        'train', 'pesvm', rows, '--model', model, '--hidden', 5, '-q')
    for command in (('pack', rows, '-o', tmp_path / 'packed'), ('predict', model, rows, '-o', '-'),
                    ('evaluate', model, rows), ('inspect', model)):
        run(WITHOUT, *command)
