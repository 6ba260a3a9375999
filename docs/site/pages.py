"""Write what Sphinx reads: the pages of the manual with their links turned to the site, and the pages of the API."""

import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass, isfunction
from os.path import relpath
from pathlib import Path
from types import ModuleType

from docstrings import convert_docstring

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / 'docs'
NAMED = {ROOT / 'README.md': 'index.md', ROOT / 'CHANGELOG.md': 'changelog.md'}
PACKAGES = {'mr_elm': 'mr_elm', 'data': 'mr_elm.data', 'streaming': 'mr_elm.streaming'}
FOR_USERS = ['mr_elm.estimators', 'mr_elm.model', 'mr_elm.data']
LINK = re.compile(r'(```.*?```)|\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)', re.DOTALL)


def write_pages(source: Path, navigation: dict[str, list[str]]) -> None:
    """Write all pages of the site to a folder, whose old contents vanish."""
    shutil.rmtree(source)
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns('*.md', '*.py', '__pycache__'))
    for page in [*NAMED, *sorted(DOCS.glob('**/*.md'))]:
        write(source / site_path(page), turn_links(page))
    write_api(source / 'api')
    with open(source / 'index.md', 'a', encoding='utf-8') as front:
        for caption, names in navigation.items():
            front.write(f'\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n' + '\n'.join(names) + '\n```\n')


def write(path: Path, text: str) -> None:
    """Write a file, and the folder that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf-8')


def site_path(path: Path) -> str:
    """Return where the site has a file of the repository, relative to its front page; '' where it has none."""
    return NAMED.get(path) or (str(path.relative_to(DOCS)) if path.is_relative_to(DOCS) else '')


def turn_links(page: Path) -> str:
    """Return the text of a page; its links outside of code lead to pages and objects of the site."""

    def turn(match: re.Match) -> str:
        code, text, target, anchor = match.groups(default='')
        if code or not target or '//' in target:
            return match[0]
        path = (page.parent / target).resolve()
        if name := module_name(path):
            return f'{{py:obj}}`{text.strip("`")} <{full_name(name, text.strip("`"))}>`'
        if not site_path(path):
            return text
        return f'[{text}]({relpath(site_path(path), Path(site_path(page)).parent)}{anchor})'

    return LINK.sub(turn, page.read_text(encoding='utf-8'))


def module_name(path: Path) -> str:
    """Return the dotted name of a module or package of ours, '' for any other file."""
    first, *rest = path.relative_to(ROOT).with_suffix('').parts or ['']
    is_ours = first in PACKAGES and (path.is_dir() or path.suffix == '.py')
    return '.'.join([PACKAGES[first], *(part for part in rest if part != '__init__')]) if is_ours else ''


def full_name(module: str, name: str) -> str:
    """Return the name under which the API describes an object of a module, or the module where it does not."""
    return f'{module}.{name}' if name in described(import_module(module)) else module


def parent(module: str) -> str:
    """Return the name of the package of a module."""
    return module.rpartition('.')[0]


def described(module: ModuleType) -> list[str]:
    """Return the names of the public classes and functions of a module that have a docstring."""
    return [
        name
        for name, member in vars(module).items()
        if (isclass(member) or isfunction(member))
        and member.__module__ == module.__name__
        and member.__doc__
        and not name.startswith('_')
    ]


def module_names() -> list[str]:
    """Return the names of all public modules."""
    files = [path for folder in PACKAGES for path in (ROOT / folder).glob('**/*.py')]
    return sorted(name for name in map(module_name, files) if '._' not in name and name != 'mr_elm')


def linked_names() -> dict[str, str]:
    """Return name -> name in the API, of classes and functions whose name stands for one thing only."""
    found: dict[str, list[str]] = {}
    for module in module_names():
        for name in described(import_module(module)):
            found.setdefault(name, []).append(f'{module}.{name}')
    return {name: places[0] for name, places in found.items() if len(places) == 1}


def write_api(folder: Path) -> None:
    """Write a page for each package, with its modules, and for each module at the top; and a page that lists these."""
    names = module_names()
    pages = [name for name in names if name.count('.') == 1 or hasattr(import_module(name), '__path__')]
    for page in pages:
        lines = [*title(page, '='), *describe_module(page)]
        for name in names:
            if parent(name) == page and name not in pages:
                lines += [*title(name, '-'), *describe_module(name)]
        write(folder / f'{page}.rst', '\n'.join(lines))
    write(
        folder / 'index.rst',
        '\n'.join(
            [
                *title('API', '='),
                'Programs use:',
                '',
                *list_pages(FOR_USERS),
                'Extensions use these too:',
                '',
                *list_pages([page for page in pages if page not in FOR_USERS]),
            ]
        ),
    )


def title(text: str, line: str) -> list[str]:
    """Return the lines of a title."""
    return [text, line * len(text), '']


def describe_module(name: str) -> Iterator[str]:
    """Yield the lines that describe a module; estimators with what they inherit of ours."""
    yield f'.. automodule:: {name}'
    yield '   :inherited-members: BaseEstimator' if name.startswith('mr_elm.estimators.') else ''
    yield ''


def list_pages(names: list[str]) -> list[str]:
    """Return the lines of a list of modules with the first sentence of each, and of their navigation."""
    sentences = ((name, (import_module(name).__doc__ or '').split('\n')[:1]) for name in names)
    return [
        *(f'- :doc:`{name}`: {convert_docstring(sentence, {})[0]}' for name, sentence in sentences),
        '',
        '.. toctree::',
        '   :hidden:',
        '',
        *(f'   {name}' for name in names),
        '',
    ]
