"""python -m benchmarks.scaling cost: what a training takes on a rented cluster."""
import argparse
import json
import math
from collections.abc import Sequence

from benchmarks.scaling import PROGRAM
from benchmarks.scaling.cost import Rental, estimate, measure, read_counters
from mr_elm.cli.options import Parser, add_debug_option
from mr_elm.rows.options import positive

UNITS = {'rows': '', 'seconds_a_row': 's of a core', 'busy_seconds': 's', 'elapsed_seconds': 's', 'node_hours': 'h',
         'dollars': '$', 'core_hours': 'h', 'jobs': ''}


def cost(argv: Sequence[str]) -> None:
    """Print an estimate, from a short training here or from the counters of jobs that have run."""
    parser = Parser('cost', 'Estimate node-hours of training PESVM: elapsed = 360 s to start a cluster + 45 s for each '
                    'job + rows x seconds per row / (instances x vcores); node-hours = elapsed x (instances + 1). The '
                    'seconds per row are measured on one core of this machine, or read from the counters of jobs that '
                    'have run. The true value is between half and twice the estimate. Add the idle minutes before '
                    'the cluster terminates.',
                    runs_jobs=False, program=PROGRAM)
    parser.add_argument('--rows', type=positive, metavar='N', help='rows to train on')
    parser.add_argument('--features', type=positive, metavar='D', help='features of a row')
    parser.add_argument('--hidden', type=positive, default=1000, metavar='L',
                        help='hidden nodes (default: %(default)s)')
    parser.add_argument('--packed', action='store_true', help='the rows are packed: one job instead of two')
    parser.add_argument('--counters', nargs='+', metavar='LOG', help='instead of measuring here: logs of the jobs of '
                        'a training that has run, such as s3://bucket/logs/j-.../steps/s-.../syslog.gz')
    parser.add_argument('--instances', type=positive, required=True, metavar='K',
                        help='number of machines that run tasks')
    parser.add_argument('--vcores', type=positive, default=4, metavar='V', help='tasks at once on each machine '
                        '(default: %(default)s)')
    parser.add_argument('--price', type=read_price, metavar='P',
                        help='dollars per hour for one machine, with the price of EMR')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    add_debug_option(parser)
    args, _ = parser.parse(argv)
    if not args.counters and not (args.rows and args.features):
        parser.error('expected --rows and --features, or --counters')
    used = read_counters(args.counters) if args.counters else measure(args.features, args.hidden, args.packed)
    found = {'jobs': used.n_jobs, 'core_hours': used.core_seconds / 3600} if args.counters else {}
    found |= estimate(args.rows or used.n_rows, used.seconds_a_row, used.n_jobs,
                      Rental(args.instances, args.vcores, args.price))
    print(json.dumps(found) if args.json else '\n'.join(
        f'{name.replace("_", " "):16} {value:>14,.6g} {UNITS[name]}'.rstrip() for name, value in found.items()))


def read_price(text: str) -> float:
    """Read a price."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f'expected a price in dollars, found {text!r}')
    return value
