"""Speedup is measured on EMR with the same words; a node is a core instance there."""
from reference.commands import elm, succeed

from benchmarks.scaling.__main__ import main
from benchmarks.scaling.runs import read_runs


def test_a_run_on_emr_is_accounted_for(account, tmp_path):
    words = ('speedup', '-r', 'emr', '-o', tmp_path, '--store', 's3://bucket/scale', '--nodes', 1, '--sizes', 300,
             '--features', 3, '--hidden', 5, '--repeats', 1, '-q')
    succeed(elm(*words, *account.settings[2:], '--no-pool-clusters', '--task-python-bin', account.folder / 'python',
                main=main))
    run, = read_runs(tmp_path / 'speedup.csv')
    assert (run.runner, run.nodes, run.rows, run.jobs) == ('emr', 1, 300, 1)
    assert run.seconds > run.start_seconds > 0 and run.map_seconds == 0  # EMR tells nothing of tasks
    groups = {group.role: group.num_instances for group in account.clusters[-1].instance_groups}
    assert groups['CORE'] == 1
