"""The figure of boundaries: every method learns the islands."""
import re

from benchmarks.boundaries import METHODS, main


def test_every_method_learns_the_islands(tmp_path, capsys):
    main(tmp_path / 'figure.png')
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(METHODS)
    assert all(float(re.search(r'accuracy (\S+?),?( |$)', line)[1]) > 0.95 for line in lines)
    assert (tmp_path / 'figure.png').read_bytes().startswith(b'\x89PNG')
