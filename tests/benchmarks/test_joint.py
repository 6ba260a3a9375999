"""The figure of the joint machine: both kinds of nodes together have less error than each alone."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / 'docs/figures'))
import joint


def test_leaves_and_landmarks_together_have_the_least_error(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(joint, 'N', 2000)
    joint.main(tmp_path / 'figure.png', np.array([0.5]))
    line = capsys.readouterr().out
    leaves, landmarks, both = (float(line.split(name)[1].split()[0]) for name in joint.KINDS)
    assert both < 0.7 * leaves and both < 0.7 * landmarks
    assert (tmp_path / 'figure.png').read_bytes().startswith(b'\x89PNG')
