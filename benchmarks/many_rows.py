"""Train `auto` and LightGBM on many generated rows of a csv file, with all cores: accuracy, time and memory."""

import json
import sys
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from typing import Any

from benchmarks.clocks import MR_ELM, measure_process
from benchmarks.harness import Bench, Results
from mr_elm.data.generators import BLOCK_ROWS, generate, write_rows

N_FEATURES, SIZES = 50, (500_000, 2_000_000)
TEST_BLOCKS = 12  # about 50,000 rows, that do not train
KINDS: dict[str, dict[str, Any]] = {'ndc': {}, 'blobs': {'n_classes': 40, 'spread': 8.0}}
LIGHTGBM = """
import sys, json, pandas, lightgbm
rows, test = (pandas.read_csv(path, header=None) for path in sys.argv[1:])
machine = lightgbm.LGBMClassifier(verbosity=-1).fit(rows.iloc[:, 1:], rows[0])
print(json.dumps({'test': {'accuracy': machine.score(test.iloc[:, 1:], test[0])}}))
"""


def write_csv(folder: Path, kind: str, n: int) -> tuple[Path, Path]:
    """Write n rows of a kind, and others of the same distribution: the paths of both files."""
    rows, test = folder / f'{kind}-{n}.csv', folder / f'{kind}-test.csv'
    if not rows.exists():
        blocks = generate(kind, TEST_BLOCKS * BLOCK_ROWS + n, N_FEATURES, 1, **KINDS[kind])
        write_rows(islice(blocks, TEST_BLOCKS), test)
        write_rows(blocks, rows)
    return rows, test


def measure_many(results: Results, bench: Bench, say: Callable[[dict[str, Any]], None]) -> None:
    """Say what each program takes on each number of rows that is not there yet."""
    for kind, n in product(KINDS, bench.pick((2_000, 4_000), SIZES)):
        rows, test = write_csv(bench.folder, kind, n)
        train = MR_ELM, 'train', 'auto', rows, '--test', test, '--json', '-q', '--model', bench.folder / f'{n}.npz'
        programs = {
            'auto, local': [*train, '--overwrite'],
            'auto, Spark': [*train, '--overwrite', '-r', 'spark', '--master', 'local[*]'],
            'LightGBM': [sys.executable, '-c', LIGHTGBM, rows, test],
        }
        for program, words in programs.items():
            place = {'set': kind, 'rows': n, 'program': program}
            if not results.has(**place):
                used, printed = measure_process(*words)
                say({**place, **used, 'accuracy': json.loads(printed)['test']['accuracy']})
        rows.unlink()
