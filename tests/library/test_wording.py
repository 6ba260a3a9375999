"""What people read at a prompt and in an error: one short line, no types of numpy, the name of the parameter."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mr_elm
from mr_elm import estimators
from mr_elm.errors import one_line, write_value
from mr_elm.estimators import ESVMClassifier, ESVMRegressor, KernelELMClassifier
from mr_elm.model.base import Model
from mr_elm.model.file import read_model
from mr_elm.model.models import AveragedModel
from mr_elm.rows.text import quote
from mr_elm.spark import SparkModel

OLD = sorted(path for path in (Path(__file__).parents[1] / 'models').glob('*.npz') if '.sums' not in path.stem)
LIBRARY = ('features', 'rows', 'machines', 'model', 'scores', 'solvers', 'spark', 'sums')
ARRAYS = re.compile(r'\b(ndarray|Floats|bytes|Sums|HiddenLayer|ModelHeader|GatheredRows)\b')
CLASSIFIERS = [name for name in estimators.__all__ if name.endswith('Classifier')]
TYPE = re.compile(r'\bnp\.|numpy|array\(')


def make_rows(n=60, d=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] > 0, 'long name of a class', 'another')


def is_short(thing):
    return all(0 < len(text) <= 500 and '\n' not in text for text in (repr(thing), str(thing)))


def dataclasses_of_arrays():
    """Yield the dataclasses of the library that hold arrays, or what holds these."""
    for module in pkgutil.walk_packages(mr_elm.__path__, 'mr_elm.'):
        if module.name.split('.')[1] in LIBRARY:
            for kind in vars(importlib.import_module(module.name)).values():
                if (
                    dataclasses.is_dataclass(kind)
                    and kind.__module__ == module.name
                    and any(
                        ARRAYS.search(str(each.type)) and 'Callable' not in str(each.type)
                        for each in dataclasses.fields(kind)
                    )
                ):
                    yield kind


def test_no_dataclass_prints_its_arrays():
    kinds = list(dataclasses_of_arrays())
    wordy = [
        kind.__qualname__
        for kind in kinds
        if kind.__repr__ is not one_line
        and not issubclass(kind, (Model, SparkModel))
        and kind.__name__ not in ('Kind', 'Batch')
    ]
    assert len(kinds) > 40 and wordy == []


@pytest.mark.parametrize('path', OLD, ids=lambda path: path.stem)
def test_a_model_is_one_line(path):
    model = read_model(path)
    assert is_short(model) and is_short(model.header) and model.header.method in repr(model)
    of_spark = SparkModel(model)
    assert is_short(of_spark) and model.header.method in str(of_spark)


def test_the_line_of_a_model_says_what_it_is():
    model = ESVMClassifier(n_hidden=7).fit([[0.0], [1.0], [2.0]], ['no', 'yes', 'yes']).to_model()
    assert repr(model).startswith(
        "HiddenNodeModel(method='pesvm', task='classification', classes=['no', 'yes'], n_features=1, n_rows_used=3, "
    )
    assert is_short(AveragedModel.of([model, model])) and repr(model.layer).count('float64') >= 2


@pytest.mark.parametrize('name', [name for name in estimators.__all__ if name[0].isupper()])
def test_what_an_estimator_has_learned_is_one_line_each(name):
    X, y = make_rows()
    kind = getattr(estimators, name)
    words = {
        key: value
        for key, value in {'n_hidden': 300, 'probabilities': True, 'leave_one_out': True}.items()
        if key in kind().get_params()
    }
    fitted = kind(**words).fit(X, y if name in CLASSIFIERS else X[:, 0])
    shown = [vars(fitted)[key] for key in vars(fitted) if key not in fitted.get_params()]
    shown += [getattr(fitted, key) for key in ('layer_', 'sums_') if hasattr(fitted, key)]
    ours = [
        each
        for value in shown
        for each in (value if isinstance(value, (list, tuple)) else [value])
        if type(each).__module__.startswith('mr_elm')
    ]
    assert ours and [type(each) for each in ours if not is_short(each)] == []


def test_the_encoding_of_a_table_is_one_line():
    table = pd.DataFrame({'plan': [f'a plan with a long name {i}' for i in range(90)], 'age': np.arange(90.0)})
    fitted = ESVMClassifier(n_hidden=5, encode='auto').fit(table, np.arange(90) % 2)
    assert is_short(fitted.encoding_) and is_short(fitted.to_model().header)


@pytest.mark.parametrize('name', [name for name in estimators.__all__ if name[0].isupper()])
def test_the_docstring_of_an_estimator_says_what_it_does_and_what_each_parameter_is(name):
    kind = getattr(estimators, name)
    first, empty, heading, line, *rest = inspect.getdoc(kind).splitlines()
    assert first.startswith('Train ') and (empty, heading, line) == ('', 'Parameters', '----------')
    section = '\n'.join(rest).partition('\n\n')[0]
    entries = re.findall(r'(?m)^(\w+(?:, \w+)*) : ', section)
    assert sorted(', '.join(entries).split(', ')) == sorted(kind().get_params())
    assert 'see `' not in section


@pytest.mark.parametrize('name', [name for name in estimators.__all__ if name[0].isupper()])
def test_where_a_solver_stops_has_the_names_of_scikit_learn(name):
    parameters = {*getattr(estimators, name)().get_params()}
    assert parameters & {'tol', 'max_iter', 'tolerance', 'max_passes', 'eps'} in (set(), {'tol', 'max_iter'})


@pytest.mark.parametrize(
    ('make', 'said'),
    [
        (
            lambda X, y: ESVMClassifier(map='rff', kernel='laplacian').fit(X, y),
            'kernel laplacian: expected map nystrom',
        ),
        (lambda X, y: ESVMClassifier(solver='passes', tol=2.0).fit(X, y), 'tol: expected a number below 1'),
        (lambda X, y: ESVMClassifier(n_hidden=5000, solver='passes', memory=1.0).fit(X, y), 'with memory 1 MB'),
        (
            lambda X, y: ESVMClassifier('nystrom', landmarks='synthetic').fit(np.ones((9, 3000)), y[:9]),
            'landmarks synth',
        ),
        (lambda X, y: estimators.SphereSVMClassifier('linear').fit(X, y), 'add normalise'),
        (lambda X, y: KernelELMClassifier(solver='cg', rank=1, max_iter=1, tol=1e-14).fit(X, y), 'raise rank'),
        (lambda X, y: ESVMClassifier('sigmoyd').fit(X, y), "found 'sigmoyd' (did you mean sigmoid?)"),
        (lambda X, y: KernelELMClassifier('gausian').fit(X, y), "found 'gausian' (did you mean gaussian?)"),
    ],
)
def test_estimators_speak_of_parameters_and_not_of_options(make, said):
    X, y = make_rows()
    with pytest.warns() as caught:
        warnings.warn('none', stacklevel=1)
        try:
            make(X, y)
        except ValueError as error:
            warnings.warn(str(error), stacklevel=1)
    text = ' '.join(str(each.message) for each in caught)
    assert said in text and '--' not in text


def test_missing_values_are_refused_with_the_cure():
    X, y = make_rows()
    X[3, 1] = np.nan
    for rows in (X, pd.DataFrame(X)):
        with pytest.raises(ValueError, match="found a missing one .*: use encode='auto', .* or an imputer$"):
            ESVMClassifier().fit(rows, y)


@pytest.mark.parametrize('name', CLASSIFIERS)
@pytest.mark.parametrize('method', ['predict_proba', 'predict_log_proba'])
def test_probabilities_that_were_not_asked_for_name_the_parameter(name, method):
    X, y = make_rows()
    kind = getattr(estimators, name)
    if 'probabilities' not in kind().get_params():
        pytest.skip('it has no probabilities')
    plain, asked = (kind(probabilities=given).fit(X, y) for given in (False, True))
    assert not hasattr(plain, method) and hasattr(asked, method) and hasattr(kind, method)
    with pytest.raises(AttributeError, match=f"'{name}' has no attribute '{method}'") as caught:
        getattr(plain, method)(X)
    assert f'{name}(probabilities=True)' in str(caught.value)
    assert getattr(asked, method)(X).shape == (60, 2) and hasattr(clone(asked), method)
    assert getattr(kind, method).__doc__ and getattr(kind, method)(asked, X[:1]).shape == (1, 2)


def test_intervals_that_were_not_asked_for_name_the_parameter():
    X, _ = make_rows()
    plain = ESVMRegressor(n_hidden=5).fit(X, X[:, 0])
    assert not hasattr(plain, 'predict_interval')
    with pytest.raises(AttributeError, match="'ESVMRegressor' has no attribute 'predict_interval'") as caught:
        plain.predict_interval(X)
    assert 'ESVMRegressor(intervals=True)' in str(caught.value)


def misuses():
    """Yield calls that fail, whose arguments are scalars and arrays of numpy, as a search over parameters has them."""
    X, y = make_rows()
    text, number = np.array(['a wrong name'])[0], np.float64(-1.0)
    for name in estimators.__all__:
        kind = getattr(estimators, name)
        if not name[0].isupper():
            continue
        few = {name: 5 for name in ('n_hidden', 'budget') if name in kind().get_params()}  # nodes
        for key, value in kind().get_params().items():
            for wrong in (text, number, np.int64(-3), np.array(['x'])[0]):
                if isinstance(value, str) or isinstance(wrong, np.floating | np.integer):
                    yield lambda kind=kind, given=few | {key: wrong}: kind(**given).fit(X, (X[:, 0] > 0) * 1)
        for labels in (np.array(['only'] * 60), np.zeros(60), np.zeros(60, int), y[:-1], X[:, 0]):
            yield lambda kind=kind, few=few, labels=labels: kind(**few).fit(X, labels)
        yield lambda kind=kind, few=few: kind(**few).fit(X, (X[:, 0] > 0) * 1).predict(X[:, :3])
    table = pd.DataFrame(X[:, :3], columns=np.array(['a', 'b', 'c']))
    fitted = ESVMClassifier(n_hidden=5, encode='auto').fit(table, y)
    for other in (table[['a', 'b']], table.assign(z=1), table.assign(b=table.b.astype(object).where(table.b > 0, 'w'))):
        yield lambda other=other: fitted.predict(other)
        yield lambda other=other: ESVMClassifier(n_hidden=5).fit(other, y).predict(table)
    for other in (ESVMClassifier(n_hidden=5, seed=1).fit(X[:, :3], y), ESVMClassifier(n_hidden=6).fit(X, y)):
        yield lambda other=other: ESVMClassifier(n_hidden=5).fit(X, y).merge(other)
    yield lambda: ESVMClassifier(n_hidden=5).fit(X, y).forget(X[:2], np.array(['stranger', 'stranger']))
    yield lambda: ESVMClassifier(n_hidden=5).fit(X, y).forget(X, y)
    yield lambda: ESVMRegressor(n_hidden=5, intervals=True).fit(X, X[:, 0]).predict_interval(X, np.float64(0.9999))


@pytest.mark.filterwarnings('ignore')
def test_no_message_names_a_type_of_numpy():
    messages = []
    for call in misuses():
        try:
            call()
        except (ValueError, TypeError, AttributeError, RuntimeError) as error:
            messages.append(str(error))
    ours = [text for text in messages if 'expected' in text]
    assert len(ours) > 50
    assert [text for text in ours if TYPE.search(text)] == []


@pytest.mark.parametrize(
    'value, text',
    [
        (np.str_('x'), "'x'"),
        (np.float64(0.5), '0.5'),
        (np.int64(3), '3'),
        (np.bool_(True), 'True'),
        (None, 'None'),
        ([np.str_('a'), np.float32(1.0)], "['a', 1.0]"),
        (np.zeros((2, 3)), 'float64 (2, 3)'),
        ('a\nb', r"'a\nb'"),
        ((np.int64(5),), '(5,)'),
        (np.array(2.5), '2.5'),
        (list(range(1000)), '[0, 1, 2, ... of 1,000]'),
        (b'x' * 2000, 'bytes of 2,000'),
        ({'a': 1}, 'dict of 1'),
        ('x' * 100, "'" + 'x' * 59 + '...'),
        (range, 'type'),
    ],
)
def test_a_value_is_written_in_a_few_words(value, text):
    assert write_value(value) == text


def test_a_text_of_numpy_is_quoted_as_any_other():
    assert quote(np.str_('x')) == "'x'" and quote(np.str_('é\n')) == r"'é\n'"
