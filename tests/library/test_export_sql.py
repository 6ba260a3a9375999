"""A query of SQL answers in databases as the model does: the same labels, scores to 1e-9 of the largest."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from reference.databases import DuckDB, run_postgres
from reference.dual import one_against_one
from reference.machines import (
    KERNELS,
    D,
    calibrated,
    constant_model,
    draw_forest,
    frame_of,
    kernel_model,
    labels_of,
    node_model,
)

from mr_elm.estimators import AutoRegressor, ELMRegressor, ESVMClassifier, KernelELMClassifier
from mr_elm.features.nodes import NODES
from mr_elm.model.models import KernelModel, join_members

sql = pytest.importorskip('mr_elm.export.sql')


@pytest.fixture(scope='module', params=['duckdb', 'postgres'])
def database(request):
    if request.param == 'duckdb':
        yield DuckDB()
        return
    with run_postgres() as server:
        yield server


@pytest.fixture
def X(rng):
    """Draw rows on a grid, so that some equal thresholds."""
    return np.round(2 * rng.standard_normal((40, D)), 1)


def ask(database, model, rows, types=None, **options):
    """Return the answers to the rows of a frame, or of an array."""
    names = {'columns': [f'x{j + 1}' for j in range(rows.shape[1])]} if isinstance(rows, np.ndarray) else {}
    query = sql.make_sql(model, 'my rows', database.dialect, **options)
    return database.ask(query, pd.DataFrame(rows, **names), 'my rows', **types or {})


def check(database, model, X):
    """Demand that query and model agree on rows X."""
    found, scores = ask(database, model, X), model.decision_function(X)
    if not model.numeric:
        assert found.pop('label').tolist() == labels_of(model, X)
    wanted = scores if 'calibration' not in model.arrays else np.hstack([scores, model.labelling.probabilities(scores)])
    assert np.abs(found.to_numpy() - wanted).max() <= 1e-9 * max(1, np.abs(scores).max())
    return found


@pytest.mark.parametrize(
    'kind, metric', [*product(sorted(NODES), ['diagonal']), ('rff', 'full'), ('laplacian', 'none')]
)
def test_nodes_of_every_kind(database, kind, metric, rng, X):
    check(database, node_model(rng, kind, 3, 'abc', metric), X)
    check(database, node_model(rng, kind, 1, 'ab', metric, draw_forest(rng, grid=np.unique(X))), X)


@pytest.mark.parametrize('kernel, normalised', list(product(KERNELS, [False, True])))
def test_support_vectors_of_every_kernel(database, kernel, normalised, rng, X):
    for scheme, wrap in (('one-vs-one', np.asarray), ('one-vs-all', sp.csr_matrix)):
        model = kernel_model(rng, kernel, scheme, normalised=normalised, wrap=wrap)
        X[0] = model.arrays['feature_offset']
        check(database, model, X)


def test_ties(database, rng, X):
    for scheme in ('one-vs-one', 'one-vs-all'):
        model = kernel_model(rng, 'gaussian', scheme)
        zeros = {**model.arrays, 'dual_coef': np.zeros((40, model.n_scores)), 'intercept': np.zeros(model.n_scores)}
        assert set(ask(database, KernelModel(model.header, zeros), X)['label']) == {'a'}


@pytest.mark.parametrize('values', list(product([-1, 0, 1], repeat=3)))
def test_a_vote_of_0_is_for_the_first_class_of_the_pair(database, rng, X, values):
    label = 'abc'[one_against_one([values], 3)[0]]
    assert set(ask(database, constant_model(rng, values, 'abc'), X)['label']) == {label}


@pytest.mark.parametrize('value, label', [(-1, 'a'), (0, 'a'), (1, 'b')])
def test_a_decision_value_of_0_is_of_the_first_class(database, rng, X, value, label):
    assert set(ask(database, constant_model(rng, [value], 'ab'), X)['label']) == {label}


@pytest.mark.parametrize('positive, label', [('a', 'b'), ('b', 'a')])
def test_a_probability_of_the_threshold_is_not_above_it(database, rng, X, positive, label):
    model = calibrated(constant_model(rng, [0], 'ab'), [0, 0], positive=positive, threshold=0.5)
    assert set(ask(database, model, X)['label']) == {label}


def test_probabilities_thresholds_and_several_machines(database, rng, X):
    for scheme in ('one-vs-one', 'one-vs-all'):
        check(database, calibrated(kernel_model(rng, 'laplacian', scheme), [0.4, 2.0, -0.3, 0.5]), X)
    for threshold in (None, 0.3):
        check(database, calibrated(node_model(rng, 'tanh'), [-0.5, 0.7], positive='a', threshold=threshold), X)
    check(database, join_members([node_model(rng, kind, 3, 'abc') for kind in ('nystrom', 'rff', 'sigmoid')]), X)


def test_targets_and_labels(database, rng, X):
    found = check(database, node_model(rng, 'sine', 2, '', targets={'names': ['u', "v'"]}), X)
    assert list(found) == ['label_u', "label_v'"]
    assert list(check(database, node_model(rng, 'relu', 1, ''), X)) == ['label']
    check(database, node_model(rng, 'sigmoid', 4, ['a', "b'b", 'c"', 'd'], targets={'separator': ' + '}), X)


def test_columns_enter_by_name_with_gaps_unknown_categories_and_names_that_need_quotes(database, rng):
    frame = frame_of(rng, 200).rename(columns={'city': 'the "city"', 'age': "age's"})
    y = np.where((frame["age's"].fillna(45) > 45) != (frame['the "city"'] == 'Rome'), "it's", 'no')
    estimator = ESVMClassifier(encode='auto', n_hidden=40, probabilities=True).fit(frame, y)
    rows = frame_of(rng, 100).rename(columns={'city': 'the "city"', 'age': "age's"})
    rows.loc[:9, 'the "city"'], rows.loc[5:14, 'zone'], rows.loc[0, 'half'] = 'Lima', 'NA', np.nan
    rows['id'] = np.arange(100)
    found = ask(database, estimator.to_model(), rows, keep=['id', 'zone'])
    assert found['label'].tolist() == estimator.predict(rows[frame.columns]).tolist()
    probabilities = estimator.predict_proba(rows[frame.columns])
    np.testing.assert_allclose(found[["probability_it's", 'probability_no']], probabilities, rtol=0, atol=1e-9)
    assert found['id'].tolist() == list(range(100)) and found['zone'].tolist() == rows['zone'].tolist()


def test_names_and_classes_that_a_database_might_take_for_its_own_words(database, rng):
    names = ['select', 'FROM', 'x.y', 'semi;colon', 'back\\slash', 'back`tick', '{0}', '%s', '--', 'größer µ', '1']
    frame = pd.DataFrame(rng.standard_normal((90, len(names))), columns=names)
    texts = ["O'Neil", 'a"b', 'a\\b', '{1}', '%d', ';', 'größer', 'c;--', '/* */']
    frame['where'] = rng.choice(texts, 90)
    classes = np.array(["';--", 'a\\', '"{0}"', 'NOT NULL'])
    y = classes[(frame['select'] > 0) * 1 + (frame['where'].isin(texts[:4])) * 2]
    estimator = KernelELMClassifier(encode='auto', C=10.0).fit(frame, y)
    found = ask(database, estimator.to_model(), frame, keep=['where', '{0}'])
    assert found['label'].tolist() == y.tolist() == estimator.predict(frame).tolist()
    scores = estimator.decision_function(frame)
    np.testing.assert_allclose(found.iloc[:, 1 : 1 + scores.shape[1]], scores, rtol=0, atol=1e-9)
    assert found['where'].tolist() == frame['where'].tolist() and list(found)[-2:] == ['where', '{0}']


@pytest.mark.parametrize('dialect', sql.DIALECTS)
def test_names_that_differ_only_in_case_are_refused_where_they_are_the_same(dialect, rng):
    frame = pd.DataFrame(rng.standard_normal((50, 2)), columns=['Size', 'size'])
    model = ELMRegressor(n_hidden=3).fit(frame, frame['size']).to_model()
    if dialect == 'postgres':
        assert '"Size"' in sql.make_sql(model, dialect=dialect)
        return
    with pytest.raises(ValueError, match=f"not only in case, which {dialect} ignores, found 'Size', 'size': rename"):
        sql.make_sql(model, dialect=dialect)


@pytest.mark.parametrize('kind', ['int', 'float', 'str'])
def test_categories_that_are_numbers_are_known_in_columns_of_any_type(database, kind, rng):
    codes = rng.choice(['1', '2', '30', 'none'], 100)
    frame = pd.DataFrame({'code': codes, 'size': rng.random(100)})
    estimator = ESVMClassifier(encode='auto', n_hidden=10).fit(frame, codes == '30')
    rows = frame[codes != 'none'].reset_index(drop=True)
    found = ask(database, estimator.to_model(), rows.astype({'code': kind}))
    assert (found['label'] == estimator.predict(rows).astype(str)).all()
    np.testing.assert_allclose(found['score'], estimator.decision_function(rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ('names', 'kind'), [(['02139', '10001'], int), (['02139', '10001'], float), (['12.0', '7.5'], float),
                        (['12.0', '7.0'], int), (['True', 'False'], bool), (['1', '0'], bool)]
)  # fmt: skip
def test_categories_of_text_are_known_by_value_in_columns_of_numbers(database, names, kind, rng):
    codes = rng.integers(2, size=80)
    frame = pd.DataFrame({'code': np.array([*names, 'x'], object)[np.minimum(codes + (rng.random(80) < 0.1), 2)]})
    if names == ['1', '0']:
        frame['code'] = (1 - codes).astype(float)
        frame['code'] = frame['code'].astype('category')
    estimator = ESVMClassifier(encode='auto', n_hidden=10).fit(frame, codes == 1)
    values = np.array([True, False] if kind is bool else list(map(float, names))).astype(kind)
    rows = pd.DataFrame({'code': values[codes]})
    found = ask(database, estimator.to_model(), rows)
    wanted = estimator.decision_function(rows)
    assert len(set(wanted)) == 2
    np.testing.assert_allclose(found['score'], wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ('names', 'kind'),
    [(['yes', 'no'], 'BOOLEAN'), (['Yes', 'No'], 'BOOLEAN'), (['T', 'F'], 'BOOLEAN'), (['Y', 'N'], 'BOOLEAN'),
     (['7', '8'], 'BIGINT'), (['07:30', '18:00'], 'TIME'), (['2020-12-31', '2021-01-05'], 'DATE'),
     (['2020-12-31 07:30:00', '2021-01-05 00:00:00'], 'TIMESTAMP')],
)  # fmt: skip
@pytest.mark.parametrize('gaps', [True, False])
def test_categories_are_known_in_the_types_that_a_database_infers(database, names, kind, gaps, rng):
    """`read_csv` of DuckDB makes BOOLEAN of yes and no, and TIME of 07:30."""
    texts = rng.choice([*names, ''][: 2 + gaps], 80).astype(object)
    frame = pd.DataFrame({'it': pd.Categorical(texts), 'size': rng.random(80)})
    estimator = ESVMClassifier(encode='auto', n_hidden=10).fit(frame, texts == names[0])
    rows = frame.assign(it=np.where(texts == '', None, texts))
    found = ask(database, estimator.to_model(), rows, {'it': kind})
    np.testing.assert_allclose(found['score'], estimator.decision_function(frame), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ('names', 'values', 'kind', 'known'),
    [(['yes', 'sure', 'no'], ['yes', 'no', None], 'BOOLEAN', [True, True, True]),
     (['red', 'yes'], ['yes', 'no', None], 'BOOLEAN', [True, False, True]),
     (['31.12.2020', 'x'], ['2020-12-31', None], 'DATE', [False, True]),
     (['5', '6'], ['5.00', None], 'DECIMAL(9, 2)', [False, True]),
     (['7h30', '8h00'], ['07:30', None], 'TIME', [False, True])],
)  # fmt: skip
def test_a_category_that_its_type_has_rewritten_has_no_answer(database, names, values, kind, known, rng):
    frame = pd.DataFrame({'it': pd.Categorical(rng.choice(names, 80)), 'size': rng.random(80)})
    model = ESVMClassifier(encode='auto', n_hidden=10).fit(frame, frame['size'] > 0.5).to_model()
    rows = pd.DataFrame({'it': np.array(values, object), 'size': 0.5})
    assert ask(database, model, rows, {'it': kind}).notna().all(axis=1).tolist() == known


def test_a_query_begins_with_the_types_that_columns_need(rng):
    frame = pd.DataFrame(
        {'a "b"\n; drop': ['x', 'y'] * 20, 'day': ['2020-12-31', '2021-01-01'] * 20, 'n': np.arange(40)}
    )
    estimator = ESVMClassifier(encode='auto', n_hidden=10).fit(frame, frame['n'] > 20)
    assert sql.make_sql(estimator.to_model()).splitlines()[:3] == [
        r"""-- 'a "b"\n; drop' needs a text type""",
        "-- 'day' needs DATE, TIMESTAMP, or text such as 2020-12-31",
        'WITH step_1 AS (',
    ]
    assert sql.make_sql(ELMRegressor(n_hidden=3).fit(frame[['n']], frame['n']).to_model()).startswith('WITH')


def test_blanks_around_texts_do_not_count(database, rng):
    plans = rng.choice(['Pro', 'basic', 'no plan', 'NA'], 80)
    frame = pd.DataFrame({'plan': plans, 'size': rng.random(80)})
    estimator = ESVMClassifier(encode='auto', n_hidden=10).fit(frame, plans == 'basic')
    rows = frame.assign(plan=[f'\t {plan} \t' for plan in plans])
    found = ask(database, estimator.to_model(), rows)
    np.testing.assert_allclose(found['score'], estimator.decision_function(frame), rtol=0, atol=1e-9)


@pytest.mark.parametrize('kind', ['VARCHAR', 'DATE', 'TIMESTAMP'])
@pytest.mark.parametrize('gaps', [True, False])
def test_dates_are_read_from_columns_of_dates_and_from_text(database, kind, gaps, rng):
    """Days, months, weekdays and hours of dates before and after 1970, without hours if the column has none."""
    minutes = rng.integers(-30 * 525_960, 80 * 525_960, 300)
    moments = pd.to_datetime('1970-01-01') + pd.to_timedelta(minutes, 'min')
    texts = moments.strftime('%Y-%m-%d' if kind == 'DATE' else '%Y-%m-%d %H:%M:%S').to_series(index=range(300))
    if gaps:
        texts[rng.random(300) < 0.1] = ''
    frame = pd.DataFrame({'the day': texts, 'size': rng.random(300)})
    estimator = ESVMClassifier(encode='auto', n_hidden=30, nu=1e3).fit(frame, moments.month.isin([2, 3, 11]))
    column = estimator.to_model().encoding.columns[0]
    assert (column.kind, len(column.categories)) == ('date', 0 if kind == 'DATE' else 24)
    frame['the day'] = frame['the day'].where(frame['the day'] != '', None)
    found = ask(database, estimator.to_model(), frame, {'the day': kind})
    wanted = estimator.decision_function(frame.fillna(''))
    np.testing.assert_allclose(found['score'], wanted, rtol=0, atol=1e-9 * abs(wanted).max())


def test_an_infinite_number_of_a_table_with_gaps_has_no_answer(database, rng):
    frame = frame_of(rng, 60)
    model = ESVMClassifier(encode='auto', n_hidden=10).fit(frame, rng.random(60) > 0.5).to_model()
    rows = frame.copy()
    rows.loc[0, 'age'], rows.loc[1, 'half'], rows.loc[2, 'age'] = np.inf, -np.inf, np.nan
    found = ask(database, model, rows)
    assert found['label'].isna().tolist() == [True, True, *[False] * 58]


@pytest.mark.parametrize('value', [None, float('nan'), float('inf')])
@pytest.mark.parametrize('scheme', ['one-vs-one', 'one-vs-all', 'labels', 'two', 'calibrated', 'leaves'])
def test_a_row_that_predict_would_refuse_has_no_answer(database, value, scheme, rng, X):
    models = {
        'labels': lambda: node_model(rng, 'hardlimit', 2, 'ab', targets={'separator': ';'}),
        'calibrated': lambda: calibrated(node_model(rng, 'rbf'), [0.1, 1]),
        'two': lambda: node_model(rng, 'relu'),
        'leaves': lambda: node_model(rng, 'identity', forest=draw_forest(rng, grid=X[0])),
    }
    model = models.get(scheme, lambda: kernel_model(rng, 'linear', scheme))()
    frame = pd.DataFrame(X, columns=[f'x{j + 1}' for j in range(D)]).astype(object)
    frame.loc[3, 'x2'] = value
    found = ask(database, model, frame)
    assert found.isna().all(axis=1).tolist() == [k == 3 for k in range(len(X))]


def test_models_as_they_are_trained(database, rng):
    X = rng.standard_normal((200, 4))
    y = (X[:, 0] > 0.3) * 1 + (X[:, 1] * X[:, 2] > 0) * 1
    check(database, AutoRegressor(budget=100).fit(X, 1e5 + X[:, 0] * X[:, 1]).to_model(), X)
    check(database, ESVMClassifier(map='leaves', leaves=40).fit(X, y).to_model(), X)
    check(database, KernelELMClassifier(C=100, probabilities=True).fit(X, y).to_model(), X)


@pytest.mark.parametrize('shape', [(1, 1), (1, 30), (3, 2000), (200, 2)])
def test_models_of_any_size(database, shape, rng):
    """PostgreSQL has at most 1,664 columns: nodes are no columns."""
    X = rng.standard_normal((20, shape[0]))
    check(database, ELMRegressor(n_hidden=shape[1]).fit(X, X[:, 0]).to_model(), X)
    check(database, KernelELMClassifier().fit(X, X[:, 0] > 0).to_model(), X)


def test_far_rows_have_no_kernel_values(rng, X):
    """DuckDB says that NaN is the largest number; PostgreSQL stops at a number that overflows."""
    X[0], X[1] = 1e200, -1e300
    for model in (node_model(rng, 'nystrom', 3, 'abc'), kernel_model(rng, 'laplacian')):
        found = ask(DuckDB(), model, X)
        with np.errstate(all='ignore'):
            wanted = model.decision_function(X)
        np.testing.assert_allclose(found.iloc[:, 1:], wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize('make', [node_model, kernel_model])
@pytest.mark.parametrize('dialect', sql.DIALECTS)
def test_a_query_is_one_statement_of_its_dialect(make, dialect, rng):
    sqlglot = pytest.importorskip('sqlglot')
    for kind in KERNELS if make is kernel_model else sorted(NODES):
        model = make(rng, kind, **({'scheme': 'one-vs-one'} if make is kernel_model else {}))
        (statement,) = sqlglot.parse(sql.make_sql(model, 'a.b', dialect), dialect=dialect)
        assert isinstance(statement, sqlglot.exp.Select)


@pytest.mark.parametrize('dialect', sql.DIALECTS)
def test_dialects_have_their_own_types_and_quotes(dialect, rng):
    frame = pd.DataFrame(rng.standard_normal((50, 2)), columns=['left', 'the right'])
    text = sql.make_sql(ELMRegressor(n_hidden=3).fit(frame, frame['left']).to_model(), 'my.rows', dialect)
    kind, quote = {
        'duckdb': ('DOUBLE', '"'),
        'postgres': ('DOUBLE PRECISION', '"'),
        'spark': ('DOUBLE', '`'),
        'bigquery': ('FLOAT64', '`'),
    }[dialect]
    assert f'CAST({quote}the right{quote} AS {kind})' in text and f'{quote}rows{quote}' in text


@pytest.mark.parametrize(
    'shape, found',
    [
        ((201, 5), '200 features .*found 201: .*--columns or --drop'),
        ((3, 2001), '2,000 nodes or support vectors .*found 2,001:'),
    ],
)
def test_a_model_that_is_too_large_is_refused(shape, found, rng):
    X = rng.standard_normal((20, shape[0]))
    model = ELMRegressor(n_hidden=shape[1]).fit(X, X[:, 0]).to_model()
    with pytest.raises(ValueError, match=f'expected at most {found}'):
        sql.make_sql(model)


def test_too_many_trees_are_refused(rng, X):
    with pytest.raises(ValueError, match='expected at most 100 trees .*found 101: .*ONNX'):
        sql.make_sql(node_model(rng, 'tanh', forest=draw_forest(rng, 101, 1, X[0])))


def test_auto_is_told_what_budget_makes_a_query(rng, X):
    large = node_model(rng, 'tanh', forest=draw_forest(rng, 101, 1, X[0]))
    of_auto = type(large)(replace(large.header, method='auto'), large.arrays)
    with pytest.raises(ValueError, match='expected at most .* train a smaller model .auto with --budget 500., or '):
        sql.make_sql(of_auto)
    X = rng.standard_normal((700, 3))
    model = AutoRegressor(budget=500).fit(X, X[:, 0] * X[:, 1] + 0.3 * X[:, 2]).to_model()
    assert sql.make_sql(model)


def test_the_name_of_a_table_is_quoted_and_needed(rng):
    assert 'FROM "rows; drop table rows"' in sql.make_sql(node_model(rng, 'tanh'), 'rows; drop table rows')
    for name in ('', 'a"b'):
        with pytest.raises(ValueError, match='--table: expected the name of a table, found'):
            sql.make_sql(node_model(rng, 'tanh'), name)
