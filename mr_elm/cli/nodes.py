"""mr-elm bundle and clean: what nodes of a cluster need, and what killed commands left on them and here."""

from collections.abc import Sequence

from mr_elm.cli.options import Parser, add_quiet_option, add_runner_options, choose_engine
from mr_elm.engines.bundle import make_bundle
from mr_elm.engines.cluster import Remote
from mr_elm.progress import Reporter
from mr_elm.store import remove_leftovers


def bundle(argv: Sequence[str]) -> None:
    """Make the archive and print where it is."""
    parser = Parser(
        'bundle',
        'Make an archive with the code and the packages that tasks need, but without Python '
        'itself. Print its path, for --bundle. Its name depends on its contents: an archive that exists is '
        'not made again.',
        runs_jobs=False,
    )
    parser.add_argument(
        '-o',
        '--output',
        required=True,
        metavar='FOLDER',
        help='where to write the archive: a folder of this machine, hdfs:///... or s3://...',
    )
    add_quiet_option(parser)
    args = parser.parse(argv)
    print(make_bundle(args.output, Reporter(args.quiet)))


def clean(argv: Sequence[str]) -> None:
    """Remove the files that killed commands of this user left on this machine, and with -r on a cluster; print them."""
    parser = Parser('clean', clean.__doc__)
    add_runner_options(parser)
    parser.set_defaults(inputs=[])
    args = parser.parse(argv)
    for path in remove_leftovers():
        print(path)
    with choose_engine(args) as engine:
        if isinstance(engine, Remote):
            for path in engine.work.sweep(resumable=True):
                print(path)
