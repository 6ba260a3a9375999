"""Measure PESVM against bare arithmetic and against its peers, on one thread.

Every ratio is that of the least processor seconds of runs in turn; only training on two cores is timed by wall clock.
"""
import io
from dataclasses import astuple
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from benchmarks.bench.context import QUICK, Bench
from benchmarks.bench.sets import judge_set, judge_sets, race, warm_up
from benchmarks.tables.peers import HPELM
from benchmarks.timing import (
    compare,
    judge_ratio,
    measure_in_turn,
    measure_peak_memory,
    measure_processor,
    processor_seconds,
    read_stage_seconds,
    run_mr_elm,
)
from benchmarks.verdict import COUNTED, FASTER, Claim, at_least, at_most
from mr_elm.data.generators import generate, write_rows
from mr_elm.estimators import ESVMClassifier
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes
from mr_elm.json_file import write_json
from mr_elm.model_parts import layer_arrays
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.store import save_arrays
from mr_elm.streaming.mr_gram import MRGram
from mr_elm.sums.gram import GridSteps
from mr_elm.typing import Floats

D, L = 50, 1000
MEGABYTES = 160  # of a training on packed rows: 85 are Python and its libraries, 33 a block, 30 sums


class Files:
    """Make the data sets that the measurements need, once."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @cache  # noqa: B019 - lives as long as the program
    def csv(self, n: int) -> Path:
        """Return a csv file of n NDC rows."""
        path = self.folder / f'{n}.csv'
        write_rows(generate('ndc', n, D, 1), path)
        return path

    @cache  # noqa: B019 - lives as long as the program
    def packed(self, n: int) -> Path:
        """Return a packed folder of n NDC rows."""
        run_mr_elm('pack', self.csv(n), '-o', self.folder / f'{n}.packed')
        return self.folder / f'{n}.packed'

    def model(self) -> Path:
        """Return a name for a model."""
        return self.folder / 'model.npz'


def train(path: Path, files: Files, *options: object) -> str:
    """Train from the command line; returns what it said."""
    return run_mr_elm('train', 'pesvm', path, '--hidden', L, '--model', files.model(), '--overwrite', *options)


def run_bare_arithmetic(X: Floats, y: Floats, W: Floats) -> None:
    """Do what any program must: multiply, apply the sigmoid, update symmetrically."""
    G = np.zeros((L + 2, L + 2), order='F')
    for i in range(0, len(X), 4096):
        Z = np.empty((len(X[i:i + 4096]), L + 2))
        np.matmul(X[i:i + 4096], W, out=Z[:, :L])
        apply_sigmoid(Z[:, :L])
        Z[:, L], Z[:, L + 1] = -1, y[i:i + 4096]
        dsyrk(1.0, Z.T, beta=1.0, c=G, overwrite_c=1)


def apply_sigmoid(Z: Floats) -> None:
    """Write 1 / (1 + exp(-z)) in the place of Z, as a short script does."""
    np.negative(Z, out=Z)
    np.exp(Z, out=Z)
    Z += 1
    np.reciprocal(Z, out=Z)


def run_bare_script(path: Path, W: Floats) -> None:
    """Parse, then the bare arithmetic."""
    rows = np.loadtxt(path, delimiter=',')
    run_bare_arithmetic(rows[:, 1:], rows[:, 0], W)


def choose_rows(bench: Bench) -> int:
    """Return how many rows are usual."""
    return bench.pick(20_000, 200_000)


def compare_map(bench: Bench) -> list[Claim]:
    """Time the map task of the Gram job, from csv to its last emitted tile."""
    files, n = bench.shared(Files), choose_rows(bench)
    path = files.csv(n)
    plan = plan_inputs([str(path)], RowOptions())
    layer = draw_layer(D)
    job = MRGram(args=['--mapper', '--step-num=0', '--planned-splits', '--layer', str(save_layer(layer, files.folder)),
                       '--grid', write_json(str(files.folder / 'grid.json'), astuple(GridSteps.of(1.0))),
                       '--plan', write_json(str(files.folder / 'plan.json'), plan.to_json())])
    split = f'[[0, 0, {plan.size}]]\n'.encode()

    def run() -> None:
        job.sandbox(stdin=io.BytesIO(split))
        job.run_mapper()

    row = compare(f'map stage, {n:,} x {D} csv, against the bare script', run,
                  lambda: run_bare_script(path, layer.weights.T), at_most(1.25))
    emitted = len(job.stdout.getvalue())
    bound = 8 * (L + 1 + 2) * (L + 2 + 2) / 2
    return [row, Claim('bytes that a map task sends divided by the size of its sums', emitted / bound, at_most(2.8),
                       COUNTED, f'{emitted:,} bytes')]


def draw_layer(d: int) -> HiddenLayer:
    """Draw a hidden layer for standardised rows."""
    return HiddenLayer('sigmoid', *draw_nodes('sigmoid', L, d), np.zeros(d), np.ones(d))


def save_layer(layer: HiddenLayer, folder: Path) -> Path:
    """Write a layer as the Gram job reads it; the path of layer.npz."""
    save_arrays(folder / 'layer.npz', {'parameters': {'map': layer.kind, 'sigma': 1.0}, 'n_features': layer.n_features},
                layer_arrays(layer))
    return folder / 'layer.npz'


def compare_commands(bench: Bench) -> list[Claim]:
    """Time the command line inline, from packed rows and from csv."""
    files, n = bench.shared(Files), choose_rows(bench)
    path, packed, W = files.csv(n), files.packed(n), draw_layer(D).weights.T
    rows = np.loadtxt(path, delimiter=',')
    X, y = np.ascontiguousarray(rows[:, 1:]), rows[:, 0]
    return [compare('train inline from packed rows, against the bare arithmetic', lambda: train(packed, files),
                    lambda: run_bare_arithmetic(X, y, W), at_most(1.15)),
            compare('train inline from csv, against the bare script', lambda: train(path, files),
                    lambda: run_bare_script(path, W), at_most(1.2))]


def compare_cores(bench: Bench) -> list[Claim]:
    """Time -r local on two cores against inline."""
    if bench.size == QUICK:
        return []
    files, n = bench.shared(Files), 2_000_000
    packed = files.packed(n)
    stages: dict[str, list[float]] = {'inline': [], 'local': []}

    def run(runner: str, *options: str) -> None:
        stages[runner].append(read_stage_seconds(train(packed, files, '-r', runner, *options), 'Gram'))

    ours, reference = measure_in_turn([lambda: run('local', '--num-cores', '2'), lambda: run('inline')], 2)
    return [judge_ratio(f'train with -r local on 2 cores, {n:,} packed rows, times faster than inline', ours,
                        reference, at_least(1.5)),
            judge_ratio('the same, Gram job alone', stages['local'], stages['inline'], at_least(1.7))]


def compare_peers(bench: Bench) -> list[Claim]:
    """Compare fits with those of hpelm and scikit-learn on every set, with as many nodes."""
    rows: list[Claim] = []
    for peer, make_peer in PEERS.items():
        results = list(race(lambda d, make_peer=make_peer: {
            '': (ESVMClassifier(n_hidden=L, scale='none'), make_peer(d))}, bench))
        rows += judge_sets(results, f'PESVM on all sets, times faster than {peer}, geometric mean', FASTER)
        rows += [judge_set(result, 'PESVM', peer) for result in results]
    return rows


def compare_peers_on_many_rows(bench: Bench) -> list[Claim]:
    """Compare fits with those of the same peers on many generated rows."""
    n = choose_rows(bench)
    rows: list[Claim] = []
    X, y = (np.concatenate(part) for part in zip(*generate('ndc', n, D, 1), strict=True))
    for peer, make_peer in PEERS.items():
        pair = ESVMClassifier(n_hidden=L, scale='none'), make_peer(D)
        warm_up(pair)
        ours, theirs = measure_processor([partial(estimator.fit, X, y) for estimator in pair])
        rows.append(judge_ratio(f'PESVM on {n:,} x {D} NDC, times faster than {peer}', ours, theirs, FASTER))
    return rows


def make_sampler(n_features: int) -> Any:
    """Return as many random features and a ridge regression of scikit-learn."""
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline
    return make_pipeline(RBFSampler(n_components=L, gamma=1 / n_features, random_state=0), RidgeClassifier())


PEERS = {**({'hpelm': lambda n_features: HPELM(L)} if find_spec('hpelm') else {}),
         'RBFSampler + RidgeClassifier': make_sampler}


def compare_memory(bench: Bench) -> list[Claim]:
    """Compare the peak memory of few and of ten times as many rows."""
    files, sizes = bench.shared(Files), bench.pick((20_000, 200_000), (100_000, 1_000_000))
    options = ('--hidden', L, '--model', files.model(), '--overwrite')
    packs = [files.packed(n) for n in sizes]
    runs = measure_in_turn(packs, 2, lambda rows: measure_peak_memory('train', 'pesvm', rows, *options))
    small, large = map(min, runs)
    return [Claim('peak memory at {1:,} rows divided by that at {0:,} rows'.format(*sizes), large / small,
                  at_most(1.05), runs, f'{large / 1e6:.0f} MB against {small / 1e6:.0f} MB'),
            Claim(f'peak memory at {sizes[1]:,} rows, in MB', large / 1e6, at_most(MEGABYTES), runs[1:])]


def check_linear(bench: Bench) -> list[Claim]:
    """Check that time grows with the rows alone."""
    if bench.size == QUICK:
        return []
    files, sizes = bench.shared(Files), (100_000, 300_000, 1_000_000)
    packs = [files.packed(n) for n in sizes]
    runs = measure_in_turn(packs, measure=lambda path: processor_seconds(lambda: train(path, files)))
    a, b, c = map(min, runs)
    growth = (c - b) / (b - a) / 3.5
    note = f'{a:.2f} s, {b:.2f} s, {c:.2f} s'
    return [Claim('(T({2:,}) - T({1:,})) / (T({1:,}) - T({0:,})) / 3.5'.format(*sizes), growth, at_most(1.1), runs,
                  note),
            Claim('the same, from below', growth, at_least(0.9), runs, note)]


PARTS = {'map': compare_map, 'end-to-end': compare_commands, 'two-cores': compare_cores, 'peers': compare_peers,
         'many-rows': compare_peers_on_many_rows, 'memory': compare_memory, 'linear': check_linear}
