"""Draw what leaves of trees and what landmarks give: the error of each alone, and of both in one ridge regression.

    python docs/figures/joint.py OUT.png

The targets are a sum of steps and of a smooth surface; the figure is over the share of the steps in their variance.
"""

import sys

import numpy as np

from mr_elm.features.forest import Forest
from mr_elm.features.hidden import HiddenLayer
from mr_elm.figures.figure import open_figure
from mr_elm.machines.choose import prepare_problem
from mr_elm.machines.joint import JointSums, choose_joint, count_held, place_landmarks
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import PESVMOptions
from mr_elm.machines.sample import SampleRows, order_rows
from mr_elm.solvers.trees import Bins, TreeOptions, grow_forest
from mr_elm.sums.statistics import ColumnStatistics
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats

N, D, N_TESTED, NOISE = 6000, 6, 4000, 0.2
TREES, LANDMARKS = 64, 500
RIDGES = 10.0 ** np.arange(-4, 4)
KINDS = {'leaves alone': '#888888', 'landmarks alone': '#3b7dd8', 'joint machine': '#d1495b'}


def draw_targets(X: Floats, share: float) -> Floats:
    """Return targets of variance 1: steps have this share of it, a smooth surface the rest."""
    steps = np.sign(X[:, 0] - 0.4) + np.sign(X[:, 1] + 0.2) * (X[:, 2] > 0)
    smooth = np.sin(2 * X[:, 3]) + X[:, 4] * X[:, 5] / 2
    return np.sqrt(share) * steps / steps.std() + np.sqrt(1 - share) * smooth / smooth.std()


def measure(share: float) -> dict[str, float]:
    """Return the mean squared error of the targets, which have no noise, on new rows by each kind of nodes."""
    rng = np.random.default_rng(0)
    X, X_test = rng.uniform(-2, 2, (N, D)), rng.uniform(-2, 2, (N_TESTED, D))
    rows = SampleRows.of(X, draw_targets(X, share) + NOISE * rng.standard_normal(N), 0)
    rows = rows.take(order_rows(rows, 0))
    tested = SampleRows(X_test, ((draw_targets(X_test, share) - rows.mean) / rows.deviation)[:, None])
    problem = prepare_problem(
        NodeProblem(PESVMOptions(map='nystrom'), Summary(ColumnStatistics.of(X), n_rows=N), None), rows
    )
    design = choose_joint(problem, rows).design
    forest = grow_forest(Bins.of(rows.X), rows.T, None, TreeOptions(TREES))
    nodes = place_landmarks(design.kind.problem, LANDMARKS)
    n_held = count_held(N)
    held, grown = rows.take(slice(0, n_held)), rows.take(slice(n_held, None))
    few = place_landmarks(design.kind.problem, 1)

    def choose(trees: Forest | None, layer: HiddenLayer) -> tuple[float, float]:
        """Return the best mu and lam of a machine, each the same number: only one of them counts."""
        sums = JointSums.of(trees, layer, grown, held)
        ridge = min(RIDGES, key=lambda ridge: sums.score(ridge, ridge)[0])
        return ridge, ridge

    machines = {
        'leaves alone': (forest, few, choose(forest, few)),
        'landmarks alone': (None, nodes, choose(None, nodes)),
        'joint machine': (forest, nodes, (design.leaf_ridge, design.landmark_ridge)),
    }
    return {
        name: JointSums.of(trees, layer, rows, tested).score(*ridges)[0]
        for name, (trees, layer, ridges) in machines.items()
    }


def main(path: str, shares: Floats) -> None:
    """Measure, print a line a share, and draw the figure."""
    errors = []
    for share in shares:
        errors.append(measure(share))
        print(f'steps {share:5.0%}  ' + '  '.join(f'{name} {error:.4f}' for name, error in errors[-1].items()))
    with open_figure(path, figsize=(6.4, 3.6)) as (_, axes):
        for name, colour in KINDS.items():
            axes.plot(100 * shares, [error[name] for error in errors], 'o-', color=colour, label=name)
        axes.set_yscale('log')
        axes.set_xlabel('share of steps in the variance of the targets, %; the rest is smooth')
        axes.set_ylabel('squared error / variance')
        axes.legend(frameon=False)


if __name__ == '__main__':
    main(sys.argv[1], np.linspace(0, 1, 9))
