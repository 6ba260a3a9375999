"""Measure training on Spark, on two cores of this machine, against -r local and what a user of Spark writes by hand.

All are timed by wall clock. Where no whole command is timed, Spark has been started before, as in a notebook.
"""
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import astuple
from functools import cache, partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench.context import Bench
from benchmarks.bench.kelm import CLASSES, draw, gather_rows, write_csv
from benchmarks.bench.pesvm import D, Files, L, apply_sigmoid, draw_layer, save_layer, train
from benchmarks.timing import judge_ratio, measure_in_turn, read_stage_seconds
from benchmarks.verdict import Claim, at_most
from mr_elm.drivers.kelm_stages import make_product
from mr_elm.engines import make_engine
from mr_elm.engines.spark.session import demand_java, import_pyspark
from mr_elm.json_file import write_json
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.blocks import BLOCK_ROWS
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.packs import PackParts
from mr_elm.store import save_arrays
from mr_elm.streaming.mr_gram import MRGram
from mr_elm.streaming.mr_pass import MRPass
from mr_elm.sums.gram import GridSteps
from mr_elm.typing import Floats

CORES, PASSES, BLOCK, GROUPS = 2, 10, 4096, 4
MASTER = f'local[{CORES}]'
HERE = ('--num-cores', str(CORES), '-D', f'mapreduce.job.maps={CORES}')  # options of -r local
ROOT = Path(__file__).parents[2]


class Session:
    """Keep Spark, an engine of it, an engine of this machine, and two bare processes.

    folder : for files.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder, self.stack = Path(folder), ExitStack()
        os.environ.setdefault('PYSPARK_PYTHON', sys.executable)  # for what is written by hand
        words = '--master', MASTER, '-D', 'spark.driver.memory=4g', '-D', f'spark.executorEnv.PYTHONPATH={ROOT}'
        self.engines = [self.stack.enter_context(make_engine(*options)) for options in (
            ('spark', words), ('local', HERE))]
        self.pool = self.stack.enter_context(get_context('spawn').Pool(CORES))

    def close(self) -> None:
        """End all."""
        self.stack.close()

    @cache  # noqa: B019 - lives as long as the program
    def arrays(self, packed: Path) -> list[str]:
        """Write the rows of a packed folder as an array for each core; the paths."""
        blocks: list[Floats] = []
        for file in plan_inputs([str(packed)], RowOptions()).files:
            parts = PackParts(file.path, file.path)
            blocks += (block.X for _, block in parts.read(range(len(parts.sizes)), file.format, BLOCK_ROWS))
        X = np.concatenate(blocks)
        paths = [str(self.folder / f'{len(X)}-{number}.npy') for number in range(CORES)]
        for path, part in zip(paths, np.array_split(X, CORES), strict=True):
            np.save(path, part)
        return paths

    @cache  # noqa: B019 - lives as long as the program
    def table(self, packed: Path) -> Path:
        """Write the rows of a packed folder as a Parquet file with some row groups for each core."""
        arrow, parquet = import_module('pyarrow'), import_module('pyarrow.parquet')
        X, path = np.concatenate(list(map(load, self.arrays(packed)))), packed.with_suffix('.parquet')
        labels = np.zeros(len(X), np.int32)
        columns = [labels, *X.T]
        parquet.write_table(arrow.table(columns, ['label', *(f'x{j}' for j in range(D))]), path,
                            row_group_size=-(-len(X) // (GROUPS * CORES)))
        return path

    def options(self) -> list[str]:
        """Write layer and grid for tasks; the options that name them."""
        grid = write_json(str(self.folder / 'grid.json'), astuple(GridSteps.of(1.0)))
        return ['--layer', str(save_layer(draw_layer(D), self.folder)), '--grid', grid]


def has_spark() -> bool:
    """Tell whether Spark can be started here."""
    try:
        import_pyspark()
        demand_java()
    except ValueError:
        return False
    return True


def measure_warm(actions: Sequence[Callable[[], object]], repeats: int) -> list[list[float]]:
    """Run actions once uncounted, then in turn: the seconds of each. The first run starts processes and loads code."""
    for action in actions:
        action()
    return measure_in_turn(actions, repeats)


def compare_commands(bench: Bench) -> list[Claim]:
    """Time training on packed rows from the command line, which starts Spark, against -r local."""
    if not has_spark():
        return []
    files, n = bench.shared(Files), bench.pick(20_000, 400_000, 2_000_000)
    path, said = files.packed(n), []
    spark, local = measure_in_turn([
        lambda: said.append(train(path, files, '-r', 'spark', '--master', MASTER, '-D', 'spark.driver.memory=4g')),
        lambda: said.append(train(path, files, '-r', 'local', *HERE))], 2)
    jobs = [read_stage_seconds(text, 'Gram') for text in said]
    name = f'train pesvm on {n:,} x {D} packed rows, {MASTER}, against -r local'
    return [judge_ratio(name, spark, local, at_most(1.15)),
            judge_ratio('the same, the Gram job alone', jobs[::2], jobs[1::2], at_most(1.15))]


def compare_passes(bench: Bench) -> list[Claim]:
    """Time ten passes against -r local, and against their arithmetic in bare processes."""
    if not has_spark():
        return []
    session, n = bench.shared(Session), bench.pick(20_000, 200_000)
    path, V = bench.shared(Files).packed(n), np.random.default_rng(1).standard_normal((L + 1, 1))
    save_arrays(session.folder / 'vectors.npz', {'weights': False, 'targets': False, 'single': False}, {'vectors': V})
    words = [*session.options(), '--vectors', str(session.folder / 'vectors.npz')]
    passes = [partial(run_passes, open_rows(path, engine), words) for engine in session.engines]
    bare = partial(run_bare_passes, session.pool, session.arrays(path), V)
    spark, local, arithmetic = measure_warm([*passes, bare], 2)
    name = f'{PASSES} passes over {n:,} x {D} packed rows by {MASTER}, against'
    return [judge_ratio(f'{name} their arithmetic', spark, arithmetic, at_most(1.3)),
            judge_ratio(f'{name} -r local', spark, local, at_most(1.15))]


def open_rows(path: Path, engine: Any) -> DataSet:
    """Return packed rows as a DataSet of more than one pass."""
    return DataSet(engine.keep_parsed(plan_inputs([str(path)], RowOptions())), engine)


def run_passes(data: DataSet, words: list[str]) -> None:
    """Run ten passes."""
    for _ in range(PASSES):
        list(data.run(MRPass, words, 'pass'))


def run_bare_passes(pool: Any, paths: list[str], V: Floats) -> None:
    """Do the arithmetic of ten passes in processes that hold their rows as arrays."""
    for _ in range(PASSES):
        sum(pool.map(partial(multiply_bare, V), paths, 1))


@cache
def load(path: str) -> Floats:
    """Read an array once."""
    return np.load(path)


@cache
def draw_weights() -> Floats:
    """Draw the weights of the nodes once, (d, L)."""
    return np.ascontiguousarray(draw_layer(D).weights.T)


def multiply_bare(V: Floats, path: str) -> Floats:
    """Return E'(E V) of the rows of a file."""
    X = load(path)
    return sum((E.T @ (E @ V) for E in map(expand_bare, cut(X))), np.zeros_like(V))


def cut(X: Floats) -> Iterator[Floats]:
    """Yield the rows of an array block by block."""
    return (X[start:start + BLOCK] for start in range(0, len(X), BLOCK))


def expand_bare(X: Floats) -> Floats:
    """Return E, (n, L + 1), as a short script does."""
    E = np.empty((len(X), L + 1))
    np.matmul(X, draw_weights(), out=E[:, :L])
    apply_sigmoid(E[:, :L])
    E[:, L] = -1
    return E


def compare_products(bench: Bench) -> list[Claim]:
    """Time passes of conjugate gradients on the kernel matrix against -r local."""
    if not has_spark():
        return []
    session, n = bench.shared(Session), bench.pick(2_000, 10_000, 60_000)
    X, codes = draw(n)
    path, V = write_csv(session.folder / 'kernel.csv', X, codes), np.random.default_rng(1).standard_normal((n, CLASSES))
    with ExitStack() as stack:
        data = [stack.enter_context(gather_rows(path, engine)) for engine in session.engines]
        actions = [partial(run_products, make_product(each), V) for each in data]
        spark, local = measure_warm(actions, 2)
    return [judge_ratio(f'{PASSES} passes of mr-kelm --solver cg over {n:,} x {X.shape[1]} rows of csv '
                        f'by {MASTER}, against -r local', spark, local, at_most(1.15))]


def run_products(multiply: Callable[[Floats], Floats], V: Floats) -> None:
    """Multiply ten times."""
    for _ in range(PASSES):
        multiply(V)


def compare_scripts(bench: Bench) -> list[Claim]:
    """Time the Gram job against what a user of Spark writes by hand: numpy in partitions, and MLlib."""
    if not has_spark():
        return []
    session, claims = bench.shared(Session), []
    many, few = bench.pick((20_000, 2_000), (200_000, 20_000), (2_000_000, 20_000))
    for n, kind, name, script in (
            (many, 'rows of Parquet', 'mapInArrow with numpy, of the same file', sum_by_arrow),
            (many, 'packed rows', 'mapPartitions with numpy and treeAggregate, of bare arrays', sum_by_hand),
            (few, 'packed rows', "MLlib's RowMatrix.computeGramianMatrix, of bare arrays", sum_by_mllib)):
        packed = bench.shared(Files).packed(n)
        path, rows = (session.table(packed),) * 2 if script is sum_by_arrow else (packed, session.arrays(packed))
        data = DataSet(plan_inputs([str(path)], RowOptions()), session.engines[0])
        actions = [partial(run_gram, data, session.options()), partial(script, session.engines[0].session, rows)]
        ours, theirs = measure_warm(actions, 2)
        claims.append(judge_ratio(f"E'E of {n:,} x {D} {kind} by {MASTER}, against {name}", ours, theirs,
                                  at_most(1.0)))
    return claims


def run_gram(data: DataSet, words: list[str]) -> None:
    """Run the Gram job."""
    list(data.run(MRGram, words, 'Gram'))


def sum_by_arrow(session: Any, path: Path) -> Floats:
    """Sum up E'E by numpy in the record batches of a DataFrame."""
    frame = session.read.parquet(str(path))
    return sum((np.frombuffer(row.sums) for row in frame.mapInArrow(sum_batches, 'sums binary').collect()),
               np.zeros((L + 1)**2)).reshape(L + 1, L + 1)


def sum_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield E'E of the rows of some record batches, as bytes."""
    arrow, total = import_module('pyarrow'), np.zeros((L + 1, L + 1))
    for batch in batches:
        X = np.column_stack([column.to_numpy() for column in batch.columns[1:]])
        for E in map(expand_bare, cut(X)):
            total += E.T @ E
    yield arrow.RecordBatch.from_pydict({'sums': arrow.array([total.tobytes()], arrow.binary())})


def sum_by_hand(session: Any, paths: list[str]) -> Floats:
    """Sum up E'E by numpy in partitions, which read arrays."""
    sums = session.sparkContext.parallelize(paths, len(paths)).mapPartitions(sum_partition)
    return sums.treeAggregate(np.zeros((L + 1, L + 1)), np.add, np.add)


def sum_partition(paths: Iterable[str]) -> Iterator[Floats]:
    """Yield E'E of the rows of some files."""
    yield sum((E.T @ E for path in paths for E in map(expand_bare, cut(np.load(path)))), np.zeros((L + 1, L + 1)))


def sum_by_mllib(session: Any, paths: list[str]) -> Any:
    """Compute E'E of expanded rows by MLlib."""
    matrix = import_module('pyspark.mllib.linalg.distributed').RowMatrix
    rows = session.sparkContext.parallelize(paths, len(paths)).mapPartitions(expand_rows)
    return matrix(rows).computeGramianMatrix()


def expand_rows(paths: Iterable[str]) -> Iterator[Any]:
    """Yield the rows of E, of the rows of some files."""
    dense = import_module('pyspark.mllib.linalg').Vectors.dense
    return (dense(row) for path in paths for E in map(expand_bare, cut(np.load(path))) for row in E)


PARTS = {'commands': compare_commands, 'passes': compare_passes, 'products': compare_products,
         'scripts': compare_scripts}
