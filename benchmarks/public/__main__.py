"""Fetch public data sets as LIBSVM text: python -m benchmarks.public NAME... [--to DIR]."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.public.sets import DATA_SETS, download


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit status: 0 done, 1 failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.public', allow_abbrev=False, description=__doc__)
    parser.add_argument(
        'names', nargs='+', metavar='NAME', choices=tuple(DATA_SETS), help=f'one of {", ".join(DATA_SETS)}'
    )
    parser.add_argument('--to', default='.', metavar='DIR', help='folder for the files (default: the current one)')
    args = parser.parse_args(argv)
    try:
        for name in args.names:
            print(download(name, args.to))
    except (ValueError, OSError) as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
