"""Estimators of several targets, (n, K), and of several labels, an indicator matrix."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.estimators import (
    AutoClassifier,
    AutoRegressor,
    ELMClassifier,
    ELMRegressor,
    ESVMClassifier,
    ESVMRegressor,
    KernelELMClassifier,
    KernelELMRegressor,
    OELMClassifier,
    to_estimator,
)
from mr_elm.model.file import read_model

REGRESSORS = [ESVMRegressor(n_hidden=30), ELMRegressor(n_hidden=30), KernelELMRegressor()]
CLASSIFIERS = [ESVMClassifier(n_hidden=30, nu=100), ELMClassifier(n_hidden=30, C=100), KernelELMClassifier(C=10)]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(120, 3))


@pytest.fixture
def Y(X):
    return np.column_stack([X[:, 0] ** 2 + X[:, 1], 100 * np.sin(X[:, 2])])


@pytest.fixture
def sets(X):
    return (X > [0, 0.3, -0.3]).astype(int)


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(
    'estimator', [REGRESSORS[0], CLASSIFIERS[0], CLASSIFIERS[2]], ids=lambda each: type(each).__name__
)
def test_scikit_learn_is_content(estimator):
    tags = estimator.__sklearn_tags__()
    assert tags.target_tags.multi_output or tags.classifier_tags.multi_label
    assert [row['check_name'] for row in check_estimator(estimator, on_fail=None) if row['status'] == 'failed'] == []


@pytest.mark.parametrize('estimator', REGRESSORS, ids=lambda each: type(each).__name__)
def test_several_targets_in_one_fit_are_as_many_single_ones(estimator, X, Y):
    both = clone(estimator).fit(X, Y)
    singles = [clone(estimator).fit(X, y) for y in Y.T]
    np.testing.assert_allclose(
        both.predict(X), np.column_stack([each.predict(X) for each in singles]), rtol=0, atol=1e-8
    )
    assert clone(estimator).fit(X, Y[:, :1]).predict(X).shape == (120, 1)
    assert singles[0].predict(X).shape == (120,)


@pytest.mark.parametrize(
    'estimator, single', list(zip(CLASSIFIERS, REGRESSORS, strict=True)), ids=lambda each: type(each).__name__
)
def test_several_labels_in_one_fit_are_as_many_regressions_of_zero_and_one(estimator, single, X, sets):
    model = clone(estimator).fit(X, sets)
    shared = {name: value for name, value in estimator.get_params().items() if name in single.get_params()}
    values = np.column_stack(
        [clone(single).set_params(**shared, center=False).fit(X, y.astype(float)).predict(X) for y in sets.T]
    )
    np.testing.assert_allclose(model.decision_function(X), values - 0.5, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), values > 0.5)
    assert model.score(X, sets) == (model.predict(X) == sets).all(axis=1).mean() > 0.7


@pytest.mark.parametrize(
    'estimator, kind',
    [(each, 'Y') for each in REGRESSORS] + [(each, 'sets') for each in CLASSIFIERS],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_a_model_file_holds_several_targets_and_labels(estimator, kind, X, request, tmp_path):
    y = request.getfixturevalue(kind)
    fitted = clone(estimator).fit(X, y)
    fitted.to_model().save(tmp_path / 'm.npz')
    back = to_estimator(read_model(tmp_path / 'm.npz'))
    np.testing.assert_array_equal(back.predict(X), fitted.predict(X))


def test_a_row_has_a_label_whose_decision_value_is_above_one_half(X, sets):
    model = clone(CLASSIFIERS[0]).fit(X, sets).to_model()
    values = np.tile([[0.5], [np.nextafter(0.5, 1)]], (1, len(model.classes)))
    np.testing.assert_array_equal(model.decide(values), values > 0.5)
    assert not model.decide(values)[0].any()


SETS = 'MultiLabelBinarizer().fit_transform(y) makes a matrix of 0 and 1 of lists of labels'
CURES = [
    *((each, 'give rows lists of the same length') for each in [*REGRESSORS, AutoRegressor()]),
    *((each, SETS) for each in CLASSIFIERS),
    *((each, 'give each row one label or target') for each in (OELMClassifier(), AutoClassifier())),
]


@pytest.mark.parametrize('estimator, cure', CURES)
@pytest.mark.parametrize(
    'make, found',
    [
        (list, "[['a', 'b'], ['a'], ['a', 'b'], ... of 120]"),
        (pd.Series, "[['a', 'b'], ['a'], ['a', 'b'], ... of 120]"),
        (lambda lists: list(map(set, lists)), '[set of 2, set of 1, set of 2, ... of 120]'),
        (lambda lists: list(map(frozenset, lists)), '[frozenset of 2, frozenset of 1, frozenset of 2, ... of 120]'),
    ],
    ids=['lists', 'series', 'sets', 'frozensets'],
)
def test_lists_that_make_no_matrix_are_refused_with_what_the_estimator_takes(estimator, cure, make, found, X):
    said = f'y: expected labels or targets of the shape (n,) or (n, K), found {found}: {cure}'
    with pytest.raises(ValueError, match=f'^{re.escape(said)}$'):
        clone(estimator).fit(X, make([['a', 'b'], ['a']] * 60))


@pytest.mark.parametrize('estimator, kind', [(REGRESSORS[0], 'Y'), (CLASSIFIERS[0], 'sets')], ids=['targets', 'labels'])
def test_rows_come_and_leave_as_if_they_had_never_been_there(estimator, kind, X, request):
    y = request.getfixturevalue(kind)
    old, new = slice(80), slice(80, None)
    first = clone(estimator).fit(X[old], y[old])
    whole = clone(estimator).fit(X, y, like=first)
    grown = clone(estimator).fit(X[old], y[old]).partial_fit(X[new], y[new])
    np.testing.assert_allclose(grown._values(X), whole._values(X), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(grown.forget(X[new], y[new])._values(X), first._values(X))
    merged = clone(estimator).fit(X[old], y[old]).merge(clone(estimator).fit(X[new], y[new], like=first))
    np.testing.assert_allclose(merged._values(X), whole._values(X), rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match='as the rows before'):
        grown.partial_fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize('estimator', [*REGRESSORS, AutoRegressor()], ids=lambda each: type(each).__name__)
def test_text_among_targets_is_named_with_its_row_and_the_classifier(estimator, X):
    labels, kind = ['1.5', 'a', *'b' * 118], type(estimator).__name__.replace('Regressor', 'Classifier')
    for y in (labels, np.array(labels), np.array(labels, object)):
        with pytest.raises(ValueError, match=f"y: expected numbers, row 1 has 'a': labels of classes need {kind}$"):
            estimator.fit(X, y)


@pytest.mark.parametrize('encode', ['refuse', 'auto'])
@pytest.mark.parametrize('estimator', [*REGRESSORS, AutoRegressor()], ids=lambda each: type(each).__name__)
def test_a_missing_target_is_named_with_its_row(estimator, encode, X):
    told = r'^y: expected a target in each row, that of row 7 is missing \(Input y contains NaN\): leave such rows out$'
    table, model = pd.DataFrame(X), clone(estimator).set_params(encode=encode)
    for missing in (None, np.nan, pd.NA, 'NA', '', 'nan'):
        y = [*np.arange(7.0), missing, *np.arange(112.0)]
        for form in (y, np.array(y, object), pd.Series(y, dtype=object), pd.Series(y, range(200, 320), object)):
            with pytest.raises(ValueError, match=told):
                model.fit(table, form)
    y[7] = np.nan
    for form in (np.array(y), pd.Series(y), pd.Series(y).astype('Int64'), pd.DataFrame({'y': y})):
        with pytest.raises(ValueError, match=told):
            model.fit(table, form)


@pytest.mark.parametrize('encode', ['refuse', 'auto'])
@pytest.mark.parametrize('estimator', [AutoClassifier(), AutoRegressor(), OELMClassifier(), ESVMClassifier()])
def test_several_columns_of_labels_name_the_estimators_that_take_them(estimator, encode, X, sets):
    told = r'^y: expected one label or target in each row, found .*\(120, 3\) \(y should be a 1d array\): .* ESVM'
    y = sets.tolist()
    if isinstance(estimator, ESVMClassifier):
        y = sets.astype(str)  # no matrix of 0 and 1
    with pytest.raises(ValueError, match=told):
        clone(estimator).set_params(encode=encode).fit(pd.DataFrame(X), y)


def test_a_label_that_loses_its_last_row_stays_as_a_column(X, sets):
    rare = np.where(np.arange(120)[:, None] < 80, sets * [1, 1, 0], sets)
    model = clone(CLASSIFIERS[0]).fit(X, rare).forget(X[80:], rare[80:])
    assert model.predict(X).shape == (120, 3) and not model.predict(X)[:, 2].any()


@pytest.mark.parametrize(
    'estimator, kind',
    [(REGRESSORS[0], 'Y'), (CLASSIFIERS[0], 'sets'), (CLASSIFIERS[2], 'sets')],
    ids=['targets', 'labels', 'kernel labels'],
)
def test_a_grid_search_takes_several(estimator, kind, X, request):
    y = request.getfixturevalue(kind)
    name = 'nu' if 'nu' in estimator.get_params() else 'C'
    search = GridSearchCV(estimator, {name: [1e-6, 100]}, cv=3).fit(X, y)
    assert search.best_params_ == {name: 100} and np.isfinite(cross_val_score(estimator, X, y, cv=3)).all()


@pytest.mark.parametrize(
    'estimator, message',
    [
        (ESVMClassifier(probabilities=True), 'probabilities: expected False'),
        (ELMClassifier(class_weight='balanced'), 'class_weight: expected None'),
        (KernelELMClassifier(leave_one_out=True), 'leave_one_out: expected False'),
        (OELMClassifier(), 'y should be a 1d array|1d array'),
    ],
)
def test_what_needs_one_label_refuses_an_indicator_matrix(estimator, message, X, sets):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, sets)
    with pytest.raises(ValueError, match='1d array'):
        ESVMRegressor(intervals=True).fit(X, sets)
