"""Measure the reading of csv and of packs, and the packing of csv, on one thread, against pandas and lines of base64.

Three files of 51 columns: numbers with 6 decimals, with 17 digits, and with 6 decimals beside 10 columns of text.
"""
import shutil
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.bench.context import Bench
from benchmarks.timing import compare, run_mr_elm
from benchmarks.verdict import Claim, at_least, at_most
from mr_elm.rows.blocks import BLOCK_ROWS
from mr_elm.rows.encoding import CATEGORY, Column, Encoding
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.splits import SplitReader
from mr_elm.rows.wire_rows import write_block

D = 50
WORDS = ('black', 'blue', 'green', 'orange', 'red', 'white', 'yellow')
FILES = {'numbers of 6 decimals': ('{:.6f}', ()), 'numbers of 17 digits': ('{!r}', ()),
         'numbers and 10 columns of text': ('{:.6f}', range(0, D, 5))}
PANDAS = 'import sys, pandas; pandas.read_csv(sys.argv[1]).to_parquet(sys.argv[2])'


class Tables:
    """Write the three files, of about 100 MB each at full size, once. folder : where."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def csv(self, name: str, n: int) -> Path:
        """Return the file of n rows: a header, a label, and D columns."""
        path = self.folder / f'{name.replace(" ", "-")}.csv'
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


def read_rows(path: Path, encoding: Encoding | None = None) -> int:
    """Read all rows as a task does, encoded where they hold text; returns how many there are."""
    options = RowOptions(encode='refuse' if encoding is None else 'auto')
    plan = plan_inputs([str(path)], options, closed=False)
    reader, chunks = SplitReader(plan.to_json(), encoding, True, BLOCK_ROWS).open(0, 0, plan.size, lambda _: None)
    return sum(map(len, reader.blocks(chunks)))


def compare_csv(bench: Bench) -> list[Claim]:
    """Time the reading of csv into blocks against pandas, which is asked for a frame."""
    tables, n, claims = bench.shared(Tables), choose_rows(bench), []
    for name, (_, texts) in FILES.items():
        path = tables.csv(name, n)
        encoding = Encoding(tuple(Column(f'x{j}', CATEGORY, categories=WORDS) if j in texts else Column(f'x{j}')
                                  for j in range(D)))
        claims.append(compare(f'reading {n:,} rows of csv, {name}: times faster than pandas',
                              partial(read_rows, path, encoding if texts else None),
                              partial(import_module('pandas').read_csv, path), at_least(0.8)))
    return claims


def compare_packing(bench: Bench) -> list[Claim]:
    """Time the packing of csv against reading it and writing Parquet by pandas, each as a process of its own."""
    tables, n, folder = bench.shared(Tables), choose_rows(bench), bench.folder / 'rows.packed'

    def pack(path: Path, words: list[str]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        run_mr_elm('pack', path, '-o', folder, *words)

    def convert(path: Path) -> None:
        subprocess.run([sys.executable, '-c', PANDAS, path, bench.folder / 'rows.parquet'], check=True)

    return [compare(f'packing {n:,} rows of csv, {name}: seconds divided by those of pandas',
                    partial(pack, tables.csv(name, n), ['--encode', 'auto'] if texts else []),
                    partial(convert, tables.csv(name, n)), at_most(1.5)) for name, (_, texts) in FILES.items()]


def compare_pack(bench: Bench) -> list[Claim]:
    """Time the reading of a pack against lines of base64, which stages hand on."""
    n, folder, lines = choose_rows(bench), bench.folder / 'read.packed', bench.folder / 'lines'
    run_mr_elm('pack', bench.shared(Tables).csv('numbers of 6 decimals', n), '-o', folder)
    X = np.random.default_rng(0).standard_normal((n, D))
    with open(lines, 'wb') as stream:
        stream.writelines(write_block(X[i:i + BLOCK_ROWS], i) + b'\n' for i in range(0, n, BLOCK_ROWS))
    return [compare(f'reading {n:,} x {D} packed rows, times faster than lines of base64', partial(read_rows, folder),
                    partial(read_rows, lines), at_least(1.5))]


def choose_rows(bench: Bench) -> int:
    """Return how many rows the files have."""
    return bench.pick(20_000, 250_000)


PARTS = {'csv': compare_csv, 'packing': compare_packing, 'pack': compare_pack}
