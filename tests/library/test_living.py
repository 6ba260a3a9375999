"""The machine of sums: one set of rules for rows that come, rows that leave, and machines that merge."""

from dataclasses import replace

import numpy as np
import pytest

from mr_elm.errors import AccountingError, ModelFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes
from mr_elm.machines.living import (
    Batch,
    LivingMachine,
    choose_grid,
    demand_same_nodes,
    join_classes,
    join_grids,
    steps_of,
)
from mr_elm.model.header import ModelHeader
from mr_elm.solvers.increment import sum_arrays
from mr_elm.solvers.ridge import TrainingRows, sum_up
from mr_elm.sums.gram import GridSteps
from mr_elm.sums.statistics import Classes, LabelTable

D, L = 3, 6
RNG = np.random.default_rng(1)
X = RNG.standard_normal((40, D))
LABELS = np.array(list('ab' * 14 + 'bc' * 6))
LAYER = HiddenLayer('sigmoid', *draw_nodes('sigmoid', L, D, 0), np.zeros(D), np.ones(D))
STEPS = GridSteps.of(1.0)


@pytest.fixture(autouse=True)
def same_blocks(monkeypatch):
    """Sum up all rows in the blocks of their batches, so that the same bits are to be expected."""
    monkeypatch.setattr('mr_elm.solvers.ridge.BLOCK_ROWS', 4)


def named(names):
    return Classes(list(names), [0] * len(names), [0.0] * len(names), {name: k for k, name in enumerate(names)})


def batch_of(rows, names, known, **more):
    """Make the Batch of some rows, for the classes `names` of which a machine knows `known`."""
    codes = np.array([names.index(label) for label in LABELS[rows]])
    sums = sum_up(LAYER, TrainingRows(X[rows], codes, named(names)), STEPS)
    return Batch(sums, STEPS, list(names), [names.index(name) for name in known], len(codes), **more)


def machine_of(rows, names, n_rejected=0, blas='one'):
    """Make the machine of some rows."""
    batch = batch_of(rows, names, names)
    header = ModelHeader(
        'pesvm',
        'classification',
        list(names),
        D,
        {'map': 'sigmoid', 'sigma': 1.0, 'nu': 2.0, 'grid': list(STEPS.steps), 'blas': [blas]},
        batch.n_rows,
        n_rejected,
        [{'action': 'train'}],
    )
    return LivingMachine(header, LAYER, batch.sums)


def bits(machine):
    return {name: part.tobytes() for name, part in sum_arrays(machine.sums).items()}, machine.header.classes


@pytest.fixture
def grown():
    """Make the machine of all rows, to whose two classes the rows of a third came."""
    return machine_of(slice(0, 28), 'ab').add(batch_of(slice(28, 40), 'abc', 'ab', rejected={'short': 2}))


def test_rows_that_come_bring_their_classes(grown):
    assert bits(grown) == bits(machine_of(slice(0, 40), 'abc'))
    assert (grown.header.n_rows_used, grown.header.n_rows_rejected) == (40, 2)
    assert grown.header.history[-1]['action'] == 'update'


def test_rows_that_leave_take_their_classes_along(grown):
    left = grown.forget(batch_of(slice(28, 40), 'abc', 'abc'))
    assert bits(left) == bits(machine_of(slice(0, 28), 'ab'))
    assert (left.header.n_rows_used, left.header.n_rows_rejected) == (28, 2)


def test_a_class_that_waits_for_its_first_row_stays():
    machine = machine_of(slice(0, 28), 'abz')
    assert machine.forget(batch_of(slice(0, 4), 'abz', 'abz')).header.classes == ['a', 'b', 'z']


@pytest.mark.parametrize(
    'rows, names, found',
    [
        (slice(28, 40), 'abc', r"expected rows of the model's classes, found \['c'\]"),
        (slice(0, 28), 'ab', 'cannot forget 28 rows: the model was trained on only 28'),
        (slice(0, 28, 2), 'ab', 'expected rows of at least two classes to be left, found 1'),
        (slice(29, 39, 2), 'abc', r"found \['c'\]"),
        ([0, 28, 30], 'ab', 'never part of the model'),
    ],
)
def test_rows_that_cannot_have_been_there_cannot_leave(rows, names, found):
    machine = machine_of(slice(0, 28), 'ab')
    batch = batch_of(rows, names, 'ab')
    if found == 'never part of the model':
        batch = replace(batch, sums=replace(batch.sums, gram=9 * batch.sums.gram))
    with pytest.raises(AccountingError, match=found):
        machine.forget(batch)


def test_machines_merge_to_that_of_all_rows():
    one, other = machine_of(slice(0, 28), 'ab', 1), machine_of(slice(28, 40), 'bc', 3, blas='other')
    merged = one.merge(other, named('abc'))
    assert bits(merged) == bits(machine_of(slice(0, 40), 'abc'))
    assert (merged.header.n_rows_used, merged.header.n_rows_rejected) == (40, 4)
    assert merged.header.parameters['blas'] == ['one', 'other']
    assert merged.header.history[-1]['rows_rejected'] == {'merged': 3}


def test_the_peak_is_that_of_the_largest_sums_ever(grown):
    peak = np.trace(grown.sums.gram)
    left = grown.forget(batch_of(slice(28, 40), 'abc', 'abc'))
    assert grown.peak == left.peak == peak > np.trace(left.sums.gram)
    assert machine_of(slice(0, 4), 'ab').merge(left, named('ab')).peak == peak


def test_nothing_of_a_machine_changes_when_another_is_made_of_it():
    machine = machine_of(slice(0, 28), 'ab')
    before = bits(machine), machine.header.to_json()
    machine.add(batch_of(slice(28, 40), 'abc', 'ab')).forget(batch_of(slice(0, 4), 'abc', 'abc')).solve()
    assert (bits(machine), machine.header.to_json()) == before


def test_machines_of_other_nodes_are_told_apart():
    one = machine_of(slice(0, 28), 'ab').solve()
    moved = replace(one, arrays={**one.arrays, 'hidden_biases': one.arrays['hidden_biases'] + 1})
    with pytest.raises(ModelFormatError, match='^b: expected the same hidden biases as in a, they differ$'):
        demand_same_nodes(one, moved, 'a', 'b')
    with pytest.raises(ModelFormatError, match='^b: expected method pesvm as in a, found elm$'):
        demand_same_nodes(one, replace(one, header=replace(one.header, method='elm')), 'a', 'b')
    demand_same_nodes(one, one, 'a', 'b')


def test_grids_are_the_finer_ones_while_these_hold_all_rows():
    fine, coarse = GridSteps(1.0, 2.0, 4.0), GridSteps(8.0, 1.0, 4.0)
    assert join_grids(fine, coarse, 2**34) == GridSteps(1.0, 1.0, 4.0)
    assert join_grids(fine, coarse, 2**36) == GridSteps(8.0, 2.0, 4.0)
    assert choose_grid(fine, coarse, 2**34) == fine
    assert choose_grid(fine, coarse, 2**36) == GridSteps(8.0, 2.0, 4.0)


def test_classes_keep_the_names_of_the_model():
    classes = join_classes(['1', '2'], LabelTable({'1.0': [5, [0, 0, 0]], '10': [7, [0, 0, 1]]}))
    assert (classes.names, classes.counts) == (['1', '2', '10'], [5, 0, 7])
    assert classes.index == {'1': 0, '1.0': 0, '2': 1, '10': 2}


def test_rows_too_large_for_the_grids_are_added_on_coarser_ones(grown):
    coarse = GridSteps(*(2.0**40 * step for step in STEPS.steps))
    batch = replace(batch_of(slice(0, 4), 'abc', 'abc'), steps=coarse)
    assert steps_of(grown.add(batch).header) == coarse
