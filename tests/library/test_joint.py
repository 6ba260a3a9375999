"""A sample chooses a joint machine: leaves and landmarks in one ridge, judged by rows held out."""

from dataclasses import replace

import numpy as np
import pytest

from mr_elm.features.forest import write_indicators
from mr_elm.features.landmarks import Landmarks
from mr_elm.machines.choose import choose_candidates, prepare_problem
from mr_elm.machines.joint import (
    JointSums,
    choose_joint,
    count_held,
    cross_fit,
    place_landmarks,
)
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import PESVMOptions
from mr_elm.machines.sample import SampleRows, merge_copies, order_rows
from mr_elm.solvers.ridge import JITTER
from mr_elm.solvers.trees import Bins, TreeOptions, grow_forest
from mr_elm.sums.gram import expand
from mr_elm.sums.statistics import ColumnStatistics
from mr_elm.sums.summary import Summary


def prepare(X, numbers, n_classes=0, weights=None):
    """Return the problem of rows in memory, and these in the order of the search."""
    rows = SampleRows.of(X, numbers, n_classes, weights)
    rows = rows.take(order_rows(rows, 0))
    problem = NodeProblem(
        PESVMOptions(method='auto', map='nystrom'), Summary(ColumnStatistics.of(X), n_rows=len(X)), None
    )
    return prepare_problem(problem, rows), rows


def test_copies_of_a_row_are_merged_where_their_targets_are_equal_too():
    X, T = np.array([[1.0, 2], [1, 2], [1, 2], [3, 4]]), np.array([0.0, 1, 0, 1])
    first, weights = merge_copies(X, T, None)
    assert sorted(zip(X[first, 0], T[first], weights, strict=True)) == [(1, 0, 2), (1, 1, 1), (3, 1, 1)]


def test_the_order_of_rows_follows_from_the_rows_and_copies_are_spread(rng):
    X = np.repeat(rng.normal(size=(50, 2)), 8, axis=0)
    rows = SampleRows.of(X, np.arange(400) % 2, 2)
    order = order_rows(rows, 0)
    mixed = rng.permutation(400)
    again = rows.take(mixed)
    assert (again.X[order_rows(again, 0)] == X[order]).all() and (again.T[order_rows(again, 0)] == rows.T[order]).all()
    assert not (order_rows(rows, 1) == order).all()
    copies = [np.flatnonzero((X[order] == row).all(axis=1)) for row in np.unique(X, axis=0)]
    assert np.mean([np.diff(places).mean() for places in copies]) > 20  # evenly spread it were 50


def test_every_class_has_its_share_of_the_rows_in_front(rng):
    labels = np.r_[np.zeros(700, int), np.ones(299, int), 2]
    rows = SampleRows.of(rng.normal(size=(1000, 2)), labels, 3)
    numbers = rows.T[order_rows(rows, 0)].argmax(axis=1)
    assert sorted(numbers[:3]) == [0, 1, 2]
    for n in (100, 250, 600):
        assert abs(np.mean(numbers[:n] == 1) - 0.299) < 0.015


@pytest.mark.parametrize('weighted', [False, True])
def test_sums_of_a_sample_are_those_of_dense_rows(rng, weighted):
    X, weights = rng.normal(size=(400, 3)), rng.uniform(0.5, 2, 400) if weighted else None
    problem, rows = prepare(X, np.sin(X[:, 0]), weights=weights)
    held, grown = rows.take(slice(0, 100)), rows.take(slice(100, None))
    forest = grow_forest(Bins.of(grown.X), grown.T, grown.weights, TreeOptions(5, 8, fewest=5))
    nodes = place_landmarks(problem, 30)
    sums = JointSums.of(forest, nodes, grown, held)
    mu, lam = 2.0, 0.1
    w = np.ones(300) if weights is None else grown.weights
    E = np.empty((300, forest.n_leaves + 31))
    write_indicators(forest.find_leaves(grown.X), E[:, : forest.n_leaves])
    E[:, forest.n_leaves :] = expand(nodes, grown.X)
    P = np.diag(np.r_[np.full(forest.n_leaves, mu), np.zeros(30), 1e-6])
    K = nodes.evaluate(problem.summary.landmarks[:30], np.empty((30, 30)))
    P[forest.n_leaves : -1, forest.n_leaves : -1] = lam * (K + JITTER * np.eye(30))
    mean = np.average(grown.T, axis=0, weights=w)
    B = np.linalg.solve(P + E.T @ (w[:, None] * E), E.T @ (w[:, None] * (grown.T - mean)))
    assert np.allclose(sums.solve(mu, lam), B, atol=1e-6)
    assert sums.score(mu, lam)[0] == pytest.approx(
        np.average(((sums.predict(B) - held.T) ** 2)[:, 0], weights=held.weights)
    )
    half = sums.take(forest.take(2), 10)
    assert np.allclose(half.gram, JointSums.of(forest.take(2), nodes.take(10), grown, held).gram)


def test_landmarks_are_the_first_rows_by_hash(rng):
    X = rng.normal(size=(300, 2))
    problem, _ = prepare(X, X[:, 0])
    landmarks = Landmarks(300, 0)
    landmarks.add(X)
    scaled = (landmarks.rows - X.mean(axis=0)) / X.std(axis=0)
    assert np.allclose(place_landmarks(problem, 20).weights, scaled[:20])
    assert np.allclose(place_landmarks(problem, 20, 20).weights, scaled[20:40])
    assert np.allclose(place_landmarks(problem, 200, 200).weights, scaled[100:])


def test_trees_help_where_steps_are_and_landmarks_where_surfaces_are_smooth(rng):
    X = rng.uniform(-2, 2, size=(1500, 3))
    t = np.where(X[:, 0] > 0.3, 2.0, 0.0) + np.sin(3 * X[:, 1]) * np.cos(2 * X[:, 2])
    problem, rows = prepare(X, t)
    choice = choose_joint(problem, rows)
    n_held = count_held(len(rows))
    held, grown = rows.take(slice(0, n_held)), rows.take(slice(n_held, None))
    nodes = place_landmarks(choice.design.kind.problem, 250)
    landmarks_alone = JointSums.of(None, nodes, grown, held).score(0.0, choice.design.landmark_ridge)[0]
    forest = grow_forest(Bins.of(grown.X), grown.T, None, TreeOptions(32, 32, fewest=20))
    nothing = place_landmarks(choice.design.kind.problem, 1)
    leaves_alone = JointSums.of(forest, nothing, grown, held).score(choice.design.leaf_ridge, 1.0)[0]
    joint = min(choice.errors)
    assert joint < 0.8 * landmarks_alone and joint < 0.8 * leaves_alone
    assert np.mean((choice.predict(choice.design) - held.T) ** 2) < 0.05


def test_a_machine_of_few_rows_is_not_flattered_by_trees_that_have_seen_its_labels(rng):
    X, labels = rng.normal(size=(200, 6)), rng.integers(0, 2, 200)
    problem, rows = prepare(X, labels, 2)
    best = choose_candidates(problem, rows)[0]
    found = cross_fit(problem, rows, best)
    right = (found.values[:, 0] > 0) == (rows.T[:, 0] > 0)
    assert 0.35 < right.mean() < 0.65
    assert found.problem.options.map == 'leaves+nystrom' and found.layer.n_leaves <= 320
    assert cross_fit(problem, rows, best, n_nodes=300) is None
    assert cross_fit(problem, rows.take(slice(0, 19)), best) is None


def test_folds_of_few_rows_choose_ridges_for_new_rows(rng):
    X = rng.uniform(-2, 2, size=(800, 6))
    t = np.where(X[:, 0] > 0.3, 2.0, 0.0) + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=800)
    problem, rows = prepare(X[:300], t[:300])
    best = max(choose_candidates(problem, rows)[:3], key=lambda each: each.value)
    found = cross_fit(problem, rows, best)
    expected, before = (np.mean((each.values - rows.T) ** 2) for each in (found, best))
    design = found.problem.options
    sums = JointSums.of(found.layer.forest, found.layer.nodes, rows, SampleRows.of(X[300:], t[300:], 0))
    B = sums.solve(design.leaf_ridge / design.nu, 1 / design.nu)
    values = rows.mean + rows.deviation * sums.predict(B)
    error = np.mean((values[:, 0] - t[300:]) ** 2) / rows.deviation[0] ** 2
    assert 0.6 * expected < error < 1.4 * expected < 1.4 * before


def test_a_second_machine_joins_where_size_does_not_pay(rng):
    X = rng.normal(size=(1200, 4))
    problem, rows = prepare(X, X[:, 0] + 2 * rng.normal(size=1200))
    choice = choose_joint(problem, rows)
    assert choice.ratio > 0.96
    first, second = choice.size(10, 50)
    assert second.first_landmark == 50 and second.trees.seed != first.trees.seed and second.trees.row_share == 0.6
    assert replace(choice, ratio=0.5).size(10, 50) == [first]


def test_what_rows_held_out_say_is_of_machines_of_the_size_that_is_trained(rng):
    X = rng.normal(size=(1200, 4))
    problem, rows = prepare(X, np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=1200))
    choice, n_held = choose_joint(problem, rows), count_held(len(rows))
    held, grown = rows.take(slice(0, n_held)), rows.take(slice(n_held, None))
    designs = [*replace(choice, ratio=1.0).size(3, 20), *replace(choice, ratio=1.0).size(70, 600)]
    for design in designs:
        layer = design.make_layer(Bins.of(grown.X), grown)
        assert layer.forest.n_trees == design.trees.n_trees and layer.n_hidden - layer.n_leaves == design.n_landmarks
        sums = JointSums.of(layer.forest, layer.nodes, grown, held)
        error, values = sums.score(design.leaf_ridge, design.landmark_ridge)
        assert np.allclose(choice.predict(design), values, atol=1e-9)
        if design is designs[0]:  # its ridges are not those of the larger machine
            assert error <= sums.score(choice.design.leaf_ridge, choice.design.landmark_ridge)[0]
