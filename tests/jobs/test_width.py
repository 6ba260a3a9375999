"""The default width of kernels and nodes follows the rows: v, the sum of the variances of the scaled features."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from mr_elm.estimators import ESVMClassifier, KernelELMClassifier, SparseELMClassifier
from mr_elm.model.file import read_model

ENCODE = '--encode', 'auto', '--label-column', 'state'
WIDTHS = {  # words of a training -> its sigma
    'sparse-elm': lambda v: v**0.5,
    'oelm': lambda v: v**0.5,
    'sphere-svm': lambda v: v**0.5,
    'mr-kelm': lambda v: v**0.5,
    'pesvm --weight-scale 2': lambda v: v**0.5 / 2,
    'elm': lambda v: v**0.5,
    'sparse-elm --kernel laplacian': lambda v: v**0.5,
    'pesvm --map rff --weight-scale 0.5': lambda v: v**0.5 / 0.5,
    'pesvm --map nystrom --kernel laplacian --weight-scale 2': lambda v: v**0.5 / 2,
}


def draw(n, n_columns, n_categories, seed):
    """Draw a table: a number that decides the class, but for one category, and columns of text that mean nothing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {'x': rng.uniform(-1, 1, n).round(3)}
        | {f'c{j}': pd.Series(rng.integers(0, n_categories, n)).map('v{}'.format) for j in range(n_columns)}
    )
    turned = frame['c0'] == 'v0'
    return frame.assign(state=np.where((frame['x'] > -0.2) ^ turned, 'well', 'ill'))


def encode_by_hand(frame):
    """Return the encoded, standardised rows by pandas and numpy alone."""
    numbers = frame.select_dtypes('number')
    return np.hstack(
        [(numbers - numbers.mean()) / numbers.std(ddof=0), pd.get_dummies(frame.drop(columns=[*numbers, 'state']))]
    ).astype(float)


def sum_variances(Z, weights=None):
    mean = np.average(Z, axis=0, weights=weights)
    return float(np.average((Z - mean) ** 2, axis=0, weights=weights).sum())


@pytest.fixture(scope='module')
def table():
    return draw(160, 22, 19, 0)


@pytest.fixture
def train(here, tmp_path):
    """Train quietly: the Model."""

    def run(*words):
        here('train', *words, '--model', tmp_path / 'm.npz', '--overwrite', '-q')
        return read_model(tmp_path / 'm.npz')

    return run


@pytest.fixture
def written(table, tmp_path):
    """Write the table as CSV and as Parquet, and pack it."""
    table.to_csv(tmp_path / 'rows.csv', index=False)
    table.to_parquet(tmp_path / 'rows.parquet')
    return tmp_path


@pytest.mark.parametrize('words', WIDTHS)
def test_sigma_is_the_root_of_the_sum_of_the_variances(words, train, table, written):
    method, *options = words.split()
    wanted = WIDTHS[words](sum_variances(encode_by_hand(table)))
    found = train(method, written / 'rows.csv', *ENCODE, *options).header.parameters['sigma']
    assert found == pytest.approx(wanted, rel=1e-11)


def test_the_width_of_the_norm_1_adds_up_mean_differences(train, table, written):
    Z = encode_by_hand(table)
    model = train(
        'pesvm',
        written / 'rows.csv',
        *ENCODE,
        '--map',
        'nystrom',
        '--kernel',
        'product-laplacian',
        '--weight-scale',
        2,
        '--hidden',
        50,
    )
    differences = np.abs(Z[:, None, 1:] - Z[None, :, 1:]).sum(axis=2).mean()  # of indicators
    assert model.header.parameters['sigma'] == pytest.approx((1 + differences) / 2, rel=1e-11)


@pytest.mark.parametrize('method', ['sparse-elm', 'pesvm'])
def test_all_formats_splits_and_estimators_have_the_same_sigma(method, train, here, table, written, maps):
    here('pack', written / 'rows.csv', *ENCODE, '-o', written / 'pack', '-q')
    kind = {'sparse-elm': SparseELMClassifier, 'pesvm': ESVMClassifier}[method]
    fitted = kind(encode='auto').fit(table.drop(columns='state'), table['state']).to_model()
    models = [
        train(method, written / 'rows.parquet', *ENCODE),
        train(method, written / 'pack'),
        train(method, written / 'rows.csv', *ENCODE, *maps(3)),
        fitted,
    ]
    wanted = train(method, written / 'rows.csv', *ENCODE).header.parameters['sigma']
    assert [model.header.parameters['sigma'] for model in models] == [wanted] * len(models)


@pytest.mark.parametrize('scale', ['standard', 'minmax', 'none'])
@pytest.mark.parametrize('weighted', [False, True], ids=['plain', 'weighted'])
def test_sparse_rows_count_with_their_zeros_and_weights(scale, weighted, train, write, libsvm_of, csv_of):
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 5, (90, 6)) * (rng.random((90, 6)) < 0.3)
    X[:, 5] = 0.0
    y, weights = (X[:, 0] > 0) * 1, rng.integers(1, 5, 90).astype(float)
    if weighted:
        rows = write('rows.csv', csv_of(y, np.column_stack([weights, X])))
    else:
        rows = write('rows.libsvm', libsvm_of(y, X))
    w = weights if weighted else None
    Z = {
        'standard': (X - np.average(X, axis=0, weights=w))
        / np.maximum(np.sqrt(np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w)), 1e-9),
        'minmax': 2 * X / np.maximum(X.max(axis=0), 1e-9) - 1,
        'none': X,
    }[scale]
    words = (*(('--weight-column', 1) if weighted else ('--n-features', 6)), '--scale', scale)
    model = train('mr-kelm', rows, *words)
    assert model.header.parameters['sigma'] ** 2 == pytest.approx(sum_variances(Z, w), rel=1e-11)
    fitted = KernelELMClassifier(scale=scale).fit(X, y, w)
    assert fitted.to_model().header.parameters['sigma'] == model.header.parameters['sigma']


def test_standardised_rows_without_constant_columns_have_the_width_of_their_number(train, write, csv_of, rng):
    X = rng.normal(size=(60, 7)) * np.arange(1, 8)
    path = write('rows.csv', csv_of((X[:, 0] > 0) * 1, X))
    assert train('mr-kelm', path).header.parameters['sigma'] == 7**0.5
    assert train('pesvm', path).header.parameters['sigma'] == np.sqrt(7)


def test_other_rows_keep_the_sigma_of_the_first_ones(here, train, table, written):
    draw(200, 22, 19, 8).to_csv(written / 'more.csv', index=False)
    first = train('pesvm', written / 'rows.csv', *ENCODE, '--map', 'nystrom', '--hidden', 30)
    for ending in 'npz', 'sums.npz':
        (written / f'm.{ending}').rename(written / f'first.{ending}')
    other = train('pesvm', written / 'more.csv', '--label-column', 'state', '--like', written / 'first.npz')
    sigma = first.header.parameters['sigma']
    assert other.header.parameters['sigma'] == sigma
    assert np.array_equal(other.layer.biases, first.layer.biases)
    here('update', written / 'first.npz', written / 'more.csv', '--model', written / 'updated.npz', '-q')
    here('merge', written / 'first.npz', written / 'm.npz', '--model', written / 'merged.npz', '-q')
    assert {read_model(written / f'{name}.npz').header.parameters['sigma'] for name in ('updated', 'merged')} == {sigma}


@pytest.mark.parametrize('method', ['sparse-elm', 'mr-kelm'])
def test_a_search_tries_widths_around_it(method, here, table, written):
    here('tune', method, written / 'rows.csv', *ENCODE, '--C', 1, '--table', written / 'grid.csv', '-q')
    widths = sorted(pd.read_csv(written / 'grid.csv')['sigma'].unique())
    assert np.allclose(widths, np.array([0.25, 0.5, 1, 2, 4]) * sum_variances(encode_by_hand(table)) ** 0.5)


@cache
def draw_with_score(draw, *words):
    """Return a table, and the accuracy of SVC with its defaults: trained on 400 rows, on the others."""
    whole = draw(*words)
    Z, labels = encode_by_hand(whole), whole['state']
    return whole, SVC().fit(Z[:400], labels[:400]).score(Z[400:], labels[400:])


def compare_with_svc(words, whole, svc, here, train, folder):
    """Train on 400 rows, and demand that the others are labelled about as well as by SVC."""
    for name, part in (('rows', whole[:400]), ('test', whole[400:])):
        part.to_csv(folder / f'{name}.csv', index=False)
    labels = whole['state']
    method, *options = words.split()
    train(method, folder / 'rows.csv', *ENCODE, *options)
    here('predict', folder / 'm.npz', folder / 'test.csv', '-o', folder / 'said', '-q')
    said = np.array((folder / 'said').read_text().splitlines())
    assert np.mean(said == labels[400:]) > svc - 0.05 > 0.7


@pytest.mark.parametrize('n_columns, n_categories', [(22, 19), (8, 60)])
@pytest.mark.parametrize(
    'words',
    [
        'sparse-elm',
        'oelm',
        'sphere-svm',
        'mr-kelm',
        'pesvm --map nystrom',
        'pesvm --map rbf',
        'pesvm --map nystrom --kernel product-laplacian',
    ],
)
def test_tables_with_many_categories_are_learned_as_well_as_by_svc(
    words, n_columns, n_categories, here, train, tmp_path
):
    compare_with_svc(words, *draw_with_score(draw, 700, n_columns, n_categories, 5), here, train, tmp_path)


def draw_rare_values():
    """Draw a table of columns that nearly always have the same value, some of which turn the class."""
    rng = np.random.default_rng(1)
    texts = np.where(rng.random((700, 22)) < 0.01, 'rare', 'usual')
    whole = pd.DataFrame({'x': rng.uniform(-1, 1, 700)} | {f'c{j}': text for j, text in enumerate(texts.T)})
    turned = (texts[:, :5] == 'rare').any(axis=1)
    return whole.assign(state=np.where((whole['x'] > -0.2) ^ turned, 'well', 'ill'))


@pytest.mark.parametrize(
    'words', ['sparse-elm', 'mr-kelm', 'pesvm', 'elm', 'pesvm --map rff', 'sparse-elm --kernel sigmoid']
)
def test_columns_that_nearly_always_have_the_same_value_are_learned_as_well_as_by_svc(words, here, train, tmp_path):
    compare_with_svc(words, *draw_with_score(draw_rare_values), here, train, tmp_path)
