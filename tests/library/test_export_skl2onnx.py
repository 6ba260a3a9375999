"""A pipeline that ends in an estimator becomes one graph, and estimators go into the stores of other projects."""

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mr_elm import estimators
from mr_elm.estimators import (
    ESTIMATORS,
    AutoClassifier,
    ELMRegressor,
    ESVMClassifier,
    ESVMRegressor,
    KernelELMClassifier,
    KernelELMRegressor,
    SparseELMClassifier,
)

EVERY = [kind for kinds in ESTIMATORS.values() for kind in kinds]


@pytest.fixture
def rows(rng):
    """Draw rows and labels of three classes."""
    X = rng.normal(size=(120, 4))
    return X, (X[:, 0] > 0.3) * 1 + (X[:, 1] * X[:, 2] > 0) * 1


def make(kind, **parameters):
    """Return an estimator that is quickly fitted."""
    small = {'n_hidden': 20, 'budget': 40, 'sigma': 2.0}
    return kind(**{name: value for name, value in small.items() if name in kind().get_params()} | parameters)


def make_table(rows):
    """Return rows as a table of numbers, some of which are missing, texts and dates."""
    pandas = pytest.importorskip('pandas')
    X, y = rows
    return pandas.DataFrame(
        {
            'size': np.where(X[:, 0] > 1, np.nan, X[:, 0]),
            'colour': np.where(X[:, 1] > 0, 'red', 'blue'),
            'day': pandas.date_range('2024-01-30', periods=len(y)),
        }
    )


def convert(pipeline, X):
    """Return the answers of the graph of a pipeline to rows."""
    skl2onnx, onnxruntime = pytest.importorskip('skl2onnx'), pytest.importorskip('onnxruntime')
    from mr_elm.export.skl2onnx import register

    register()
    graph = skl2onnx.to_onnx(pipeline, X[:1]).SerializeToString()
    return onnxruntime.InferenceSession(graph, providers=['CPUExecutionProvider']).run(None, {'X': X})


@pytest.mark.parametrize('kind', EVERY)
def test_a_pipeline_that_ends_in_an_estimator_becomes_one_graph(kind, rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), make(kind)).fit(X, y if is_regressor(kind()) else y * 10.0)
    found = convert(pipeline, X)
    if is_regressor(kind()):
        np.testing.assert_allclose(found[0][:, 0], pipeline.predict(X), rtol=0, atol=1e-9)
        return
    assert found[0].tolist() == pipeline.predict(X).tolist()
    model = pipeline[-1].to_model()
    wanted = model.decision_function(pipeline[:-1].transform(X))
    if 'calibration' in model.arrays:
        wanted = model.labelling.probabilities(wanted)
    np.testing.assert_allclose(found[1], wanted, rtol=0, atol=1e-9)


def test_probabilities_text_several_labels_and_targets(rows):
    X, y = rows
    names = np.array(['no', 'may be', 'yes'])[y]
    fitted = ESVMClassifier(n_hidden=20, probabilities=True).fit(X, names)
    found = convert(fitted, X)
    assert found[0].tolist() == fitted.predict(X).tolist()
    np.testing.assert_allclose(found[1], fitted.predict_proba(X), rtol=0, atol=1e-9)
    several = ESVMClassifier(n_hidden=20).fit(X, np.column_stack([y > 0, y > 1]))
    assert (convert(several, X)[0] == several.predict(X)).all()
    targets = ELMRegressor(n_hidden=20).fit(X, X[:, :2])
    np.testing.assert_allclose(convert(targets, X)[0], targets.predict(X), rtol=0, atol=1e-9)


def test_two_estimators_in_one_pipeline_and_rows_of_float32(rows):
    X, y = rows
    stack = StackingRegressor([('a', ELMRegressor(n_hidden=9)), ('b', KernelELMRegressor())], Ridge()).fit(X, y)
    np.testing.assert_allclose(convert(stack, X)[0][:, 0], stack.predict(X), rtol=0, atol=1e-8)
    single = X.astype(np.float32)
    fitted = SparseELMClassifier(sigma=2.0).fit(single, y)
    label, scores = convert(fitted, single)
    assert scores.dtype == np.float32 and label.tolist() == fitted.predict(single).tolist()


def test_what_a_graph_cannot_hold_is_refused_in_a_sentence(rows):
    X, y = rows
    with pytest.raises(ValueError, match="encode='auto'.*make_onnx"):
        convert(ESVMClassifier(encode='auto', n_hidden=5).fit(make_table(rows), y), X[:, :2])


def assert_skops_keeps(fitted, X):
    """Demand that an estimator which skops has written and read predicts the same."""
    skops = pytest.importorskip('skops.io')
    wanted = fitted.predict(X)  # first, so that what it caches is there
    written = skops.dumps(fitted)
    trusted = skops.get_untrusted_types(data=written)
    assert all(name.split('.')[0] in ('mr_elm', 'numpy', 'collections', 'builtins') for name in trusted)
    again = skops.loads(written, trusted=trusted)
    assert (again.predict(X) == wanted).all()
    for method in ('decision_function', 'predict_proba', 'predict_interval'):
        if hasattr(fitted, method):
            assert (getattr(again, method)(X) == getattr(fitted, method)(X)).all()


@pytest.mark.parametrize('kind', EVERY)
def test_skops_keeps_an_estimator(kind, rows):
    X, y = rows
    assert_skops_keeps(make(kind).fit(X, y), X)


@pytest.mark.parametrize('kind', EVERY)
def test_skops_keeps_an_estimator_of_a_table(kind, rows):
    table, y = make_table(rows), rows[1]
    assert_skops_keeps(make(kind, encode='auto').fit(table, y), table)


@pytest.mark.parametrize(
    ('kind', 'parameters'),
    [
        (ESVMClassifier, {'map': 'leaves+nystrom', 'leaves': 32, 'probabilities': True}),
        (ESVMClassifier, {'metric': 'full', 'class_weight': {0: 1, 1: 2.5, 2: 1}}),
        (ESVMRegressor, {'solver': 'passes', 'target': 'log', 'intervals': True}),
        (AutoClassifier, {'keep_sums': True, 'random_state': np.random.RandomState(0)}),
        (SparseELMClassifier, {'kernel': 'sigmoid', 'multiclass': 'one-vs-all', 'probabilities': True}),
        (KernelELMClassifier, {'scale': 'none', 'leave_one_out': True}),
        (KernelELMRegressor, {'solver': 'svd', 'scale': 'minmax'}),
    ],
)
@pytest.mark.filterwarnings('ignore:probabilities. the trees have seen')
def test_skops_keeps_what_parameters_change(kind, parameters, rows):
    X, y = rows
    for encode, given in ('refuse', np.asfortranarray(X)), ('auto', make_table(rows)):
        assert_skops_keeps(make(kind, encode=encode, **parameters).fit(given, y + is_regressor(kind())), given)


@pytest.mark.parametrize('kind', EVERY)
def test_mlflow_keeps_an_estimator_with_signature_and_example(kind, rows, tmp_path, monkeypatch):
    mlflow, sklearn = pytest.importorskip('mlflow'), pytest.importorskip('mlflow.sklearn')
    skops = pytest.importorskip('skops.io')
    monkeypatch.setenv('MLFLOW_ALLOW_FILE_STORE', 'true')  # a database needs more than mlflow-skinny
    monkeypatch.chdir(tmp_path)
    X, y = rows
    fitted = make(kind).fit(X, y)
    mlflow.set_tracking_uri(f'file://{tmp_path}/runs')
    trusted = skops.get_untrusted_types(data=skops.dumps(fitted))
    with mlflow.start_run():
        logged = sklearn.log_model(
            fitted, name='model', input_example=X[:2], skops_trusted_types=trusted, pip_requirements=['mr_elm']
        )
    assert logged.signature.inputs.input_types() == [np.dtype(float)]
    assert (sklearn.load_model(logged.model_uri).predict(X) == fitted.predict(X)).all()
    assert (mlflow.pyfunc.load_model(logged.model_uri).predict(X) == fitted.predict(X)).all()


def test_no_estimator_is_left_out():
    assert {kind.__name__ for kind in EVERY} == {*estimators.__all__} - {'to_estimator'}
