"""A map task that says nothing of its split leaves an error and no output, on Hadoop as everywhere."""

import shlex
import sys

import pytest

pytestmark = pytest.mark.long

# the Python of the tasks: it reads the second half of the file, says nothing, and succeeds
SILENT = """#!/bin/sh
if [ "${mapreduce_map_input_start:-0}" -gt 0 ]; then
    cat > /dev/null
else
    exec %s "$@"
fi
"""


@pytest.fixture
def silent(tmp_path):
    """Write a Python that loses every split but the first of a file."""
    path = tmp_path / 'silent-python'
    path.write_text(SILENT % shlex.quote(sys.executable))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize('command', ['train', 'predict'])
def test_a_split_that_a_task_says_nothing_of_is_noticed(cluster, here, rows, silent, tmp_path, command):
    model, out = tmp_path / 'm.npz', tmp_path / 'out.npz'
    words = ['train', 'elm', rows, '--hidden', 5, '--model', out]
    if command == 'predict':
        here('train', 'elm', rows, '--hidden', 5, '--model', model, '-q')
        words = ['predict', model, rows, '-o', out]
    process = cluster.elm(*words, '--python', silent, '-D', 'mapreduce.job.maps=2', '-q')
    assert process.returncode == 1 and len(process.stderr.splitlines()) == 1, process.stderr
    assert 'every byte must be read once' in process.stderr and rows.name in process.stderr
    assert not out.exists()
