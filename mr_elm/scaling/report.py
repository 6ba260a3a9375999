"""Write what an experiment found as Markdown."""
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from mr_elm.scaling import verdict
from mr_elm.scaling.aims import DEVIATION, SHARE, judge_curves
from mr_elm.scaling.machine import list_machines
from mr_elm.scaling.ratios import Ratio, make_curves, name_of, stage_medians
from mr_elm.scaling.runs import Run

MEANING = {'speedup': 'T(fewest nodes, D) / T(m nodes, D)', 'sizeup': 'T(n nodes, mD) / T(n nodes, D)',
           'scaleup': 'T(1 node, D) / T(m nodes, mD)'}
AIMS = {**{name: f'The aim is at least {share:.0%} of the value in the column "ideal" below, on every runner.'
           for name, share in SHARE.items()},
        'sizeup': 'An increment is the time per additional row between two neighbouring sizes, divided by the time per '
        'additional row between the first and the last size. The aim is that every increment is 1, '
        f'within {DEVIATION:.0%}.'}
TIME = ('T(nodes, rows) is the wall-clock time of a training: the median of its repeats. D is a number of rows. A node '
        'is a map process of `-r local` or a computer of a cluster.')
COLUMNS = ('"Least to largest" is the range of the ratio over the repeats. "Of the map stage" is the same ratio, '
           'computed from the seconds of the map stage alone. Four columns show where the seconds of a training went: '
           '"start" is the start and end of jobs, "map" and "shuffle and reduce" are the stages of the jobs, and '
           '"driver" is the work of the driver outside the jobs. All seconds are medians, so the four need not add up '
           'exactly.')
HEADS = ('nodes', 'rows', '{0}', 'least to largest', 'ideal', 'of the map stage', 'seconds', 'start', 'map',
         'shuffle and reduce', 'driver', 'MB in', 'MB shuffled', 'runs', 'steadiness')
DESCRIPTIONS = {
    'speedup': 'how many times faster more nodes train on the same rows, beside the ideal',
    'sizeup': 'how many times longer the same nodes train on more rows, beside the ideal',
    'scaleup': 'the share of the speed that is left when rows grow with the nodes, beside the ideal'}


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
             'All runs over the same rows made the same model, bit for bit.', '', *write_machines(machines),
             f'![{DESCRIPTIONS[experiment]}]({figure})', '']
    if not all(run.maps for run in runs):
        lines += ['A runner that records no times of tasks has a map of 0 s: the whole job counts as start.', '']
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
