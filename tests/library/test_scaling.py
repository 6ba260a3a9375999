"""Scaling: z = (x - offset) * scale, harmless whatever a column holds."""
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from mr_elm.features.scaling import choose_scaling, scale_rows
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


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match="expected one of standard, minmax, none, found 'robust'"):
        choose_scaling('robust', ColumnStatistics.of(X))


@pytest.mark.parametrize('kind', ORACLES)
@pytest.mark.parametrize('value', [0.0, 0.1, -1e9, 1 / 3 * 1e9, 1e300])
@pytest.mark.parametrize('n', [1, 3, 1000])
@pytest.mark.filterwarnings('ignore:overflow')
def test_a_constant_feature_becomes_zero(kind, value, n):
    column = np.full((n, 1), value)
    offset, scale = choose_scaling(kind, ColumnStatistics.of(column))
    assert not ((column - offset) * scale).any() and np.isfinite(scale).all()


@pytest.mark.parametrize('kind', ORACLES)
@pytest.mark.parametrize('column', [[0, 5e-324], [0, 1e-310], [0, 1e-160], [-1e308, 1e308],
                                    [1e9, np.nextafter(1e9, 2e9)]])
@pytest.mark.filterwarnings('ignore:overflow')
def test_an_extreme_feature_stays_finite(kind, column):
    column = np.array(column)[:, None]
    offset, scale = choose_scaling(kind, ColumnStatistics.of(column))
    with np.errstate(over='raise', invalid='raise') if kind == 'minmax' else np.errstate(all='ignore'):
        z = (column - offset) * scale
    if kind == 'minmax' and column.max() > 1e300:
        assert z.ravel() == pytest.approx([-1, 1])
    assert np.isfinite(z).all() and (np.abs(z) <= 2).all()  # 2: the middle of neighbours is one of them


@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize('offset', [np.zeros(4), np.array([0, 5, 0, 1.0])], ids=['no offset', 'offset'])
@pytest.mark.parametrize('scale', [np.ones(4), np.array([1, 2, 1, 0.5])], ids=['no scale', 'scale'])
def test_rows_are_scaled_by_their_formula_and_stay_sparse_where_zeros_do(wrap, offset, scale):
    rows = wrap(X)
    Z = scale_rows(rows, offset, scale)
    assert sp.issparse(Z) == (sp.issparse(rows) and not offset.any())
    assert np.array_equal(Z.toarray() if sp.issparse(Z) else Z, (X - offset) * scale)
    assert np.array_equal(rows.toarray() if sp.issparse(rows) else rows, X)
