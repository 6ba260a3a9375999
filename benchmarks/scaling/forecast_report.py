"""Write forecasts: figures, and a page that says how far to trust them and where each method stops scaling."""
from pathlib import Path

from benchmarks.scaling.methods import METHODS
from benchmarks.scaling.ratios import abbreviate
from benchmarks.scaling.report import write_row
from benchmarks.scaling.simulate import KEPT, Forecast
from benchmarks.scaling.simulated_figure import draw_forecast
from benchmarks.verdict import tabulate

CHECK = ('nodes', 'map tasks a node', 'rows', 'measured', 'fitted', 'error', 'by the other settings', 'error')
OF_HADOOP = ('`mr-elm` takes larger splits by `-D mapreduce.input.fileinputformat.split.minsize=BYTES`, R reducers by '
             '`-D mapreduce.job.reduces=R`, and a tree of sums, or none, by `--fan-in N`.')
OF_SPARK = 'The number of map tasks of all nodes is `--partitions-of-rows N`.'
REASONS = {'start': 'jobs must start and end', 'map': 'tasks must start, and some are slow',
           'reduce': 'shuffle and reduce', 'driver': "the driver's part"}


def write_forecasts(forecasts: list[Forecast], folder: Path) -> str:
    """Write a figure for each Forecast, and simulated.md; returns the words of the page."""
    lines = ['# Simulated', '', 'Nothing on this page was measured, but for the columns that say so: seconds of a run '
             'are told by the cost model of `benchmarks/scaling/cost_model.py`, fitted to runs on a small '
             'cluster.', '']
    for forecast in forecasts:
        name = f'simulated-{forecast.costs.method}-{forecast.costs.runner}'
        draw_forecast(forecast, [folder / f'{name}.{kind}' for kind in ('png', 'svg')])
        lines += [f'## {forecast.costs.method}, by runs on {forecast.costs.runner}', '', f'![{name}]({name}.png)', '',
                  *describe_errors(forecast), '', *describe_walls(forecast), '']
    text = '\n'.join(lines)
    (folder / 'simulated.md').write_text(text)
    return text


def tabulate_errors(comparisons: list[tuple]) -> list[str]:
    """Compare with what was measured. comparisons : what `validate` found."""
    cells = [[str(nodes), str(maps), f'{problem.rows:,}', f'{seconds:.1f} s', f'{fitted:.1f} s',
              f'{fitted / seconds - 1:+.0%}', f'{predicted:.1f} s', f'{predicted / seconds - 1:+.0%}']
             for (_, _, nodes, problem, maps), seconds, fitted, predicted in comparisons]
    return [write_row(CHECK), write_row(['---'] * len(CHECK)), *map(write_row, cells)]


def describe_errors(forecast: Forecast) -> list[str]:
    """Say how large the errors are, and whether they are small enough."""
    return [*tabulate_errors(forecast.check.comparisons), '', tabulate([forecast.check.claim]), '',
            f'Median error {forecast.error:.1%}; {forecast.error_left_out:.1%} in leave-one-out validation.'
            f' Tasks deviate by {forecast.costs.spread:.0%}.']


def describe_walls(forecast: Forecast) -> list[str]:
    """Say where the method stops scaling, and why."""
    lines = [f'It scales up to the nodes at which {KEPT:.0%} of the ideal speed is left: '
             + '; '.join(f'{abbreviate(rows)} rows: {describe_wall(forecast, rows)}' for rows in forecast.rows) + '.',
             f'What ends it: {METHODS[forecast.costs.method].bound}.']
    if forecast.default.hidden:
        rows = forecast.rows[len(forecast.rows) // 2]
        lines += ['', f'With {abbreviate(rows)} rows that wall moves ({describe_ways(forecast, rows)}). '
                  f'{OF_SPARK if forecast.adds_in_steps else OF_HADOOP}']
    return lines


def describe_wall(forecast: Forecast, rows: float, **other: float) -> str:
    """Write how many nodes are of use, and which stage is in the way."""
    nodes, stage = forecast.wall(rows, **other)
    return f'all {max(forecast.nodes):,}' if stage is None else f'below {nodes:,} ({REASONS[stage]})'


def describe_ways(forecast: Forecast, rows: float) -> str:
    """Write how far each way round the wall leads."""
    return '; '.join(f'{name}: {describe_wall(forecast, rows, **other)}'
                     for name, other in forecast.remedies.items())
