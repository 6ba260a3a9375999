"""All estimators among scikit-learn's tools: weights, sparse rows, frames, pipelines, searches, pickles, memory."""

import logging
import pickle
import re
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mr_elm import estimators
from mr_elm.errors import describe_error
from mr_elm.estimators import ELMClassifier, ELMRegressor, ESVMClassifier, ESVMRegressor, SparseELMClassifier

RNG = np.random.default_rng(1)
X = RNG.standard_normal((80, 3))
LABELS = np.where(X[:, 0] + X[:, 1] ** 2 > 1, 'in', 'out')
TIMES = RNG.integers(0, 3, len(X))
KINDS = [getattr(estimators, name) for name in estimators.__all__ if name[0].isupper()]
ALL = [kind(**({'budget': 10} if 'budget' in kind().get_params() else {})) for kind in KINDS]
CLASSIFIERS = [estimator for estimator in ALL if hasattr(estimator, 'decision_function')]
CHOSEN = [estimator for estimator in ALL if 'budget' not in estimator.get_params()]  # by the user, and not by rows


def labels_for(estimator):
    return LABELS if estimator in CLASSIFIERS else X[:, 0] * X[:, 1]


def values(estimator, rows=X):
    return getattr(estimator, 'decision_function', estimator.predict)(rows)


def test_there_are_eleven():
    assert len(ALL) == 11 and len(CLASSIFIERS) == 7


@pytest.mark.parametrize('estimator', [*ALL, ELMClassifier('nystrom'), ELMRegressor('identity')], ids=repr)
def test_a_weight_says_how_often_a_row_is_there(estimator):
    y = LABELS if hasattr(estimator, 'decision_function') else X[:, 0] * X[:, 1]
    tight = {'tol': 1e-10} if estimator.get_params().get('tol') else {}
    weighted, repeated = clone(estimator).set_params(**tight), clone(estimator).set_params(**tight)
    weighted.fit(X, y, sample_weight=TIMES)
    repeated.fit(np.repeat(X, TIMES, axis=0), np.repeat(y, TIMES))
    assert np.allclose(values(weighted), values(repeated), rtol=0, atol=1e-5)


@pytest.mark.parametrize('estimator', ALL, ids=repr)
def test_weights_below_zero_are_refused(estimator):
    for weights in (-np.ones(len(X)), np.r_[-1, np.ones(len(X) - 1)]):
        with pytest.raises(ValueError, match='^sample_weight: expected numbers of at least 0, found -1$'):
            clone(estimator).fit(X, labels_for(estimator), sample_weight=weights)
    if 'class_weight' in estimator.get_params():
        for weight in (-1, 0, np.nan):
            with pytest.raises(ValueError, match='class_weight: expected finite numbers above 0'):
                clone(estimator).set_params(class_weight={'in': weight}).fit(X, LABELS)


@pytest.mark.parametrize('estimator', ALL, ids=repr)
def test_random_state_is_another_name_of_the_seed(estimator):
    y = labels_for(estimator)
    by_seed, by_state = clone(estimator).set_params(seed=3), clone(estimator).set_params(seed=1, random_state=3)
    assert clone(by_state).get_params()['random_state'] == 3
    assert np.array_equal(values(by_state.fit(X, y)), values(by_seed.fit(X, y)))
    drawn = clone(estimator).set_params(random_state=np.random.RandomState(5)).fit(X, y)
    assert drawn.seed_ == np.random.RandomState(5).randint(2**31 - 1) != by_state.seed_ == 3
    with pytest.raises(ValueError, match='^random_state: expected a whole number from 0'):
        clone(estimator).set_params(random_state=-1).fit(X, y)


@pytest.mark.parametrize('estimator', CLASSIFIERS, ids=repr)
def test_class_weights_are_row_weights(estimator):
    fixed = {'scale': 'none', 'weights': 'uniform', 'sigma': 3**0.5}  # else the weights of rows count in them
    plain = clone(estimator)
    plain.set_params(**{name: value for name, value in fixed.items() if name in plain.get_params()})
    by_class = clone(plain).set_params(class_weight={'in': 3.0}).fit(X, LABELS)
    by_row = clone(plain).fit(X, LABELS, sample_weight=np.where(LABELS == 'in', 3.0, 1.0))
    assert np.allclose(values(by_class), values(by_row), rtol=0, atol=1e-6)
    assert not np.allclose(values(by_class), values(plain.fit(X, LABELS)), rtol=0, atol=1e-3)


def test_lasting_class_weights_hold_for_rows_that_come_and_leave():
    model = ESVMClassifier(n_hidden=20, class_weight={'in': 3.0})
    whole = clone(model).fit(X, LABELS, like=clone(model).fit(X[:50], LABELS[:50]))
    parts = model.partial_fit(X[:50], LABELS[:50]).partial_fit(X[50:], LABELS[50:])
    assert np.allclose(values(parts), values(whole), rtol=0, atol=1e-8)
    left, first = parts.forget(X[50:], LABELS[50:]), clone(model).fit(X[:50], LABELS[:50])
    assert np.allclose(values(left), values(first), rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match='balanced'):
        ESVMClassifier(class_weight='balanced').partial_fit(X, LABELS)


@pytest.mark.parametrize('estimator', ALL, ids=repr)
def test_frames_pipelines_searches_and_pickles(estimator):
    import pandas

    frame, y = pandas.DataFrame(X, columns=['a', 'b', 'c']), labels_for(estimator)
    fitted = clone(estimator).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ['a', 'b', 'c'] and fitted.n_features_in_ == 3
    assert np.allclose(values(pickle.loads(pickle.dumps(fitted)), frame), values(clone(estimator).fit(X, y)))
    strength = next(name for name in ('nu', 'C', 'budget') if name in estimator.get_params())
    search = GridSearchCV(
        make_pipeline(StandardScaler(), clone(estimator)),
        {f'{type(estimator).__name__.lower()}__{strength}': np.array([1, 10])},
        cv=2,
    )
    search.fit(frame, y)
    assert search.best_score_ > (0.6 if estimator in CLASSIFIERS else 0)


@pytest.mark.parametrize('estimator', CHOSEN, ids=repr)
def test_sparse_rows_are_rows(estimator):
    y, thin = labels_for(estimator), sp.csr_matrix(X)
    tight = {'tol': 1e-8} if estimator.get_params().get('tol') else {}
    dense, sparse = (clone(estimator).set_params(**tight).fit(rows, y) for rows in (X, thin))
    assert np.allclose(values(sparse, thin), values(dense), rtol=0, atol=1e-5)


@pytest.mark.parametrize('form', [np.asfortranarray, sp.csr_matrix])
@pytest.mark.parametrize('estimator', CHOSEN, ids=repr)
def test_rows_that_change_after_the_fit_do_not_change_the_estimator(estimator, form):
    rows = form(X.copy())
    machine = clone(estimator).set_params(scale='none').fit(rows, labels_for(estimator))
    before = values(machine)
    rows *= 2
    assert (values(machine) == before).all()


@pytest.mark.parametrize(
    'estimator, share',
    [
        (ESVMClassifier(n_hidden=50), 0.7),
        (ESVMRegressor(n_hidden=50), 0.7),
        (ELMClassifier(n_hidden=50), 0.7),
        (SparseELMClassifier(cache_size=1, max_iter=5), 2.1),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings('ignore')
def test_fitting_copies_rows_by_blocks_and_the_dual_keeps_them_centred_in_two_precisions(estimator, share):
    wide = RNG.standard_normal((6000, 500))
    y = wide[:, 0] if isinstance(estimator, ESVMRegressor) else np.where(wide[:, 0] > 0, 1, 0)
    clone(estimator).fit(wide, y)  # imports and compiles all that these rows need
    tracemalloc.start()
    estimator.fit(wide, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < share * wide.nbytes, peak / wide.nbytes


MACHINES = [estimator for estimator in CLASSIFIERS if type(estimator).__name__ != 'OELMClassifier']


@pytest.mark.parametrize('machine', [*MACHINES, ESVMClassifier(solver='passes')], ids=repr)
def test_a_fit_says_what_it_does_where_verbose_asks_for_it(machine, capsys):
    """In the words of the commands, on standard error; the fit is the same."""
    handlers = list(logging.getLogger('mr_elm').handlers)
    silent = clone(machine).fit(X, LABELS)
    assert capsys.readouterr() == ('', '')
    loud = clone(machine).set_params(verbose=1).fit(X, LABELS)
    said = capsys.readouterr()
    assert said.out == '' and re.search(
        r'^((Gram|kernel|machines|passes): 80 rows in |comparing machines on 80)', said.err, re.MULTILINE
    ), said
    assert (values(loud) == values(silent)).all()
    assert logging.getLogger('mr_elm').handlers == handlers


@pytest.mark.parametrize('estimator', ALL, ids=repr)
def test_missing_memory_is_told_in_the_sentence_of_the_command(estimator, monkeypatch):
    def fail(*_, **__):
        np.empty((2**29, 2**29))

    monkeypatch.setattr(type(estimator), '_validate', fail)
    with pytest.raises(
        MemoryError, match=r'expected more memory .*EiB.*\(536870912, 536870912\).*fewer rows'
    ) as caught:
        clone(estimator).fit(X, labels_for(estimator))
    assert describe_error(caught.value.__cause__) == str(caught.value)
