"""Measure speedup, sizeup and scaleup of trainings; a stopped experiment goes on where it was.

speedup(m) = T(1 node, D) / T(m nodes, D).  sizeup(m) = T(n nodes, mD) / T(n nodes, D).
scaleup(m) = T(1 node, D) / T(m nodes, mD).

Source: He et al., A parallel incremental extreme SVM classifier, 2011, section 5.
"""

import argparse
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.clocks import run_mr_elm
from benchmarks.harness import Results
from benchmarks.scaling.testbeds import TESTBEDS, LocalTestbed
from benchmarks.tables import write_table
from mr_elm.data.generators import generate, write_rows
from mr_elm.figures.figure import open_figure
from mr_elm.rows.packs import MANIFEST
from mr_elm.store import load_arrays

MEANING = {
    'speedup': 'T(1 node, D) / T(m nodes, D)',
    'sizeup': 'T(n nodes, mD) / T(n nodes, D)',
    'scaleup': 'T(1 node, D) / T(m nodes, mD)',
}
TIMES = (1, 2, 4, 8)  # of sizeup
SHARE = {'speedup': 1, 'sizeup': 8, 'scaleup': 2}  # the smallest size is this part of the method's default
FRESH = 250_000  # rows that are drawn; more rows are these again, because only their number matters
BASE_ROWS = 2000  # of the model that piesvm adds rows to
STAGE = re.compile(r'^(\w[\w ]*): .* in ([\d.]+) s', re.MULTILINE)


@dataclass(frozen=True)
class Method:
    """Describe a method that is measured.

    words : of mr-elm, where {data}, {base} and {hidden} stand for the rows, a model of a few of them, and L. rows,
    features, hidden : what is measured unless the user says otherwise. power : its work grows like rows to this power.
    """

    words: tuple[str, ...]
    rows: int
    features: int
    hidden: int = 0
    power: int = 1


PESVM = ('train', 'pesvm', '{data}', '--hidden', '{hidden}')
KELM = ('train', 'mr-kelm', '{data}', '--C', '10', '--solver', 'svd', '--emit')
METHODS = {
    'pesvm': Method(PESVM, 2_000_000, 50, 1000),
    'piesvm': Method(('update', '{base}', '{data}'), 2_000_000, 50, 1000),
    'mr-kelm-svd': Method((*KELM, 'rows'), 2000, 2000, power=2),
    'mr-kelm-entries': Method((*KELM, 'entries'), 400, 20, power=2),
}


def main(experiment: str, words: Sequence[str], program: str) -> None:
    """Read the options of an experiment, and run it; unknown words go to mr-elm."""
    parser = argparse.ArgumentParser(
        program, description=f'Measure {experiment}: {MEANING[experiment]}.', allow_abbrev=False
    )
    parser.add_argument(
        '-r',
        '--runner',
        choices=tuple(TESTBEDS),
        default='local',
        help='what a node is. local: a map process; spark: a core of this machine; hadoop: a '
        'NodeManager with one core, of a Hadoop that the command starts on this machine (if '
        'HADOOP_HOME names a cluster: a map task on it); emr: a core instance (default: local)',
    )
    parser.add_argument('--method', nargs='+', choices=tuple(METHODS), default=['pesvm'])
    powers = [2**k for k in range((os.cpu_count() or 1).bit_length())]
    parser.add_argument(
        '--nodes',
        nargs='+',
        type=read_size,
        default=powers,
        metavar='N',
        help='numbers of nodes; sizeup uses only the last (default: powers of 2, up to the cores)',
    )
    parser.add_argument(
        '--sizes',
        nargs='+',
        type=read_size,
        default=[],
        metavar='N',
        help='numbers of rows, such as 2e6; scaleup uses the first for one node',
    )
    parser.add_argument('--features', type=read_size, metavar='D', help='features of a row')
    parser.add_argument('--hidden', type=read_size, metavar='L', help='hidden nodes, for methods that have them')
    parser.add_argument('--repeats', type=read_size, default=3, metavar='K', help='how often each run is made')
    parser.add_argument(
        '-o',
        '--output',
        type=Path,
        default=Path('build'),
        metavar='DIR',
        help=f'folder for {experiment}.json, .png and .md (default: build)',
    )
    parser.add_argument('--store', metavar='URI', help='emr: a folder on S3 for the rows')
    parser.add_argument('--port-base', type=int, default=25100, metavar='PORT', help='hadoop: first port')
    parser.add_argument(
        '--resume',
        action='store_true',
        help='keep the runs of the same commit and machine that are '
        'there; without it, runs of the same runner and methods are measured again',
    )
    options, passed = parser.parse_known_args(list(map(str, words)))
    for path in run_experiment(experiment, options, passed):
        print(path)


def read_size(text: str) -> int:
    """Read a number from 1 on, which may be written as 2e6."""
    try:
        number = int(float(text))
    except (ValueError, OverflowError):
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f'expected a number from 1 on, found {text!r}')
    return number


def list_points(experiment: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the place of each run, repeats outermost: a machine that slows down slows all of them.

    A cluster is not restarted between two repeats: every other one has the reverse order.
    """
    for repeat in range(options.repeats):
        for name in options.method:
            method, nodes = METHODS[name], options.nodes
            first = options.sizes[0] if options.sizes else max(method.rows // SHARE[experiment], 1)
            if experiment == 'speedup':
                pairs = [(n, rows) for rows in options.sizes or [first] for n in nodes]
            elif experiment == 'sizeup':
                pairs = [(nodes[-1], rows) for rows in options.sizes or [first * m for m in TIMES]]
            else:
                pairs = [(n, first * n) for n in nodes]
            hidden = (options.hidden or method.hidden) if method.hidden else 0
            for n, rows in pairs[:: -1 if repeat % 2 else 1]:
                yield {
                    'runner': options.runner,
                    'method': name,
                    'nodes': n,
                    'rows': rows,
                    'features': options.features or method.features,
                    'hidden': hidden,
                    'repeat': repeat,
                }


def run_experiment(experiment: str, options: argparse.Namespace, passed: Sequence[str] = ()) -> list[Path]:
    """Measure all runs of an experiment, then draw and report; the paths that were written.

    passed : more words of mr-elm. Raises ValueError where runs over the same rows made different models.
    """
    path = options.output / f'{experiment}.json'
    results = Results.resume(path)
    if not options.resume:
        results.rows = [
            row for row in results.rows if row['runner'] != options.runner or row['method'] not in options.method
        ]
    points = [point for point in list_points(experiment, options) if not results.has(**point)]
    data = Rows(options.output / 'scale-data')
    testbed = TESTBEDS[options.runner](data.folder, options)
    try:
        for number, point in enumerate(points):
            print(
                f'{experiment}, run {number + 1} of {len(points)}: {point["method"]}, {point["rows"]:,} rows, '
                f'{name_nodes(point["nodes"])}',
                file=sys.stderr,
                flush=True,
            )
            results.add(measure(point, testbed, data, passed))
            demand_same_model(results.rows)
    finally:
        testbed.close()
    figure, page = path.with_suffix('.png'), path.with_suffix('.md')
    draw(experiment, results.rows, figure)
    page.write_text('\n'.join([f'# {experiment.capitalize()}', '', *write_tables(experiment, results.rows)]) + '\n')
    return [path, figure, page]


class Rows:
    """Keep generated rows in a folder of this machine, packed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def pack(self, n: int, d: int) -> Path:
        """Return the folder of n packed rows: FRESH rows are drawn, the others are these again."""
        folder = self.folder / f'ndc-{n}x{d}.packed'
        if not (folder / MANIFEST).exists():
            shutil.rmtree(folder, ignore_errors=True)
            whole, rest = divmod(n, FRESH)
            files = [self.write(FRESH, d, number) for number in range(whole)] + ([self.write(rest, d)] if rest else [])
            run_mr_elm('pack', *files, '-o', folder, '-r', 'local' if whole else 'inline')
            for path in files:
                path.unlink()
        return folder

    def write(self, n: int, d: int, copy: int = 0) -> Path:
        """Return a csv file of generated rows; a copy is another name of the first."""
        path = self.folder / f'ndc-{n}x{d}-{copy}.csv'
        if copy:
            path.unlink(missing_ok=True)
            path.hardlink_to(self.folder / f'ndc-{n}x{d}-0.csv')
        else:
            write_rows(generate('ndc', n, d, 1), path)
        return path

    def train_base(self, d: int, hidden: int) -> Path:
        """Return a model of a few rows, to which others are added."""
        path = self.folder / f'ndc-{d}-{hidden}.npz'
        if not path.exists():
            csv = self.write(BASE_ROWS, d)
            run_mr_elm('train', 'pesvm', csv, '--hidden', hidden, '--model', path)
            csv.unlink()
        return path


def measure(point: dict, testbed: LocalTestbed, data: Rows, passed: Sequence[str]) -> dict:
    """Run a method once on so many nodes: its place, seconds, the seconds of its jobs, and a digest of its model."""
    method = METHODS[point['method']]
    packed = data.pack(point['rows'], point['features'])
    size = sum(file.stat().st_size for file in packed.iterdir())
    on_nodes = testbed.provide(point['nodes'], size)
    names = {'data': testbed.put(packed), 'hidden': point['hidden']}
    if '{base}' in method.words:
        names['base'] = str(data.train_base(point['features'], point['hidden']))
    words = [word.format(**names) for word in method.words] + on_nodes
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        model = Path(folder, 'model.npz')
        start = time.perf_counter()
        said = run_mr_elm(*words, '--model', model, *passed)
        seconds = time.perf_counter() - start
        return {**point, 'seconds': round(seconds, 3), 'jobs': read_jobs(said), 'model': digest(model)}


def read_jobs(said: str) -> dict[str, float]:
    """Return name -> seconds of the jobs, as the command said them."""
    jobs: dict[str, float] = {}
    for name, seconds in STAGE.findall(said):
        jobs[name] = jobs.get(name, 0.0) + float(seconds)
    return jobs


def digest(path: Path) -> str:
    """Return a digest of the arrays of a model; its header tells when it was made."""
    arrays = load_arrays(path)[1]
    total = hashlib.sha256()
    for name in sorted(arrays):
        total.update(f'{name} {arrays[name].dtype} {arrays[name].shape}'.encode() + arrays[name].tobytes())
    return total.hexdigest()[:16]


def demand_same_model(rows: list[dict]) -> None:
    """Raise ValueError where runs over the same rows have made different models."""
    first: dict[tuple, dict] = {}
    for row in rows:
        known = first.setdefault(tuple(row[name] for name in ('method', 'rows', 'features', 'hidden')), row)
        if known['model'] != row['model']:
            raise ValueError(
                f'{row["method"]}, {row["rows"]:,} rows on {name_nodes(row["nodes"])} of {row["runner"]}: '
                f'expected the model {known["model"]}, as on {name_nodes(known["nodes"])} of '
                f'{known["runner"]}, found {row["model"]}'
            )


def make_curves(experiment: str, rows: list[dict]) -> dict[str, list[dict]]:
    """Return name -> the points of a curve: the runs that have all in common but what the experiment varies.

    A point has x, nodes, or of a sizeup how many times the rows of the first; value, the ratio of the median; least
    and largest, of the repeats; jobs, the same of the jobs alone; ideal, what work and nodes alone would give; and
    seconds, of the repeats.
    """
    curves: dict[str, dict[tuple, list[dict]]] = {}
    for row in sorted(rows, key=lambda row: (row['nodes'], row['rows'])):
        fixed = {
            'speedup': f'{row["rows"]:,} rows',
            'sizeup': name_nodes(row['nodes']),
            'scaleup': f'{row["rows"] // row["nodes"]:,} rows a node',
        }[experiment]
        name = f'{row["method"]}, {row["runner"]}, {fixed}, d = {row["features"]}'
        if row['hidden']:
            name += f', L = {row["hidden"]}'
        curves.setdefault(name, {}).setdefault((row['nodes'], row['rows']), []).append(row)
    return {
        name: [compare(experiment, next(iter(groups.values())), group) for group in groups.values()]
        for name, groups in curves.items()
    }


def compare(experiment: str, base: list[dict], group: list[dict]) -> dict:
    """Compare the runs of one setting with those of the first, which has the fewest nodes and rows."""
    start, row = base[0], group[0]
    growth, more = row['rows'] / start['rows'], row['nodes'] / start['nodes']
    work = growth ** METHODS[row['method']].power
    one, seconds = median(run['seconds'] for run in base), [run['seconds'] for run in group]
    jobs, base_jobs = (median(sum(run['jobs'].values()) for run in runs) or 1.0 for runs in (group, base))
    point = {'nodes': row['nodes'], 'rows': row['rows'], 'seconds': seconds}
    if experiment == 'sizeup':
        values = [each / one for each in seconds]
        point |= {'x': growth, 'jobs': jobs / base_jobs, 'ideal': work}
    else:
        values = [one / each for each in seconds]
        point |= {'x': row['nodes'], 'jobs': base_jobs / jobs, 'ideal': more / work}
    return {**point, 'value': median(values), 'least': min(values), 'largest': max(values)}


def name_nodes(n: int) -> str:
    """Write a number of nodes."""
    return '1 node' if n == 1 else f'{n} nodes'


def write_tables(experiment: str, rows: list[dict]) -> list[str]:
    """Return the lines of a page: a table a curve."""
    lines = [f'{experiment}(m) = {MEANING[experiment]}.', '']
    for name, curve in make_curves(experiment, rows).items():
        cells = (
            (
                str(one['nodes']),
                f'{one["rows"]:,}',
                f'{one["value"]:.2f}',
                f'{one["least"]:.2f} to {one["largest"]:.2f}',
                f'{one["jobs"]:.2f}',
                f'{one["ideal"]:.2f}',
                f'{median(one["seconds"]):.1f}',
                str(len(one['seconds'])),
            )
            for one in curve
        )
        heads = 'nodes', 'rows', experiment, 'least to largest', 'of the jobs alone', 'ideal', 'seconds', 'runs'
        lines += [f'{name}:', '', write_table(heads, cells), '']
    return lines


def draw(experiment: str, rows: list[dict], path: Path) -> None:
    """Draw medians with their spread, the jobs alone dotted, and the ideal dashed."""
    with open_figure(path, dpi=100, figsize=(7, 4.5)) as (_, axes):
        for name, curve in make_curves(experiment, rows).items():
            x, y, low, high, jobs, ideal = (
                np.array([one[key] for one in curve]) for key in ('x', 'value', 'least', 'largest', 'jobs', 'ideal')
            )
            line = axes.errorbar(x, y, [y - low, high - y], marker='o', capsize=4, label=name)
            axes.plot(x, jobs, ':', color=line[0].get_color())
            axes.plot(x, ideal, '--', color='#9aa0a6', zorder=0)
        axes.set(xlabel='times the rows' if experiment == 'sizeup' else 'nodes', ylabel=experiment)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
        axes.legend(fontsize=8)
