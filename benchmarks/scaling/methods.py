"""List for each method its command, and formulas of its work, its traffic and its last solve.

A method that is to be measured is an entry of METHODS; its formulas are in floating-point operations and in numbers
sent, and what such an operation or number takes is measured (cost_model.py).
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mr_elm.drivers.gram_job import choose_tree, share_tiles
from mr_elm.streaming.mr_kernel import ENTRY_BYTES


@dataclass(frozen=True)
class Problem:
    """Give the size of a training: N, d and L (0 where there are no hidden nodes)."""

    rows: int
    features: int
    hidden: int


@dataclass(frozen=True)
class MeasuredMethod:
    """Describe a method.

    words : of mr-elm, where {data}, {base} and {hidden} stand for the rows, a model of a few of them, and L.
    default : the Problem that is measured unless the user says otherwise. kind : of generated rows.
    work : Problem -> operations of all map tasks of a job.
    emit : (Problem, map tasks) -> numbers that a job sends through the shuffle.
    reduce : Problem -> operations of the reducers of a job. reducers : (Problem, map tasks) -> how many share these,
    as if evenly. fan_in : (Problem, map tasks) -> how many tasks' sums a task of a second job adds up, 1 for no such
    job; None where a method has no tree of sums.
    solve : Problem -> operations of the driver.
    gather : Problem -> numbers that the driver reads; broadcast : those that every node must have before a job.
    passes : whether every job does the work again, not one of them. most : rows, beyond which memory ends it.
    bound : which resource ends the scaling, in words.
    """

    words: tuple
    default: Problem
    work: Callable
    emit: Callable
    solve: Callable
    bound: str
    reduce: Callable = lambda p: 0.0
    gather: Callable = lambda p: 0.0
    broadcast: Callable = lambda p: 0.0
    reducers: Callable = lambda p, maps: 1
    fan_in: Callable | None = None
    passes: bool = False
    most: float = float('inf')
    kind: str = 'ndc'


def count_gram_work(p: Problem) -> int:
    """Count a row's product with the weights, and its share in the upper triangle of E'E."""
    return p.rows * p.hidden * (p.hidden + 2 * p.features)


def count_gram_numbers(p: Problem, maps: int) -> int:
    """Count high and low parts of the upper triangle, once a map task."""
    return maps * (p.hidden + 1) * (p.hidden + 2)


def count_kernel_work(p: Problem) -> int:
    """Count the distances of all pairs of rows."""
    return 2 * p.rows**2 * p.features


def count_row_numbers(p: Problem) -> int:
    """Count the numbers of X."""
    return p.rows * p.features


def count_svd_work(p: Problem) -> int:
    """Count what the decomposition of a symmetric matrix takes."""
    return 9 * p.rows**3


SUMS = 'every map task sends high and low parts of its tiles, 32/3 (L+1)(L+2) bytes, to no more reducers than tiles'
GRAM: dict[str, Any] = {'work': count_gram_work, 'emit': count_gram_numbers, 'solve': lambda p: p.hidden**3 / 3,
                        'bound': SUMS, 'reducers': lambda p, maps: 1 / share_tiles(maps, p.hidden)[1],
                        'fan_in': lambda p, maps: choose_tree(maps, p.hidden)}
TRIANGLE = "the driver's Cholesky factor, N^3/3, cannot be shared"

SVD = "the driver's singular value decomposition, about 9 N^3, cannot be shared"
DUAL: dict[str, Any] = {
    'kind': 'blobs', 'work': count_row_numbers, 'emit': lambda p, maps: 2 * p.rows * p.features,
    'solve': lambda p: 0.0, 'reduce': lambda p: p.rows**2 * p.features, 'reducers': lambda p, maps: 3, 'most': 1e6,
    'bound': 'each machine, a pair of classes, is solved in one reducer'}

METHODS = {
    'pesvm': MeasuredMethod(('train', 'pesvm', '{data}', '--hidden', '{hidden}'), Problem(2_000_000, 50, 1000), **GRAM),
    'piesvm': MeasuredMethod(('update', '{base}', '{data}'), Problem(2_000_000, 50, 1000), **GRAM),
    'mr-kelm-tiles': MeasuredMethod(
        ('train', 'mr-kelm', '{data}', '--solver', 'cholesky', '--emit', 'tiles', '--C', '10'), Problem(4000, 6000, 0),
        work=lambda p: p.rows**2 * p.features, emit=lambda p, maps: maps * p.rows**2 / 2, solve=lambda p: p.rows**3 / 3,
        gather=count_row_numbers, reducers=lambda p, maps: 8, most=1e5,
        bound=f'every map task sends all N^2/2 distances; {TRIANGLE}'),
    'mr-kelm-rows': MeasuredMethod(
        ('train', 'mr-kelm', '{data}', '--solver', 'cholesky', '--emit', 'rows', '--C', '10'), Problem(10_000, 500, 0),
        work=count_kernel_work, emit=lambda p, maps: 0.0, solve=lambda p: p.rows**3 / 3, gather=count_row_numbers,
        broadcast=count_row_numbers, most=1e5, bound=TRIANGLE),
    'mr-kelm-cg': MeasuredMethod(
        ('train', 'mr-kelm', '{data}', '--solver', 'cg', '--rank', '300', '--C', '0.1', '--tolerance', '1e-4'),
        Problem(60_000, 50, 0), work=count_kernel_work, emit=lambda p, maps: 0.0, solve=lambda p: p.rows * 300**2,
        gather=count_row_numbers, broadcast=count_row_numbers, passes=True, most=1e7,
        bound='each pass is a job that must start, and every node needs all of X'),
    'mr-kelm-svd': MeasuredMethod(
        ('train', 'mr-kelm', '{data}', '--solver', 'svd', '--emit', 'tiles', '--C', '10'), Problem(2000, 2000, 0),
        work=lambda p: p.rows**2 * p.features, emit=lambda p, maps: maps * p.rows**2 / 2, solve=count_svd_work,
        gather=count_row_numbers, reducers=lambda p, maps: 8, most=2e4, bound=SVD),
    'mr-kelm-entries': MeasuredMethod(
        ('train', 'mr-kelm', '{data}', '--solver', 'svd', '--emit', 'entries', '--C', '10'), Problem(400, 20, 0),
        work=lambda p: p.rows**2 * p.features, emit=lambda p, maps: ENTRY_BYTES / 8 * p.rows**2 * p.features / 2,
        solve=count_svd_work, gather=count_row_numbers, reducers=lambda p, maps: 8, most=5e3,
        bound=f'a record goes through the shuffle for every pair of rows and every feature; {SVD}'),
    'sparse-elm': MeasuredMethod(('train', 'sparse-elm', '{data}', '--C', '1'), Problem(20_000, 50, 0), **DUAL),
    'oelm': MeasuredMethod(('train', 'oelm', '{data}', '--C', '1'), Problem(6000, 50, 0), **DUAL),
    'sphere-svm': MeasuredMethod(('train', 'sphere-svm', '{data}', '--C', '1'), Problem(20_000, 50, 0), **DUAL),
}
