"""Measure what is claimed, and write the pages of it.

    python -m benchmarks bench FOLDER [--size quick|normal] [RACE]...   race all claims, or some
    python -m benchmarks papers FOLDER [--small] [PART]...              the experiments of the papers: hours
    python -m benchmarks results FOLDER... --pages DIR   take over what lies in folders, write the pages
    python -m benchmarks fetch SET... [--to DIR]         fetch public data sets as LIBSVM text

What is there already, of the same commit and machine, is not measured again.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.claims import RACES
from benchmarks.harness import NORMAL, SIZES, run_all
from benchmarks.pages import write_all
from benchmarks.papers import PARTS, run_parts
from benchmarks.public.sets import DATA_SETS, download


def main(words: list[str] | None = None) -> None:
    """Run a command.

    Raises ValueError for a name that is not known, a checkout with changes, or a busy machine; OSError where a file
    cannot be fetched.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest='command', required=True)
    bench = commands.add_parser('bench')
    bench.add_argument('folder', type=Path)
    bench.add_argument('names', metavar='RACE', nargs='*')
    bench.add_argument('--size', choices=SIZES, default=NORMAL)
    papers = commands.add_parser('papers')
    papers.add_argument('folder', type=Path)
    papers.add_argument('names', metavar='PART', nargs='*')
    papers.add_argument('--small', action='store_true', help='few rows and trials, for a look')
    results = commands.add_parser('results')
    results.add_argument('folders', type=Path, nargs='*')
    results.add_argument('--pages', type=Path, required=True)
    fetch = commands.add_parser('fetch')
    fetch.add_argument('names', metavar='SET', nargs='+', choices=tuple(DATA_SETS), help=', '.join(DATA_SETS))
    fetch.add_argument('--to', default='.', metavar='DIR', help='folder for the files (default: the current one)')
    given = parser.parse_args(words)
    if given.command == 'bench':
        races = {race.name: race for race in RACES}
        run_all([races[name] for name in choose(given.names, list(races))], given.folder, given.size)
    elif given.command == 'papers':
        run_parts(choose(given.names, list(PARTS)), given.folder, given.small)
    elif given.command == 'fetch':
        for name in given.names:
            print(download(name, given.to))
    else:
        write_all(given.folders, given.pages)


def choose(names: list[str], known: list[str]) -> list[str]:
    """Return some names, or all. Raises ValueError for one that is not known."""
    for name in names:
        if name not in known:
            raise ValueError(f'expected one of {", ".join(known)}, found {name!r}')
    return names or known


if __name__ == '__main__':
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f'benchmarks: {error}')
