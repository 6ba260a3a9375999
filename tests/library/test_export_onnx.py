"""A graph of ONNX answers in onnxruntime as the model does: the same labels, scores to 1e-9 of the largest."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from reference.dual import one_against_one
from reference.machines import (
    KERNELS,
    D,
    L,
    calibrated,
    constant_model,
    draw_forest,
    frame_of,
    kernel_model,
    labels_of,
    node_model,
)
from sklearn.base import clone

from mr_elm.estimators import AutoClassifier, ELMRegressor, ESVMClassifier, KernelELMClassifier
from mr_elm.features.nodes import LANDMARK_NODES, NODES
from mr_elm.model.models import KernelModel, join_members

onnxruntime = pytest.importorskip('onnxruntime')
make_onnx = pytest.importorskip('mr_elm.export.onnx').make_onnx


def answer(model, feed, single=False):
    """Run a model's graph: name of output -> values."""
    session = onnxruntime.InferenceSession(
        make_onnx(model, single).SerializeToString(), providers=['CPUExecutionProvider']
    )
    assert {each.name for each in session.get_inputs()} == set(feed)
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, feed), strict=True))


def check(model, X, single=False, feed=None):
    """Demand that graph and model agree on rows X."""
    feed = feed or {'X': X.astype(np.float32 if single else float)}
    found, wanted, close = answer(model, feed, single), model.decision_function(X), 1e-4 if single else 1e-9
    size = np.abs(wanted).max()
    assert found['scores'].shape == wanted.shape and found['scores'].dtype == (np.float32 if single else float)
    assert np.abs(found['scores'] - wanted).max() <= close * size
    if model.numeric:
        assert np.abs(found['label'] - model.predict(X)).max() <= close * size
        assert found['label'].shape == model.predict(X).shape
    else:
        assert found['label'].tolist() == labels_of(model, X) and len(set(found['label'])) > 1
    assert ('probabilities' in found) == ('calibration' in model.arrays)
    if 'probabilities' in found:
        wanted = model.labelling.probabilities(model.decision_function(X))
        np.testing.assert_allclose(found['probabilities'], wanted, rtol=0, atol=max(close, 1e-9))
    return found


@pytest.fixture
def X(rng):
    """Draw rows on a grid, so that some equal thresholds."""
    return np.round(2 * rng.standard_normal((60, D)), 1)


@pytest.mark.parametrize('single', [False, True])
@pytest.mark.parametrize(
    'kind, metric',
    [
        *product(sorted(NODES), ['none', 'diagonal']),
        ('rff', 'full'),
        ('laplacian', 'full'),
        ('nystrom', 'full'),
        ('identity', 'full'),
    ],
)
def test_nodes_of_every_kind(kind, metric, single, rng, X):
    X = X.astype(np.float32).astype(float)
    check(node_model(rng, kind, 3, 'abc', metric), X, single)
    check(node_model(rng, kind, 1, 'ab', metric), X, single)


@pytest.mark.parametrize('kind', sorted(LANDMARK_NODES.values()))
def test_sparse_landmarks_and_rows_that_equal_one(kind, rng, X):
    model = node_model(rng, kind, 3, 'abc', sparse=True)
    layer = model.layer
    X[:L] = layer.dense_weights / layer.scale + layer.offset
    check(model, X)


@pytest.mark.parametrize('kind', ['sigmoid', 'identity', 'nystrom'])
@pytest.mark.parametrize('single', [False, True])
def test_leaves_of_trees_are_reached_exactly(kind, single, rng, X):
    forest = draw_forest(rng, grid=np.unique(X))
    check(node_model(rng, kind, 3, 'abc', 'diagonal', forest), X, single)
    other = node_model(rng, kind, 2, '', forest=draw_forest(rng, 3, 1, X[0]), targets={'names': ['y', 'z']})
    check(other, X, single)


@pytest.mark.parametrize('kernel, normalised', list(product(KERNELS, [False, True])))
@pytest.mark.parametrize('wrap', [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize('scheme', ['one-vs-one', 'one-vs-all'])
def test_support_vectors_of_every_kernel(kernel, normalised, wrap, scheme, rng, X):
    for metric, classes in (('none', 'abcd'), ('diagonal', 'ab')):
        model = kernel_model(rng, kernel, scheme, classes, normalised, wrap, metric)
        check(model, X, single=True)
        X[0] = model.arrays['feature_offset']  # scaled, a row of zeros
        check(model, X)
    check(kernel_model(rng, kernel, scheme, 'abc', normalised, metric='full'), X)


def test_ties_of_votes_and_of_values(rng, X):
    for scheme in ('one-vs-one', 'one-vs-all'):
        model = kernel_model(rng, 'gaussian', scheme)
        n_scores = model.n_scores
        zeros = {**model.arrays, 'dual_coef': np.zeros((40, n_scores)), 'intercept': np.zeros(n_scores)}
        assert set(answer(KernelModel(model.header, zeros), {'X': X})['label']) == {'a'}
    circle = {**model.arrays, 'dual_coef': np.zeros((40, 3)), 'intercept': np.array([1.0, -2.0, 1.5])}
    model = kernel_model(rng, 'gaussian', 'one-vs-one', 'abc')  # a vote each: the sums are 1, 2.5 - 1... of a largest
    found = answer(KernelModel(model.header, circle), {'X': X})
    assert set(found['label']) == set(labels_of(KernelModel(model.header, circle), X))


@pytest.mark.parametrize('values', list(product([-1, 0, 1], repeat=3)))
def test_a_vote_of_0_is_for_the_first_class_of_the_pair(rng, X, values):
    label = 'abc'[one_against_one([values], 3)[0]]
    assert set(answer(constant_model(rng, values, 'abc'), {'X': X})['label']) == {label}


@pytest.mark.parametrize('positive, label', [('a', 'b'), ('b', 'a')])
def test_a_probability_of_the_threshold_is_not_above_it(rng, X, positive, label):
    model = calibrated(constant_model(rng, [0], 'ab'), [0, 0], positive=positive, threshold=0.5)
    assert set(answer(model, {'X': X})['label']) == {label}


@pytest.mark.parametrize('scheme', ['one-vs-one', 'one-vs-all'])
def test_probabilities_of_several_classes(scheme, rng, X):
    model = kernel_model(rng, 'laplacian', scheme)
    check(calibrated(model, [0.4, 2.0, -0.3, 0.5]), X)
    check(calibrated(model, [0.4, 2.0, -0.3, 0.5]), X, single=True)


@pytest.mark.parametrize('positive, threshold', [('a', None), ('a', 0.3), ('b', 0.8), ('b', None)])
def test_probabilities_and_threshold_of_two_classes(positive, threshold, rng, X):
    check(calibrated(node_model(rng, 'tanh'), [-0.5, 0.7], positive=positive, threshold=threshold), X)


def test_the_mean_of_several_machines(rng, X):
    machines = [
        node_model(rng, kind, 3, 'abc', forest=draw_forest(rng, grid=X[1]) if k else None)
        for k, kind in enumerate(['nystrom', 'rff', 'sigmoid'])
    ]
    check(join_members(machines), X)
    check(calibrated(join_members(machines), [0.1, 0.2, 0.3]), X)


def test_regressions(rng, X):
    check(node_model(rng, 'relu', 1, ''), X)
    check(node_model(rng, 'nystrom', 1, ''), X, single=True)
    check(node_model(rng, 'sine', 3, '', targets={'names': ['u', 'v', 'w']}), X)


@pytest.mark.parametrize('classes', ['a', 'ab', 'abcd'])
def test_several_labels_a_row(classes, rng, X):
    model = node_model(rng, 'sigmoid', len(classes), classes, targets={'separator': ' + '})
    check(model, X)


def test_far_rows_have_no_kernel_values(rng, X):
    X[0], X[1] = 1e200, -1e300
    with np.errstate(all='ignore'):
        check(node_model(rng, 'nystrom', 3, 'abc'), X)
        check(kernel_model(rng, 'laplacian'), X)


def test_a_thousand_features_and_large_numbers_keep_their_digits(rng):
    X = 1e6 + rng.standard_normal((200, 300))
    y = np.where(np.sin(X[:, 0] - 1e6) > 0, 'no', 'yes')
    check(ESVMClassifier(n_hidden=50, map='nystrom').fit(X, y).to_model(), X)


def feed_of(frame, real=float):
    return {name: frame[[name]].to_numpy(real if frame[name].dtype == float else object) for name in frame}


def test_columns_enter_by_name_with_gaps_and_unknown_categories(rng):
    frame = frame_of(rng, 200)
    y = np.where((frame['age'].fillna(45) > 45) != (frame['city'] == 'Rome'), 'yes', 'no')
    estimator = ESVMClassifier(encode='auto', n_hidden=40, probabilities=True).fit(frame, y)
    plain = clone(estimator).set_params(probabilities=False).fit(frame, y)  # whose decision values are not calibrated
    model, rows = estimator.to_model(), frame_of(rng, 100)
    rows.loc[:9, 'city'], rows.loc[5:14, 'zone'], rows.loc[0, 'half'] = 'Lima', 'NA', np.nan
    for real, close in ((float, 1e-9), (np.float32, 1e-4)):
        found = answer(model, feed_of(rows, real), real is np.float32)
        assert found['label'].tolist() == estimator.predict(rows).tolist()
        np.testing.assert_allclose(found['scores'][:, 0], plain.decision_function(rows), rtol=0, atol=close)
        np.testing.assert_allclose(found['probabilities'], estimator.predict_proba(rows), rtol=0, atol=close)


@pytest.mark.parametrize('gaps', [True, False])
def test_dates_are_days_since_1970(gaps, rng):
    """Before and after 1970, also centuries without a leap day, with the hour; float32 would lose minutes."""
    minutes = rng.integers(-370 * 525_960, 400 * 525_960, 500)
    minutes[:100] -= minutes[:100] % 60  # full hours, whose number of days may be rounded down
    moments = np.datetime64('1970-01-01', 'm') + minutes
    texts = pd.Series(np.datetime_as_string(moments)).str.replace('T', ' ')
    missing = rng.random(500) < 0.1
    if gaps:
        texts[missing] = ''
    frame = pd.DataFrame({'the day': texts, 'size': rng.random(500)})
    estimator = ESVMClassifier(encode='auto', n_hidden=30, nu=1e3)
    estimator.fit(frame, np.isin(moments.astype('M8[M]').astype(int) % 12, [1, 2, 10]))
    assert len(estimator.to_model().encoding.columns[0].categories) == 24
    frame.loc[missing, 'the day'] = ''
    wanted = estimator.decision_function(frame)
    for real, close in ((float, 1e-9), (np.float32, 1e-4)):
        feed = {'the day': np.where(missing, np.nan, minutes / 1440)[:, None], **feed_of(frame[['size']], real)}
        found = answer(estimator.to_model(), feed, real is np.float32)
        np.testing.assert_allclose(found['scores'][:, 0], wanted, rtol=0, atol=close * abs(wanted).max())
        assert found['label'].tolist() == estimator.predict(frame).astype(str).tolist()


def test_numbers_with_names_enter_by_name(rng):
    frame = pd.DataFrame(rng.standard_normal((100, 2)), columns=['left', '/right'.strip('/')])
    estimator = ELMRegressor(n_hidden=10).fit(frame, frame.sum(axis=1))
    found = answer(estimator.to_model(), feed_of(frame))
    np.testing.assert_allclose(found['label'], estimator.predict(frame), rtol=1e-9)


def test_models_as_they_are_trained(rng):
    X = rng.standard_normal((300, 4))
    y = (X[:, 0] > 0.3) * 1 + (X[:, 1] * X[:, 2] > 0) * 1
    check(AutoClassifier(budget=100).fit(X, y).to_model(), X)
    check(ESVMClassifier(map='leaves', leaves=40).fit(X, y).to_model(), X)
    check(KernelELMClassifier(C=100, probabilities=True).fit(X, y).to_model(), X)
    check(KernelELMClassifier(C=100).fit(sp.csr_matrix(X * (X > 0)), y).to_model(), X * (X > 0))


@pytest.mark.parametrize('name', ['label', 'scores', '', '/x'])
def test_columns_whose_names_a_graph_cannot_hold_are_refused(name, rng):
    frame = pd.DataFrame(rng.standard_normal((50, 2)), columns=['left', name])
    model = ELMRegressor(n_hidden=3).fit(frame, frame['left']).to_model()
    with pytest.raises(ValueError, match=f"found '{name}'"):
        make_onnx(model)


@pytest.mark.parametrize('like', ['rbf', 'tanh'])
def test_nodes_that_export_has_not_been_told_of_are_refused(like, rng, monkeypatch):
    monkeypatch.setitem(NODES, 'bump', NODES[like])
    model = node_model(rng, like)
    object.__setattr__(model.layer, 'kind', 'bump')
    with pytest.raises(ValueError, match='^export: expected nodes of kind .*, found bump$'):
        make_onnx(model)


def test_equal_models_make_equal_files(rng):
    model = node_model(rng, 'laplacian', metric='full')
    assert make_onnx(model).SerializeToString() == make_onnx(model).SerializeToString()
