"""mr-elm bundle: the Python environment of the nodes as one archive."""
from collections.abc import Sequence

from mr_elm.cli.options import Parser, add_debug_option, add_quiet_option
from mr_elm.engines.bundle import make_bundle
from mr_elm.engines.progress import Reporter


def bundle(argv: Sequence[str]) -> None:
    """Make the archive and print where it is."""
    parser = Parser('bundle', 'Make one archive with the code and all that tasks need beside Python itself, named '
                    'after its contents, and print its path for --bundle. One that is there is not made again.',
                    runs_jobs=False)
    parser.add_argument('-o', '--output', required=True, metavar='FOLDER',
                        help='where to keep it: a folder of this machine, hdfs:///... or s3://...')
    parser.add_argument('--python-prefix', metavar='PATH', help="where the nodes keep this version of Python, such as "
                        "/usr for /usr/bin/python3.11 (default: where it is on this machine)")
    add_quiet_option(parser)
    add_debug_option(parser)
    args, _ = parser.parse(argv)
    print(make_bundle(args.output, Reporter(args.quiet), args.python_prefix))
