"""A query of `mr-elm export` answers in Spark SQL as the model does: the same labels, scores to 1e-9."""

import numpy as np
import pandas as pd
import pytest
from reference.machines import D, calibrated, draw_forest, frame_of, kernel_model, labels_of, node_model

from mr_elm.estimators import ESVMClassifier

sql = pytest.importorskip('mr_elm.export.sql')
MODELS = {
    'sums': lambda rng, X: node_model(rng, 'product-laplacian', 3, 'abc', 'full'),
    'leaves': lambda rng, X: node_model(
        rng, 'nystrom', 2, 'ab', forest=draw_forest(rng, grid=np.unique(X)), targets={'separator': ';'}
    ),
    'pairs': lambda rng, X: calibrated(kernel_model(rng, 'laplacian', 'one-vs-one'), [0.4, 2.0, -0.3, 0.5]),
    'numbers': lambda rng, X: node_model(rng, 'sigmoid', 1, ''),
}


@pytest.mark.parametrize('make', MODELS.values(), ids=MODELS)
def test_answers_are_those_of_the_model(session, make):
    rng = np.random.default_rng(7)
    X = np.round(2 * rng.standard_normal((30, D)), 1)
    model = make(rng, X)
    rows = [(k, *map(float, x)) for k, x in enumerate(X)]
    session.createDataFrame(rows, ['id', *(f'x{j + 1}' for j in range(D))]).createOrReplaceTempView('rows')
    found = pd.DataFrame(session.sql(sql.make_sql(model, 'rows', 'spark', ['id'])).orderBy('id').collect())
    scores = wanted = model.decision_function(X)
    if not model.numeric:
        assert found.pop(0).tolist() == labels_of(model, X)
    if 'calibration' in model.arrays:
        wanted = np.hstack([scores, model.labelling.probabilities(scores)])
    np.testing.assert_allclose(found.iloc[:, :-1].to_numpy(), wanted, rtol=0, atol=1e-9 * abs(scores).max())


@pytest.mark.parametrize('kind', ['string', 'timestamp', 'date'])
def test_dates(session, kind):
    rng = np.random.default_rng(7)
    moments = pd.to_datetime('1970-01-01') + pd.to_timedelta(rng.integers(-10_000, 20_000, 60), 'D')
    texts = moments.strftime('%Y-%m-%d')
    if kind != 'date':
        texts = (moments + pd.to_timedelta(rng.integers(0, 86_400, 60), 's')).strftime('%Y-%m-%d %H:%M:%S')
    frame = pd.DataFrame({'day': texts, 'size': rng.random(60)})
    estimator = ESVMClassifier(encode='auto', n_hidden=20).fit(frame, moments.month > 6)
    rows = session.createDataFrame([(k, *row) for k, row in enumerate(frame.itertuples(index=False))], ['id', *frame])
    rows.withColumn('day', rows['day'].cast(kind)).createOrReplaceTempView('dates')
    found = session.sql(sql.make_sql(estimator.to_model(), 'dates', 'spark', ['id'])).orderBy('id').collect()
    np.testing.assert_allclose([row[1] for row in found], estimator.decision_function(frame), rtol=0, atol=1e-9)


def test_gaps_and_categories(session):
    rng = np.random.default_rng(7)
    frame = frame_of(rng, 100)
    y = np.where((frame['age'].fillna(45) > 45) != (frame['city'] == 'Rome'), "it's", 'no')
    estimator = ESVMClassifier(encode='auto', n_hidden=20).fit(frame, y)
    rows = [tuple(None if value != value else value for value in row) for row in frame.itertuples(index=False)]
    session.createDataFrame(
        [(k, *row) for k, row in enumerate([*rows, (1.0, None, 'Rome', 'north')])],
        'id int, age double, half double, city string, zone string',
    ).createOrReplaceTempView('rows')
    query = session.sql(sql.make_sql(estimator.to_model(), 'rows', 'spark', ['id']))
    found = [tuple(row) for row in query.orderBy('id').collect()]
    frame.loc[100] = (1.0, np.nan, 'Rome', 'north')  # the mean stands for a number that no row of the training lacks
    assert [row[0] for row in found] == estimator.predict(frame).tolist()
    np.testing.assert_allclose([row[1] for row in found], estimator.decision_function(frame), rtol=0, atol=1e-9)
