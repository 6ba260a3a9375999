"""What a training costs: estimated from a short one here."""

import json

import pytest
from reference.commands import succeed

from benchmarks.scaling import cost


def estimate(scaling, *words):
    return json.loads(succeed(scaling('cost', '--price', 2, *words)))


def test_more_machines_share_the_work_and_cost_their_start():
    for n_rows, k, v in ((1000, 1, 1), (10**9, 20, 4)):
        found = cost.estimate(n_rows, 0.036, 1, k, v)
        assert found['busy_seconds'] == pytest.approx(n_rows * 0.036 / (k * v))
        assert found['elapsed_seconds'] - found['busy_seconds'] == 360 + 45
        assert found['node_hours'] == pytest.approx(found['elapsed_seconds'] * (k + 1) / 3600)


def test_a_short_training_here_is_measured(scaling, monkeypatch):
    """Packed rows need no parsing and no second job."""
    monkeypatch.setattr(cost, 'ENOUGH', 0.05)
    words = ('--rows', 10**6, '--features', 60, '--hidden', 100, '--instances', 2)
    text, packed = estimate(scaling, *words), estimate(scaling, *words, '--packed')
    assert packed['seconds_a_row'] > 0 and text['seconds_a_row'] > 0 and text['dollars'] == 2 * text['node_hours']
    assert packed['elapsed_seconds'] - packed['busy_seconds'] == 360 + 45


def test_what_cannot_be_estimated_is_refused(scaling):
    assert scaling('cost', '--instances', 2).status == 2
    assert scaling('cost', '--rows', 5, '--features', 5, '--instances', 2, '--price', 'nan').status == 2
