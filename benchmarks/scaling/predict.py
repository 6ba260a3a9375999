"""python -m benchmarks.scaling simulate: how training would scale on a larger cluster than the measured one."""
import argparse
import sys
from collections.abc import Sequence
from functools import partial
from math import log10
from pathlib import Path

from benchmarks.scaling import PROGRAM
from benchmarks.scaling.cost_model import SimulatedCluster
from benchmarks.scaling.forecast_report import write_forecasts
from benchmarks.scaling.runs import read_runs
from benchmarks.scaling.simulate import make_forecasts, space_evenly
from mr_elm.cli.options import Parser, above_zero, add_debug_option
from mr_elm.rows.options import positive

LARGEST = 10**15


def simulate(argv: Sequence[str]) -> None:
    """Fit a cost model to measured runs, check it against them, and draw its predictions for larger clusters."""
    parser = Parser('simulate', f'{simulate.__doc__} Each map task goes to the next free slot; some tasks are slow '
                    '(stragglers) and get speculative copies. All results are marked as simulated.', runs_jobs=False,
                    program=PROGRAM)
    parser.add_argument('--trace', nargs='+', required=True, metavar='CSV',
                        help='files of runs, from speedup, sizeup or scaleup')
    parser.add_argument('--nodes', type=read_span, default=(1, 1000), metavar='A..B',
                        help='numbers of nodes (default: 1..1000)')
    parser.add_argument('--rows', type=read_span, default=(10**6, 10**11), metavar='A..B',
                        help='numbers of rows (default: 1e6..1e11, if the memory is enough for the method)')
    parser.add_argument('--slots', type=positive, default=1, metavar='N',
                        help='tasks at once on a node (default: %(default)s)')
    parser.add_argument('--bandwidth', type=above_zero, default=1.0, metavar='GBIT',
                        help='Gbit/s into a node (default: %(default)s)')
    parser.add_argument('--split', type=above_zero, default=128.0, metavar='MB',
                        help='MB that a map task reads at most (default: %(default)s)')
    parser.add_argument('--stragglers', type=float, default=0.02, metavar='P',
                        help='share of tasks that are slow (default: %(default)s)')
    parser.add_argument('--slowdown', type=above_zero, default=3.0, metavar='X',
                        help='how many times slower these are (default: %(default)s)')
    parser.add_argument('--no-speculation', action='store_true', help='never start a slow task a second time')
    parser.add_argument('-o', '--output', default='build', metavar='DIR',
                        help='folder for simulated-*.png, .svg and simulated.md (default: %(default)s)')
    add_debug_option(parser)
    args, _ = parser.parse(argv)
    if not 0 <= args.stragglers <= 1:
        parser.error(f'--stragglers: expected a share from 0 to 1, found {args.stragglers:g}')
    cluster = SimulatedCluster(args.slots, args.split * 1e6, args.bandwidth * 1e9 / 8, args.stragglers, args.slowdown,
                               not args.no_speculation)
    runs = [run for path in args.trace for run in read_runs(path)]
    decades = [10**k for k in range(15) if args.rows[0] <= 10**k <= args.rows[1]]
    nodes = [int(n) for n in space_evenly(*args.nodes)]
    forecasts = make_forecasts(runs, nodes, decades or sorted(set(args.rows)), cluster, partial(print, file=sys.stderr))
    Path(args.output).mkdir(parents=True, exist_ok=True)
    print(write_forecasts(forecasts, Path(args.output)), end='')


def read_span(text: str) -> tuple[int, int]:
    """Read A..B, whole numbers that may be written as 1e6."""
    low, dots, high = text.partition('..')
    try:
        found = int(float(low)), int(float(high if dots else low))
    except (ValueError, OverflowError):
        found = 0, 0
    if not 1 <= found[0] <= found[1] <= LARGEST:
        raise argparse.ArgumentTypeError(f'expected A..B, whole numbers from 1 to 1e{log10(LARGEST):.0f}, found '
                                         f'{text!r}')
    return found
