"""The figure of landmarks: more of them err less, beside scikit-learn on the same ones."""
import re

from benchmarks import centres


def test_the_error_falls_with_landmarks_and_each_program_is_measured(tmp_path, capsys, monkeypatch):
    for name, value in {'CENTRES': (20, 200), 'CHOSEN_BY': 50, 'SCALES': (1.0,), 'NUS': (10.0, 100.0),
                        'ALPHAS': (1e-3,), 'MOST_OF_PEER': 200}.items():
        monkeypatch.setattr(centres, name, value)
    centres.main(str(tmp_path / 'figure.png'), 'digits')
    found = re.findall(r'(\w+) +(\d+) landmarks +([\d.]+)% wrong', capsys.readouterr().out)
    errors = {(program, int(n)): float(error) for program, n, error in found}
    assert len(errors) == 4
    for program in ('pesvm', 'Ridge'):
        assert errors[program, 200] < 6 and errors[program, 200] < errors[program, 20] / 2
    assert (tmp_path / 'figure.png').read_bytes().startswith(b'\x89PNG')
