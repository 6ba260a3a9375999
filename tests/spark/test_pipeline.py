"""Models stand in pipelines of pyspark.ml, which save and load them."""

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import SQLTransformer, StringIndexer

from mr_elm import spark as notebook


@pytest.fixture(scope='module')
def df(session):
    """Make a DataFrame of a number, a category and a label."""
    rng = np.random.default_rng(3)
    rows = [(float(a), 'xyz'[k % 3], 'yes' if a + k % 3 > 1 else 'no') for k, a in enumerate(rng.normal(size=60))]
    return session.createDataFrame(rows, 'a double, kind string, y string').coalesce(1)


def collect(df):
    return [tuple(row) for row in df.select('prediction', 'probability').collect()]


def test_a_pipeline_is_fitted_saved_and_loaded(df, tmp_path):
    elm = notebook.ElmEstimator(label='y', encode='auto', options={'hidden': 9, 'probabilities': True, 'seed': 3})
    pipeline = Pipeline(stages=[SQLTransformer(statement='SELECT *, a * a AS square FROM __THIS__'), elm])
    fitted = pipeline.fit(df)
    found = collect(fitted.transform(df))
    squared = df.withColumn('square', df['a'] * df['a'])
    alone = notebook.train(squared, 'pesvm', label='y', encode='auto', hidden=9, probabilities=True, seed=3)
    assert found == collect(alone.transform(squared))
    fitted.write().overwrite().save(str(tmp_path / 'fitted'))
    assert collect(PipelineModel.load(str(tmp_path / 'fitted')).transform(df)) == found
    pipeline.save(str(tmp_path / 'pipeline'))
    again = Pipeline.load(str(tmp_path / 'pipeline'))
    assert again.getStages()[1].getOrDefault('options') == {'hidden': 9, 'probabilities': True, 'seed': 3}
    assert again.getStages()[1].uid == elm.uid
    assert notebook.load(tmp_path / 'fitted' / 'stages' / f'1_{fitted.stages[1].uid}' / 'model.npz') is not None


def test_a_stage_stands_before_others_and_takes_parameters_of_fit(df):
    elm = notebook.ElmEstimator(label='y', encode='auto', options={'hidden': 9})
    stages = [elm, StringIndexer(inputCol='prediction', outputCol='number')]
    assert 'number' in Pipeline(stages=stages).fit(df).transform(df).columns
    with pytest.raises(ValueError, match='method: expected .*, found .telepathy.'):
        elm.fit(df, {elm.method: 'telepathy'})


def test_an_unknown_parameter_is_refused():
    with pytest.raises(TypeError, match='found hidden: options of the method stand in options'):
        notebook.ElmEstimator(hidden=9)
