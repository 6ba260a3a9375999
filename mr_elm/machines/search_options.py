"""List the options of each search for parameters once: candidates and how they are scored; see `options`."""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

from mr_elm.errors import DataFormatError
from mr_elm.features.kernels import KERNELS
from mr_elm.features.nodes import LANDMARK_NODES
from mr_elm.machines.options import RANDOM_NODES, parameters_of
from mr_elm.machines.shared_options import (
    ROWS,
    WEIGHTS,
    demand,
    landmarks_option,
)
from mr_elm.option import option
from mr_elm.scores.selection import GRIDS, NodeChoice, candidates

GRID = 'grid'
OF_GRID = 'values to try, in place of the grid: 0.1,1,10'


def sample_option(use: str) -> Any:
    """Make the option that takes a part of the rows."""
    return option(None, f'{use} about N rows only, chosen by a hash', GRID)


def folds_option() -> Any:
    """Make the option that says how many folds there are."""
    return option(5, 'folds of the cross-validation', GRID, metavar='K')


def table_option(what: str) -> Any:
    """Make the option that names a file for a table."""
    return option(None, f'where to write all {what}', GRID, metavar='OUT.csv')


def figure_option(what: str) -> Any:
    """Make the option that names a file for a figure."""
    return option(None, f'where to draw {what}', GRID, metavar='OUT.png')


@dataclass(frozen=True)
class KernelSearch:
    """Keep candidates of kernel parameters and C: a grid, or lists in the place of its own."""

    draws_targets: ClassVar[bool] = False
    kernel: str = option('gaussian', '{choices}', GRID, KERNELS, metavar='NAME')
    grid: str = option(
        'coarse',
        'coarse: five widths around the default of train, five C; paper: the 14 x 14 of Bai et al.',
        GRID,
        GRIDS,
    )
    sigma: tuple[float, ...] | None = option(None, OF_GRID, GRID)
    degree: tuple[float, ...] | None = option(None, 'values to try, in place of the grid: 2,3', GRID, advanced=True)
    C: tuple[float, ...] | None = option(None, OF_GRID, GRID)
    sample: int | None = sample_option('tune on')
    table: str | None = table_option('scores')
    figure: str | None = figure_option('the accuracy over the grid')

    @property
    def kernels(self) -> list[dict[str, float]] | None:
        """Return the kernel parameters that were listed, such as {'sigma': 2.0}, or None."""
        lists = {'sigma': self.sigma, 'degree': self.degree}
        return [{name: value} for name, values in lists.items() for value in values or ()] or None

    def candidates(self, variance: float) -> tuple[list[dict], list[float]]:
        """Return the kernel parameters and the C to score: those that were listed, else those of the grid.

        variance : of the scaled rows, v.
        """
        kind = KERNELS.get(self.kernel, KERNELS['linear'])  # random nodes have no parameter either
        kernels, C_values = candidates(self.grid, kind, variance)
        return self.kernels or kernels, sorted(self.C or C_values)

    def choose_share(self, name: str, n_rows: int, memory: float, row_pair_bytes: int, need: str) -> float:
        """Return the share of the rows to tune on. Raises DataFormatError when they do not fit into memory.

        name : of the data set. memory : of a task, in MB. row_pair_bytes : kept for each two rows. need : what these
        are, for the message.
        """
        room = int(math.sqrt(memory * 1e6 / row_pair_bytes))
        if self.sample is None:
            n = n_rows
        else:
            n = min(self.sample, n_rows)
        if n > room:
            raise DataFormatError(
                f'{name}: at most {room:,} rows have {need} --memory {memory:g} MB, {n:,} came: '
                f'tune on a part of them (--sample {room}), or raise --memory'
            )
        return n / n_rows

    @property
    def of_training(self) -> dict[str, Any]:
        """Return the options of the training that the search fixes."""
        return {'kernel': self.kernel}

    def check(self) -> None:
        """Raise ValueError where candidates do not fit the kernel."""
        for name in ('sigma', 'degree'):
            demand(
                getattr(self, name) is None or name in parameters_of(self.kernel),
                f'--{name}: expected a parameter of {self.kernel}',
            )


@dataclass(frozen=True)
class DualSearch(KernelSearch):
    """Keep what to search by cross-validation."""

    folds: int = folds_option()

    def check(self) -> None:
        """Raise ValueError where candidates do not fit the kernel, or there is one fold."""
        super().check()
        demand(self.folds != 1, '--folds: expected at least 2 folds, found 1')


@dataclass(frozen=True)
class BoxSearch(DualSearch):
    """Keep what to search for machines that take random nodes too."""

    kernel: str = option(
        'gaussian',
        f'{", ".join(KERNELS)}, or random nodes as in train',
        GRID,
        (*KERNELS, *RANDOM_NODES),
        metavar='NAME',
    )


@dataclass(frozen=True)
class KELMSearch(KernelSearch):
    """Keep what to search by leave-one-out."""

    memory: float = option(
        4000.0, 'memory of a task, for a kernel matrix and its eigenvectors', metavar='MB', advanced=True
    )

    @property
    def of_training(self) -> dict[str, Any]:
        """Return the options of the training that the search fixes."""
        return {'kernel': self.kernel, 'memory': self.memory}


@dataclass(frozen=True)
class NodeSearch:
    """Keep what to search over hidden nodes: lists of kinds, nu and L, and how they are scored."""

    draws_targets: ClassVar[bool] = True
    map: tuple[str, ...] = option(
        ('sigmoid',), 'hidden nodes to try: {choices} (default: sigmoid)', GRID, (*RANDOM_NODES, 'nystrom')
    )
    kernel: tuple[str, ...] = option(
        ('gaussian',),
        '--map nystrom: kernels to try, {choices} (default: gaussian)',
        GRID,
        LANDMARK_NODES,
        advanced=True,
    )
    landmarks: str = landmarks_option(GRID)
    weight_scale: tuple[float, ...] = option((0.5, 1.0, 2.0), 'values to try (default: 0.5,1,2)', GRID)
    nu: tuple[float, ...] = option(
        tuple(10.0**k for k in range(-4, 8)), 'values to try (default: 1e-4,1e-3,...,1e7)', GRID
    )
    hidden: tuple[int, ...] = option(
        tuple(range(100, 1001, 100)), 'numbers of nodes to try (default: 100,200,...,1000)', GRID
    )
    folds: int = folds_option()
    weights: str = option('normal', 'how nodes are drawn', GRID, WEIGHTS, advanced=True)
    class_weight: str | None = option(
        None, 'balanced: every class has the same total weight', GRID, ('balanced',), advanced=True
    )
    sample: int | None = sample_option('search on')
    memory: float = option(2000.0, 'memory for the sums of a task', GRID, metavar='MB', advanced=True)
    table: str | None = table_option('combinations with their scores')
    figure: str | None = figure_option('the error over nu, L and the scale')

    @property
    def of_training(self) -> dict[str, Any]:
        """Return the options of the training that the search fixes."""
        if self.landmarks == ROWS:
            nodes = {}
        else:
            nodes = {'map': 'nystrom', 'landmarks': self.landmarks}
        return {'weights': self.weights, 'class_weight': self.class_weight, 'memory': self.memory, **nodes}

    @property
    def kinds(self) -> tuple[NodeChoice, ...]:
        """Return all kinds of nodes to try; the kernel is one of landmarks only."""
        nodes = [(map, kernel) for map in self.map for kernel in (self.kernel if map == 'nystrom' else ('gaussian',))]
        return tuple(NodeChoice(map, scale, kernel) for (map, kernel), scale in product(nodes, self.weight_scale))

    def check(self) -> None:
        """Raise ValueError when there is one fold, or a kernel or landmarks without --map nystrom."""
        demand(
            self.kernel == ('gaussian',) or 'nystrom' in self.map,
            f'--kernel {",".join(self.kernel)}: expected --map nystrom, found {",".join(self.map)}',
        )
        demand(
            self.landmarks == ROWS or 'nystrom' in self.map,
            f'--landmarks {self.landmarks}: expected --map nystrom, found {",".join(self.map)}',
        )
        demand(self.folds != 1, '--folds: expected at least 2 folds, found 1')
