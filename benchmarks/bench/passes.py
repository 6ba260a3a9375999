"""Measure trainings by passes against those by a Gram, on many landmarks.

Seconds are those of the processor. A Gram of all rows would take too long: its seconds follow from two trainings
on an eighth and on a quarter of the rows, because they grow with the rows alone.
"""
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.bench.context import Bench
from mr_elm.data.generators import generate, write_rows
from mr_elm.models import read_model
from mr_elm.scaling.timing import measure_in_turn, processor_seconds, run_mr_elm, show_seconds
from mr_elm.scaling.verdict import COUNTED, Claim, at_most

D = 50
NUS = 1, 100
SHARE, MOST_PASSES = 0.33, 15  # of the seconds of a Gram; passes to a residual of 1e-4


def train(rows: Path, n_hidden: int, solver: str, nu: float) -> None:
    """Train on packed rows; the model stands beside them."""
    run_mr_elm('train', 'pesvm', rows, '--map', 'nystrom', '--hidden', n_hidden, '--nu', nu, '--solver', solver, '-r',
               'local', '--num-cores', 2, '--model', rows.with_suffix('.npz'), '--overwrite')


def pack(bench: Bench, n: int) -> Path:
    """Return a packed folder of n rows of `ringnorm`."""
    csv = bench.folder / f'ringnorm-{n}.csv'
    write_rows(generate('ringnorm', n, D, 1), csv)
    run_mr_elm('pack', csv, '-o', csv.with_suffix('.packed'))
    return csv.with_suffix('.packed')


def compare_solvers(bench: Bench) -> list[Claim]:
    """Compare the seconds of passes with those of a Gram, and count the passes, for a small and a large nu."""
    n, n_hidden = bench.pick((8000, 500), (200_000, 8000))
    sizes = n // 8, n // 4, n
    packs, claims = [pack(bench, size) for size in sizes], []
    for nu in bench.pick(NUS[:1], NUS):
        actions: list[Callable] = [partial(train, rows, n_hidden, 'gram', nu) for rows in packs[:2]]
        actions.append(partial(train, packs[2], n_hidden, 'passes', nu))
        few, more, passes = map(min, measure_in_turn(actions, 1, processor_seconds))
        gram = few + (more - few) * (sizes[2] - sizes[0]) / (sizes[1] - sizes[0])
        name = f'{n_hidden:,} landmarks by passes on {n:,} x {D} ringnorm at nu {nu:g}'
        found = read_model(packs[2].with_suffix('.npz')).header.parameters
        claims += [Claim(f'{name}, processor seconds divided by those of a Gram', passes / gram, at_most(SHARE),
                         COUNTED, f'{show_seconds(passes)} against {show_seconds(gram)}, which follow '
                         f'from {show_seconds(few)} for {sizes[0]:,} and {show_seconds(more)} for {sizes[1]:,} rows'),
                   Claim(f'{name}, passes', found['passes'], at_most(MOST_PASSES), COUNTED,
                         f'relative residual {found["residual"]:.1e}')]
    return claims


PARTS = {'landmarks': compare_solvers}
