"""Write the pages and figures of what was measured from the data in a folder, and keep the data beside them.

    python -m benchmarks.results build docs/results README.md

Takes what `make bench`, `make tables` and `make speedup sizeup scaleup` have left in the first folder. What is not
there stays as it is in docs/results/data. The README quotes the table of speeds between two marks.
"""
import json
import shutil
import sys
from pathlib import Path

from benchmarks import boundaries
from benchmarks.results.figures import draw_accuracy, draw_speed
from benchmarks.results.pages import PAGES, replace_quotation, summarise_speed
from benchmarks.results.store import BENCH, COPIED, FIGURES, Measured
from benchmarks.scaling.figures import draw
from benchmarks.tables.sparse_elm_figures import draw_all


def main(source: str, target: str, readme: str = '') -> None:
    """Take over new data, and write all pages and figures, and the table that the README quotes."""
    folder = Path(target)
    take_over(Path(source), folder / 'data')
    measured = Measured.read(folder / 'data')
    for name, write in PAGES.items():
        (folder / name).write_text(write(measured), encoding='utf-8')
        print(folder / name)
    draw_figures(measured, folder)
    if readme:
        text = Path(readme).read_text(encoding='utf-8')
        Path(readme).write_text(replace_quotation(text, summarise_speed(measured.groups())), encoding='utf-8')


def take_over(source: Path, data: Path) -> None:
    """Copy what was measured from one folder to the other; of the benchmark only the parts that were measured."""
    data.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        if (source / name).exists():
            shutil.copyfile(source / name, data / name)
    parts: dict = {}
    for path in (data / BENCH, source / BENCH):
        parts |= json.loads(path.read_text()) if path.exists() else {}
    (data / BENCH).write_text(json.dumps(parts, indent=1) + '\n')


def draw_figures(measured: Measured, folder: Path) -> None:
    """Draw all figures for which there are data."""
    if groups := measured.groups():
        draw_speed(groups, folder / 'speed.svg')
    if differences := measured.differences():
        draw_accuracy(differences, folder / 'accuracy.svg')
    draw_all(measured.points, folder / FIGURES, ('svg',))
    for experiment, runs in measured.runs.items():
        draw(experiment, runs, folder, ('png',))
    boundaries.main(str(folder / 'boundaries.png'))


if __name__ == '__main__':
    main(*sys.argv[1:])
