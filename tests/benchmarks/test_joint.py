"""The figure of the joint machine: both kinds of nodes together have less error than each alone."""

import numpy as np

from benchmarks.joint import KINDS, main


def test_leaves_and_landmarks_together_have_the_least_error(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr('benchmarks.joint.N', 2000)
    main(tmp_path / 'figure.png', np.array([0.5]))
    line = capsys.readouterr().out
    leaves, landmarks, joint = (float(line.split(name)[1].split()[0]) for name in KINDS)
    assert joint < 0.7 * leaves and joint < 0.7 * landmarks
    assert (tmp_path / 'figure.png').read_bytes().startswith(b'\x89PNG')
