"""Fetch public data sets as LIBSVM text: python -m benchmarks.public NAME... [--to DIR]."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.public.sets import DATA_SETS, download


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit status: 0 done, 1 failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.public', allow_abbrev=False, description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help='a data set of the list')
    parser.add_argument('--to', default='.', metavar='DIR', help='folder for the files (default: the current one)')
    parser.add_argument('--list', action='store_true', help='print name, rows, features, classes and source')
    args = parser.parse_args(argv)
    if unknown := [name for name in args.names if name not in DATA_SETS]:
        parser.error(f'no data set is called {", ".join(unknown)}; --list shows the names')
    if not args.names and not args.list:
        parser.error('expected the name of a data set, or --list')
    if args.list:
        for name, facts in DATA_SETS.items():
            print(f'{name:16} {facts.n_rows:8} {facts.n_features:8} {facts.n_classes:4}  {facts.source}')
    try:
        for name in args.names:
            print(download(name, args.to))
    except (ValueError, OSError) as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
