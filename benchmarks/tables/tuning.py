"""Choose parameters by cross-validation, and keep the accuracy of every candidate: a stopped choice goes on."""
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, cross_val_score

from benchmarks.tables.results import KeptRows
from mr_elm.typing import Floats, Labels

COLUMNS = ('set', 'method', 'trial', 'parameters', 'accuracy')
N_FOLDS = 5


class TimeIsUp(Exception):
    """Say that no more may begin."""


class Tuning:
    """Score candidates by cross-validation, at most once each, over all runs.

    path : of the CSV file with a row a candidate. is_over : tells whether the time is up.
    """

    def __init__(self, path: Path, is_over: Callable[[], bool]) -> None:
        self.kept, self.is_over = KeptRows(path, COLUMNS), is_over
        self.known = {self.key(row): float(row['accuracy']) for row in self.kept.rows}

    @staticmethod
    def key(row: dict) -> tuple:
        """Return what tells a candidate from all others."""
        return row['set'], row['method'], str(row['trial']), row['parameters']

    def choose(self, place: dict, estimator: Any, grid: dict, X: Floats, y: Labels) -> dict:
        """Return the parameters of the best accuracy, of equal ones the first. Raises TimeIsUp.

        place : set, method and trial.
        """
        found = {}
        for parameters in ParameterGrid(grid):
            row = {**place, 'parameters': json.dumps(parameters)}
            if self.key(row) not in self.known:
                if self.is_over():
                    raise TimeIsUp
                self.score(row, clone(estimator).set_params(**parameters), X, y)
            found[row['parameters']] = self.known[self.key(row)]
        return json.loads(max(found, key=lambda text: found[text]))

    def score(self, row: dict, estimator: Any, X: Floats, y: Labels) -> None:
        """Cross-validate a candidate, and keep its mean accuracy."""
        self.kept.add({**row, 'accuracy': float(np.mean(cross_val_score(estimator, X, y, cv=N_FOLDS,
                                                                        error_score='raise')))})
        self.known[self.key(row)] = float(self.kept.rows[-1]['accuracy'])
