"""The header of a model: the JSON object of its file, key by key."""

import json
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from mr_elm.errors import ModelFormatError
from mr_elm.model.checks import check_header, check_labelling, check_living, check_report
from mr_elm.model.header import KEYS, ModelHeader, extend_history, make_event

HEADER = ModelHeader('pesvm', 'classification', ['a', 'b'], 3, {'nu': 1.0, 'seed': 0}, 10, 1, [{'action': 'train'}])


def test_a_header_has_the_keys_of_a_model_file():
    assert tuple(HEADER.to_json()) == (*KEYS, 'requires')


def test_keys_keep_their_order_and_unknown_ones_their_values():
    text = json.dumps({'format': 'mr_elm', 'history': [], 'later': [1], **HEADER.to_json()})
    assert json.dumps(ModelHeader.from_json(json.loads(text)).to_json()) == text


@pytest.mark.parametrize('key', [key for key in KEYS if key != 'positive'])
def test_a_missing_key_is_named(key):
    parts = HEADER.to_json()
    del parts[key]
    with pytest.raises(KeyError, match=key):
        ModelHeader.from_json(parts)


def test_a_change_makes_another_header():
    changed = replace(HEADER, n_rows_used=11).change_parameters(nu=2.0)
    assert (changed.n_rows_used, changed.parameters) == (11, {'nu': 2.0, 'seed': 0})
    assert (HEADER.n_rows_used, HEADER.parameters) == (10, {'nu': 1.0, 'seed': 0})
    with pytest.raises(FrozenInstanceError):
        HEADER.n_rows_used = 11


def test_a_model_that_needs_a_newer_version_is_refused():
    with pytest.raises(ModelFormatError, match='it requires later, last: install a newer version'):
        ModelHeader.from_json({**HEADER.to_json(), 'requires': ['threshold', 'later', 'last']})


DAY = {'kind': 'date', 'categories': []}


@pytest.mark.parametrize(
    'change, required',
    [
        ({}, []),
        ({'parameters': {'metric': 'none', 'map': 'rbf', 'input': {'target': 'none'}}}, []),
        ({'parameters': {'metric': 'full'}}, ['metric']),
        ({'members': [{}, {'metric': 'full'}]}, ['members', 'metric']),
        ({'encoding': {'columns': [{'kind': 'numeric'}]}}, ['encoding']),
        ({'encoding': {'columns': [DAY]}}, ['encoding', 'dates']),
        ({'encoding': {'columns': [DAY, {**DAY, 'categories': ['hour']}]}}, ['encoding', 'dates', 'hours']),
        ({'parameters': {'input': {'target': 'log'}}}, ['target']),
        ({'parameters': {'map': 'leaves'}}, ['leaves']),
        ({'parameters': {}, 'members': [{'map': 'rbf'}, {'map': 'leaves+rbf'}]}, ['members', 'leaves']),
        ({'threshold': 0.25, 'calibration': {'n_rows': 9}}, ['calibration', 'threshold']),
    ],
)
def test_a_file_requires_what_a_reader_must_know_and_no_more(change, required):
    header = replace(HEADER, **change)
    assert header.to_json()['requires'] == required
    assert ModelHeader.from_json(json.loads(json.dumps(header.to_json()))) == header


def test_the_last_of_two_classes_is_the_positive_one():
    assert HEADER.positive == 'b' and replace(HEADER, positive='a').positive == 'a'
    assert ModelHeader('pesvm', 'classification', ['a', 'b', 'c'], 3, {}).positive is None
    assert ModelHeader('pesvm', 'classification', ['a', 'b'], 3, {}, targets={'separator': ';'}).positive is None


REGRESSION = {'task': 'regression', 'classes': [], 'positive': None}
FAULTS = {
    'task: classification or regression, found': [{'task': 'ranking'}],
    'classes: a list of names, found': [{'classes': [1, 2]}, {'classes': 'ab'}],
    'classes: two or more, none for a regression, found': [
        {'classes': ['a', 'a']},
        {'classes': ['a']},
        {'task': 'regression'},
        {'classes': [], 'targets': {'separator': ';'}},
    ],
    'positive: one of two classes, found': [{'positive': 'c'}, {'positive': 3}, {'classes': ['a', 'b', 'c']}],
    'n_features: a whole number above 0, found': [{'n_features': n} for n in (0, -1, 1.0, True, 2**63, None)],
    'parameters: names and values, found': [{'parameters': []}],
    'multiclass: one-vs-one or one-vs-all, found': [{'parameters': {'multiclass': 'all'}}],
    'targets: a separator of labels, found': [
        {'targets': targets} for targets in ({'separator': ''}, {'separator': 1}, {}, [], {'separator': ';', 'a': 0})
    ],
    'targets: two names or more, each once, found': [
        *({**REGRESSION, 'targets': {'names': names}} for names in ('ab', [], ['a'], ['a', 'a'], ['a', 1])),
        *({**REGRESSION, 'targets': targets} for targets in ({'separator': ';'}, {'names': ['a', 'b'], 'c': 0}, [])),
    ],
}


@pytest.mark.parametrize('message, change', [(message, one) for message, changes in FAULTS.items() for one in changes])
def test_a_header_that_does_not_say_what_a_model_decides_is_refused(message, change):
    with pytest.raises(ValueError, match=f'^expected {re.escape(message)}'):
        check_header(replace(HEADER, **change))


@pytest.mark.parametrize(
    'change',
    [
        {},
        {'positive': 'a'},
        {'n_features': 1},
        {'parameters': {'multiclass': 'one-vs-one'}},
        {'classes': ['a', 'b', 'c'], 'positive': None},
        {'classes': ['a'], 'positive': None, 'targets': {'separator': ';'}},
        REGRESSION,
        {**REGRESSION, 'targets': {'names': ['a', 'b']}},
    ],
)
def test_a_header_of_any_task_is_taken(change):
    check_header(replace(HEADER, **change))


@pytest.mark.parametrize(
    'message, threshold, change',
    [
        ('probabilities of two classes for a threshold, found', 0.5, {'calibration': None}),
        ('threshold: a number from 0 to 1, found', 1.5, {}),
        ('threshold: a number from 0 to 1, found', -0.5, {}),
        ('threshold: a number from 0 to 1, found', 1, {}),
        ('calibration of shape (2,)', None, {'calibration': np.zeros(3)}),
        ('finite numbers in interval_ratios', None, {'interval_ratios': np.array([np.nan])}),
        ('finite numbers in interval_residuals', None, {'interval_residuals': np.array([np.inf])}),
        ('interval_ratios of shape (2,)', None, {'interval_ratios': np.zeros((2, 1))}),
    ],
)
def test_what_makes_probabilities_and_classes_must_fit(message, threshold, change):
    arrays = {'calibration': np.zeros(2), 'interval_residuals': np.zeros(3), 'interval_ratios': np.zeros(4)}
    check_labelling(replace(HEADER, threshold=0.0), arrays)
    check_labelling(replace(HEADER, threshold=1.0), arrays)
    arrays = {name: array for name, array in {**arrays, **change}.items() if array is not None}
    with pytest.raises(ValueError, match=f'^expected {re.escape(message)}'):
        check_labelling(replace(HEADER, threshold=threshold), arrays)


@pytest.mark.parametrize('change', [{'calibration': {'n_rows': 9}}, {'classes': ['a', 'b', 'c'], 'threshold': 0.5}])
def test_a_header_with_probabilities_has_their_array(change):
    with pytest.raises((KeyError, ValueError), match='calibration|two classes'):
        check_labelling(replace(HEADER, **change), {'calibration': np.zeros(3)} if 'threshold' in change else {})


INPUT = {
    'label_column': ([0, 'y'], [1.5, [0]]),
    'weight_column': ([-1, 'w'], [True, {}]),
    'label_name': (['y'], [0]),
    'weight_name': (['w'], [0]),
    'delimiter': (['\t', ','], ['', ', ', 0]),
    'names': ([['a', 'b', 'c']], [['a', 'b'], ['a', 'b', 3], 'abc']),
    'targets': ([[0, 2]], [[0], [-1, 2], [0.5, 1], 2]),
    'target_names': ([['s', 't']], [['s'], ['s', 0], 'st']),
    'dropped': ([[], [1]], ['a', 0]),
    'positions': ([[], [4, 0]], [[-1], ['a'], 4]),
}
REPORT = {
    'blas': ([[], ['openblas']], ['openblas', [1]]),
    'solver': (['cholesky'], [1, None, []]),
    'certificates': ([{}, {'gap': 0}], [[], 'gap']),
}


def header_of_targets(**parameters):
    """Make the header of a regression with two targets."""
    header = replace(HEADER, **REGRESSION, targets={'names': ['s', 't']})
    return header.change_parameters(**{'input': {}, **parameters})


@pytest.mark.parametrize('name', INPUT)
def test_a_report_says_how_rows_are_read(name):
    fine, wrong = INPUT[name]
    for value in (*fine, None):
        check_report(header_of_targets(input={name: value}))
    for value in wrong:
        with pytest.raises(ValueError, match=f'^expected input: {name} as a reader of rows takes it, found'):
            check_report(header_of_targets(input={name: value}))


@pytest.mark.parametrize('name', REPORT)
def test_a_report_says_how_the_model_was_trained(name):
    fine, wrong = REPORT[name]
    for value in fine:
        check_report(header_of_targets(**{name: value}))
    for value in wrong:
        with pytest.raises(ValueError, match=f'^expected {name}(: a list of names| as a training writes it), found'):
            check_report(header_of_targets(**{name: value}))


@pytest.mark.parametrize('name', ['n_rows_used', 'n_rows_rejected'])
def test_a_report_counts_rows(name):
    for value in (-1, 1.5, '1', None):
        with pytest.raises(ValueError, match=f'^expected {name}: a whole number, found'):
            check_report(replace(header_of_targets(), **{name: value}))


@pytest.mark.parametrize('history', [{}, 'train', ['train'], [{}, 0]], ids=str)
def test_a_history_is_a_list_of_events(history):
    with pytest.raises(ValueError, match='^expected history: a list of events, found'):
        check_report(replace(header_of_targets(), history=history))


NEEDED = ('blas', 'map', 'n_hidden', 'seed', 'weights', 'scale', 'class_weight', 'solver')
LIVING = {'nu': 1.0, 'sigma': 1.0, 'weight_scale': 2, 'grid': [1.0, 1.0, 2.0], **dict.fromkeys(NEEDED)}


@pytest.mark.parametrize(
    'message, change',
    [
        *((f'{name}: a number above 0', {name: 0}) for name in ('sigma', 'weight_scale', 'nu', 'leaf_ridge', 'peak')),
        ('nu: a number above 0', {'nu': float('inf')}),
        ('nu: a number above 0', {'nu': '1'}),
        ('grid: three numbers above 0', {'grid': [1.0, 1.0]}),
        ('grid: three numbers above 0', {'grid': [1.0, 1.0, 0.0]}),
        ('origin: 0 numbers', {'origin': [1.0]}),
        ('origin: 2 numbers', {'center': True, 'origin': [1.0]}),
        ('origin: 2 numbers', {'center': True, 'origin': [1.0, None]}),
        *((f'parameters with {name}', {name: 'absent'}) for name in NEEDED),
        ('parameters with leaves', {'leaf_ridge': 0.1}),
        ('parameters with tolerance', {'solver': 'passes'}),
    ],
)
def test_a_model_that_lives_says_how_its_sums_were_made(message, change):
    check_living(header_of_targets(**LIVING, center=True, origin=[0.5, -2]))
    check_living(replace(header_of_targets(**LIVING, center=True, origin=[0.5]), targets=None))
    check_living(header_of_targets(**LIVING, leaf_ridge=0.1, leaves=8, peak=3))
    parameters = {name: value for name, value in {**LIVING, **change}.items() if value != 'absent'}
    with pytest.raises(ValueError, match=f'^expected {message}, found'):
        check_living(replace(header_of_targets(), parameters=parameters))


def test_an_event_has_the_time_of_its_action(monkeypatch):
    monkeypatch.setenv('SOURCE_DATE_EPOCH', '86399')
    assert make_event('train', 3, {'nan': 1}) == {
        'action': 'train',
        'rows_used': 3,
        'rows_rejected': {'nan': 1},
        'when': '1970-01-01T23:59:59Z',
    }


def test_a_history_keeps_the_training_and_the_last_hundred_events():
    history = ['train']
    for k in range(150):
        history = extend_history(history, k)
    assert history == ['train', *range(50, 150)] and extend_history([], 'train') == ['train']
