"""Scaling: z = (x - offset) * scale, harmless whatever a column holds."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from mr_elm.features.nodes import draw_nodes
from mr_elm.features.scaling import ScaledMoments, choose_scaling, scale_rows
from mr_elm.sums.statistics import ColumnStatistics

X = np.random.default_rng(0).standard_normal((200, 4)) * [1, 1e-6, 1e6, 3] + [0, 5, 1e7, 0]
X[:, 3] = np.where(np.abs(X[:, 3]) > 2, X[:, 3], 0)
ORACLES = {'standard': StandardScaler(), 'minmax': MinMaxScaler((-1, 1))}


@pytest.mark.parametrize('kind', ORACLES)
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_scaled_columns_are_those_of_scikit_learn(kind, wrap):
    offset, scale = choose_scaling(kind, ColumnStatistics.of(wrap(X)))
    assert np.allclose((X - offset) * scale, ORACLES[kind].fit_transform(X), rtol=1e-7, atol=1e-8)


def test_none_leaves_everything_as_it_is():
    offset, scale = choose_scaling('none', ColumnStatistics.of(X))
    assert np.array_equal((X - offset) * scale, X)


@pytest.mark.parametrize('kind', ORACLES)
@pytest.mark.parametrize('value', [0.0, 0.1, -1e9, 1 / 3 * 1e9, 1e300, 5e-324])
@pytest.mark.parametrize('n', [1, 3, 1000])
@pytest.mark.filterwarnings('ignore:overflow')
def test_a_constant_feature_becomes_zero(kind, value, n):
    column = np.full((n, 1), value)
    offset, scale = choose_scaling(kind, ColumnStatistics.of(column))
    assert not ((column - offset) * scale).any() and np.isfinite(scale).all() and offset == value


@pytest.mark.parametrize('kind', ORACLES)
@pytest.mark.parametrize(
    'column', [[0, 5e-324], [0, 1e-310], [0, 1e-160], [-1e150, 1e150], [1e9, np.nextafter(1e9, 2e9)]]
)
def test_an_extreme_feature_stays_finite(kind, column):
    column = np.array(column)[:, None]
    offset, scale = choose_scaling(kind, ColumnStatistics.of(column))
    with np.errstate(over='raise', invalid='raise') if kind == 'minmax' else np.errstate(all='ignore'):
        z = (column - offset) * scale
    assert np.isfinite(z).all() and (np.abs(z) <= 2).all()  # 2: the middle of neighbours is one of them


TOO_LARGE = [[1e308, 1e308, 1, 2], [-1e308, 1e308, 0, 1], [1.79e308, 1, 2, 3], [1e155, 0, 0, 1]]


@pytest.mark.parametrize('column', TOO_LARGE)
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
def test_minmax_takes_a_column_whose_sums_overflow_and_the_others_refuse_it(column, wrap):
    X = np.column_stack([np.arange(4.0), column])
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        statistics = ColumnStatistics.of(wrap(X))
        offset, scale = choose_scaling('minmax', statistics)
        z = (X - offset) * scale
        for kind in 'standard', 'none':
            with pytest.raises(ValueError, match=r'column 1 \(counted from 0\): .* found numbers as large as 1'):
                choose_scaling(kind, statistics)
    assert np.allclose(z.min(axis=0), [-1, -1]) and np.allclose(z.max(axis=0), [1, 1])


def test_sums_that_overflow_only_together_are_seen():
    parts = [ColumnStatistics.of(np.array([[value], [value / 2]])) for value in (1e154, -1.2e154)]
    choose_scaling('standard', parts[0])
    with pytest.raises(ValueError, match='too large to scale'):
        choose_scaling('standard', parts[0].merge(parts[1]))


@pytest.mark.parametrize(
    'power, largest, what', [(2, 1e153, 'squares'), (4, 1e76, 'kernel values'), (12, 1e25, 'kernel values')]
)
def test_powers_that_a_kernel_adds_up_stay_in_the_range_of_float64(power, largest, what):
    choose_scaling('none', ColumnStatistics.of(np.array([[largest], [0]])), power=power)
    said = (
        f'expected numbers whose {what} can be .* too large to scale: .* else divide the column by a constant, or use'
    )
    with pytest.raises(ValueError, match=said):
        choose_scaling('none', ColumnStatistics.of(np.array([[20 * largest], [0]])), power=power)


@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize('offset', [np.zeros(4), np.array([0, 5, 0, 1.0])], ids=['no offset', 'offset'])
@pytest.mark.parametrize('scale', [np.ones(4), np.array([1, 2, 1, 0.5])], ids=['no scale', 'scale'])
def test_rows_are_scaled_by_their_formula_and_stay_sparse_where_zeros_do(wrap, offset, scale):
    rows = wrap(X)
    Z = scale_rows(rows, offset, scale)
    assert sp.issparse(Z) == (sp.issparse(rows) and not offset.any())
    assert np.array_equal(Z.toarray() if sp.issparse(Z) else Z, (X - offset) * scale)
    assert np.array_equal(rows.toarray() if sp.issparse(rows) else rows, X)


def measure(kind, statistics, indicators=None):
    return ScaledMoments.of(kind, statistics, choose_scaling(kind, statistics, indicators), indicators)


@pytest.mark.parametrize('kind', [*ORACLES, 'none'])
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    'weights', [None, np.random.default_rng(1).integers(1, 4, 200).astype(float)], ids=['plain', 'weighted']
)
def test_v_is_the_sum_of_the_variances_of_scaled_rows(kind, wrap, weights):
    rows = np.column_stack([X / [1, 1e-6, 1e6, 1], np.full(200, 7.0)])
    statistics = ColumnStatistics.of(wrap(rows), weights)
    moments, (offset, scale) = measure(kind, statistics), choose_scaling(kind, statistics)
    repeated = np.repeat((rows - offset) * scale, 1 if weights is None else weights.astype(int), axis=0)
    assert np.allclose(moments.means, repeated.mean(axis=0), rtol=1e-8, atol=1e-8)
    assert np.allclose(moments.variances, repeated.var(axis=0), rtol=1e-9)
    assert moments.total_variance == pytest.approx(repeated.var(axis=0).sum(), rel=1e-11)
    assert moments.measure(2) ** 2 == pytest.approx(moments.total_variance)
    if kind == 'standard':
        assert moments.total_variance == moments.measure(1) == 4.0  # without rounding


def test_indicators_spread_by_p_times_1_minus_p():
    """Two rows differ in an indicator with the probability 2 p (1 - p)."""
    rng = np.random.default_rng(0)
    codes = rng.choice(30, 500, p=np.arange(1, 31) / 465)
    rows = np.column_stack([rng.normal(5, 3, 500), np.eye(31)[codes]])
    moments = measure('standard', ColumnStatistics.of(rows), np.arange(32) > 0)
    shares = np.bincount(codes, minlength=30) / 500
    assert moments.total_variance == pytest.approx(1 + (shares * (1 - shares)).sum(), rel=1e-11)
    first, second = np.eye(30)[codes[rng.integers(0, 500, (2, 100_000))]]
    assert moments.measure(1) == pytest.approx(1 + np.abs(first - second).sum(axis=1).mean(), rel=0.01)


@pytest.mark.parametrize('column', TOO_LARGE)
def test_no_feature_varies_more_than_half_its_range_also_where_squares_overflow(column):
    moments = measure('minmax', ColumnStatistics.of(np.column_stack([np.arange(4.0), column])))
    assert (moments.variances <= 1).all()


@pytest.mark.parametrize('kind', [*ORACLES, 'none'])
def test_rows_that_are_all_equal_have_the_width_1(kind):
    moments = measure(kind, ColumnStatistics.of(np.full((9, 3), 4.2)))
    assert moments.total_variance == moments.measure(1) == moments.measure(2) == 1.0
    assert np.isfinite(draw_nodes('sigmoid', 5, 3, moments=moments)[0]).all()


def test_the_order_in_which_statistics_are_merged_does_not_change_the_width():
    parts = [ColumnStatistics.of(part) for part in np.array_split(X / [1, 1e-6, 1e6, 1], 7)]
    forth, back = parts[0], parts[-1]
    for one, other in zip(parts[1:], parts[-2::-1], strict=True):
        forth, back = forth.merge(one), back.merge(other)
    assert measure('none', forth).total_variance == measure('none', back).total_variance


def test_nodes_are_as_large_as_the_rows_spread():
    """Pre-activations have deviation s; centres of rbf nodes are spread like the rows."""
    rng, s = np.random.default_rng(3), 0.7
    Z = rng.standard_normal((500, 12)) * rng.uniform(0.05, 4, 12) + rng.normal(size=12)
    moments = measure('none', ColumnStatistics.of(Z))
    W, b = draw_nodes('sigmoid', 20_000, 12, weight_scale=s, moments=moments)
    assert (Z @ W.T).var(axis=0).mean() == pytest.approx(s**2, rel=0.05) and np.abs(b).max() <= s
    centres, widths = draw_nodes('rbf', 20_000, 12, weight_scale=s, moments=moments)
    assert np.allclose(centres.mean(axis=0), Z.mean(axis=0), atol=0.1)
    assert np.allclose(centres.std(axis=0), Z.std(axis=0), rtol=0.03)
    sigma = np.sqrt(Z.var(axis=0).sum()) / s
    assert np.allclose([widths.min(), widths.max()], 2 * sigma**2 * np.array([0.5, 1.5]), rtol=1e-3)
