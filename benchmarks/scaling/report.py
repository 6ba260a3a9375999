"""Write what an experiment found as Markdown."""
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from benchmarks import verdict
from benchmarks.machine import list_machines
from benchmarks.scaling.aims import DEVIATION, SHARE, judge_curves
from benchmarks.scaling.ratios import Ratio, make_curves, name_of, stage_medians
from benchmarks.scaling.runs import Run

MEANING = {'speedup': 'T(fewest nodes, D) / T(m nodes, D)', 'sizeup': 'T(n nodes, mD) / T(n nodes, D)',
           'scaleup': 'T(1 node, D) / T(m nodes, mD)'}
AIMS = {**{name: f'The target is {share:.0%} of the value in the column "ideal" below, or more. It is the same for all '
           'runners.' for name, share in SHARE.items()},
        'sizeup': 'There are several sizes. From each size to the next one, we divide the additional time by the '
        'additional work of the map tasks; for `pesvm`, this work grows like the number of rows. We divide the result '
        'by the same quotient from the first size to the last one. This gives an increment. If the time grows like the '
        f'work, all increments are 1. The target is that each increment differs from 1 by at most {DEVIATION:.0%}.'}
TIME = ('T(n nodes, D) is the wall-clock time of a training with n nodes on D rows; mD is m times as many rows. Each '
        'training is repeated, and T is the median of the repeats. With `-r local`, a node is a map process; with '
        '`-r spark`, it is a core; on a cluster, it is a computer.')
COLUMNS = ('"Least to largest" shows the smallest and the largest ratio of all repeats. "Of the map stage" is the same '
           'ratio, computed from the seconds of the map stage alone. Four columns show where the seconds of a training '
           'went: "start" is the start and end of jobs, "map" and "shuffle and reduce" are the stages of the jobs, and '
           '"driver" is the work of the driver outside the jobs. Each of these numbers is a median, so the sum of the '
           'four can differ from the column "seconds".')
HEADS = ('nodes', 'rows', '{0}', 'least to largest', 'ideal', 'of the map stage', 'seconds', 'start', 'map',
         'shuffle and reduce', 'driver', 'MB in', 'MB shuffled', 'runs', 'steadiness')
DESCRIPTIONS = {
    'speedup': 'speedup for each number of nodes: how many times faster the same rows are trained; dashed: the ideal',
    'sizeup': 'sizeup for each number of rows: how many times longer the training takes; dashed: the ideal',
    'scaleup': 'scaleup: the time of one node divided by the time of m nodes with m times the rows; dashed: the ideal'}


def write_report(experiment: str, runs: list[Run], sessions: dict[str, dict], folder: Path) -> Path:
    """Write EXPERIMENT.md below a folder; its path. sessions : name -> machine, as of `machine.Sessions`."""
    path = folder / f'{experiment}.md'
    lines = [f'# {experiment.capitalize()}', '', *describe_runs(experiment, runs, sessions, f'{experiment}.png'),
             verdict.RULES]
    path.write_text('\n'.join(lines) + '\n')
    return path


def describe_runs(experiment: str, runs: list[Run], sessions: dict[str, dict], figure: str) -> list[str]:
    """Return the lines of a page about runs of an experiment. figure : address of its figure."""
    machines = list_machines(sessions[name] for name in dict.fromkeys(run.session for run in runs) if name in sessions)
    lines = [f'{experiment}(m) = {MEANING[experiment]}. {TIME} '
             'All trainings on the same rows gave the same model, bit for bit.', '', *write_machines(machines),
             f'![{DESCRIPTIONS[experiment]}]({figure})', '']
    if not all(run.maps for run in runs):
        lines += ['Some runners do not record the times of tasks. For them, the column "map" is 0, and "start" is the '
                  'whole job.', '']
    curves = make_curves(experiment, runs)
    lines += [AIMS[experiment], '', verdict.tabulate(judge_curves(experiment, curves)), '']
    lines += [COLUMNS, '']
    for key, curve in curves.items():
        lines += [f'### {name_of(experiment, key)}', '', *write_table(experiment, curve), '']
    return lines


def write_machines(machines: list[str]) -> list[str]:
    """Return lines of Markdown that say where something was measured; none where nobody knows."""
    return ['Measured on:', '', *(f'* {machine}' for machine in machines), ''] if machines else []


def write_table(experiment: str, curve: list[Ratio]) -> list[str]:
    """Lay out a curve, a line a setting."""
    heads = [head.format(experiment) for head in HEADS]
    return [write_row(heads), write_row(['---'] * len(heads)), *(write_row(write_cells(ratio)) for ratio in curve)]


def write_cells(ratio: Ratio) -> list[str]:
    """Write the cells of one setting."""
    run, stages = ratio.runs[0], stage_medians(ratio.runs)
    megabytes = [median(getattr(one, name) for one in ratio.runs) / 1e6 for name in ('input_bytes', 'shuffle_bytes')]
    return [str(run.nodes), f'{run.rows:,}', f'{ratio.value:.2f}', f'{ratio.least:.2f} to {ratio.largest:.2f}',
            f'{ratio.ideal:.2f}', f'{ratio.map_only:.2f}', f'{median(one.seconds for one in ratio.runs):.2f}',
            *(f'{seconds:.2f}' for seconds in stages.values()), *(f'{size:,.1f}' for size in megabytes),
            str(len(ratio.runs)), show_movement([one.seconds for one in ratio.runs])]


def show_movement(seconds: list[float]) -> str:
    """Say by how much the runs of a setting moved, in bold where that is too much to decide anything."""
    text = verdict.describe_movement([seconds])
    return text if verdict.is_steady([seconds]) else f'**{text}**'


def write_row(texts: Iterable[str]) -> str:
    """Write a line of a table."""
    return f'| {" | ".join(texts)} |'
