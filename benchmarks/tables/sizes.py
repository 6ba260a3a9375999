"""Say how large what a machine answers from is."""
import pickle
from typing import Any

import numpy as np

# the arrays that a fitted peer predicts from
ANSWERS_FROM = {
    'SVC': ('support_vectors_', 'dual_coef_', 'intercept_'), 'LinearSVC': ('coef_', 'intercept_'),
    'RidgeClassifier': ('coef_', 'intercept_'), 'RBFSampler': ('random_weights_', 'random_offset_'),
    'Nystroem': ('components_', 'normalization_'), 'MLPClassifier': ('coefs_', 'intercepts_'),
    'HPELM': ('nodes_', 'output_weights_'), 'L2SVC': ('support_vectors_', 'dual_coef_', 'intercept_'),
}


def measure_model(machine: Any) -> int:
    """Return the bytes of the arrays that a fitted machine predicts from, of trees those of their pickle."""
    if hasattr(machine, 'steps'):
        return sum(measure_model(step) for _, step in machine.steps)
    if hasattr(machine, 'model_'):
        return sum(array.nbytes for array in machine.model_.arrays.values())
    if type(machine).__name__ not in ANSWERS_FROM:
        return len(pickle.dumps(machine))
    parts = (getattr(machine, name) for name in ANSWERS_FROM[type(machine).__name__])
    return sum(np.asarray(array).nbytes for part in parts for array in (part if isinstance(part, list) else [part]))


def count_support(machine: Any) -> int | str:
    """Return the number of rows that a machine is made of, '' for one that does not tell."""
    if hasattr(machine, 'support_'):
        return len(machine.support_)
    coefficients = machine.model_.arrays.get('dual_coef') if hasattr(machine, 'model_') else None
    return '' if coefficients is None else len(coefficients)
