"""Cases of the command and its stages: a training against its bare arithmetic, reading and packing against pandas."""

import io
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import astuple
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy.linalg.blas import dsyrk

from benchmarks.clocks import MR_ELM, measure_process, run_mr_elm
from benchmarks.harness import Bench, Case, Pair
from mr_elm.data.generators import generate, write_rows
from mr_elm.features.hidden import HiddenLayer
from mr_elm.features.nodes import draw_nodes
from mr_elm.model.parts import layer_arrays
from mr_elm.rows.blocks import BLOCK_ROWS
from mr_elm.rows.encoding import CATEGORY, Column, Encoding
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.splits import SplitReader
from mr_elm.store import save_arrays, write_json
from mr_elm.streaming.mr_gram import MRGram
from mr_elm.sums.gram import GridSteps
from mr_elm.typing import Floats

D, L = 50, 1000
IN_ONE_PROCESS = '-r', 'inline'
WORDS = ('black', 'blue', 'green', 'orange', 'red', 'white', 'yellow')
FILES = {
    'numbers of 6 decimals': ('{:.6f}', ()),
    'numbers of 17 digits': ('{!r}', ()),
    'numbers and 10 columns of text': ('{:.6f}', range(0, D, 5)),
}
PANDAS = 'import sys, pandas; pandas.read_csv(sys.argv[1]).to_parquet(sys.argv[2])'


def make_csv(bench: Bench, n: int, seed: int = 1) -> Path:
    """Return a csv file of n generated rows, the label first."""
    path = bench.folder / f'ndc-{n}-{seed}.csv'
    if not path.exists():
        write_rows(generate('ndc', n, D, seed), path)
    return path


def make_pack(bench: Bench, n: int, seed: int = 1) -> Path:
    """Return the same rows, packed."""
    path = bench.folder / f'ndc-{n}-{seed}.packed'
    if not path.exists():
        csv = make_csv(bench, n, seed)
        run_mr_elm('pack', csv, '-o', path)
        csv.unlink()
    return path


def train(bench: Bench, path: Path, *runner: object) -> None:
    """Train from the command line, in one process unless a runner is given."""
    words = '--hidden', L, '--model', bench.folder / 'model.npz', '--overwrite'
    run_mr_elm('train', 'pesvm', path, *words, *(runner or IN_ONE_PROCESS))


def draw_layer() -> HiddenLayer:
    """Draw a hidden layer for standardised rows."""
    return HiddenLayer('sigmoid', *draw_nodes('sigmoid', L, D), np.zeros(D), np.ones(D))


def run_bare_arithmetic(X: Floats, y: Floats, W: Floats) -> None:
    """Do what any program must: multiply, apply the sigmoid, update symmetrically."""
    G = np.zeros((L + 2, L + 2), order='F')
    for i in range(0, len(X), 4096):
        Z = np.empty((len(X[i : i + 4096]), L + 2))
        np.matmul(X[i : i + 4096], W, out=Z[:, :L])
        nodes = Z[:, :L]
        np.negative(nodes, out=nodes)
        np.exp(nodes, out=nodes)
        nodes += 1
        np.reciprocal(nodes, out=nodes)
        Z[:, L], Z[:, L + 1] = -1, y[i : i + 4096]
        dsyrk(1.0, Z.T, beta=1.0, c=G, overwrite_c=1)


def run_bare_script(path: Path, W: Floats, trial: int) -> None:
    """Parse, then the bare arithmetic."""
    rows = np.loadtxt(path, delimiter=',')
    run_bare_arithmetic(np.ascontiguousarray(rows[:, 1:]), rows[:, 0], W)


def list_map(bench: Bench) -> Iterator[Case]:
    """Run the map task of the Gram job in this process, from csv to its last emitted tile."""
    n = bench.pick(5_000, 200_000)

    def prepare() -> Pair:
        path, layer, folder = make_csv(bench, n), draw_layer(), bench.folder
        plan = plan_inputs([str(path)], RowOptions())
        header = {'parameters': {'map': layer.kind, 'sigma': 1.0}, 'n_features': D}
        save_arrays(folder / 'layer.npz', header, layer_arrays(layer))
        grid = write_json(str(folder / 'grid.json'), astuple(GridSteps.of(1.0)))
        job = MRGram(
            args=[
                '--mapper',
                '--step-num=0',
                '--planned-splits',
                '--layer',
                str(folder / 'layer.npz'),
                '--grid',
                grid,
                '--plan',
                write_json(str(folder / 'plan.json'), plan.to_json()),
            ]
        )

        def ours(trial: int) -> None:
            job.sandbox(stdin=io.BytesIO(f'[[0, 0, {plan.size}]]\n'.encode()))
            job.run_mapper()

        return Pair(ours, partial(run_bare_script, path, layer.weights.T), n, D, 2)

    yield Case('ndc', prepare)


def list_trainings(bench: Bench) -> Iterator[Case]:
    """Train by the command in one process, from packed rows and from csv."""
    n = bench.pick(5_000, 200_000)

    def prepare_packed() -> Pair:
        path, W = make_pack(bench, n), draw_layer().weights.T
        X, y = (np.concatenate(part) for part in zip(*generate('ndc', n, D, 1), strict=True))
        return Pair(lambda trial: train(bench, path), lambda trial: run_bare_arithmetic(X, y, W), n, D, 2)

    def prepare_csv() -> Pair:
        path, W = make_csv(bench, n), draw_layer().weights.T
        return Pair(lambda trial: train(bench, path), partial(run_bare_script, path, W), n, D, 2)

    yield Case('ndc', prepare_csv, 'csv')
    yield Case('ndc', prepare_packed, 'packed')


def list_cores(bench: Bench) -> Iterator[Case]:
    """Train by -r local on two cores, and in one process."""
    n = bench.pick(5_000, 1_000_000)

    def prepare() -> Pair:
        path = make_pack(bench, n)
        return Pair(
            lambda trial: train(bench, path, '-r', 'local', '--num-cores', 2), lambda trial: train(bench, path), n, D, 2
        )

    yield Case('ndc', prepare)


def list_memory(bench: Bench) -> Iterator[Case]:
    """Measure the peak memory of a training, and of one on a tenth of the rows."""
    n = bench.pick(20_000, 1_000_000)

    def measure(path: Path, trial: int) -> float:
        words = '--hidden', L, '--model', bench.folder / 'model.npz', '--overwrite', *IN_ONE_PROCESS
        return measure_process(MR_ELM, 'train', 'pesvm', path, *words)[0]['megabytes']

    def prepare() -> Pair:
        return Pair(
            partial(measure, make_pack(bench, n)),
            partial(measure, make_pack(bench, n // 10)),
            n,
            D,
            2,
        )

    yield Case('ndc', prepare)


def list_updates(bench: Bench) -> Iterator[Case]:
    """Add one row for a hundred to a model, and train on the hundred."""
    n = bench.pick(10_000, 500_000)

    def prepare() -> Pair:
        old, new, base = make_pack(bench, n), make_pack(bench, n // 100, 2), bench.folder / 'base.npz'
        run_mr_elm('train', 'pesvm', old, '--hidden', L, '--model', base, '--overwrite')
        words = '--model', bench.folder / 'model.npz', '--overwrite', *IN_ONE_PROCESS
        return Pair(lambda trial: run_mr_elm('update', base, new, *words), lambda trial: train(bench, old), n, D, 2)

    yield Case('ndc', prepare)


def write_table(bench: Bench, name: str, n: int) -> Path:
    """Return a csv file of n rows: a header, a label, and D columns."""
    path = bench.folder / f'{name.replace(" ", "-")}-{n}.csv'
    if path.exists():
        return path
    style, texts = FILES[name]
    generator = np.random.default_rng(0)
    with open(path, 'w') as stream:
        stream.write(f'label,{",".join(f"x{j}" for j in range(D))}\n')
        for _ in range(n):
            fields = list(map(style.format, generator.standard_normal(D).tolist()))
            for j in texts:
                fields[j] = WORDS[generator.integers(len(WORDS))]
            stream.write(f'c{generator.integers(2)},{",".join(fields)}\n')
    return path


def read_rows(path: Path, encoding: Encoding | None, trial: int) -> None:
    """Read all rows as a task does, encoded where they hold text."""
    options = RowOptions(encode='refuse' if encoding is None else 'auto')
    plan = plan_inputs([str(path)], options, closed=False)
    reader, chunks = SplitReader(plan, encoding, True, BLOCK_ROWS).open(0, 0, plan.size, lambda _: None)
    for _ in reader.blocks(chunks):
        pass


def list_tables(bench: Bench, make_pair: Callable[[Bench, Path, bool, int], Pair]) -> Iterator[Case]:
    """List a case for each of FILES. make_pair : function of the bench, a file, whether it holds text, and its rows."""
    n = bench.pick(2_000, 100_000)
    for name, (_, texts) in FILES.items():
        yield Case(
            name,
            lambda name=name, texts=texts: make_pair(  # type: ignore[misc]
                bench, write_table(bench, name, n), bool(texts), n
            ),
        )


def pair_reading(bench: Bench, path: Path, has_text: bool, n: int) -> Pair:
    """Read csv into blocks, and by pandas into a frame."""
    encoding = None
    if has_text:
        texts = FILES['numbers and 10 columns of text'][1]
        encoding = Encoding(
            tuple(Column(f'x{j}', CATEGORY, categories=WORDS) if j in texts else Column(f'x{j}') for j in range(D))
        )
    read_csv = import_module('pandas').read_csv
    return Pair(partial(read_rows, path, encoding), lambda trial: read_csv(path), n, D, 2)


def pair_packing(bench: Bench, path: Path, has_text: bool, n: int) -> Pair:
    """Pack csv, and write it as Parquet by pandas; each is a process of its own."""
    folder, words = bench.folder / 'rows.packed', ['--encode', 'auto'] if has_text else []

    def pack(trial: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        run_mr_elm('pack', path, '-o', folder, *words)

    def convert(trial: int) -> None:
        subprocess.run([sys.executable, '-c', PANDAS, path, bench.folder / 'rows.parquet'], check=True)

    return Pair(pack, convert, n, D, 2)


def list_packs(bench: Bench) -> Iterator[Case]:
    """Read a pack into blocks, and the Parquet file of the same rows by pandas."""
    n = bench.pick(2_000, 100_000)

    def prepare() -> Pair:
        path, folder = write_table(bench, 'numbers of 6 decimals', n), bench.folder / f'{n}.packed'
        run_mr_elm('pack', path, '-o', folder)
        frame = bench.folder / 'numbers.parquet'
        pandas = import_module('pandas')
        pandas.read_csv(path).to_parquet(frame)
        return Pair(partial(read_rows, folder, None), lambda trial: pandas.read_parquet(frame), n, D, 2)

    yield Case('numbers of 6 decimals', prepare)
