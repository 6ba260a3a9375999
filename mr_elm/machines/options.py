"""List the options of each method once: name, type, default, range and help, for the command line and for drivers.

A field made by `option` is an option of the command line; its name there, and what it reads, follow from the field's
name and type unless `option` is told otherwise. The order of the fields is the order of the help.
"""
from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields
from typing import Any

from mr_elm.features.hidden import LANDMARK_NODES, MAPS, NODES
from mr_elm.features.kernels import KERNELS
from mr_elm.features.metric import KINDS
from mr_elm.features.scaling import SCALES
from mr_elm.scores.threshold import make_goal
from mr_elm.solvers.box.box_qp import ATTEMPTS, SUBSET
from mr_elm.solvers.rules import COORDINATE, METHOD_RULES, choose_rule
from mr_elm.solvers.shared.multiclass import SCHEMES

RANDOM_NODES = tuple(kind for kind in MAPS if kind not in ('nystrom', 'identity'))
N_HIDDEN = 1000
WEIGHTS = ('normal', 'uniform')  # how nodes are drawn
SOLVERS = ('cholesky', 'svd', 'cg')  # of the kernel ELM
GRAM, PASSES = NODE_SOLVERS = 'gram', 'passes'  # of pesvm and elm
MOST_GRAM_NODES = 5000  # of a Gram, unless the user asks for it: every task sends L^2 numbers
TASKS = ('classification', 'regression')
LARGEST_SEED = 2**64 - 1


@dataclass(frozen=True)
class Option:
    """Say how a parameter is given on the command line.

    help : what it is; `{choices}` stands for the names to choose from. The default is added behind it.
    group : heading in the help; '' for none, `{method}` for the name of the method.
    choices : names to choose from, or none. flag : as typed; '' for the field's name with dashes.
    metavar : stands for the value; '' for the choices, X for a number or N for a whole one.
    bounds : least and largest whole number; None for any above 0.
    advanced : whether only --help-all shows it. infinite : whether a number may be inf.
    """

    help: str
    group: str = ''
    choices: tuple = ()
    flag: str = ''
    metavar: str = ''
    bounds: tuple[int, int] | None = None
    advanced: bool = False
    infinite: bool = False


def option(default: Any, help: str, group: str = '', choices: Iterable[str] = (), **more: Any) -> Any:
    """Make the field of an option. more : flag, metavar, bounds, advanced or infinite, see Option."""
    return field(default=default, metadata={'option': Option(help, group, tuple(choices), **more)})


def option_fields(kind: type) -> dict[str, Field]:
    """Return the fields of a dataclass that are options of the command line, by name and in order."""
    return {each.name: each for each in fields(kind) if 'option' in each.metadata}


def flag_of(each: Field) -> str:
    """Return what a user types for an option."""
    return each.metadata['option'].flag or f'--{each.name.replace("_", "-")}'


def weights_option(group: str) -> Any:
    """Make the option that says how nodes are drawn."""
    return option('normal', 'how nodes are drawn. normal: standard deviation S/sqrt(d); uniform: between -S and S',
                  group, WEIGHTS, advanced=True)


def kernel_option(group: str) -> Any:
    """Make the option that names the kernel of landmarks."""
    return option('gaussian', '--map nystrom: the kernel, {choices}', group, LANDMARK_NODES, metavar='NAME',
                  advanced=True)


def class_weight_option(group: str) -> Any:
    """Make the option that says what classes weigh."""
    return option(None, 'balanced: every class has the same total weight', group, ('balanced',), advanced=True)


def probabilities_option() -> Any:
    """Make the option that asks for probabilities."""
    return option(False, 'fit probabilities, and label by them')


def threshold_option() -> Any:
    """Make the option that asks for a threshold."""
    return option(None, '--probabilities of two classes: choose the P(last class) above which a row is of it, by '
                  'rows held out: balanced (accuracy), f1, or how much worse a missed row of it is than a false one',
                  metavar='balanced|f1|COST', advanced=True)


def intervals_option() -> Any:
    """Make the option that asks for intervals."""
    return option(False, '--task regression: keep the errors of rows held out, for predict --interval', advanced=True)


def rule_option(method: str) -> Any:
    """Make the option that names the solver of a dual."""
    rules = METHOD_RULES[method]
    of_nodes = f'; with random nodes {COORDINATE}, which works with these only' if COORDINATE in rules else ''
    return option(None, f'algorithm that solves the dual (default: {rules[0]}{of_nodes})', 'solver', rules,
                  advanced=True)


@dataclass(frozen=True)
class TrainingOptions:
    """Keep what every training is given. bad_rows : stop, or skip those that cannot be used."""

    method: str = ''
    bad_rows: str = 'stop'
    task: str = 'classification'
    scale: str = option('standard', 'how features are scaled before training: {choices}', 'model', SCALES,
                        metavar='NAME', advanced=True)
    seed: int = option(0, 'seed of every random choice', 'model', bounds=(0, LARGEST_SEED), advanced=True)

    @property
    def holds_out(self) -> str:
        """Return the option that needs scores of rows held out, or ''."""
        return next((f'--{name}' for name in ('probabilities', 'intervals') if getattr(self, name, False)), '')

    @property
    def numeric(self) -> bool:
        """Tell whether labels are targets."""
        return self.task == 'regression'

    def check(self) -> None:
        """Raise ValueError where options contradict each other."""


def demand_classes(task: str, class_weight: str | None, probabilities: bool) -> None:
    """Raise ValueError for --class-weight or --probabilities together with --task regression."""
    for flag, given in (('--class-weight', class_weight), ('--probabilities', probabilities)):
        demand(task != 'regression' or not given, f'{flag}: cannot be used with --task regression, expected classes')


def demand_intervals(task: str, intervals: bool) -> None:
    """Raise ValueError for --intervals without --task regression."""
    demand(not intervals or task == 'regression', '--intervals: expected --task regression')


def demand_threshold(threshold: str | None, probabilities: bool) -> None:
    """Raise ValueError for --threshold without --probabilities, and for one that there is not."""
    if threshold is not None:
        demand(probabilities, '--threshold: expected --probabilities beside it')
        make_goal(threshold)


def demand(met: bool, message: str) -> None:
    """Raise ValueError when a condition is not met."""
    if not met:
        raise ValueError(message)


ALL_ROWS = 'all'


@dataclass(frozen=True)
class MetricOptions(TrainingOptions):
    """Keep how a metric of the features is learned."""

    metric: str = option('none', 'weigh the features by how much the labels change with them, learned from the rows. '
                         'diagonal: a number for each feature; full: also combinations of features', 'metric', KINDS,
                         advanced=True)
    metric_steps: int | None = option(None, 'learn in N steps (default: the best of 0 to 4 steps on held-out rows)',
                                      'metric', bounds=(0, 100), advanced=True)
    metric_rows: str = option('20000', 'learn from N rows, chosen by a hash; all: pesvm and elm learn from all rows, '
                              'by one job a step', 'metric', metavar='N', advanced=True)

    @property
    def n_sampled(self) -> int:
        """Return how large the sample is from which a metric is learned, 0 where there is none."""
        return int(self.metric_rows) if self.metric != 'none' and self.metric_rows != ALL_ROWS else 0

    @property
    def learns_from_all_rows(self) -> bool:
        """Tell whether a metric is learned from all rows."""
        return self.metric != 'none' and self.metric_rows == ALL_ROWS

    def check(self) -> None:
        """Raise ValueError where options of the metric contradict each other."""
        super().check()
        everywhere = self.metric_rows == ALL_ROWS and isinstance(self, PESVMOptions)
        demand(everywhere or (self.metric_rows.isdecimal() and int(self.metric_rows) > 0),
               f'--metric-rows: expected a whole number above 0, found {self.metric_rows!r}')
        demand(self.metric != 'none' or (self.metric_steps is None and self.metric_rows == self.__class__.metric_rows),
               '--metric-steps and --metric-rows: expected --metric diagonal or full')


def demand_slope(metric: str, kind: str) -> None:
    """Raise ValueError for a metric together with nodes that cannot learn one. kind : of nodes, or a kernel."""
    demand(metric == 'none' or kind not in NODES or NODES[kind].slope is not None,
           f'{kind}: cannot be used with --metric, these nodes have no slope to learn a metric by')


@dataclass(frozen=True)
class PESVMOptions(MetricOptions):
    """Keep the parameters of PESVM; see `mr-elm train pesvm --help`.

    method : pesvm, or elm: the same without the bias r, where nu is called C.
    """

    method: str = 'pesvm'
    task: str = option('classification', 'what the labels are', choices=TASKS)
    map: str = option('sigmoid', 'hidden nodes: {choices}; identity: the scaled features themselves, as in the linear '
                      'machine', '{method}', MAPS, metavar='NAME')
    kernel: str = kernel_option('{method}')
    n_hidden: int = option(N_HIDDEN, 'how many hidden nodes', '{method}', flag='--hidden', metavar='L')
    weight_scale: float = option(1.0, 'standard deviation of the pre-activations on scaled rows; a Gaussian has '
                                 'sigma = sqrt(d)/S', '{method}', metavar='S', advanced=True)
    weights: str = weights_option('{method}')
    nu: float = option(1.0, 'weight of the errors against the size of the output weights', '{method}')
    class_weight: str | None = class_weight_option('{method}')
    probabilities: bool = probabilities_option()
    threshold: str | None = threshold_option()
    intervals: bool = intervals_option()
    solver: str | None = option(None, 'gram: sum up one matrix of L x L numbers, which update and forget need; passes: '
                                'conjugate gradients, each step one pass over the rows, no task has such a matrix '
                                f'(default: gram up to L = {MOST_GRAM_NODES:,}, if --memory allows)',
                                'solver', NODE_SOLVERS, advanced=True)
    tolerance: float | None = option(None, "passes: stop at this residual, relative to |E'T| (default: 1e-4, or 1e-6 "
                                     'for a regression)', 'solver', advanced=True)
    max_passes: int = option(200, 'passes: stop after so many', 'solver', advanced=True)
    precondition_rows: int | None = option(None, 'passes: how many rows make the preconditioner (default: 2L for '
                                           'landmarks, else 4L)', 'solver', metavar='N', advanced=True)
    memory: float = option(4000.0, 'memory of this process for matrices of L x L numbers; --C inf of elm: for the '
                           'outputs of all nodes on all rows', 'solver', metavar='MB', advanced=True)

    def check(self) -> None:
        """Raise ValueError for class weights of a regression, and for nodes that there cannot be."""
        super().check()
        demand_classes(self.task, self.class_weight, self.probabilities)
        demand_threshold(self.threshold, self.probabilities)
        demand_intervals(self.task, self.intervals)
        demand(not self.holds_out or self.nu < float('inf'),
               f'{self.holds_out}: expected a finite --C, the initial ELM keeps no sums')
        demand(not (self.holds_out and self.solver == PASSES),
               f'{self.holds_out}: expected --solver gram, passes keep no sums')
        demand(self.map != 'identity' or self.n_hidden == N_HIDDEN,
               '--hidden: cannot be used with --map identity, whose nodes are the features')
        demand(self.map == 'nystrom' or self.kernel == 'gaussian',
               f'--kernel {self.kernel}: expected --map nystrom, found {self.map}')
        demand(self.solver == PASSES or (self.tolerance, self.precondition_rows) == (None, None),
               '--tolerance, --precondition-rows: expected --solver passes, a Gram is solved exactly')
        demand(self.tolerance is None or self.tolerance < 1, '--tolerance: expected a number below 1')
        demand_slope(self.metric, self.map)
        if self.learns_from_all_rows:
            demand(NODES[self.map].family == 'projection', '--metric-rows all: expected nodes of a weighted sum of the '
                   f'features, found --map {self.map}')
            demand(self.solver != PASSES and self.nu < float('inf'), '--metric-rows all: expected --solver gram and a '
                   'finite --C, the metric is learned by sums')

    @property
    def node_kind(self) -> str:
        """Return what the nodes compute, a key of NODES."""
        return LANDMARK_NODES[self.kernel] if self.map == 'nystrom' else self.map

    @property
    def bias(self) -> bool:
        """Tell whether there is a bias r."""
        return self.method == 'pesvm'


@dataclass(frozen=True)
class ELMOptions(PESVMOptions):
    """Keep the parameters of the unified ELM; see `mr-elm train elm --help`."""

    method: str = 'elm'
    nu: float = option(1.0, 'weight of the errors against the size of the output weights; inf: the initial ELM, '
                       'pinv(H) T, which takes all rows into memory', '{method}', flag='--C', infinite=True)


@dataclass(frozen=True)
class KernelOptions(MetricOptions):
    """Keep what every training on a kernel is given."""

    kernel: str = option('gaussian', '{choices}', 'kernel', KERNELS, metavar='NAME')
    sigma: float | None = option(None, 'width of gaussian or laplacian (default: sqrt(d))', 'kernel')
    gamma: float | None = option(None, 'gaussian: 1 / (2 sigma^2), instead of --sigma', 'kernel', advanced=True)
    degree: int | None = option(None, 'polynomial: the degree in (1 + u.v)^degree (default: 3)', 'kernel',
                                advanced=True)
    C: float = option(1.0, 'weight of the errors', 'kernel')

    def check(self) -> None:
        """Raise ValueError where a parameter belongs to another kernel."""
        super().check()
        known = KERNELS[self.kernel].parameters if self.kernel in KERNELS else ()
        wanted = ', '.join(f'--{name}' for name in known) or 'no parameter'
        for name in ('sigma', 'gamma', 'degree'):
            demand(getattr(self, name) is None or name in known,
                   f'--{name}: expected {wanted} with --kernel {self.kernel}')
        demand(self.sigma is None or self.gamma is None, '--gamma: expected --sigma or --gamma, found both')


PARTITIONED = 'rows beyond one reducer'


@dataclass(frozen=True)
class DualOptions(KernelOptions):
    """Keep the parameters of the box-constrained dual, as of the sparse ELM; see `mr-elm train sparse-elm --help`."""

    method: str = 'sparse-elm'
    kernel: str = option('gaussian', f'{", ".join(KERNELS)}, or random nodes: {", ".join(RANDOM_NODES)}', 'kernel',
                         (*KERNELS, *RANDOM_NODES), metavar='NAME')
    C: float = option(1.0, 'bound of the dual variables', 'kernel')
    normalise: bool = False
    subset: int | None = None
    attempts: int | None = None
    n_hidden: int = option(1000, 'how many hidden nodes', 'random nodes', flag='--hidden', metavar='L', advanced=True)
    weight_scale: float = option(1.0, 'standard deviation of the pre-activations on scaled rows', 'random nodes',
                                 metavar='S', advanced=True)
    weights: str = weights_option('random nodes')
    probabilities: bool = probabilities_option()
    threshold: str | None = threshold_option()
    rule: str | None = rule_option('sparse-elm')
    eps: float = option(1e-3, 'stop at this violation of the optimality conditions', 'solver', advanced=True)
    max_iter: int | None = option(None, "stop after so many iterations (default: the solver's own limit)", 'solver',
                                  metavar='N', advanced=True)
    multiclass: str = option(SCHEMES[0], 'how two-class machines decide between several classes', 'solver', SCHEMES,
                             advanced=True)
    class_weight: str | None = class_weight_option('solver')
    memory: float = option(1000.0, 'memory of a task; half of it holds kernel values', 'solver', metavar='MB',
                           advanced=True)
    partitions: int = option(1, 'train on more rows than one task holds: solve P parts of the rows, then add rows that '
                             'violate the optimality conditions, until the duality gap over all rows is small',
                             PARTITIONED, metavar='P', advanced=True)
    gap: float = option(1e-3, 'with --partitions: stop at this duality gap, relative to the objective',
                        PARTITIONED, advanced=True)

    @property
    def chosen_rule(self) -> str:
        """Return the rule that solves."""
        return choose_rule(self.method, self.rule, self.kernel in RANDOM_NODES)

    def check(self) -> None:
        """Raise ValueError where a parameter belongs to another kernel, or the rule to random nodes."""
        super().check()
        demand_slope(self.metric, self.kernel)
        demand_threshold(self.threshold, self.probabilities)
        try:
            choose_rule(self.method, self.rule, self.kernel in RANDOM_NODES)
        except ValueError as error:
            raise ValueError(f'--{error}') from None


@dataclass(frozen=True)
class OELMOptions(DualOptions):
    """Keep the parameters of the optimisation ELM; see `mr-elm train oelm --help`."""

    method: str = 'oelm'
    rule: str | None = rule_option('oelm')


@dataclass(frozen=True)
class SphereSVMOptions(DualOptions):
    """Keep the parameters of SphereSVM, which takes no random nodes; see `mr-elm train sphere-svm --help`."""

    method: str = 'sphere-svm'
    kernel: str = option('gaussian', '{choices}', 'kernel', KERNELS, metavar='NAME')
    C: float = option(1.0, 'weight of the squared errors', 'kernel')
    normalise: bool = option(False, 'divide K(u, v) by sqrt(K(u, u) K(v, v)); polynomial and linear need it')
    n_hidden: int = 0
    weight_scale: float = 1.0
    weights: str = 'normal'
    rule: str | None = rule_option('sphere-svm')
    subset: int | None = option(None, '--rule paper: rows in each random subset, N_r of Algorithm 1 '
                                f'(default: {SUBSET})', 'solver', metavar='NR', advanced=True)
    attempts: int | None = option(None, '--rule paper: shrink the ball after so many subsets without a row outside, '
                                  f'N_a of Algorithm 1 (default: {ATTEMPTS})', 'solver', metavar='NA', advanced=True)
    eps: float = option(1e-3, 'stop at this relative gap; --rule paper: eps of Algorithm 1', 'solver', advanced=True)

    def check(self) -> None:
        """Raise ValueError where the kernel is not normalised, or the rule cannot close a gap."""
        super().check()
        demand(self.normalise or KERNELS[self.kernel].of_distance,
               f'--kernel {self.kernel}: expected a normalised kernel, add --normalise')
        demand(self.chosen_rule != 'paper' or self.partitions == 1,
               '--partitions: cannot be used with --rule paper, which closes no gap, use --rule exact')
        for name in ('subset', 'attempts'):
            demand(getattr(self, name) is None or self.chosen_rule == 'paper',
                   f'--{name}: expected --rule paper, exact draws no subsets')


@dataclass(frozen=True)
class KELMOptions(KernelOptions):
    """Keep the parameters of MR-KELM; see `mr-elm train mr-kelm --help`.

    solver : cholesky, svd or cg; None takes cholesky where Omega fits into `memory` MB, else cg.
    emit : rows, tiles or entries; None takes rows where X fits into the cache of a task, else tiles.
    """

    method: str = 'mr-kelm'
    task: str = option('classification', 'what the labels are', choices=TASKS)
    class_weight: str | None = class_weight_option('')
    probabilities: bool = probabilities_option()
    threshold: str | None = threshold_option()
    intervals: bool = intervals_option()
    solver: str | None = option(None, 'cholesky, svd: store the kernel matrix; cg: recompute it in passes '
                                '(default: cholesky, or cg beyond --memory)',
                                'solver', SOLVERS)
    emit: str | None = option(None, 'cholesky, svd: how tasks send the kernel matrix. rows: whole rows, without a '
                              'shuffle; tiles: from columns, in tiles; entries: from columns, each number alone, as in '
                              'the paper (default: rows, or tiles if the rows do not fit into a task)',
                              'solver', ('rows', 'tiles', 'entries'), advanced=True)
    rank: int | None = option(None, 'svd: compute only R eigenvalues, by passes over the data; cg: the rank '
                              'of the preconditioner (default: twice the effective dimension, as --memory allows)',
                              'solver', metavar='R', advanced=True)
    tolerance: float = option(1e-8, 'cg: stop at this relative residual', 'solver', advanced=True)
    max_passes: int = option(200, 'cg: stop after so many passes', 'solver', advanced=True)
    leave_one_out: bool = option(False, 'cholesky, svd: print the leave-one-out score too', 'solver')
    memory: float = option(4000.0, 'memory of this process, for the kernel matrix or the preconditioner, and for rows '
                           'unless they stay on disk', 'solver', metavar='MB', advanced=True)

    def check(self) -> None:
        """Raise ValueError where an option belongs to another solver."""
        super().check()
        demand_classes(self.task, self.class_weight, self.probabilities)
        demand_threshold(self.threshold, self.probabilities)
        demand(not (self.leave_one_out and self.solver == 'cg'),
               '--leave-one-out: expected --solver cholesky or svd, cg has no closed form')
        demand_intervals(self.task, self.intervals)
        demand(not (self.holds_out and self.solver == 'cg'),
               f'{self.holds_out}: expected --solver cholesky or svd, cg has no closed form of leave-one-out')
        demand(not (self.emit and self.solver == 'cg'),
               '--emit: expected --solver cholesky or svd, cg never stores the kernel matrix')
        demand(not (self.emit and self.rank),
               '--emit: expected --solver svd without --rank, which finds a rank by passes that form no kernel matrix')
        demand(not (self.rank and self.solver in (None, 'cholesky')), '--rank: expected --solver svd or cg')
