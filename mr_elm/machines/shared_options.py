"""Declare the options that methods share; see `mr_elm.option`."""

from dataclasses import dataclass
from typing import Any

from mr_elm.features.metric import KINDS
from mr_elm.features.scaling import SCALES
from mr_elm.option import option
from mr_elm.rows.options import TASKS
from mr_elm.scores.threshold import make_goal
from mr_elm.solvers.choose_solver import COORDINATE, METHOD_RULES

WEIGHTS = ('normal', 'uniform')  # how nodes are drawn
N_HIDDEN, NODES_GROUP = 1000, 'hidden nodes'
ROWS, SYNTHETIC = LANDMARKS = 'rows', 'synthetic'


def landmarks_option(group: str) -> Any:
    """Make the option that says what landmarks are."""
    return option(
        ROWS,
        '--map nystrom: what landmarks are. rows: rows of the training, which the model keeps; '
        'synthetic: drawn from mean and deviation of each column, so that the model keeps no row',
        group,
        LANDMARKS,
        advanced=True,
    )


def rule_option(method: str) -> Any:
    """Make the option that names the solver of a dual."""
    rules = METHOD_RULES[method]
    of_nodes = ''
    if COORDINATE in rules:
        of_nodes = f'; with random nodes {COORDINATE}, which works with these only'
    return option(None, f'algorithm that solves the dual (default: {rules[0]}{of_nodes})', SOLVER, rules, advanced=True)


@dataclass(frozen=True)
class TrainingOptions:
    """Keep what every training is given. bad_rows : stop, or skip those that cannot be used."""

    method: str = ''
    bad_rows: str = 'stop'
    task: str = 'classification'
    scale: str = option(
        'standard', 'how features are scaled before training: {choices}', 'model', SCALES, metavar='NAME', advanced=True
    )
    seed: int = option(0, 'seed of every random choice', 'model', bounds=(0, 2**64 - 1), advanced=True)
    class_weight: str | None = option(
        None, 'balanced: every class has the same total weight', 'model', ('balanced',), advanced=True
    )
    probabilities: bool = option(False, 'fit probabilities, and label by them')
    threshold: Any = option(
        None,
        '--probabilities of two classes: choose on held-out rows the probability above which a row is positive. '
        'balanced, f1: for the best balanced accuracy or F1; COST: a false negative is COST times as bad as '
        'a false positive',
        metavar='balanced|f1|COST',
        advanced=True,
    )
    positive: Any = option(
        None,
        'two classes: the one that --threshold, F1, precision, recall and their curves are about '
        '(default: the last class)',
        metavar='LABEL',
        advanced=True,
    )

    @property
    def holds_out(self) -> str:
        """Return the option that needs scores of rows held out, or ''."""
        return next((f'--{name}' for name in ('probabilities', 'intervals') if getattr(self, name, False)), '')

    @property
    def needs_one_label(self) -> str:
        """Return the option that cannot be used where rows have several targets or labels, or ''."""
        for name, default in {'metric': 'none', 'class_weight': None, 'leave_one_out': False, 'positive': None}.items():
            if not self.holds_out and getattr(self, name, default) != default:
                return f'--{name.replace("_", "-")}'
        return self.holds_out

    @property
    def numeric(self) -> bool:
        """Tell whether labels are targets."""
        return self.task == 'regression'

    @property
    def center(self) -> bool:
        """Tell whether the mean of the targets is taken off before a solve, and added to what it finds."""
        return self.numeric

    def check(self) -> None:
        """Raise ValueError where options contradict each other."""
        for flag, value in (
            ('--class-weight', self.class_weight),
            ('--probabilities', self.probabilities),
            ('--positive', self.positive is not None),
        ):
            demand(not (self.numeric and value), f'{flag}: cannot be used with --task regression, expected classes')
        if self.threshold is not None:
            demand(self.probabilities, '--threshold: expected --probabilities beside it')
            make_goal(self.threshold)


@dataclass(frozen=True)
class TargetOptions(TrainingOptions):
    """Keep the options of methods that learn classes or targets."""

    task: str = option('classification', 'what the labels are', choices=TASKS)
    intervals: bool = option(
        False, '--task regression: keep the errors of rows held out, for predict --interval', advanced=True
    )

    def check(self) -> None:
        """Raise ValueError where an option that needs targets stands beside classes."""
        super().check()
        demand(self.numeric or not self.intervals, '--intervals: expected --task regression')


@dataclass(frozen=True)
class CentredOptions(TargetOptions):
    """Keep the options of methods that may take targets as they are."""

    no_center: bool = option(
        False, '--task regression: penalise the mean of the targets too, as the papers do', advanced=True
    )

    @property
    def center(self) -> bool:
        """Tell whether the mean of the targets is taken off before a solve, and added to what it finds."""
        return self.numeric and not self.no_center

    def check(self) -> None:
        """Raise ValueError where classes are to be centred."""
        super().check()
        demand(self.numeric or not self.no_center, '--no-center: expected --task regression')


@dataclass(frozen=True)
class NodeOptions(TrainingOptions):
    """Keep how hidden nodes are drawn."""

    n_hidden: int = option(N_HIDDEN, 'how many hidden nodes', NODES_GROUP, flag='--hidden', metavar='L')
    weight_scale: float = option(
        1.0,
        'standard deviation of w . z over the scaled rows z, w the weights of a node; a Gaussian has '
        'sigma = sqrt(v)/S, v the sum of the variances of the scaled features',
        NODES_GROUP,
        metavar='S',
        advanced=True,
    )
    weights: str = option(
        'normal',
        'how nodes are drawn. normal: standard deviation S/sqrt(v), v the sum of the variances of '
        'the scaled features; uniform: between -S and S',
        NODES_GROUP,
        WEIGHTS,
        advanced=True,
    )


def demand(met: bool, message: str) -> None:
    """Raise ValueError when a condition is not met."""
    if not met:
        raise ValueError(message)


SOLVER = 'solver'  # heading of the options of a solver


@dataclass(frozen=True)
class MetricOptions(TrainingOptions):
    """Keep how a metric of the features is learned."""

    metric: str = option(
        'none',
        'weigh the features by how much the labels change with them, learned from the rows. '
        'diagonal: a number for each feature; full: also combinations of features',
        'metric',
        KINDS,
        advanced=True,
        tuned=False,
    )
