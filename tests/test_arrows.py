"""The house: who may import whom, and what a wheel carries."""

import ast
import configparser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {
    'mr_elm': ROOT / 'mr_elm',
    'mr_elm.data': ROOT / 'data',
    'mr_elm.streaming': ROOT / 'streaming',
    'benchmarks': ROOT / 'benchmarks',
}
# A room imports from itself and from the rooms before it: files of the package's top, and folders.
ROOMS = [
    'errors',
    'option',
    'processes',
    'progress',
    'typing',
    'sparse',
    'arithmetic',
    'linalg',
    'parallel',
    'compiled',
    'store',
    'data',
    'rows',
    'features',
    'sums',
    'solvers',
    'scores',
    'model',
    'machines',
    'estimators',
    'passes',
    'engines',
    'streaming',
    'drivers',
    'methods',
    'figures',
    'export',
    'spark',
    'spark_ml',
    'cli',
    '__main__',
    'benchmarks',
]
LIBRARY = [room for room in ROOMS[: ROOMS.index('passes')] if room != 'data']
WIRING = {'mrjob', 'boto3', 'botocore', 'streaming'}


def modules():
    """Yield (dotted name, is it a package, source) for every module of the project."""
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob('*.py')):
            parts = [package, *path.relative_to(folder).with_suffix('').parts]
            name = '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)
            yield name, parts[-1] == '__init__', path.read_text(encoding='utf-8')


def imports(name, is_package, source):
    """Yield the dotted names that a module imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.split('.')[: len(name.split('.')) - node.level + is_package] if node.level else []
            base = '.'.join([*above, *([node.module] if node.module else [])])
            yield from (f'{base}.{alias.name}' for alias in node.names)


def room(name):
    """Return the room of a module, or None for one outside the project."""
    first, _, rest = name.partition('.')
    return rest.split('.')[0] if first == 'mr_elm' else 'benchmarks' if first == 'benchmarks' else None


def faults(name, is_package, source):
    """Yield the imports of a module that the house forbids."""
    here = room(name)
    for target in imports(name, is_package, source):
        there = room(target)
        if there is None:
            if here in LIBRARY and target.split('.')[0] in WIRING:
                yield target
        elif ROOMS.index(there) > ROOMS.index(here) or (here == 'data' and there not in ('errors', 'store', 'data')):
            yield target


@pytest.mark.parametrize('name, is_package, source', list(modules()), ids=lambda value: str(value).split('\n')[0][:40])
def test_no_arrow_is_turned_round(name, is_package, source):
    assert list(faults(name, is_package, source)) == []


@pytest.mark.parametrize(
    'name, source',
    [
        ('mr_elm.sums.gram', 'import boto3'),
        ('mr_elm.rows.lines', 'def f():\n    from mrjob.job import MRJob'),
        ('mr_elm.solvers.ridge', 'from mr_elm.streaming import submit'),
        ('mr_elm.scores.metrics', 'import streaming'),
        ('mr_elm.rows.lines', 'from ..features import hidden'),
        ('mr_elm.rows.lines', 'from .. import sums'),
        ('mr_elm.sums.gram', 'from ..solvers.ridge import expand'),
        ('mr_elm.engines.cluster', 'from mr_elm.cli.train import train'),
        ('mr_elm.figures.curve', 'import mr_elm.cli'),
        ('mr_elm.cli.tune', 'from benchmarks.harness import Aim'),
        ('mr_elm.data.generators', 'from mr_elm.rows.blocks import Block'),
    ],
)
def test_a_turned_arrow_is_seen(name, source):
    assert len(list(faults(name, False, source))) == 1


def test_the_packages_are_those_with_an_init_file():
    config = configparser.ConfigParser()
    config.read(ROOT / 'setup.cfg', encoding='utf-8')
    assert sorted(config['options']['packages'].split()) == sorted(
        name for name, package, _ in modules() if package and room(name) != 'benchmarks'
    )


def test_every_folder_of_modules_has_an_init_file():
    folders = {path.parent for folder in FOLDERS.values() for path in folder.rglob('*.py')}
    assert [folder for folder in folders if not (folder / '__init__.py').exists()] == []
