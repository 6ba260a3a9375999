"""Stages by hand: a folder of rows to run them in, one of them, and all of a script, in this process."""

import runpy
import shlex
import sys
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np

from mr_elm.cli import main
from reference.commands import elm, succeed


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
    """Run a stage as `python -m mr_elm.streaming.mr_NOUN` does, but in this process; returns as `elm` does."""
    name = f'mr_elm.streaming.mr_{noun}'

    def start(words):
        with patch.object(sys, 'argv', [name, *words]), warnings.catch_warnings():
            warnings.filterwarnings('ignore', '.* found in sys.modules after import')
            runpy.run_module(name, run_name='__main__', alter_sys=True)

    return elm(*words, main=start)


def run_to_the_last(script, said=None):
    """Do what a script of `mr-elm train --script` does, but for its last command; returns the words of this one.

    All runs in this process: in a shell each command is one. said : a list that gets what the commands say.
    """
    said = [] if said is None else said

    def layer(*words):
        done = elm('layer', *words)
        succeed(done)
        said.append(done.err)

    first = next(line for line in script.splitlines() if line.startswith('mr-elm layer '))
    layer(*shlex.split(first)[2:])
    training = shlex.split(script.splitlines()[-1])[2]
    name, outputs = training.removesuffix('.training.json'), []
    while (noun := Path(f'{name}.next').read_text().strip()) != 'finish':
        outputs.append(f'{name}.{noun}.{len(outputs) + 1}')
        words = shlex.split(Path(f'{name}.options').read_text())
        Path(outputs[-1]).write_text(succeed(run_stage(noun, *words)))
        layer(training, *outputs)
    return ['finish', training, *outputs]
