"""The page of outside oracles: its tests exist and use what it says; no method, score or format is missing."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from mr_elm.model.file import METHODS
from mr_elm.rows.options import KINDS
from mr_elm.scores.label_sets import LabelSets
from mr_elm.scores.metrics import Confusion, Residuals
from mr_elm.scores.probability_scores import ProbabilityScores

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / 'tests/oracles.md').read_text(encoding='utf-8')
ROWS = re.findall(r'^\| (.+?) \| (.+?) \| `(.+?)::(.+?)` \|$', PAGE, flags=re.MULTILINE)
COUNTS = {'rows', 'per_class', 'per_label', 'confusion'}


@pytest.mark.parametrize('what, oracle, file, test', ROWS)
def test_the_test_exists_and_uses_the_oracle(what, oracle, file, test):
    programs = re.findall(r'`(.+?)`', oracle)
    text = (ROOT / file).read_text(encoding='utf-8')
    assert test in {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    for path in (program for program in programs if '/' in program):
        assert path in text or Path(path).stem in text
        text += (ROOT / path).read_text(encoding='utf-8')
    for program in (program for program in programs if '/' not in program):
        assert re.search(rf'\b{program.split(".")[-1]}\b', text), program


def test_every_line_of_the_tables_names_a_test():
    lines = [line for line in PAGE.splitlines() if line.startswith('| ') and not line.startswith('| what')]
    assert len(lines) == len(ROWS) > 40


def test_every_method_score_and_format_has_an_oracle():
    two = np.array([0, 1])
    scores = {
        *Confusion({('a', 'a'): 1}).scores(['a']),
        *Confusion({('a', 'a'): 1}).positive_scores('a'),
        *Residuals.of(two, two).scores(),
        *LabelSets.of(['a'], two[:, None], two[:, None]).scores(['a']),
        *ProbabilityScores.of(np.full((2, 6), 1 / 6), two, np.ones(2)).scores(),
    }
    named = {name for what, *_ in ROWS for name in re.findall(r'`(.+?)`', what)}
    assert {*METHODS, *KINDS, *(scores - COUNTS), 'auc', 'average_precision'} <= named
