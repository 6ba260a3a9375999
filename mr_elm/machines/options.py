"""List the options of each method: name, type, default, range and help; see `option_fields`."""

from dataclasses import dataclass

from mr_elm.errors import warn_of_leaves
from mr_elm.features.kernels import KERNELS
from mr_elm.features.nodes import (
    LANDMARK_NODES,
    LEAVES,
    MAPS,
    MAPS_OF_LEAVES,
    NODES,
    has_leaves,
    name_nodes,
    part_map,
)
from mr_elm.machines.shared_options import (
    N_HIDDEN,
    ROWS,
    SOLVER,
    CentredOptions,
    MetricOptions,
    NodeOptions,
    TargetOptions,
    TrainingOptions,
    demand,
    landmarks_option,
    rule_option,
)
from mr_elm.option import option
from mr_elm.solvers.box import ATTEMPTS, SUBSET
from mr_elm.solvers.choose_solver import choose_rule
from mr_elm.solvers.multiclass import SCHEMES

RANDOM_NODES = tuple(kind for kind in MAPS if kind not in ('nystrom', 'identity'))
N_LEAVES, LEAF_RIDGE = 2048, 100.0
SOLVERS = ('cholesky', 'svd', 'cg')  # of the kernel ELM
GRAM, PASSES = NODE_SOLVERS = 'gram', 'passes'  # of pesvm and elm
MOST_GRAM_NODES = 5000  # of a Gram, unless the user asks for it: every task sends L^2 numbers


@dataclass(frozen=True)
class PESVMOptions(CentredOptions, MetricOptions, NodeOptions):
    """Keep the parameters of PESVM; see `mr-elm train pesvm --help`.

    method : pesvm; elm: the same without the bias r, where nu is called C; auto: a machine that it has chosen.
    """

    method: str = 'pesvm'
    map: str = option(
        'sigmoid',
        f'hidden nodes: {", ".join(MAPS)}; identity: the scaled features; leaves: of boosted '
        'trees; leaves+NAME: leaves, then nodes of the kind NAME',
        '{method}',
        (*MAPS, *MAPS_OF_LEAVES),
        metavar='NAME',
    )
    kernel: str = option(
        'gaussian', '--map nystrom: the kernel, {choices}', '{method}', LANDMARK_NODES, metavar='NAME', advanced=True
    )
    landmarks: str = landmarks_option('{method}')
    leaves: int = option(
        N_LEAVES,
        '--map leaves: how many leaves at most, 32 of each tree; the trees grow on a sample of the rows',
        '{method}',
        metavar='N',
        advanced=True,
        tuned=False,
    )
    leaf_ridge: float = option(
        LEAF_RIDGE,
        '--map leaves: penalty of the weight of a leaf, divided by that of another node',
        '{method}',
        metavar='R',
        advanced=True,
        tuned=False,
    )
    nu: float = option(1.0, 'weight of the errors against the size of the output weights', '{method}')
    solver: str | None = option(
        None,
        'gram: sum up one matrix of L x L numbers, which update and forget need; passes: '
        'conjugate gradients, each step one pass over the rows, no task has such a matrix '
        f'(default: gram up to L = {MOST_GRAM_NODES:,}, if --memory allows)',
        SOLVER,
        NODE_SOLVERS,
        advanced=True,
        tuned=False,
    )
    tolerance: float | None = option(
        None,
        "passes: stop at this residual, relative to |E'T| (default: 1e-4, or 1e-6 "
        'for a regression, where T is the targets without their mean)',
        SOLVER,
        advanced=True,
        tuned=False,
    )
    max_passes: int = option(200, 'passes: stop after so many', SOLVER, advanced=True, tuned=False)
    memory: float = option(
        4000.0,
        'memory of this process for matrices of L x L numbers',
        SOLVER,
        metavar='MB',
        advanced=True,
    )

    def check(self) -> None:
        """Raise ValueError for nodes that there cannot be."""
        super().check()
        for other_map, nodes in (('identity', 'the features'), ('', 'leaves')):
            demand(
                self.n_hidden == N_HIDDEN or self.other_map != other_map,
                f'--hidden: cannot be used with --map {self.map}, whose nodes are {nodes}',
            )
        for name, default in (('kernel', 'gaussian'), ('landmarks', ROWS)):
            value = getattr(self, name)
            demand(
                self.other_map == 'nystrom' or value == default,
                f'--{name} {value}: expected --map nystrom, found {self.map}',
            )
        demand(
            self.has_leaves or (self.leaves, self.leaf_ridge) == (N_LEAVES, LEAF_RIDGE),
            f'--leaves, --leaf-ridge: expected --map leaves, or leaves and other nodes, found {self.map}',
        )
        demand(
            self.map != LEAVES or self.metric == 'none',
            '--metric: cannot be used with --map leaves, trees compare the features as they are',
        )
        demand(
            self.solver == PASSES or self.tolerance is None,
            '--tolerance: expected --solver passes, a Gram is solved exactly',
        )
        demand(self.tolerance is None or self.tolerance < 1, '--tolerance: expected a number below 1')
        demand(
            self.metric == 'none' or self.other_map not in NODES or NODES[self.other_map].slope is not None,
            f'{self.other_map}: cannot be used with --metric, these nodes have no slope to learn a metric by',
        )
        if self.has_leaves and self.holds_out:
            warn_of_leaves(self.holds_out)

    @property
    def has_leaves(self) -> bool:
        """Tell whether leaves of trees are nodes."""
        return has_leaves(self.map)

    @property
    def other_map(self) -> str:
        """Return the map of the nodes beside leaves, '' where there are none."""
        return part_map(self.map)

    @property
    def node_kind(self) -> str:
        """Return what the nodes beside leaves compute, a key of NODES."""
        return name_nodes(self.map, self.kernel)

    @property
    def n_landmarks(self) -> int:
        """Return how many rows the statistics are to choose as landmarks."""
        if self.other_map == 'nystrom' and self.landmarks == ROWS:
            return self.n_hidden
        return 0

    @property
    def bias(self) -> bool:
        """Tell whether there is a bias r."""
        return self.method != 'elm'


@dataclass(frozen=True)
class ELMOptions(PESVMOptions):
    """Keep the parameters of the unified ELM; see `mr-elm train elm --help`."""

    method: str = 'elm'
    map: str = option(
        'sigmoid',
        'hidden nodes: {choices}; identity: the scaled features themselves, as in the linear machine',
        '{method}',
        MAPS,
        metavar='NAME',
    )
    leaves: int = N_LEAVES
    leaf_ridge: float = LEAF_RIDGE
    nu: float = option(
        1.0,
        'weight of the errors against the size of the output weights',
        '{method}',
        flag='--C',
    )


def read_budget(text: str | int | None) -> tuple[int | None, float | None]:
    """Read a budget: (number of nodes, None), or (None, seconds) with an s behind the number; (None, None) of none.

    Raises ValueError where it is neither.
    """
    if text is None:
        return None, None
    number = str(text).removesuffix('s')
    demand(
        number.isdecimal() and int(number) > 0,
        '--budget: expected a number of leaves and landmarks, such as 2000, '
        f'or of seconds, such as 60s, found {str(text)!r}',
    )
    if number != str(text):
        return None, float(number)
    return int(number), None


@dataclass(frozen=True)
class AutoOptions(TargetOptions):
    """Keep the parameters of the method that chooses its machines; see `mr-elm train auto --help`."""

    method: str = 'auto'
    scale: str = 'standard'
    budget: str | None = option(
        None,
        '2000: at most so many leaves and landmarks together in a machine; 60s: for each machine, as many as one core '
        'trains in about 60 seconds, by a fixed formula; the choice of machines is not counted (default: 4s)',
        'auto',
        metavar='N|Ts',
    )
    keep_sums: bool = option(False, 'keep the sums of the rows beside the model, for update, forget and merge', 'auto')

    def check(self) -> None:
        """Raise ValueError where options contradict each other."""
        super().check()
        read_budget(self.budget)

    @property
    def nodes(self) -> PESVMOptions:
        """Return the options of the machines that are compared."""
        return PESVMOptions(
            method=self.method,
            task=self.task,
            seed=self.seed,
            bad_rows=self.bad_rows,
            class_weight=self.class_weight,
            positive=self.positive,
        )


def parameters_of(kernel: str) -> tuple[str, ...]:
    """Return the names of the parameters of a kernel, none of random nodes."""
    if kernel in KERNELS:
        return KERNELS[kernel].parameters
    return ()


@dataclass(frozen=True)
class KernelOptions(TrainingOptions):
    """Keep what every training on a kernel is given."""

    kernel: str = option('gaussian', '{choices}', 'kernel', KERNELS, metavar='NAME')
    sigma: float | None = option(None, 'width of gaussian or laplacian (default: sqrt(v))', 'kernel')
    degree: int | None = option(
        None, 'polynomial: the degree in (1 + u.v)^degree (default: 3)', 'kernel', advanced=True
    )
    C: float = option(1.0, 'weight of the errors', 'kernel')

    def check(self) -> None:
        """Raise ValueError where a parameter belongs to another kernel."""
        super().check()
        parameters = parameters_of(self.kernel)
        expected = ', '.join(f'--{name}' for name in parameters) or 'no parameter'
        for name in ('sigma', 'degree'):
            demand(
                getattr(self, name) is None or name in parameters,
                f'--{name}: expected {expected} with --kernel {self.kernel}',
            )


PARTITIONED = 'rows beyond one reducer'


@dataclass(frozen=True)
class DualOptions(KernelOptions, NodeOptions):
    """Keep the parameters of the box-constrained dual, as of the sparse ELM; see `mr-elm train sparse-elm --help`."""

    method: str = 'sparse-elm'
    kernel: str = option(
        'gaussian',
        f'{", ".join(KERNELS)}, or random nodes: {", ".join(RANDOM_NODES)}',
        'kernel',
        (*KERNELS, *RANDOM_NODES),
        metavar='NAME',
    )
    C: float = option(1.0, 'bound of the dual variables', 'kernel')
    normalise: bool = False
    subset: int | None = None
    attempts: int | None = None
    rule: str | None = rule_option('sparse-elm')
    eps: float = option(1e-3, 'stop at this violation of the optimality conditions', SOLVER, advanced=True)
    max_iter: int | None = option(
        None, "stop after so many iterations (default: the solver's own limit)", SOLVER, metavar='N', advanced=True
    )
    multiclass: str = option(
        SCHEMES[0], 'how two-class machines decide between several classes', SOLVER, SCHEMES, advanced=True
    )
    memory: float = option(
        1000.0, 'memory of a task; half of it holds kernel values', SOLVER, metavar='MB', advanced=True
    )
    partitions: int = option(
        1,
        'train on more rows than one task holds: solve P parts of the rows, then add rows that '
        'violate the optimality conditions, until the duality gap over all rows is small',
        PARTITIONED,
        metavar='P',
        advanced=True,
    )
    gap: float = option(
        1e-3, 'with --partitions: stop at this duality gap, relative to the objective', PARTITIONED, advanced=True
    )

    @property
    def chosen_rule(self) -> str:
        """Return the rule that solves."""
        return choose_rule(self.method, self.rule, self.kernel in RANDOM_NODES)

    def check(self) -> None:
        """Raise ValueError where a parameter belongs to another kernel, or the rule to random nodes."""
        super().check()
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
    subset: int | None = option(
        None,
        f'--rule paper: rows in each random subset, N_r of Algorithm 1 (default: {SUBSET})',
        SOLVER,
        metavar='NR',
        advanced=True,
    )
    attempts: int | None = option(
        None,
        '--rule paper: shrink the ball after so many subsets without a row outside, '
        f'N_a of Algorithm 1 (default: {ATTEMPTS})',
        SOLVER,
        metavar='NA',
        advanced=True,
    )
    eps: float = option(1e-3, 'stop at this relative gap; --rule paper: eps of Algorithm 1', SOLVER, advanced=True)

    def check(self) -> None:
        """Raise ValueError where the kernel is not normalised, or the rule cannot close a gap."""
        super().check()
        demand(
            self.normalise or KERNELS[self.kernel].of_distance,
            f'--kernel {self.kernel}: expected a normalised kernel, add --normalise',
        )
        demand(
            self.chosen_rule != 'paper' or self.partitions == 1,
            '--partitions: cannot be used with --rule paper, which closes no gap, use --rule exact',
        )
        for name in ('subset', 'attempts'):
            demand(
                getattr(self, name) is None or self.chosen_rule == 'paper',
                f'--{name}: expected --rule paper, exact draws no subsets',
            )


@dataclass(frozen=True)
class KELMOptions(CentredOptions, KernelOptions):
    """Keep the parameters of MR-KELM; see `mr-elm train mr-kelm --help`.

    solver : cholesky, svd or cg; None takes cholesky where Omega fits into `memory` MB, else cg.
    emit : rows or entries.
    """

    method: str = 'mr-kelm'
    solver: str | None = option(
        None,
        'cg: recompute the kernel matrix in passes (default: cholesky, or cg beyond --memory)',
        SOLVER,
        SOLVERS,
        tuned=False,
    )
    emit: str = option(
        'rows',
        'cholesky, svd: how tasks send the kernel matrix. rows: whole rows, without a shuffle; entries: each number '
        "alone, computed from columns, as in the paper; with svd also U'T and V S^-1",
        SOLVER,
        ('rows', 'entries'),
        advanced=True,
        tuned=False,
    )
    rank: int | None = option(
        None,
        'cg: the rank of the preconditioner (default: twice the effective dimension, as --memory allows)',
        SOLVER,
        metavar='R',
        advanced=True,
        tuned=False,
    )
    tolerance: float = option(1e-8, 'cg: stop at this relative residual', SOLVER, advanced=True, tuned=False)
    max_passes: int = option(200, 'cg: stop after so many passes', SOLVER, advanced=True, tuned=False)
    leave_one_out: bool = option(
        False, 'cholesky, svd: print the leave-one-out score too', SOLVER, advanced=True, tuned=False
    )
    memory: float = option(
        4000.0,
        'memory of this process for the kernel matrix or the preconditioner, and as much again for the rows',
        SOLVER,
        metavar='MB',
        advanced=True,
    )

    def check(self) -> None:
        """Raise ValueError where an option belongs to another solver."""
        super().check()
        demand(
            not (self.leave_one_out and self.solver == 'cg'),
            '--leave-one-out: expected --solver cholesky or svd, cg has no closed form',
        )
        demand(
            not (self.emit == 'entries' and self.solver == 'cg'),
            '--emit entries: expected --solver cholesky or svd, cg never stores the kernel matrix',
        )
        demand(not self.rank or self.solver == 'cg', '--rank: expected --solver cg')
