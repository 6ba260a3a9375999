"""Fetch public data sets as LIBSVM text, large ones as CSV."""
import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.public.convert import to_libsvm
from benchmarks.public.fetching import open_url
from benchmarks.public.large_sets import LARGE_SETS, download_large
from benchmarks.public.registry import DATA_SETS, PublicSet
from mr_elm.data.generators import write_whole
from mr_elm.errors import DataFormatError


def download(name: str, folder: str | Path, urls: Sequence[str] = ()) -> Path:
    """Fetch one data set of the registry into folder/NAME.libsvm and return that path.

    urls: where to fetch the origin's files instead, https or file. A right file already there is kept
    and nothing is fetched; a wrong one is replaced. The text is written only when its digest is right.
    Raises ValueError for an unknown name or scheme, DataFormatError for content that is not the data set's,
    OSError when nothing can be fetched or written.
    """
    if name not in DATA_SETS:
        raise ValueError(f'expected the name of a data set in the registry, found {name!r}')
    data_set = DATA_SETS[name]
    path = Path(folder) / f'{name}.libsvm'
    if path.exists() and _digest(path.read_bytes()) == data_set.sha256:
        return path
    urls = urls or data_set.urls
    text = b''.join(to_libsvm(_fetch(url), data_set.recipe) for url in urls)
    _demand_digest(text, data_set, ' and '.join(urls))
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(path, overwrite=True) as temporary:
        temporary.write_bytes(text)
    return path


def list_sets() -> list[str]:
    """Return the registry as lines of text: name, rows, features, classes and source."""
    heading = ('name', 'rows', 'features', 'classes', 'source')
    rows = [(s.name, s.n_rows, s.n_features, s.n_classes, s.source) for s in DATA_SETS.values()]
    rows += [(s.name, s.n_rows, s.n_features, 2 if s.has_classes else 0, s.source) for s in LARGE_SETS.values()]
    width = max(len(row[0]) for row in rows)
    return [f'{name:<{width}} {n:>8} {d:>8} {k:>7}  {source}' for name, n, d, k, source in [heading, *rows]]


def main(argv: list[str] | None = None, prog: str = 'python -m benchmarks.public') -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 2 wrong usage."""
    parser = _parser(prog)
    options = parser.parse_args(argv)
    unknown = [name for name in options.names if name not in DATA_SETS and name not in LARGE_SETS]
    if unknown:
        parser.error(f'no data set is called {", ".join(unknown)}; --list shows the names')
    if not options.names and not options.list:
        parser.error('expected the name of a data set, or --list')
    if options.list:
        print('\n'.join(list_sets()))
    try:
        for name in options.names:
            print(*download_large(name, options.to) if name in LARGE_SETS else [download(name, options.to)], sep='\n')
    except (ValueError, OSError) as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return 1
    return 0


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog, allow_abbrev=False, description='Fetch public data sets as LIBSVM text, and check their digests.\n'
        'Large sets become CSV text, NAME-train.csv and NAME-test.csv; their rows and\nfeatures are counted.',
        usage=f'{prog} NAME... [--to DIR]', formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f'examples:\n  {prog} --list\n  {prog} pendigits --to folder'
    )
    parser.add_argument('names', nargs='*', metavar='NAME', help='a data set of the registry')
    parser.add_argument('--to', default='.', metavar='DIR', help='folder for the files (default: the current one)')
    parser.add_argument('--list', action='store_true', help='print the registry')
    return parser


def _fetch(url: str) -> bytes:
    with open_url(url) as response:
        return response.read()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _demand_digest(text: bytes, data_set: PublicSet, source: str) -> None:
    found = _digest(text)
    if found != data_set.sha256:
        raise DataFormatError(f'expected {data_set.name} with sha256 {data_set.sha256}, but {source} gives {found}')

