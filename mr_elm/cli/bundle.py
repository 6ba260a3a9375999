"""mr-elm bundle: the Python environment of the nodes as one archive."""

from collections.abc import Sequence

from mr_elm.cli.options import Parser, add_quiet_option
from mr_elm.engines.bundle import make_bundle
from mr_elm.progress import Reporter


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
