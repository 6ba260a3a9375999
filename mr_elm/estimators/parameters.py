"""Hold the parameters of estimators to the options of the command line: the same defaults, values and sentences.

The parameters of an estimator are the fields of its dataclass and of those that it derives from.
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from mr_elm.machines.shared_options import TrainingOptions
from mr_elm.option import Option, option_fields
from mr_elm.progress import Reporter
from mr_elm.rows.options import MAX_CATEGORIES, REFUSE, RowOptions
from mr_elm.typing import ClassWeight

# what the command and models call by other names than scikit-learn: option -> parameter
RENAMED = {
    'map': 'kernel',
    'normalised': 'normalise',
    'solver': 'rule',
    'eps': 'tol',
    'tolerance': 'tol',
    'max_passes': 'max_iter',
    'memory': 'cache_size',
}
ENTRY = re.compile(r'^(\w+(?:, \w+)*) : .*(?:\n {4}.*)*', re.MULTILINE)  # of a parameter in a docstring


@dataclass(eq=False, repr=False, kw_only=True)
class Parameters(BaseEstimator):
    """Hold the parameters that all estimators have.

    n_jobs : threads, as in joblib; they share the rows of a fit and of a prediction.
    verbose : 1: write on standard error what `fit` does, in the words of the command, and how far it is; 0: nothing.
    seed : of every random choice.
    random_state : the same by the name that scikit-learn gives it: a whole number, or a RandomState, of which `fit`
        draws one; where it is None, `seed` counts.
    """

    encode: str = REFUSE
    max_categories: int = MAX_CATEGORIES
    n_jobs: int | None = None
    verbose: int = 0
    seed: int = TrainingOptions.seed
    random_state: int | np.random.RandomState | None = None

    @property
    def _reporter(self) -> Reporter:
        return Reporter(quiet=not self.verbose)

    def _choose_seed(self) -> int:
        """Return the seed of a fit. Raises ValueError where random_state cannot be one."""
        if self.random_state is None:
            return self.seed
        if not isinstance(self.random_state, (int, np.integer)):
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        option_fields(TrainingOptions)['seed'].demand(self.random_state, 'random_state')
        return int(self.random_state)


@dataclass(eq=False, repr=False, kw_only=True)
class ClassifierParameters:
    """Hold the parameters of classifiers.

    class_weight : None, balanced, or a dictionary with the weights of classes.
    threshold : of two classes, with probabilities=True: choose the probability of the positive class above which a row
        is of it, by rows held out: balanced (accuracy), f1, or how much worse a missed row of it is than a false one,
        such as 5.0. None for the more probable class.
    positive : of two classes, the one that threshold is about; None for the last one.
    """

    class_weight: ClassWeight = None
    probabilities: bool = False
    threshold: str | float | None = None
    positive: Any = None


def document(kind: Any) -> None:
    """Add a section to the docstring of an estimator: what its class and those above it say of its parameters."""
    names, texts = {*kind._get_param_names()}, [cleandoc(base.__doc__ or '') for base in reversed(kind.__mro__)]
    entries = {entry[1]: entry[0] for entry in ENTRY.finditer('\n'.join(texts)) if names & {*entry[1].split(', ')}}
    what, _, more = ENTRY.sub('', texts[-1]).partition('\n\n')
    kind.__doc__ = '\n'.join([what, '', 'Parameters', '----------', *entries.values(), '', more.strip()])


def to_python(value: Any) -> Any:
    """Return a number of numpy as one of Python, which JSON can hold."""
    if isinstance(value, np.generic):
        return value.item()
    return value


def name_parameter(name: str, parameters: Container[str]) -> str:
    """Return what an estimator with these parameters calls an option."""
    if name in parameters:
        return name
    return RENAMED.get(name, name)


@cache
def find_options(kind: Any) -> dict[str, Option]:
    """Return the options that an estimator has as parameters: name of the parameter -> the option.

    kind : has `_declared`, the dataclass of its options, and `_called`, option -> name of its parameter where that is
    another one than in RENAMED, or '' where the parameter means something else.
    """
    parameters = kind._get_param_names()
    options = {**option_fields(RowOptions), **option_fields(kind._declared)}
    named = {kind._called.get(name, name_parameter(name, parameters)): each for name, each in options.items()}
    return {name: each for name, each in named.items() if name in parameters}


def make_options(estimator: Any, idle: Container[str] = (), **others: Any) -> Any:
    """Return the options that the parameters of an estimator say, once `seed_` is known.

    Class weights stand in the weights of the rows. idle : parameters that have no say beside the others. others : other
    options. Raises ValueError where parameters contradict each other.
    """
    named = find_options(estimator.__class__)
    fields = option_fields(estimator._declared)
    values = {
        each.name: to_python(getattr(estimator, name))
        for name, each in named.items()
        if each.name in fields and name not in idle
    }
    known = {'task': estimator._task, 'seed': estimator.seed_, 'class_weight': None}
    options = estimator._declared(**values | known | others)
    options.check()
    return options
