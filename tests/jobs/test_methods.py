"""The table of methods: what it says is what the command line, the estimators and the manual do; a row is enough."""

import inspect
import json
import os
import subprocess
import sys
from pkgutil import resolve_name
from typing import Any

import pytest
from reference.manual import ROOT, read_page

from mr_elm.cli.tune import list_passed
from mr_elm.estimators.parameters import find_options
from mr_elm.methods import METHODS
from mr_elm.option import option_fields

sys.path.insert(0, str(ROOT / 'docs/site'))
from commands import write_page

# what the manual promises
CONTRACT = {
    'scale': 'standard',
    'map': 'sigmoid',
    'n_hidden': 1000,
    'nu': 1.0,
    'seed': 0,
    'C': 1.0,
    'weight_scale': 1.0,
    'weights': 'normal',
    'kernel': 'gaussian',
    'sigma': None,
    'class_weight': None,
    'task': 'classification',
    'bad_rows': 'stop',
}
# where estimators differ on purpose: their rows are in memory, and probabilities cost `auto` nothing
OF_METHODS = {'mr-kelm': {'solver': 'cholesky'}, 'auto': {'probabilities': True, 'intervals': True}}
ESTIMATORS = [(name, each) for name, row in METHODS.items() for each in row.estimators]
ROW = """
import io
import json
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from mr_elm.option import option
from mr_elm.machines.options import PESVMOptions
from mr_elm.methods import GRAM, METHODS, Method

@dataclass(frozen=True)
class TwinOptions(PESVMOptions):
    method: str = 'twin'
    n_hidden: int = option(7, 'how many twins', '{method}', flag='--twins', metavar='L')

METHODS['twin'] = Method('a twin of pesvm', 'Train a twin.', '__main__:TwinOptions', GRAM, (),
                         {'rows.csv --twins 3 --model m.npz': 'three twins'})
from mr_elm.cli import main
from commands import write_page
from mr_elm.cli.tune import list_passed
from mr_elm.estimators.parameters import find_options
printed = [write_page()]
for words in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as out:
        try:
            status = main(words)
        except SystemExit as stop:
            status = stop.code
    assert status == 0, words
    printed.append(out.getvalue())
print(json.dumps(printed))
"""


def defaults_of(method):
    """Return name -> default of the options of a method."""
    return {name: each.default for name, each in option_fields(resolve_name(METHODS[method].options)).items()}


@pytest.mark.parametrize('name', METHODS)
def test_defaults_of_options_are_those_that_the_manual_promises(name):
    options = resolve_name(METHODS[name].options)()
    promised = {key: value for key, value in CONTRACT.items() if key in defaults_of(name) or key == 'bad_rows'}
    assert len(promised) > 3
    assert {key: getattr(options, key) for key in promised} == promised


@pytest.mark.parametrize('name', METHODS)
def test_a_command_line_without_options_means_the_defaults(name, parse):
    args = parse(['train', name, 'rows.csv', '--model', 'm.npz'])
    assert {key: getattr(args, key) for key in defaults_of(name)} == defaults_of(name)
    assert (args.runner, args.bad_rows, args.inputs) == ('local', CONTRACT['bad_rows'], ['rows.csv'])


@pytest.mark.parametrize('name, estimator', ESTIMATORS)
def test_an_estimator_has_the_defaults_of_its_method(name, estimator):
    parameters, options = inspect.signature(resolve_name(estimator)).parameters, find_options(resolve_name(estimator))
    assert resolve_name(estimator)._declared == resolve_name(METHODS[name].options) and len(options) >= 4
    differs = OF_METHODS.get(name, {})
    expected = {own: differs.get(each.name, each.default) for own, each in options.items()}
    assert {own: parameters[own].default for own in options} == expected


@pytest.mark.parametrize('name', METHODS)
def test_the_page_on_python_names_the_options_that_estimators_leave_out(name):
    kinds = map(resolve_name, METHODS[name].estimators)
    kept = {each.name for kind in kinds for each in find_options(kind).values()}
    left_out = {
        each.flag for each in option_fields(resolve_name(METHODS[name].options)).values() if each.name not in kept
    }
    of_jobs = {'--partitions', '--emit', '--memory'}
    said_by_the_class, takes_more_values = '--task', '--budget'
    page = read_page('docs/python.md')
    assert [
        flag for flag in left_out - of_jobs - {said_by_the_class, takes_more_values} if f'`{flag}`' not in page
    ] == []


@pytest.mark.parametrize('name, estimator', ESTIMATORS)
def test_an_estimator_refuses_what_the_command_refuses_in_the_same_words(name, estimator, elm):
    X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]], [0, 1, 0, 1]
    for own, each in find_options(resolve_name(estimator)).items():
        if each.kind in (bool, Any):  # what may be of any type is checked together with other options
            continue
        wrong = 'no such name' if each.kind is str else -1
        with pytest.raises(ValueError) as refused:
            resolve_name(estimator)(**{own: wrong}).fit(X, y)
        done = elm('train', name, 'rows.csv', '--model', 'm.npz', each.flag, wrong)
        expected = each.describe()
        assert str(refused.value) == f'{own}: expected {expected}, found {wrong!r}'
        assert done.status == 2 and f'argument {each.flag}: expected {expected}, found' in done.err


@pytest.mark.parametrize('name', [name for name, row in METHODS.items() if row.tuning])
def test_a_search_has_each_option_once_its_own_or_one_that_it_passes_on(name):
    row = METHODS[name]
    passed, searched = list_passed(row, row.tuning), option_fields(resolve_name(row.tuning.search))
    flags = [option_fields(resolve_name(row.options))[field].flag for field in passed] + [
        each.flag for each in searched.values()
    ]
    assert len(flags) == len({*flags}) and {'seed', 'scale', 'probabilities', 'threshold', 'positive'} <= {*passed}
    assert not {'--leaves', '--leaf-ridge', '--leave-one-out', '--rank'} & {*flags}


@pytest.mark.parametrize('name', METHODS)
def test_a_row_names_what_is_there(name):
    row = METHODS[name]
    assert resolve_name(row.options)().method == name
    tuning = [row.tuning.driver, row.tuning.search] if row.tuning else []
    assert all(callable(resolve_name(text)) for text in (row.driver, *row.estimators, *tuning))
    assert {resolve_name(text)._method for text in row.estimators} == {name}


def test_the_page_of_all_commands_is_what_the_tables_say():
    assert read_page('docs/commands.md') == write_page(), 'run make docs-commands'


def test_a_row_of_the_table_is_a_command_with_help_and_a_page(rows, tmp_path, model_of):
    path = tmp_path / 'row.py'
    path.write_text(ROW)
    commands = [
        ['train', '--help'],
        ['train', 'twin', '--help'],
        ['train', 'twin', str(rows), '--model', str(tmp_path / 'm.npz'), '-q'],
    ]
    environment = {**os.environ, 'PYTHONPATH': str(ROOT / 'docs/site')}
    program = [sys.executable, path, json.dumps(commands)]
    page, methods, text, nothing = json.loads(
        subprocess.run(program, stdout=subprocess.PIPE, check=True, env=environment).stdout
    )
    assert '  twin       a twin of pesvm\n' in methods and '* `twin`: Train a twin.' in page and nothing == ''
    assert '--twins L' in text and '(default: 7)' in text and 'mr-elm train twin rows.csv --twins 3' in text
    header, arrays = model_of(tmp_path / 'm.npz')
    assert (header['method'], header['parameters']['n_hidden']) == ('twin', 7)
    assert len(arrays['output_weights']) == 8
