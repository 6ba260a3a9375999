"""Fetch public data sets: python -m benchmarks.public NAME... [--to DIR]."""
import argparse
import sys
from collections.abc import Sequence

from benchmarks.public.sets import DATA_SETS, LARGE_SETS, download, download_large


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit status: 0 done, 1 failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.public', allow_abbrev=False,
        description='Fetch public data sets as LIBSVM text and check their digests; large ones as CSV, NAME-train.csv '
                    'and NAME-test.csv, whose rows and features are counted.')
    parser.add_argument('names', nargs='*', metavar='NAME', help='a data set of the list')
    parser.add_argument('--to', default='.', metavar='DIR', help='folder for the files (default: the current one)')
    parser.add_argument('--list', action='store_true', help='print the list')
    args = parser.parse_args(argv)
    if unknown := [name for name in args.names if name not in DATA_SETS and name not in LARGE_SETS]:
        parser.error(f'no data set is called {", ".join(unknown)}; --list shows the names')
    if not args.names and not args.list:
        parser.error('expected the name of a data set, or --list')
    if args.list:
        print('\n'.join(list_sets()))
    try:
        for name in args.names:
            print(*download_large(name, args.to) if name in LARGE_SETS else [download(name, args.to)], sep='\n')
    except (ValueError, OSError) as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return 1
    return 0


def list_sets() -> list[str]:
    """Return the list as lines of text: name, rows, features, classes and source."""
    heading = ('name', 'rows', 'features', 'classes', 'source')
    rows = [(name, s.n_rows, s.n_features, s.n_classes, s.source) for name, s in DATA_SETS.items()]
    rows += [(name, s.n_rows, s.n_features, 2 if s.has_classes else 0, s.source) for name, s in LARGE_SETS.items()]
    width = max(len(row[0]) for row in rows)
    return [f'{name:<{width}} {n:>8} {d:>8} {k:>7}  {source}' for name, n, d, k, source in [heading, *rows]]


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
