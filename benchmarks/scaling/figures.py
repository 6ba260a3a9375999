"""Draw speedup, sizeup and scaleup: the curves beside their ideals, and where the seconds of each run went."""
from itertools import compress
from pathlib import Path
from typing import Any

from benchmarks.scaling.ratios import STAGES, Ratio, abbreviate, make_curves, name_nodes, name_of, stage_medians
from benchmarks.scaling.runs import Run
from mr_elm.figures.figure import open_figure

COLOURS = ('#1b6ca8', '#d1495b', '#2e933c', '#edae49', '#7b4b94', '#4a4a4a')
MARKERS = 'osD^vP'  # curves differ in black and white too, and stages by their hatches
STAGE_COLOURS = {'start': '#c9ced6', 'map': '#1b6ca8', 'reduce': '#edae49', 'driver': '#7a8594'}
HATCHES = {'start': '', 'map': '', 'reduce': '////', 'driver': '...'}
AXES = {'speedup': ('nodes', 'times faster than on the fewest'), 'sizeup': ('times the rows', 'times the seconds'),
        'scaleup': ('nodes, and times the rows', 'share of the speed kept')}


def draw(experiment: str, runs: list[Run], folder: Path, kinds: tuple = ('png', 'svg')) -> list[Path]:
    """Draw the figure of an experiment; the paths of its files, one of each kind."""
    curves, paths = make_curves(experiment, runs), [folder / f'{experiment}.{kind}' for kind in kinds]
    n_bars = sum(map(len, curves.values()))
    heights = 3.6 + 0.2 * len(curves), 1 + 0.35 * n_bars  # one below the other: readable on a narrow screen too
    with open_figure(*paths, rows=2, dpi=100, figsize=(7, sum(heights)),
                     height_ratios=heights) as (figure, (top, bottom)):
        draw_curves(top, experiment, curves)
        draw_stages(bottom, curves)
        figure.suptitle(f'{experiment.capitalize()}, measured', fontsize=13, x=0.02, ha='left', weight='bold')
    return paths


def draw_curves(axes: Any, experiment: str, curves: dict[tuple, list[Ratio]]) -> None:
    """Draw medians with their spread, the map stage alone thinner, and the ideals dashed."""
    ideals = {tuple((ratio.x, ratio.ideal) for ratio in curve) for curve in curves.values()}
    for number, ideal in enumerate(sorted(ideals)):
        axes.plot(*zip(*ideal, strict=True), '--', color='#9aa0a6', linewidth=1.2, label=None if number else 'ideal')
    looks = zip(COLOURS * len(curves), MARKERS * len(curves), curves.items(), strict=False)
    for colour, marker, (key, curve) in looks:
        x, y = [ratio.x for ratio in curve], [ratio.value for ratio in curve]
        spread = [[r.value - r.least for r in curve], [r.largest - r.value for r in curve]]
        axes.plot(x, [ratio.map_only for ratio in curve], ':', marker='.', color=colour, linewidth=1.2)
        axes.errorbar(x, y, spread, marker=marker, color=colour, capsize=4, linewidth=2, elinewidth=1.2)
        axes.plot([], [], marker=marker, color=colour, linewidth=2,
                  label=name_of(experiment, key))  # a mark without the spread's bar
        axes.annotate(f'{y[-1]:.2f}', (x[-1], y[-1]), xytext=(7, -3), textcoords='offset points', color=colour)
    axes.plot([], [], ':', marker='.', color='#4a4a4a', linewidth=1.2, label='the map stage alone')
    across = sorted({ratio.x for curve in curves.values() for ratio in curve})
    axes.set_xticks(across, [f'{x:g}' for x in across])
    axes.margins(x=0.12)
    axes.set_ylim(bottom=0)
    axes.set(xlabel=AXES[experiment][0], ylabel=AXES[experiment][1])
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9, loc='upper right', bbox_to_anchor=(1.05, -0.2))
    clean(axes)


def draw_stages(axes: Any, curves: dict[tuple, list[Ratio]]) -> None:
    """Stack the seconds of the stages, a bar a setting."""
    several = [len(set(parts)) > 1 for parts in zip(*(key[:2] for key in curves), strict=True)]
    bars = [(', '.join([*compress(key[:2], several), f'{abbreviate(ratio.runs[0].rows)} rows',
                        *([f'{key[-1]} tasks a node'] if key[-1] > 1 else []), name_nodes(ratio.runs[0].nodes)]),
             stage_medians(ratio.runs))
            for key, curve in curves.items() for ratio in curve]
    at = list(range(len(bars)))[::-1]
    left = [0.0] * len(bars)
    for stage, name in STAGES.items():
        widths = [max(stages[stage], 0.0) for _, stages in bars]
        axes.barh(at, widths, left=left, color=STAGE_COLOURS[stage], hatch=HATCHES[stage],
                  edgecolor='white', linewidth=0.5, label=name, height=0.62)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    for y, total in zip(at, left, strict=True):
        axes.annotate(f'{total:.1f} s', (total, y), xytext=(4, -3), textcoords='offset points', fontsize=9)
    axes.set_yticks(at, [name for name, _ in bars])
    axes.margins(x=0.12)
    axes.set(xlabel='seconds, medians by stage')
    axes.legend(frameon=False, fontsize=9, loc='upper center', bbox_to_anchor=(0.45, -0.1 - 0.6 / len(bars)),
                ncols=4, columnspacing=1, handlelength=1)
    clean(axes)


def clean(axes: Any) -> None:
    """Leave out the lines that say nothing."""
    axes.spines[['top', 'right']].set_visible(False)
