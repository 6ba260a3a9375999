"""python -m benchmarks.scaling speedup, sizeup and scaleup: measure how training scales."""
import argparse
import os
from collections.abc import Sequence

from benchmarks.scaling import PROGRAM
from benchmarks.scaling.methods import METHODS
from benchmarks.scaling.study import run_study
from benchmarks.scaling.testbeds import TESTBEDS
from mr_elm.cli.options import Parser, add_debug_option, add_quiet_option
from mr_elm.rows.options import AdvancedHelp, positive


class ScaleParser(Parser):
    """Parse the options of an experiment, which names the master of Spark itself."""

    def check_runner(self, args: argparse.Namespace, passed: list[str]) -> None:
        """Raise ValueError where the runner does not take an option."""
        super().check_runner(args, [*passed, '--master', 'local[1]'] if args.runner == 'spark' else passed)


def speedup(argv: Sequence[str]) -> None:
    """Measure T(1 node, D) / T(m nodes, D): how much faster more nodes train on the same rows."""
    measure(argv, 'speedup', speedup.__doc__)


def sizeup(argv: Sequence[str]) -> None:
    """Measure T(n nodes, mD) / T(n nodes, D): how much longer the same nodes train on more rows."""
    measure(argv, 'sizeup', sizeup.__doc__)


def scaleup(argv: Sequence[str]) -> None:
    """Measure T(1 node, D) / T(m nodes, mD): whether m times the nodes train on m times the rows in the same time."""
    measure(argv, 'scaleup', scaleup.__doc__)


def measure(argv: Sequence[str], experiment: str, description: str | None) -> None:
    """Run an experiment."""
    parser = ScaleParser(experiment, description, program=PROGRAM)
    parser.add_argument('-r', '--runner', choices=tuple(TESTBEDS), default='local',
                        help='what a node is. local: a map process; spark: a core of this machine; hadoop: a '
                        'NodeManager with one core, of a Hadoop that the command starts on this machine (if '
                        'HADOOP_HOME names a cluster: a map task on it); emr: a core instance (default: %(default)s)')
    parser.add_argument('--method', nargs='+', choices=tuple(METHODS), default=['pesvm'], metavar='NAME',
                        help=f'one or more of {", ".join(METHODS)} (default: pesvm)')
    parser.add_argument('--nodes', nargs='+', type=positive, default=list_powers(os.cpu_count()), metavar='N',
                        help='numbers of nodes; sizeup uses only the last (default: powers of 2, up to the cores)')
    parser.add_argument('--sizes', nargs='+', type=read_size, default=(), metavar='N',
                        help='numbers of rows, such as 2e6; scaleup uses the first for one node '
                             '(default: depends on the method)')
    parser.add_argument('--features', type=positive, metavar='D', help='features of a row')
    parser.add_argument('--hidden', type=positive, metavar='L', help='hidden nodes, for methods that have them')
    parser.add_argument('--partitions', nargs='+', type=positive, default=[1], metavar='N',
                        help=AdvancedHelp('spark: numbers of map tasks for each core (default: 1)'))
    parser.add_argument('--repeats', type=positive, metavar='K',
                        help='how often each run is made (default: ' + ', '.join(
                            f'{testbed.repeats} on {alias}' for alias, testbed in TESTBEDS.items()) + ')')
    parser.add_argument('-o', '--output', default='build', metavar='DIR',
                        help=f'folder for {experiment}.csv, .png, .svg and .md (default: %(default)s)')
    parser.add_argument('--store', metavar='URI', help='emr: a folder on S3 for the rows')
    parser.add_argument('--port-base', type=positive, default=25100, metavar='PORT',
                        help='hadoop: first port of the cluster (default: %(default)s)')
    parser.add_argument('--resume', action='store_true',
                        help=f'keep the runs in {experiment}.csv and measure the missing ones; without it, runs of '
                        'the same runner and methods are measured again')
    add_quiet_option(parser)
    add_debug_option(parser)
    parser.set_defaults(inputs=())
    args, passed = parser.parse(argv)
    if args.partitions != [1] and args.runner != 'spark':
        parser.error(f'--partitions: expected -r spark, found -r {args.runner}')
    args.repeats = args.repeats or TESTBEDS[args.runner].repeats
    for path in run_study(experiment, args, passed):
        print(path)


def read_size(text: str) -> int:
    """Read a number of rows, which may be written as 2e6."""
    try:
        return positive(str(int(float(text))))
    except (ValueError, OverflowError):
        return positive(text)


def list_powers(n: int | None) -> list[int]:
    """List the powers of 2 up to n."""
    return [2**k for k in range((n or 1).bit_length())]
