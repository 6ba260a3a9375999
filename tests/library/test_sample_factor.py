"""The factor of a sample inverts its matrix; the solution on the sample follows from it."""

import numpy as np
import pytest

from mr_elm.errors import NumericalWarning
from mr_elm.features.hidden import HiddenLayer
from mr_elm.solvers.sample_factor import JITTERS, Sample, SampleGram, measure_rounding
from mr_elm.sums.gram import expand

L, D, N = 40, 3, 200


def make_layer(rng):
    """Draw wide landmarks: the values of their kernel are hardly less than 1, so that their mean weighs most."""
    return HiddenLayer('nystrom', rng.normal(size=(L, D)), np.full(L, 50.0), np.zeros(D), np.ones(D))


@pytest.mark.parametrize('bias', [True, False])
@pytest.mark.parametrize(('dtype', 'within'), [(np.float64, 1e-9), (np.float32, 1e-2)])
def test_it_inverts_the_matrix_of_the_sample_for_one_nu_after_another(rng, bias, dtype, within):
    layer, X, T, weights = make_layer(rng), rng.normal(size=(N, D)), rng.normal(size=(N, 2)), rng.uniform(0.1, 5, N)
    E = expand(layer, X)[:, : L + bias]
    gram, right = (E.T * weights) @ E / 0.25, (E.T * weights) @ T / 0.25
    found = SampleGram.sum_up(layer, Sample(X, T, weights, 0.25), bias, dtype)
    assert np.allclose(found.ET, right)
    for nu in (1, 1e-3, 1):
        wanted = np.linalg.solve(gram + np.eye(L + bias) / nu, right)
        assert np.abs(found.factor(nu).apply(right) - wanted).max() < within * np.abs(wanted).max()


def test_equal_rows_are_a_sample_too(rng):
    layer, X = make_layer(rng), np.ones((N, D))
    found = SampleGram.sum_up(layer, Sample(X, np.ones((N, 1)), np.ones(N), 1.0), dtype=np.float32)
    assert np.isfinite(found.factor(1e8).apply(found.ET)).all()


def test_a_matrix_that_rounding_makes_negative_gets_a_diagonal_and_a_warning(rng):
    layer = make_layer(rng)
    found = SampleGram.sum_up(layer, Sample(rng.normal(size=(N, D)), np.ones((N, 1)), np.ones(N), 1.0))
    (block,) = found.diagonal
    block -= 1e-11 * np.trace(block) * np.eye(L + 1)
    with pytest.warns(NumericalWarning, match='costs passes'):
        assert np.isfinite(found.factor(1e20).apply(found.ET)).all()


def test_the_rounding_of_float32_is_told_from_the_trace_of_the_matrix(rng):
    layer = make_layer(rng)
    sample = Sample(rng.normal(size=(N, D)), np.ones((N, 1)), np.full(N, 2.0), 0.5)
    trace = sum(np.trace(block) for block in SampleGram.sum_up(layer, sample).diagonal)
    assert measure_rounding(layer, sample) == pytest.approx(JITTERS[0] * np.finfo(np.float32).eps * trace)
