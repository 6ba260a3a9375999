"""A sample of the rows depends on the rows and the seed alone."""

import numpy as np
import pytest

from mr_elm.drivers.sample import gather_sample
from mr_elm.drivers.summary import NodeInputs
from mr_elm.engines import make_engine
from mr_elm.errors import DataFormatError
from mr_elm.machines.options import PESVMOptions
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions

N = 400


@pytest.fixture
def rows(rng, write, csv_of):
    """Write rows of two classes, the second with twice as many: (path, X, labels)."""
    X, labels = rng.normal(size=(N, 3)), np.arange(N) % 3 > 0
    return write('rows.csv', csv_of(labels * 1, X)), X, labels


def sample(path, n_rows, *words, seed=0, **options):
    data = DataSet(plan_inputs([str(path)], RowOptions()), make_engine('inline', words))
    return gather_sample(NodeInputs.learn(data, PESVMOptions(seed=seed, **options)), n_rows)


def test_a_sample_is_some_of_the_rows_with_their_labels_in_input_order(rows):
    path, X, labels = rows
    found = sample(path, 100)
    numbers = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in found.X]
    assert 60 < len(found) < 140 and numbers == sorted(set(numbers))
    assert (found.numbers == labels[numbers]).all() and (found.weights == 1).all()
    weighted = sample(path, 100, class_weight='balanced')
    assert np.allclose(weighted.weights, np.where(labels[numbers], N / (2 * labels.sum()), N / (2 * (~labels).sum())))


def test_neither_splits_nor_the_order_of_the_rows_change_it_and_the_seed_does(rows, write):
    path, _, _ = rows
    found = sample(path, 100)
    assert (sample(path, 100, '-D', 'mapreduce.job.maps=3').X == found.X).all()
    back = write('back.csv', ''.join(path.read_text().splitlines(keepends=True)[::-1]))
    assert (sample(back, 100).X[::-1] == found.X).all()
    assert sample(path, 100, seed=1).X.tolist() != found.X.tolist()


def test_a_sample_of_more_rows_than_there_are_is_all_rows(rows):
    path, X, _ = rows
    assert (sample(path, 10 * N).X == X).all()


def test_an_empty_sample_is_explained(rows):
    with pytest.raises(DataFormatError, match='expected rows in a sample of about 0.0001, found none'):
        sample(rows[0], 1e-4)
