"""Estimators with encode='auto' take data frames with names, text and gaps, as jobs with --encode auto take files."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.errors import RowError, UnsuitableWarning
from mr_elm.estimators import (
    ESTIMATORS,
    AutoClassifier,
    ELMRegressor,
    ESVMClassifier,
    KernelELMClassifier,
    to_estimator,
)
from mr_elm.estimators.tables import learn_encoding
from mr_elm.model.file import read_model
from mr_elm.rows.frames import read_frame

EVERY = [kind for kinds in ESTIMATORS.values() for kind in kinds]
BY_HAND = [kind for kind in EVERY if 'budget' not in kind().get_params()]  # the others are in test_auto_estimators
KINDS = {
    'polars': pl.from_pandas,
    'arrow table': pa.Table.from_pandas,
    'arrow stream': lambda frame: pa.Table.from_pandas(frame).to_reader(),
    'other order': lambda frame: frame[list(frame.columns[::-1])],
}


@pytest.fixture
def rng():
    """Draw the same numbers in every run."""
    return np.random.default_rng(7)


@pytest.fixture
def frame(rng):
    return make_frame(rng, 160)


@pytest.fixture
def y(frame):
    """Make labels that depend on a number and a category."""
    return np.where((frame['age'].fillna(45) > 45) != (frame['city'] == 'Rome'), 'yes', 'no')


def make_frame(rng, n):
    cities = pd.Series(rng.choice(['Rome', 'Oslo', 'São Paulo'], n))
    return pd.DataFrame(
        {
            'age': np.where(rng.random(n) < 0.1, np.nan, rng.uniform(20, 70, n)),
            'member': rng.random(n) < 0.5,
            'city': cities.where(rng.random(n) > 0.1, None),
            'income': rng.normal(3e4, 1e4, n).round(2),
            'zone': pd.Categorical(rng.choice(['north', 'south'], n)),
        }
    )


def make(kind, **parameters):
    """Return an estimator that is quickly fitted."""
    small = {'n_hidden': 50, 'budget': 20}
    return kind(**{name: value for name, value in small.items() if name in kind().get_params()} | parameters)


def change_rows(frame, value, *rows):
    """Put a value into the ages of some rows."""
    return frame.assign(age=[value if row in rows else age for row, age in enumerate(frame['age'])])


def encode_by_hand(frame):
    """Encode the columns of `make_frame` by pandas alone: numbers scaled, gaps and categories as indicators."""
    columns = []
    for name in frame:
        series = frame[name]
        if name in ('city', 'zone'):
            series = series.astype(object).where(series.notna(), '').astype(str)
            columns += [series == value for value in sorted(set(series), key=str.encode)] + [series == 'other']
        else:
            filled = series.astype(float).fillna(series.mean())
            columns += [(filled - filled.mean()) / filled.std(ddof=0)] + [series.isna()] * bool(series.isna().any())
    return np.column_stack(columns).astype(float)


@pytest.mark.parametrize('kind', [kind for kind in EVERY if 'scale' in kind().get_params()])
def test_a_frame_is_fitted_as_its_scaled_indicators_are(kind, frame, y):
    y = frame.pop('income') / 1e4 if kind in ESTIMATORS['regression'] else y
    X = encode_by_hand(frame)
    nodes = {'weights': 'uniform'} if 'weights' in kind().get_params() else {}  # whose size does not follow the scale
    found, twin = kind(encode='auto', **nodes).fit(frame, y), kind(scale='none', **nodes).fit(X, y)
    answer = 'predict' if kind in ESTIMATORS['regression'] else 'decision_function'
    np.testing.assert_allclose(getattr(found, answer)(frame), getattr(twin, answer)(X), rtol=0, atol=1e-8)
    assert found.feature_names_in_.tolist() == list(frame.columns) and found.n_features_in_ == len(frame.columns)


@pytest.mark.parametrize('make', KINDS.values(), ids=KINDS)
def test_any_frame_with_the_same_columns_is_predicted_alike(make, frame, y):
    fitted = ESVMClassifier(encode='auto').fit(frame, y)
    assert (fitted.decision_function(make(frame)) == fitted.decision_function(frame)).all()
    again = clone(fitted).fit(make(frame), y)
    assert {column.name: column for column in again.encoding_.columns} == {
        column.name: column for column in fitted.encoding_.columns
    }


@pytest.mark.parametrize(('method', 'words'), [('pesvm', ()), ('mr-kelm', ()), ('sparse-elm', ('--eps', '1e-6'))])
def test_a_frame_and_its_csv_give_the_same_model(method, words, frame, y, here, tmp_path):
    frame = frame.drop(columns=['member', 'zone'])  # a file does not say that they are numbers, or categories
    path, model = tmp_path / 'rows.csv', tmp_path / 'm.npz'
    frame.assign(label=y).to_csv(path, index=False)
    here('train', method, path, '--encode', 'auto', '--label-column', 'label', '--model', model, '-q', *words)
    trained = to_estimator(read_model(model))
    fitted = clone(trained).fit(frame, y)
    assert fitted.encoding_.names == trained.encoding_.names
    wanted = trained.decision_function(frame)
    np.testing.assert_allclose(fitted.decision_function(frame), wanted, rtol=0, atol=1e-6)
    assert trained.feature_names_in_.tolist() == list(frame.columns)
    here('predict', model, path, '-o', tmp_path / 'said', '--scores', '-q')
    said = (tmp_path / 'said').read_text().splitlines()
    np.testing.assert_allclose([float(line.split('\t')[1]) for line in said], wanted, rtol=0, atol=1e-8)


def test_a_model_of_an_estimator_predicts_files_with_the_same_names(frame, y, here, tmp_path):
    fitted = KernelELMClassifier(encode='auto').fit(frame, y)
    fitted.to_model().save(tmp_path / 'm.npz')
    frame[list(frame.columns[::-1])].to_csv(tmp_path / 'rows.csv', index=False)
    here('predict', tmp_path / 'm.npz', tmp_path / 'rows.csv', '--no-label', '-o', tmp_path / 'said', '-q')
    assert (tmp_path / 'said').read_text().splitlines() == fitted.predict(frame).tolist()


def test_a_model_of_a_file_takes_arrays_by_position_and_frames_by_name(rng, here, tmp_path, recwarn):
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=['a', 'b', 'c'])
    frame.assign(label=frame['a'] > 0).to_csv(tmp_path / 'rows.csv', index=False)
    here('train', 'elm', tmp_path / 'rows.csv', '--label-column', 'label', '--model', tmp_path / 'm.npz', '-q')
    trained = to_estimator(read_model(tmp_path / 'm.npz'))
    assert (trained.predict(frame.to_numpy()) == trained.predict(frame)).all() and recwarn.list == []
    with pytest.raises(ValueError, match='feature names'):
        trained.predict(frame[['b', 'a', 'c']])


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('kind', BY_HAND)
def test_scikit_learn_is_content_with_arrays(kind):
    results = check_estimator(make(kind, encode='auto'), on_fail=None)
    assert [row['check_name'] for row in results if row['status'] == 'failed'] == []


@pytest.mark.parametrize('kind', EVERY)
def test_an_array_with_gaps_is_a_frame_whose_columns_have_numbers_for_names(kind, frame, y):
    numbers = frame[['age', 'income']].set_axis(['x0', 'x1'], axis=1)
    if is_regressor(kind()):
        y = frame['income']
    wanted = make(kind, encode='auto').fit(numbers, y)
    fitted = make(kind, encode='auto').fit(numbers.to_numpy(), y)
    assert fitted.encoding_ == wanted.encoding_ and not hasattr(fitted, 'feature_names_in_')
    objects = numbers.astype(object).where(numbers.notna(), None)
    for rows in (numbers, numbers.to_numpy(), numbers.to_numpy().tolist(), objects.to_numpy()):
        assert (fitted.predict(rows) == wanted.predict(numbers)).all()
    with pytest.raises(ValueError, match='X has 1 features, but .* is expecting 2 features'):
        fitted.predict(numbers.to_numpy()[:, :1])


def test_arrays_and_files_without_a_header_are_read_alike(frame, y, here, tmp_path):
    numbers, path = frame[['age', 'income']], tmp_path / 'rows.csv'
    numbers.to_csv(path, index=False, header=False)
    fitted = ESVMClassifier(encode='auto').fit(numbers.to_numpy(), y)
    fitted.to_model().save(tmp_path / 'm.npz')
    here('predict', tmp_path / 'm.npz', path, '--no-label', '-o', tmp_path / 'said', '-q')
    assert (tmp_path / 'said').read_text().splitlines() == fitted.predict(numbers.to_numpy()).tolist()
    numbers.assign(label=y).to_csv(path, index=False, header=False)
    here('train', 'pesvm', path, '--label-column', '-1', '--encode', 'auto', '--model', tmp_path / 'n.npz', '-q')
    trained = to_estimator(read_model(tmp_path / 'n.npz'))
    assert (trained.predict(numbers.to_numpy()) == fitted.predict(numbers.to_numpy())).all()


def test_rows_come_and_leave_with_the_columns_of_the_first_rows(frame, y, rng):
    fitted = ESVMClassifier(encode='auto').fit(frame, y)
    before, later = fitted.decision_function(frame), make_frame(rng, 40).replace({'city': 'Rome'}, 'Lima')
    fitted.partial_fit(later[list(later.columns[::-1])], y[:40])
    assert fitted.n_rows_ == 200 and (fitted.decision_function(frame) != before).any()
    assert (fitted.forget(later, y[:40]).decision_function(frame) == before).all()
    again = to_estimator(fitted.to_model()).partial_fit(later, y[:40])
    assert again.n_rows_ == 200


@pytest.mark.filterwarnings('ignore:this machine says the same')
def test_a_column_is_as_important_as_its_features_together(frame):
    y = np.where(frame['city'] == 'Rome', frame['age'] > 45, frame['city'] == 'Oslo')
    auto = AutoClassifier(budget=10, probabilities=False)
    of_features = auto.fit(encode_by_hand(frame), y).feature_importances_
    columns = SelectFromModel(clone(auto).set_params(encode='auto')).fit(frame, y)
    shares = columns.estimator_.feature_importances_
    age, member, city, income, zone = np.split(of_features, [2, 3, 8, 9])
    assert np.count_nonzero(city) > 1
    np.testing.assert_allclose(shares, [part.sum() for part in (age, member, city, income, zone)], rtol=1e-6)
    assert columns.get_feature_names_out().tolist() == ['age', 'city'] and columns.transform(frame).shape == (160, 2)
    equal = clone(auto).set_params(encode='auto').fit(frame.assign(**dict.fromkeys(frame, 1)), y)
    np.testing.assert_array_equal(equal.feature_importances_, 1 / 5)


def test_one_row_of_a_frame_is_no_frame(frame, y):
    estimator = ESVMClassifier(encode='auto', n_hidden=5).fit(frame, y)
    with pytest.raises(ValueError, match='X: .* in a data frame'):
        estimator.predict(frame.iloc[0])
    assert estimator.predict(frame.iloc[:1]) in y


def test_wide_categories_stay_sparse(rng):
    n = 2000
    frame = pd.DataFrame(
        {f'c{j}': rng.integers(0, 90, n).astype(str) + 'x' for j in range(5)} | {'number': rng.normal(5, 3, n)}
    )
    y = np.where(frame['c0'].str.len() + frame['number'] > 7, 'a', 'b')
    assert sp.issparse(ESVMClassifier(encode='auto')._validate(frame, True))
    for kind in (ESVMClassifier(encode='auto', n_hidden=200, map='tanh'), KernelELMClassifier(encode='auto', C=10)):
        assert kind.fit(frame[:1000], y[:1000]).score(frame[1000:], y[1000:]) > 0.8


def test_a_row_of_weight_two_counts_as_two_rows(frame, y):
    weights = np.arange(len(y)) % 2 + 1
    twice = frame.loc[np.repeat(np.arange(len(y)), weights)]
    found = ESVMClassifier(encode='auto').fit(frame, y, weights).decision_function(frame)
    wanted = ESVMClassifier(encode='auto').fit(twice, np.repeat(y, weights)).decision_function(frame)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)


def test_scikit_learn_cross_validates_frames(frame, y):
    assert cross_val_score(ESVMClassifier(encode='auto', nu=100), frame, y, cv=3).mean() > 0.6


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda frame: frame.drop(columns='city'), ("expected a column named 'city'",)),
        (lambda frame: frame.rename(columns={'city': 'Citys'}), ("'city' (did you mean Citys?), its",)),
        (lambda frame: frame.assign(more=1), ("found also 'more'",)),
        (lambda frame: frame.assign(age='old'), ('not a number', "row 0: column 'age'", "'old'")),
        (lambda frame: frame.assign(age=np.inf), ('infinite', "row 0: column 'age'")),
        (lambda frame: change_rows(frame, 'old', 97, 140), ('not a number', "row 97: column 'age' holds 'old'")),
        (lambda frame: change_rows(frame, np.inf, 159), ('infinite', "row 159: column 'age'")),
        (lambda frame: frame.to_numpy(), ('found text', "encode='auto'", 'pd.DataFrame(X)')),
        (lambda frame: frame[['age', 'age', 'city']], ("2 are named 'age'",)),
        (lambda frame: frame[:0], ('0 sample',)),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_with_the_name_of_the_column(change, words, frame, y):
    fitted = ESVMClassifier(encode='auto').fit(frame, y)
    with pytest.raises((ValueError, TypeError)) as error:
        fitted.predict(change(frame))
    assert [word for word in words if word not in str(error.value)] == []


@pytest.mark.parametrize(
    ('values', 'word'),
    [
        ([f'{day:02}/{month:02}/{day + month:02}' for day in range(1, 6) for month in range(1, 5)], 'dates'),
        ([[1, 2]] * 20, 'found list'),
        ([1.0, np.inf] * 10, 'infinite'),
        ([b'a', b'b'] * 10, 'found binary'),
        (pd.to_timedelta(range(20), unit='D'), 'found duration'),
    ],
)
def test_a_column_that_can_be_neither_numbers_nor_categories_is_refused(values, word):
    frame = pd.DataFrame({'age': np.arange(20.0), 'strange': values})
    with pytest.raises(ValueError, match=word) as error:
        ELMRegressor(encode='auto').fit(frame, frame['age'])
    assert "'strange'" in str(error.value) and '--' not in str(error.value)


@pytest.mark.parametrize(
    ('values', 'calls'),
    [
        ([f'shop {i}' for i in range(60)], ["drop(columns='shop id')"]),
        ([None] * 60, ["drop(columns='shop id')"]),
        (
            ['N/K', *range(59)],
            [
                "'N/K', others such as '0': if its values should be numbers or dates, correct these fields",
                "drop(columns='shop id')",
            ],
        ),
    ],
)
def test_warnings_of_columns_name_calls_of_a_data_frame_and_no_options(values, calls):
    frame = pd.DataFrame({'age': np.sqrt(np.arange(60.0)), 'shop id': values})
    with pytest.warns(UnsuitableWarning) as caught:
        ELMRegressor(encode='auto').fit(frame, frame['age'])
    text = '\n'.join(str(warning.message) for warning in caught)
    assert all(call in text for call in calls) and '--' not in text
    for warning in caught:
        assert str(warning.message).startswith("column 'shop id' ")


@pytest.mark.parametrize('kind', EVERY)
@pytest.mark.parametrize('encode', ['auto', 'refuse'])
def test_a_column_that_numbers_the_rows_is_named(kind, encode, rng):
    """Rows may have any order, and a number may stand in several rows where the name of the column says what it is."""
    frame = pd.DataFrame(
        {'number': rng.permutation(60) + 1001, 'age': rng.normal(size=60), 'UserId': rng.integers(9, size=60)}
    )
    y = np.arange(60) % 2
    with pytest.warns(UnsuitableWarning) as caught:
        fitted = make(kind, encode=encode).fit(frame, y)
    said = [str(each.message) for each in caught if 'seems to name or number' in str(each.message)]
    assert [text.split(' seems')[0] for text in said] == ["column 'number'", "column 'UserId'"]
    advice = "leave it out with drop(columns='number')"
    if encode == 'auto':
        advice += ", or make categories of its values with astype({'number': 'category'}) if rows share them"
    assert said[0] == f"column 'number' seems to name or number the rows: {advice}"
    assert {each.filename for each in caught} == {__file__} and fitted.n_features_in_ == 3


@pytest.mark.parametrize('encode', ['auto', 'refuse'])
@pytest.mark.parametrize('share', [0.05, 0.2, 0.4])
def test_a_column_that_numbers_the_rows_is_named_after_some_were_held_out(encode, share, rng):
    n = 1000
    frame = pd.DataFrame({'number': np.arange(n) + 70, 'age': rng.integers(18, 70, n), 'area': rng.integers(1, n, n)})
    frame['share'] = np.linspace(0, n, n).round(2)
    kept, y = frame[rng.random(n) > share], np.arange(n) % 2
    with pytest.warns(UnsuitableWarning, match='seems to name') as caught:
        ESVMClassifier(n_hidden=9, encode=encode).fit(kept, y[kept.index])
    assert ["column 'number' seems" in str(each.message) for each in caught].count(True) == 1
    assert not [each for each in caught if any(f"'{name}' seems" in str(each.message) for name in frame.columns[1:])]


@pytest.mark.parametrize(('encode', 'name'), [('auto', "'x0'"), ('refuse', r'0 \(counted from 0\)')])
def test_a_column_of_an_array_that_numbers_the_rows_is_to_be_left_out_of_it(encode, name, rng):
    X = np.column_stack([np.arange(60), rng.normal(size=60)])
    with pytest.warns(UnsuitableWarning, match=rf'^column {name} seems .* the rows: leave the column out of X$'):
        ESVMClassifier(n_hidden=9, encode=encode).fit(X, np.arange(60) % 2)


@pytest.mark.parametrize('form', ['%Y-%m-%d', '%d/%m/%Y', '%m/%d/%y', '%d %b %Y'])
@pytest.mark.parametrize('zone', [None, 'UTC', 'Asia/Tokyo'])
def test_dates_of_a_type_are_read_however_those_of_the_training_were_written(form, zone, rng):
    days = pd.Series(pd.date_range('2019-01-05', periods=90, freq='5D'))
    text = pd.DataFrame({'day': days.dt.strftime(form), 'x': rng.normal(size=90)})
    fitted = ESVMClassifier(n_hidden=20, encode='auto').fit(text, np.arange(90) % 2)
    typed = text.assign(day=days if zone is None else days.dt.tz_localize('UTC').dt.tz_convert(zone))
    np.testing.assert_array_equal(fitted.decision_function(typed), fitted.decision_function(text))
    with pytest.raises(RowError, match='not a date'):
        fitted.predict(text.assign(day='3 août 2020'))


def test_gaps_and_numbers_are_read_whatever_type_holds_them():
    frame = read_frame(
        pd.DataFrame(
            {
                'ints': pd.array([1, None, 3], dtype='Int64'),
                'bools': [True, None, False],
                'text': ['a', None, 'b'],
                'numbers in objects': pd.Series([1, 2.5, None], dtype=object),
                'gaps': [None, None, None],
                'categories': pd.Categorical([1, 2, 1]),
            }
        )
    )
    numbers = [frame.table.columns[j].numbers().tolist() for j in (0, 1, 3)]
    np.testing.assert_equal(numbers, [[1, np.nan, 3], [1, np.nan, 0], [1, 2.5, np.nan]])
    with pytest.warns(UserWarning, match=r"column 'gaps' holds no value: leave it out with drop\(columns='gaps'\)$"):
        encoding = learn_encoding(frame, None)
    assert [column.kind[0] for column in encoding.columns] == [*'nncnnc']


def test_encode_is_refused_where_it_cannot_be(frame, y):
    with pytest.raises(ValueError, match='encode: expected one of refuse, auto'):
        ESVMClassifier(encode='yes').fit(frame, y)
    plain = ESVMClassifier().fit(frame[['age']].fillna(0), y)
    with pytest.raises(ValueError, match='fitted to rows of numbers'):
        plain.set_params(encode='auto').predict(frame)


@pytest.mark.parametrize('kind', EVERY)
def test_the_most_frequent_categories_have_indicators_as_many_as_wanted(kind, frame, y):
    target = frame['income'] if is_regressor(kind()) else y
    encoding = make(kind, encode='auto', max_categories=1).fit(frame, target).encoding_
    city = next(column for column in encoding.columns if column.name == 'city')
    assert city.categories == (frame['city'].fillna('').value_counts().index[0],)
    with pytest.raises(ValueError, match='max_categories: expected a whole number above 0, found 0'):
        kind(encode='auto', max_categories=0).fit(frame, target)


DATES = pd.Series(pd.date_range('2020-01-01', periods=160))
NO_NUMBERS = {
    'dates': DATES,
    'zoned dates': DATES.dt.tz_localize('UTC'),
    'periods': DATES.dt.to_period('D'),
    'objects': DATES.dt.date,
    'spans': DATES - DATES[0],
    'text': DATES.dt.day_name(),
    'categories': DATES.dt.day_name().astype('category'),
}


@pytest.mark.parametrize('estimator', EVERY)
@pytest.mark.parametrize('kind', NO_NUMBERS)
def test_a_column_that_holds_no_numbers_is_named(frame, y, estimator, kind):
    values = NO_NUMBERS[kind].rename('when')
    if is_regressor(estimator()):
        y = frame['income']
    for table in (pd.concat([frame['income'], values], axis=1), values.to_frame()):
        with pytest.raises(
            ValueError, match="X: expected numbers.* in column 'when', .*: (encode='auto'|make numbers)"
        ):
            estimator().fit(table, y)


@pytest.mark.parametrize('convert', [pl.from_pandas, pa.Table.from_pandas], ids=['polars', 'arrow'])
def test_dates_of_other_data_frames_are_named_too(frame, y, convert):
    columns = {'income': frame['income'], 'member': frame['member']}
    ESVMClassifier().fit(convert(pd.DataFrame(columns)), y)
    with pytest.raises(ValueError, match="in column 'when'"):
        ESVMClassifier().fit(convert(pd.DataFrame({**columns, 'when': DATES})), y)


def test_arrays_of_dates_are_no_numbers(y):
    with pytest.raises(ValueError, match='X: expected numbers, found datetime64'):
        ESVMClassifier().fit(DATES.to_numpy()[:, None], y)


@pytest.mark.parametrize('values', [[], [np.inf, -np.inf]])
def test_what_ends_in_an_error_does_not_warn_of_each_column_before(values, recwarn):
    with pytest.raises(ValueError, match='0 sample|infinite'):
        ESVMClassifier(encode='auto').fit(pd.DataFrame({'a': values, 'b': values}, dtype=float), np.arange(len(values)))
    assert not list(recwarn)
