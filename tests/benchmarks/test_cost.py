"""What a training costs: estimated from a short one here, or from the counters of one that has run."""

import json

import pytest
from reference.commands import succeed

from benchmarks.scaling import cost


def estimate(scaling, *words):
    return json.loads(succeed(scaling('cost', '--json', *words)))


def test_more_machines_share_the_work_and_cost_their_start(scaling, tmp_path):
    log = tmp_path / 'syslog'
    log.write_text(log_of(rows=1000, map_ms=30_000, reduce_ms=6_000))
    for n_rows, k, v in ((1000, 1, 1), (10**9, 20, 4)):
        found = estimate(scaling, '--counters', log, '--rows', n_rows, '--instances', k, '--vcores', v, '--price', 0.5)
        assert found['seconds_a_row'] == pytest.approx(0.036) and found['core_hours'] == pytest.approx(0.01)
        assert found['busy_seconds'] == pytest.approx(n_rows * 0.036 / (k * v))
        assert found['elapsed_seconds'] - found['busy_seconds'] == 360 + 45
        assert found['node_hours'] == pytest.approx(found['elapsed_seconds'] * (k + 1) / 3600)
        assert found['dollars'] == pytest.approx(found['node_hours'] / 2)


def test_a_short_training_here_is_measured(scaling, monkeypatch):
    """Packed rows need no parsing and no second job."""
    monkeypatch.setattr(cost, 'ENOUGH', 0.05)
    words = ('--rows', 10**6, '--features', 60, '--hidden', 100, '--instances', 2)
    text, packed = estimate(scaling, *words), estimate(scaling, *words, '--packed')
    assert packed['seconds_a_row'] > 0 and text['seconds_a_row'] > 0 and 'dollars' not in text
    assert packed['elapsed_seconds'] - packed['busy_seconds'] == 360 + 45


def test_what_cannot_be_estimated_is_refused(scaling, tmp_path):
    (tmp_path / 'log').write_text('no counters\n')
    done = scaling('cost', '--counters', tmp_path / 'log', '--instances', 2)
    assert done.status == 1 and f'{tmp_path}/log: expected the log of a job of mr-elm with its counters' in done.err
    assert scaling('cost', '--instances', 2).status == 2
    assert scaling('cost', '--rows', 5, '--features', 5, '--instances', 2, '--price', 'nan').status == 2


def log_of(rows, map_ms, reduce_ms):
    """Write the end of a client's log, as Hadoop 3.4 does."""
    return (
        '2026-01-01 00:00:00,000 INFO org.apache.hadoop.mapreduce.Job (main): Counters: 3\n\tJob Counters \n'
        f'\t\tTotal vcore-milliseconds taken by all map tasks={map_ms}\n'
        f'\t\tTotal vcore-milliseconds taken by all reduce tasks={reduce_ms}\n'
        f'\tmr_elm\n\t\trows={rows}\n'
    )
