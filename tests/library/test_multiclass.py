"""Machines of several classes from two-class ones."""

import numpy as np
import pytest
from reference import dual as twin

from mr_elm.machines.pairs import ClassScheme, fit_machines
from mr_elm.solvers.multiclass import class_numbers, count_votes, group_coefficients, machine_count


class Found:
    """Stand for a Result: row k of the machine's rows has alpha k % 3."""

    def __init__(self, rows):
        self.alpha, self.intercept, self.n_iter = np.arange(len(rows)) % 3, 0.0, 1


def test_the_vote_is_the_naive_vote_ties_included():
    rng = np.random.default_rng(0)
    decisions = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], (500, 10)) + rng.normal(0, 1e-3, (500, 10))
    assert np.array_equal(count_votes(decisions, 5)[2], twin.one_against_one(decisions, 5))


def test_pairs_see_their_classes_and_the_later_one_is_positive():
    codes = np.array([2, 0, 1, 2, 0])
    machines = list(ClassScheme(3).list_machines(codes))
    assert [rows.tolist() for rows, _ in machines] == [[1, 2, 4], [0, 1, 3, 4], [0, 2, 3]]
    assert [targets.tolist() for _, targets in machines] == [[-1, 1, -1], [1, -1, 1, -1], [1, -1, 1]]


def test_one_against_all_sees_every_row():
    codes = np.array([2, 0, 1, 2, 0])
    machines = list(ClassScheme(3, 'one-vs-all').list_machines(codes))
    assert len(machines) == machine_count(3, 'one-vs-all') == 3
    assert all(np.array_equal(rows, np.arange(5)) for rows, _ in machines)
    assert np.array_equal(machines[2][1], [1, -1, -1, 1, -1])


@pytest.mark.parametrize('scheme', ['one-vs-one', 'one-vs-all'])
def test_rows_of_several_machines_are_kept_once(scheme):
    codes = np.random.default_rng(1).integers(0, 4, 60)
    joined = fit_machines(codes, ClassScheme(4, scheme), lambda rows, targets: Found(rows))
    assert len(np.unique(joined.support)) == len(joined.support) and (np.diff(joined.support) > 0).all()
    for p, (rows, targets) in enumerate(ClassScheme(4, scheme).list_machines(codes)):
        full = np.zeros(60)
        full[joined.support] = joined.dual_coef[:, p]
        assert np.array_equal(full[rows], Found(rows).alpha * targets)
        assert not np.delete(full, rows).any()


def test_two_classes_have_one_machine_and_a_tie_goes_to_the_first():
    assert machine_count(2, 'one-vs-one') == machine_count(2, 'one-vs-all') == 1
    assert class_numbers(np.array([[0.0], [1e-9], [-1e-9]]), 2, 'one-vs-one').tolist() == [0, 1, 0]


def test_one_class_and_unknown_schemes_are_refused():
    with pytest.raises(ValueError, match='one class'):
        ClassScheme(1)
    with pytest.raises(ValueError, match="expected one-vs-one or one-vs-all, found 'all'"):
        ClassScheme(2, 'all')


def test_the_coefficients_of_each_class_are_all_that_are_not_zero():
    codes = np.random.default_rng(2).permutation(np.repeat(np.arange(4), 9))
    joined = fit_machines(codes, ClassScheme(4), lambda rows, targets: Found(rows))
    rebuilt = np.zeros_like(joined.dual_coef)
    for rows, columns in group_coefficients(joined.dual_coef, 4):
        assert len(columns) == 3
        rebuilt[np.ix_(rows, columns)] = joined.dual_coef[np.ix_(rows, columns)]
    assert np.array_equal(rebuilt, joined.dual_coef)
    assert group_coefficients(np.ones((1, 6)), 4) == group_coefficients(np.ones((3, 1)), 2) == []
