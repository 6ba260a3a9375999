"""Make the rows of the experiments: generated once, copied to the size that is wanted, packed."""
import shutil
from pathlib import Path

from benchmarks.scaling.methods import Problem
from benchmarks.timing import run_mr_elm
from mr_elm.data.generators import generate, write_rows
from mr_elm.rows.packs import MANIFEST
from mr_elm.rows.storage import store_of

FRESH = 250_000  # rows that are drawn; more rows are these again, because only their number matters
SEED = 1
BASE_ROWS = 2000  # of the model that piesvm adds rows to


class GeneratedRows:
    """Keep packed rows in a folder of this machine."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def packed(self, kind: str, problem: Problem) -> Path:
        """Return the folder of packed rows of a Problem."""
        folder = self.folder / f'{kind}-{problem.rows}x{problem.features}.packed'
        if not (folder / MANIFEST).exists():
            shutil.rmtree(folder, ignore_errors=True)
            whole, rest = divmod(problem.rows, FRESH)
            csv = [self.csv(kind, FRESH, problem.features, number) for number in range(whole)]
            csv += [self.csv(kind, rest, problem.features)] if rest else []
            run_mr_elm('pack', *csv, '-o', folder, '-r', 'local' if whole else 'inline')
            for path in csv:
                path.unlink()
        return folder

    def csv(self, kind: str, n_rows: int, n_features: int, copy: int = 0) -> Path:
        """Return a csv file of generated rows; a copy is another name of the first."""
        path = self.folder / f'{kind}-{n_rows}x{n_features}-{copy}.csv'
        if copy:
            path.unlink(missing_ok=True)
            path.hardlink_to(self.folder / f'{kind}-{n_rows}x{n_features}-0.csv')
        else:
            write_rows(generate(kind, n_rows, n_features, SEED), path, overwrite=True)
        return path

    def base(self, kind: str, problem: Problem) -> Path:
        """Return a model of a few rows, to which others are added."""
        path = self.folder / f'{kind}-{problem.features}-{problem.hidden}.npz'
        if not path.exists():
            csv = self.csv(kind, BASE_ROWS, problem.features)
            run_mr_elm('train', 'pesvm', csv, '--hidden', problem.hidden, '--model', path)
            csv.unlink()
        return path


def put_pack(packed: Path, there: str) -> None:
    """Copy a packed folder of this machine to any store, the manifest last: where it is, the pack is whole."""
    for file in sorted(packed.iterdir(), key=lambda file: file.name == MANIFEST):
        store_of(there).put(str(file), f'{there}/{file.name}')
