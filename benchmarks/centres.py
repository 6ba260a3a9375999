"""Draw how the error falls with the number of landmarks, beside Nystroem and Ridge of scikit-learn on the same ones.

    python -m benchmarks.centres OUT.png [SET]...

The first three quarters of the rows, in random order, train, and the others test. A fifth of the training rows chooses
width and nu, for scikit-learn alpha, by 1,000 landmarks. Processor seconds of one thread are of training, from text:
both programs read the same file. Of repeated runs the fastest counts.
"""
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

from benchmarks.public_sets import read_set
from benchmarks.timing import judge_ratio
from benchmarks.verdict import Claim, at_most, tabulate
from mr_elm.arithmetic import one_thread
from mr_elm.cli import main as run
from mr_elm.figures.figure import open_figure
from mr_elm.models import read_model
from mr_elm.solvers.shared.multiclass import class_targets
from mr_elm.typing import Floats

SETS = 'covtype-20k', 'letter'
CENTRES = 500, 1000, 2000, 3000, 5000, 10000
CHOSEN_BY = 1000
SCALES = 1.0, 2.0, 4.0
NUS = [10.0**power for power in range(9)]
ALPHAS = [10.0**power for power in range(-8, 1)]
MOST_OF_PEER = 2000  # landmarks of scikit-learn, whose decomposition of their kernel matrix takes longer and longer
REPEATED, REPEATS = 3000, 3  # with up to so many landmarks, each training runs so many times
PEER, OURS = 'Nystroem + Ridge', 'mr-elm train pesvm'


@dataclass(frozen=True)
class Part:
    """Hold rows, dense, with class numbers, and the file of LIBSVM text that has them."""

    X: Floats
    y: np.ndarray
    path: str

    @classmethod
    def write(cls, folder: str, name: str, X: Any, y: np.ndarray) -> 'Part':
        """Write rows."""
        path = str(Path(folder, f'{name}.libsvm'))
        dump_svmlight_file(X, y, path, zero_based=False)
        return cls(X.toarray(), y, path)


@dataclass(frozen=True)
class Point:
    """Hold what was measured of one program at a number of landmarks: the share of wrong labels, and seconds a run."""

    name: str
    centres: int
    error: float
    runs: list[float]

    @property
    def seconds(self) -> float:
        """Return the seconds of the fastest run."""
        return min(self.runs)


def train(rows: Part, test: Part, centres: int, scale: float, nu: float) -> tuple[Point, Any]:
    """Train by the command line: a Point, and the model."""
    model, start = f'{rows.path}.npz', time.process_time()
    run(['train', 'pesvm', rows.path, '--map', 'nystrom', '--weight-scale', str(scale), '--nu', str(nu), '--hidden',
         str(centres), '--n-features', str(rows.X.shape[1]), '--model', model, '--overwrite', '--quiet'])
    seconds, found = time.process_time() - start, read_model(model)
    return Point(OURS, centres, float((found.predict(test.X) != test.y).mean()), [seconds]), found


def train_peer(rows: Part, test: Part, model: Any, alpha: float) -> Point:
    """Train scikit-learn on the landmarks of a model."""
    landmarks, sigma = model.layer.dense_weights, model.header.parameters['sigma']
    start = time.process_time()
    X, y = load_svmlight_file(rows.path, n_features=rows.X.shape[1])
    nodes = Nystroem(gamma=0.5 / sigma**2, n_components=len(landmarks), random_state=0).fit(landmarks)
    ridge = Ridge(alpha=alpha).fit(nodes.transform(model.layer.place_rows(X)),
                                   class_targets(y.astype(int), len(model.classes)))
    seconds = time.process_time() - start
    values = ridge.predict(nodes.transform(model.layer.place_rows(test.X))).reshape(len(test.y), -1)
    return Point(PEER, len(landmarks), float((model.decide(values) != test.y).mean()), [seconds])


def choose(measure: Callable[..., Point], candidates: Any) -> Any:
    """Return the candidate of the least error."""
    return min(candidates, key=lambda candidate: measure(*candidate).error)


def measure_set(name: str, folder: str) -> Iterator[Point]:
    """Yield the Points of a set."""
    X, labels = read_set(name)
    y, order = np.unique(labels, return_inverse=True)[1], np.random.default_rng(0).permutation(len(labels))
    cuts = [int(share * len(y)) for share in (0.6, 0.75)]
    first, held, rest = np.split(order, cuts)
    few, tuning, rows, test = (Part.write(folder, f'{name}-{part}', X[taken], y[taken]) for part, taken in (
        ('first', first), ('held', held), ('train', order[:cuts[1]]), ('test', rest)))
    scale, nu = choose(lambda *given: train(few, tuning, CHOSEN_BY, *given)[0], product(SCALES, NUS))
    model = train(few, tuning, CHOSEN_BY, scale, nu)[1]
    alpha, = choose(partial(train_peer, few, tuning, model), [(alpha,) for alpha in ALPHAS])
    print(f'{name}: weight scale {scale:g}, nu {nu:g}, alpha {alpha:g}', flush=True)
    for centres in CENTRES:
        ours, theirs = [], []
        for _ in range(REPEATS if centres <= REPEATED else 1):
            point, model = train(rows, test, centres, scale, nu)
            ours.append(point)
            if centres <= MOST_OF_PEER:
                theirs.append(train_peer(rows, test, model, alpha))
        yield from (join_runs(points) for points in (ours, theirs) if points)


def join_runs(points: list[Point]) -> Point:
    """Make one Point of the runs of one training, which all end with the same error."""
    return replace(points[0], runs=[point.seconds for point in points])


def judge_same_errors(name: str, points: list[Point]) -> Iterator[Claim]:
    """Compare, for each training of the peer, its seconds with those of our fastest one that is as good."""
    for peer in (point for point in points if point.name == PEER):
        good = [point for point in points if point.name == OURS and point.error <= peer.error]
        title = f'{name}: at most the error of {PEER} with {peer.centres:,} landmarks'
        if not good:
            yield Claim(title, None, at_most(1.0), [peer.runs])
            continue
        ours = min(good, key=lambda point: point.seconds)
        yield judge_ratio(title, ours.runs, peer.runs, at_most(1.0), f'by {ours.centres:,} landmarks')


def main(out: str, *names: str) -> None:
    """Measure sets, print a line a point, and draw the figure."""
    points: dict[str, list[Point]] = {}
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder, one_thread():
        for name in names or SETS:
            points[name] = []
            for point in measure_set(name, folder):
                points[name].append(point)
                print(f'{name:12} {point.name:20} {point.centres:6,} landmarks {point.error:8.2%} wrong '
                      f'{point.seconds:8.1f} s', flush=True)
    print(tabulate([claim for name, found in points.items() for claim in judge_same_errors(name, found)]))
    draw(points, out)


def draw(points: dict[str, list[Point]], path: str) -> None:
    """Draw error and seconds against the number of landmarks, a row of panels for each set."""
    with open_figure(path, rows=len(points), columns=2, dpi=80, figsize=(10, 3.6 * len(points)),
                     squeeze=False) as (_, panels):
        for (name, found), (left, right) in zip(points.items(), panels, strict=True):
            draw_panel(left, found, 'error', f'{name}: share of wrong labels')
            draw_panel(right, found, 'seconds', f'{name}: processor seconds of the training')
            left.yaxis.set_major_formatter('{x:.0%}')
            left.set_ylim(bottom=0)
            right.set_yscale('log')


def draw_panel(axes: Any, points: list[Point], field: str, title: str) -> None:
    """Draw one number of all points, a curve for each program."""
    for name, mark in ((OURS, 'o-'), (PEER, 's--')):
        curve = [(point.centres, getattr(point, field)) for point in points if point.name == name]
        axes.plot(*zip(*curve, strict=True), mark, label=name)
    axes.set(xscale='log', xlabel='landmarks', title=title)
    from matplotlib.ticker import NullLocator
    axes.set_xticks(CENTRES, [f'{centres:,}' for centres in CENTRES])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(alpha=0.3)
    axes.legend()


if __name__ == '__main__':
    main(*sys.argv[1:])
