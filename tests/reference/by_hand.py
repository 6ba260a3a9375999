"""Stages by hand: a folder of rows to run them in, and one of them as a program."""

import subprocess
import sys

import numpy as np

from mr_elm.cli import main


def fill_folder(parent):
    """Make a folder with an awkward name that holds 60 rows of three classes, as text and packed; returns it."""
    folder = parent / "it's a folder; $(touch x)"
    folder.mkdir()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] * X[:, 2] > 0)
    np.savetxt(folder / 'rows.csv', np.column_stack([y, X]), delimiter=',', fmt='%.6g')
    assert main(['pack', f'{folder}/rows.csv', '-o', f'{folder}/packed', '--block-rows', '20', '-q']) == 0
    return folder


def run_stage(noun, *words):
    """Run a stage as a program, `python -m mr_elm.streaming.mr_NOUN`."""
    return subprocess.run(
        [sys.executable, '-m', f'mr_elm.streaming.mr_{noun}', *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
    )
