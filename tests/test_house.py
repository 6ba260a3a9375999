"""The house stays small: what a reader must read, and what a command enters, each with its limit in one table.

Nodes are those of the syntax tree without docstrings, so that the layout of lines does not count.
"""

import ast
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What is measured: (the most that passes, what is wanted). What lies above the wanted figure is a debt: the commit that
# raises a limit says what for.
LIMITS = {
    'nodes of rows': (42_862, 30_000),
    'nodes of engines, passes and cli': (44_550, 32_000),
    'nodes of drivers, machines and estimators': (78_040, 50_000),
    'nodes of features, sums and scores': (35_044, 28_000),
    'nodes of solvers': (36_655, 36_000),
    'nodes of benchmarks': (25_000, 25_000),
    'nodes of package and stages': (285_508, 205_000),
    'files of package and stages': (274, 200),
    'lines of the longest module': (600, 600),
    'lines of the longest function': (80, 80),
    'numeric constants': (300, 150),
    'conditional expressions': (250, 250),
    'imports of ctypes': (0, 0),
    'uses of sys.modules': (0, 0),
    'files that train enters': (68, 45),
    'functions that train enters': (486, 250),
    'files that predict enters': (46, 30),
    'functions that predict enters': (284, 140),
    'modules that inspect loads': (55, 30),
}
ROOMS = {
    'rows': ('mr_elm/rows',),
    'engines, passes and cli': ('mr_elm/engines', 'mr_elm/passes', 'mr_elm/cli'),
    'drivers, machines and estimators': ('mr_elm/drivers', 'mr_elm/machines', 'mr_elm/estimators'),
    'features, sums and scores': ('mr_elm/features', 'mr_elm/sums', 'mr_elm/scores'),
    'solvers': ('mr_elm/solvers',),
    'benchmarks': ('benchmarks',),
    'package and stages': ('mr_elm', 'streaming', 'data'),
}
HOMES = os.pathsep.join(str(ROOT / folder) + os.sep for folder in ('mr_elm', 'streaming', 'data'))
WALK = """
import os, sys, threading
import mrjob.job, numpy, scipy.linalg  # not to be walked through: that takes seconds
homes, codes = tuple(sys.argv.pop(1).split(os.pathsep)), set()
def enter(frame, event, argument):
    if event == 'call':
        codes.add(frame.f_code)
from mr_elm.cli import main
threading.setprofile(enter)
sys.setprofile(enter)
status = main(sys.argv[1:])
sys.setprofile(None)
functions = ((os.path.realpath(code.co_filename), code) for code in codes if code.co_flags & 1)
entered = {(path, code.co_firstlineno) for path, code in functions if path.startswith(homes) and code.co_name[0] != '<'}
files = (getattr(module, '__file__', None) for module in list(sys.modules.values()))
loaded = [path for path in files if path and os.path.realpath(path).startswith(homes)]
print(status or 0, len({path for path, _ in entered}), len(entered), len(loaded), file=sys.stderr)
"""


def read_nodes(*folders):
    """Yield (path, nodes of its syntax tree) for each file of some folders; links to the folders are not followed."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob('*.py')):
            if path.resolve() == path:
                yield path, parse(path)


@cache
def parse(path):
    """Return the nodes of the syntax tree of a file, its module first."""
    return list(ast.walk(ast.parse(path.read_text(encoding='utf-8'))))


def is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_numeric_constant(node):
    """Tell whether a statement at the top of a module gives a name in capitals to a number."""
    if not isinstance(node, ast.Assign):
        return False
    names = all(
        isinstance(target, ast.Tuple) or (isinstance(target, ast.Name) and target.id.isupper())
        for target in node.targets
    )
    return names and any(
        isinstance(value, ast.Constant) and isinstance(value.value, int | float) for value in ast.walk(node.value)
    )


def measure_text():
    """Return the figures that follow from the text of the modules."""
    figures = Counter(
        {
            f'nodes of {room}': sum(not is_docstring(node) for _, nodes in read_nodes(*folders) for node in nodes)
            for room, folders in ROOMS.items()
        }
    )
    for path, nodes in read_nodes('mr_elm', 'streaming', 'data'):
        figures['files of package and stages'] += 1
        figures['lines of the longest module'] = max(
            figures['lines of the longest module'], path.read_text(encoding='utf-8').count('\n')
        )
        figures['numeric constants'] += sum(is_numeric_constant(node) for node in nodes[0].body)
        for node in nodes:
            figures['conditional expressions'] += isinstance(node, ast.IfExp)
            if isinstance(node, ast.FunctionDef):
                figures['lines of the longest function'] = max(
                    figures['lines of the longest function'], node.end_lineno - node.lineno + 1
                )
            if isinstance(node, ast.Import | ast.ImportFrom):
                figures['imports of ctypes'] += 'ctypes' in [
                    getattr(node, 'module', ''),
                    *(alias.name for alias in node.names),
                ]
            figures['uses of sys.modules'] += isinstance(node, ast.Attribute) and ast.unparse(node) == 'sys.modules'
    return figures


def walk(folder, *words):
    """Run a command; return how many of our files and functions it enters, and how many of our modules it loads."""
    done = subprocess.run([sys.executable, '-c', WALK, HOMES, *words], cwd=folder, capture_output=True, text=True)
    status, *figures = map(int, done.stderr.splitlines()[-1].split())
    assert status == 0, done.stderr
    return figures


def measure_walks(folder):
    """Return the figures that follow from what commands enter."""
    (folder / 'rows.csv').write_text(''.join(f'{k % 2},{k % 7},{k % 5}\n' for k in range(60)), encoding='utf-8')
    train = walk(folder, 'train', 'pesvm', 'rows.csv', '--model', 'm.npz', '-q')
    predict = walk(folder, 'predict', 'm.npz', 'rows.csv', '-o', 'out', '-q')
    return {
        'files that train enters': train[0],
        'functions that train enters': train[1],
        'files that predict enters': predict[0],
        'functions that predict enters': predict[1],
        'modules that inspect loads': walk(folder, 'inspect', 'm.npz')[2],
    }


@pytest.fixture(scope='module')
def figures(tmp_path_factory):
    return {**measure_text(), **measure_walks(tmp_path_factory.mktemp('walk'))}


@pytest.mark.parametrize('name', LIMITS)
def test_the_house_is_no_larger_than_its_limit(figures, name):
    limit, wanted = LIMITS[name]
    assert figures[name] <= limit, f'{name}: {figures[name]}, at most {limit}; wanted {wanted}'


@pytest.mark.parametrize('name', LIMITS)
def test_a_limit_follows_what_was_reached(figures, name):
    """Whoever makes the house smaller lowers the limit, so that it stays small."""
    limit, wanted = LIMITS[name]
    assert limit >= wanted and (limit == wanted or figures[name] > limit * 0.9)
