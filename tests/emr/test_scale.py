"""Speedup is measured on EMR with the same words; a node is a core instance there."""

import json

from reference.commands import elm, run_here, succeed

from benchmarks.scaling import experiments
from benchmarks.scaling.__main__ import main


def test_a_run_on_emr_is_accounted_for(account, tmp_path, monkeypatch):
    """The commands run in this process."""
    monkeypatch.setattr(experiments, 'run_mr_elm', run_here)
    words = (
        'speedup',
        '-r',
        'emr',
        '-o',
        tmp_path,
        '--store',
        's3://bucket/scale',
        '--nodes',
        1,
        '--sizes',
        300,
        '--features',
        3,
        '--hidden',
        5,
        '--repeats',
        1,
    )
    succeed(
        elm(
            *words,
            *account.settings[2:],
            '--no-pool-clusters',
            '--task-python-bin',
            account.folder / 'python',
            main=main,
        )
    )
    (run,) = json.loads((tmp_path / 'speedup.json').read_text())['rows']
    assert (run['runner'], run['nodes'], run['rows'], list(run['jobs'])) == ('emr', 1, 300, ['Gram'])
    assert run['seconds'] > run['jobs']['Gram'] > 0
    groups = {group.role: group.num_instances for group in account.clusters[-1].instance_groups}
    assert groups['CORE'] == 1
