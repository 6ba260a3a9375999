"""Draw the forecast of a method: speedup, sizeup, scaleup, and where its wall stands."""
from pathlib import Path
from typing import Any

from benchmarks.scaling.figures import COLOURS, STAGE_COLOURS, clean
from benchmarks.scaling.ratios import STAGES, abbreviate, name_nodes
from benchmarks.scaling.simulate import TIMES, Forecast
from mr_elm.figures.figure import open_figure

DASHED = {'linestyle': '--', 'color': '#9aa0a6', 'linewidth': 1.2}


def draw_forecast(forecast: Forecast, paths: list[Path]) -> None:
    """Draw a Forecast as four panels, to paths that end in .png or .svg."""
    costs = forecast.costs
    with open_figure(*paths, rows=2, columns=2, dpi=130, figsize=(12, 9)) as (figure, axes):
        for draw, panel in zip((draw_speedup, draw_sizeup, draw_scaleup, draw_wall), axes.flat, strict=True):
            draw(panel, forecast)
            panel.grid(alpha=0.25, which='major')
            panel.legend(frameon=False, fontsize=9)
            clean(panel)
        figure.suptitle(f'SIMULATED: {costs.method} by what runs on {costs.runner} took '
                        f'(median error there {forecast.error:.0%})', fontsize=13, x=0.02, ha='left', weight='bold')


def draw_speedup(axes: Any, forecast: Forecast) -> None:
    """Draw a curve a number of rows, and measured ratios as crosses."""
    axes.loglog(forecast.nodes, forecast.nodes, label='ideal', **DASHED)
    for colour, rows in zip(COLOURS, forecast.rows, strict=False):
        axes.loglog(forecast.nodes, forecast.speedup(rows), color=colour, linewidth=2, label=f'{abbreviate(rows)} rows')
    if measured := list_measured(forecast.check.comparisons):
        axes.plot(*zip(*measured, strict=True), 'kx', markersize=9, markeredgewidth=2, label='measured')
    axes.set(title='speedup: T(1, D) / T(n, D)', xlabel='nodes', ylabel='times faster')


def list_measured(comparisons: list[tuple]) -> list[tuple[int, float]]:
    """Return (nodes, ratio) for the measured settings that differ in nodes alone."""
    ones = {(problem, maps): seconds for (_, _, nodes, problem, maps), seconds, _, _ in comparisons if nodes == 1}
    return [(nodes, ones[problem, maps] / seconds) for (_, _, nodes, problem, maps), seconds, _, _ in comparisons
            if (problem, maps) in ones and nodes > 1]


def draw_sizeup(axes: Any, forecast: Forecast) -> None:
    """Draw a curve a number of nodes."""
    rows = forecast.rows[len(forecast.rows) // 3]
    axes.loglog(TIMES, TIMES, label='in proportion to the rows', **DASHED)
    for colour, nodes in zip(COLOURS, forecast.some_nodes, strict=False):
        axes.loglog(TIMES, forecast.sizeup(nodes, rows), color=colour, linewidth=2, label=name_nodes(nodes))
    axes.set(title=f'sizeup: T(mD) / T(D), D = {abbreviate(rows)} rows', xlabel='m, times the rows',
             ylabel='times the seconds')


def draw_scaleup(axes: Any, forecast: Forecast) -> None:
    """Draw a curve a number of rows a node."""
    axes.axhline(1, label='ideal', **DASHED)
    for colour, rows in zip(COLOURS, forecast.rows[:3], strict=False):
        axes.semilogx(forecast.nodes, forecast.scaleup(rows), color=colour, linewidth=2,
                      label=f'{abbreviate(rows)} rows a node')
    axes.set(title='scaleup: T(1, D) / T(n, nD)', xlabel='nodes, and times the rows', ylabel='share of the speed kept',
             ylim=(0, 1.15))


def draw_wall(axes: Any, forecast: Forecast) -> None:
    """Draw the seconds over the nodes: by stage, or, of a Gram method, by ways to add the sums up."""
    rows = forecast.rows[len(forecast.rows) // 2]
    if forecast.default.hidden:
        one = forecast.seconds(rows, 1)
        axes.loglog(forecast.nodes, [one / n for n in forecast.nodes], label='ideal', **DASHED)
        for colour, (name, other) in zip(COLOURS, forecast.remedies.items(), strict=False):
            axes.loglog(forecast.nodes, [forecast.seconds(rows, n, **other) for n in forecast.nodes], color=colour,
                        linewidth=2, label=name)
        axes.set(title=f'moving the wall, {abbreviate(rows)} rows')
    else:
        stages = [forecast.stages(rows, n) for n in forecast.nodes]
        axes.stackplot(forecast.nodes, [[one[stage] for one in stages] for stage in STAGES], labels=STAGES.values(),
                       colors=[STAGE_COLOURS[stage] for stage in STAGES])
        axes.set(title=f'where the seconds go, {abbreviate(rows)} rows', xscale='log')
    axes.set(xlabel='nodes', ylabel='seconds')
