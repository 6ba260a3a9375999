"""Where jobs run: what users' options of mrjob mean."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reference.files import GOOD
from reference.local_stages import list_children

from mr_elm.engines import make_engine
from mr_elm.engines.mrjob_runner import conf_arguments


def test_inline_plans_one_task_and_local_one_a_core(monkeypatch):
    monkeypatch.setattr(os, 'cpu_count', lambda: 6)
    assert make_engine('inline').n_maps == 1
    assert make_engine('local').n_maps == 6
    assert make_engine('local', ('--num-cores', '3')).n_maps == 3
    assert make_engine('local', ('--num-cores=4',)).n_maps == 4


@pytest.mark.parametrize('alias', ['inline', 'local'])
@pytest.mark.parametrize(
    'arguments',
    [
        ('-D', 'mapreduce.job.maps=7'),
        ('--jobconf', 'mapreduce.job.maps=7'),
        ('--jobconf=mapreduce.job.maps=7',),
        ('-D', 'mapreduce.job.maps=2', '--num-cores', '5', '-D', 'mapreduce.job.maps=7', '-D', 'mapreduce.job.mapsx=3'),
    ],
)
def test_the_last_number_of_maps_wins(alias, arguments):
    assert make_engine(alias, arguments).n_maps == 7


def test_the_value_of_another_option_is_not_mistaken_for_an_option():
    assert make_engine('local', ('--owner', 'me', '--num-cores', '3', '--label', 'mapreduce.job.maps=9')).n_maps == 3


def test_a_number_of_maps_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"mapreduce\.job\.maps.*'many'"):
        _ = make_engine('inline', ('-D', 'mapreduce.job.maps=many')).n_maps


def test_reduce_tasks_are_asked_for_where_there_is_a_choice():
    hadoop = make_engine('hadoop')
    assert hadoop.reducers(4) == ['-D', 'mapreduce.job.reduces=4'] and hadoop.reducers(1) == []
    assert make_engine('local').reducers(4) == make_engine('emr', ('-D', 'mapreduce.job.reduces=2')).reducers(4) == []


def test_a_cluster_starts_a_map_task_for_each_split_or_more():
    assert [make_engine('hadoop').maps_over(n << 20) for n in (1, 128, 129, 1280)] == [1, 1, 2, 10]
    assert [make_engine('hadoop', ('-D', 'mapreduce.job.maps=4')).maps_over(n << 20) for n in (1, 1280)] == [4, 10]


def test_configuration_files_of_mrjob_are_left_out_unless_named(monkeypatch):
    monkeypatch.delenv('MRJOB_CONF', raising=False)
    assert conf_arguments(()) == ['--no-conf']
    for named in (('-c', 'x.conf'), ('--conf-path', 'x.conf'), ('--conf-path=x.conf',)):
        assert conf_arguments(named) == []
    monkeypatch.setenv('MRJOB_CONF', 'x.conf')
    assert conf_arguments(()) == []


@pytest.mark.parametrize('victims', ['one task', 'all children'])
def test_a_run_whose_processes_are_killed_ends_and_leaves_nothing(write, tmp_path, victims):
    """What a machine does that is short of memory, in the midst of a training."""
    path, scratch = write('many.csv', GOOD * 2000), tmp_path / 'scratch'
    scratch.mkdir()
    words = 'train', 'pesvm', path, '--hidden', '2000', '-r', 'local', '--model', tmp_path / 'm.npz', '-q'
    process = subprocess.Popen(
        [Path(sys.executable).with_name('mr-elm'), *words],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, 'TMPDIR': str(scratch)},
    )
    try:
        while not (children := list_children(process.pid)):
            assert process.poll() is None
            time.sleep(0.02)
        for child in children if victims == 'all children' else children[:1]:
            os.kill(child, signal.SIGKILL)
        said = process.communicate(timeout=30)[1]
    finally:
        left = end_group(process.pid)
    assert process.returncode == 1 and said.count('\n') == 1 and 'SIGKILL' in said
    assert not left and list(scratch.iterdir()) == [] and not (tmp_path / 'm.npz').exists()


def test_a_stage_run_by_hand_that_is_terminated_leaves_nothing(write, tmp_path):
    path, scratch = write('many.csv', GOOD * 20_000), tmp_path / 'scratch'
    scratch.mkdir()
    words = '-m', 'mr_elm.streaming.mr_stats', path, '-r', 'local', '--output-dir', tmp_path / 'out', '-q'
    process = subprocess.Popen(
        [sys.executable, *words], start_new_session=True, env={**os.environ, 'TMPDIR': str(scratch)}
    )
    try:
        while not list(scratch.glob('**/mapper/*/wd')):
            assert process.poll() is None
            time.sleep(0.02)
        process.terminate()
        status = process.wait(timeout=30)
    finally:
        left = end_group(process.pid)
    assert status == 143 and not left and list(scratch.iterdir()) == [] and not (tmp_path / 'out').exists()


def end_group(leader):
    """Kill what is left of the group of a process that has ended 2 s ago; returns whether anything was."""
    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            os.killpg(leader, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    os.killpg(leader, signal.SIGKILL)
    return True
