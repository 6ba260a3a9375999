"""Draw figures 2 to 7 of the sparse ELM paper from our own runs: accuracy over nodes, and over C, sigma and nodes.

    python -m benchmarks.tables.sparse_elm_figures OUT.md [SET...] [--trials 5] [--download DIR]

Writes OUT.csv, a row a training, so that a stopped run goes on; the page OUT.md; and three figures for each set, as svg
and as png. Sets are looked for in the folders of MR_ELM_DATA.

Source: Bai et al., Sparse extreme learning machine for classification, 2014, section VI, B and C.
"""
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.public_sets import read_set
from benchmarks.scaling.figures import COLOURS, MARKERS, clean
from benchmarks.tables.harness import download_sets, find_lack, make_parser, quiet, seed
from benchmarks.tables.results import KeptRows, round_numbers
from benchmarks.tables.sparse_elm import SVC_STEPS
from benchmarks.tables.split import prepare, split_halves
from mr_elm.estimators import ELMClassifier, ESVMClassifier, OELMClassifier, SparseELMClassifier
from mr_elm.figures.figure import open_figure
from mr_elm.figures.heatmap import draw_cells
from mr_elm.scores.selection import PAPER
from mr_elm.typing import Floats

SETS = ('ionosphere', 'australian', 'diabetes', 'iris', 'segment')  # of the figures of the paper
TRIALS = 5
COLUMNS = ('set', 'method', 'trial', 'C', 'sigma', 'n_hidden', 'train_accuracy', 'accuracy')
SIZES = (10, 20, 50, 100, 200, 500, 1000)
NODES = {'sigmoid': 'sigmoid', 'sine': 'sine', 'multiquadric': 'multiquadric', 'rbf': 'Gaussian'}
METHODS = {'sparse ELM': SparseELMClassifier, 'OELM': OELMClassifier, 'unified ELM': ELMClassifier,
           'PESVM': ESVMClassifier}
HOLLOW = 'OELM', 'PESVM'  # what lies below stays visible
AXES = {'sigma': 'sigma', 'n_hidden': 'hidden nodes L'}
PARTS = {'train_accuracy': 'training', 'accuracy': 'testing'}
CELLS = 'as heat maps with a number in each cell, the best one ringed'
OVER_C = 'sparse ELM over C, sine'
NOTES = ('Figures 2 to 5 of the sparse ELM paper show the accuracy of sparse ELM against the number L of hidden nodes. '
         'Figures 6 and 7 show the accuracy of SVM and of sparse ELM over C and sigma. Our copy of the paper contains '
         'only the captions of these figures. So the figures here show our own runs, not those of the paper. Each '
         'trial divides the rows at random into two halves; each class has the same share of both. Features are '
         'scaled to [-1, 1]. The trial trains on one half and '
         'tests on the other. The values are means over the trials. OELM and sparse ELM solve the same problem, so '
         'their curves agree.')


def list_trainings() -> Iterator[tuple[str, Any, dict]]:
    """Yield (name of the method, estimator, its place on a figure) for every training of a trial."""
    for (method, kind), nodes, n_hidden in product(METHODS.items(), NODES, SIZES):
        choice = {'map': nodes, 'nu': 1.0} if kind is ESVMClassifier else {'kernel': nodes, 'C': 1.0}
        yield f'{method}, {nodes}', kind(n_hidden=n_hidden, scale='none', **choice), {'C': 1.0, 'n_hidden': n_hidden}
    for C, n_hidden in product(PAPER, SIZES):
        machine = SparseELMClassifier(kernel='sine', n_hidden=n_hidden, C=C, scale='none')
        yield OVER_C, machine, {'C': C, 'n_hidden': n_hidden}
    for C, sigma in product(PAPER, PAPER):
        place = {'C': C, 'sigma': sigma}
        yield 'SVC', SVC(C=C, gamma=0.5 / sigma**2, max_iter=SVC_STEPS), place
        yield 'sparse ELM', SparseELMClassifier(sigma=sigma, C=C, scale='none'), place


def measure_set(name: str, n_trials: int, kept: KeptRows) -> None:
    """Train and test on a set what is not kept yet."""
    X, y = read_set(name)
    done = {tuple(row[column] for column in COLUMNS[:6]) for row in kept.rows}
    for trial in range(n_trials):
        X_train, y_train, X_test, y_test = prepare(X.toarray(), y, split_halves(y, trial, None), False)
        for method, estimator, place in list_trainings():
            row = round_numbers({'set': name, 'method': method, 'trial': trial, 'sigma': '', 'n_hidden': '', **place})
            if tuple(str(row[column]) for column in COLUMNS[:6]) not in done:
                machine = seed(estimator, trial).fit(X_train, y_train)
                kept.add({**row, 'train_accuracy': machine.score(X_train, y_train),
                          'accuracy': machine.score(X_test, y_test)})
        print(f'{name}, trial {trial + 1} of {n_trials}', file=sys.stderr, flush=True)


def mean_accuracies(rows: list[dict], method: str, part: str, *axes: str) -> dict[tuple, float]:
    """Return coordinates on some axes -> mean accuracy of a method over the trials."""
    found: dict[tuple, list[float]] = {}
    for row in rows:
        if row['method'] == method:
            found.setdefault(tuple(float(row[axis]) for axis in axes), []).append(float(row[part]))
    return {place: float(np.mean(values)) for place, values in sorted(found.items())}


def draw_nodes(name: str, rows: list[dict], paths: Sequence[Path]) -> None:
    """Draw accuracy against L: a row of panels for each kind of nodes, training on the left, testing on the right."""
    with open_figure(*paths, rows=len(NODES), columns=2, figsize=(8, 2.4 * len(NODES)), sharex=True,
                     sharey=True) as (figure, panels):
        for axes, (nodes, part) in zip(panels.flat, product(NODES, PARTS), strict=True):
            for method, colour, marker in zip(METHODS, COLOURS, MARKERS, strict=False):
                points = mean_accuracies(rows, f'{method}, {nodes}', part, 'n_hidden')
                look = {'markersize': 9, 'markerfacecolor': 'none'} if method in HOLLOW else {'markersize': 5}
                axes.semilogx([L for L, in points], [100 * value for value in points.values()], marker=marker,
                              color=colour, label=method, **look)
            axes.set_title(f'{NODES[nodes]} nodes, {PARTS[part]}', fontsize=10)
            axes.set_xticks(SIZES, SIZES)
            axes.minorticks_off()
            axes.grid(alpha=0.25)
            clean(axes)
        for axes in panels[-1]:
            axes.set_xlabel('hidden nodes L')
        for axes in panels[:, 0]:
            axes.set_ylabel('accuracy %')
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc='outside lower center', ncols=4, frameon=False)
        figure.suptitle(f'{name}, C = 1', x=0.02, ha='left', weight='bold')


def draw_surfaces(name: str, rows: list[dict], paths: Sequence[Path], axis: str, shown: dict) -> None:
    """Draw accuracy over C and another axis, two panels with the same colours. shown : title -> (method, part)."""
    found = [mean_accuracies(rows, method, part, axis, 'C') for method, part in shown.values()]
    others, bounds = (sorted({place[number] for place in found[0]}) for number in (0, 1))
    values = np.array([[[100 * points[other, C] for C in bounds] for other in others] for points in found])
    with open_figure(*paths, columns=2, figsize=(13, 2 + 0.35 * len(others))) as (figure, panels):
        for axes, surface, title in zip(panels, values, shown, strict=True):
            image = draw_cells(axes, surface, bounds, others, vmin=values.min(), vmax=values.max())
            write_values(axes, surface, image)
            axes.set(title=f'{title}, best {surface.max():.2f} %', ylabel=AXES[axis])
        figure.colorbar(image, ax=panels, label='accuracy %')
        figure.suptitle(name, x=0.02, ha='left', weight='bold')


def write_values(axes: Any, values: Floats, image: Any) -> None:
    """Write the value of each cell into it, for readers in black and white."""
    for (row, column), value in np.ndenumerate(values):
        is_bright = image.norm(value) > 0.6
        axes.text(column, row, f'{value:.0f}', ha='center', va='center', fontsize=7,
                  color='black' if is_bright else 'white')


def draw_all(rows: list[dict], base: Path, kinds: Sequence[str]) -> None:
    """Draw the figures of every set in some formats, to files whose names begin with that of `base`."""
    for name, what in product(list_sets(rows), FIGURES):
        own = [row for row in rows if row['set'] == name]
        FIGURES[what][0](name, own, [base.with_name(f'{base.name}-{name}-{what}.{kind}') for kind in kinds])


def show_all(rows: list[dict], base: str) -> list[str]:
    """Return the paragraphs of a page: what the figures are, and the figures."""
    return [NOTES, *(f'![{name}: {FIGURES[what][1]}]({base}-{name}-{what}.svg)'
                     for name, what in product(list_sets(rows), FIGURES))]


def list_sets(rows: list[dict]) -> list[str]:
    """Return the names of the sets."""
    return list(dict.fromkeys(row['set'] for row in rows))


FIGURES: dict[str, tuple[Callable, str]] = {  # name -> (function that draws, alternative text)
    'nodes': (draw_nodes, 'training and testing accuracy against the number of hidden nodes, one panel for each kind '
              'of nodes and one curve with its own mark for each method, C = 1'),
    'sigma': (partial(draw_surfaces, axis='sigma', shown={
        'SVC, Gaussian kernel, testing': ('SVC', 'accuracy'),
        'sparse ELM, Gaussian kernel, testing': ('sparse ELM', 'accuracy')}),
        f'testing accuracy of SVC and of sparse ELM with the Gaussian kernel over C and sigma, {CELLS}'),
    'hidden': (partial(draw_surfaces, axis='n_hidden', shown={
        'sparse ELM, sine nodes, training': (OVER_C, 'train_accuracy'),
        'sparse ELM, sine nodes, testing': (OVER_C, 'accuracy')}),
        f'training and testing accuracy of sparse ELM over C and the number of sine nodes, {CELLS}')}


def main() -> None:
    """Read the command line, measure, and write the figures and their page."""
    parser = make_parser(__doc__, TRIALS)
    given = parser.parse_intermixed_args()
    out, names = Path(given.out), given.sets or SETS
    if given.download:
        download_sets(names, given.download)
    lacks = {name: lack for name in names if (lack := find_lack(name))}
    for text in lacks.values():
        print(f'left out: {text}', file=sys.stderr, flush=True)
    kept = KeptRows(out.with_suffix('.csv'), COLUMNS)
    with quiet():
        for name in names:
            if name not in lacks:
                measure_set(name, given.trials, kept)
    draw_all(kept.rows, out.with_suffix(''), ('svg', 'png'))
    left_out = ['Left out:', '\n'.join(f'* {text}' for text in lacks.values())] if lacks else []
    out.write_text('\n\n'.join([*show_all(kept.rows, out.stem), *left_out]) + '\n')
    print(out.read_text())


if __name__ == '__main__':
    main()
