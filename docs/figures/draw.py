"""Draw the figures of docs/gallery.md: python docs/figures/draw.py FOLDER [NAME...]

All rows come with scikit-learn or from generators with a fixed seed. Commands of mr-elm draw four of them.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_circles, make_classification, make_moons

from benchmarks.scaling.cost import JOB, measure
from mr_elm.estimators import AutoClassifier, ESVMClassifier, KernelELMClassifier, SparseELMClassifier
from mr_elm.figures.figure import open_figure

BLUE, RED, GREY = '#3b7dd8', '#d1495b', '#888888'


def run(*words: object) -> str:
    """Run a command of mr-elm; returns what it prints."""
    command = [str(Path(sys.executable).with_name('mr-elm')), *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def write(path: Path, y: np.ndarray, X: np.ndarray, header: str = '') -> Path:
    """Write rows to a CSV file, the label first."""
    rows = (','.join([str(label), *(f'{number:g}' for number in row)]) for label, row in zip(y, X, strict=True))
    path.write_text('\n'.join([*([header] if header else []), *rows]) + '\n')
    return path


def draw_boundaries(path: Path, folder: Path) -> None:
    """Draw the decision values of four machines on three sets of rows in the plane."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    checks = (np.floor(2 * X[:, 0]) + np.floor(2 * X[:, 1])) % 2
    sets = {
        'two moons': make_moons(300, noise=0.25, random_state=0),
        'circles': make_circles(300, noise=0.15, factor=0.5, random_state=0),
        'squares': (X, checks.astype(int)),
    }
    machines = {
        'auto': AutoClassifier(),
        'pesvm': ESVMClassifier(n_hidden=500, nu=100, weight_scale=3),
        'sparse-elm': SparseELMClassifier(sigma=0.5, C=10),
        'mr-kelm': KernelELMClassifier(sigma=0.5, C=10),
    }
    with open_figure(path, rows=3, columns=4, figsize=(9, 6.6), dpi=64) as (_, axes):
        for line, (name, (X, y)) in zip(axes, sets.items(), strict=True):
            low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
            x_1, x_2 = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
            for panel, (method, machine) in zip(line, machines.items(), strict=True):
                f = machine.fit(X, y).decision_function(np.column_stack([x_1.ravel(), x_2.ravel()])).reshape(x_1.shape)
                panel.imshow(
                    f / np.quantile(np.abs(f), 0.9),
                    extent=(low[0], high[0], low[1], high[1]),
                    origin='lower',
                    aspect='auto',
                    cmap='RdBu',
                    vmin=-1.6,
                    vmax=1.6,
                    interpolation='bilinear',
                )
                panel.contour(x_1, x_2, f, levels=[0], colors='black', linewidths=1)
                panel.scatter(*X.T, c=np.where(y == 1, BLUE, RED), s=10, edgecolors='white', linewidths=0.4)
                panel.set(title=method if name == 'two moons' else '', xticks=[], yticks=[])
            line[0].set_ylabel(name)


def draw_importance(path: Path, folder: Path) -> None:
    """Let `mr-elm inspect` draw which measurements of tumours matter."""
    data = load_breast_cancer()
    names = ','.join(['diagnosis', *(name.replace(' ', '_') for name in data.feature_names)])
    rows = write(folder / 'tumours.csv', data.target_names[data.target], data.data, names)
    run('train', 'pesvm', rows, '--metric', 'diagonal', '--model', folder / 'tumours.npz', '-q')
    run('inspect', folder / 'tumours.npz', '--figure', path)


def draw_reliability(path: Path, folder: Path) -> None:
    """Let `mr-elm evaluate` draw how reliable probabilities are on rows that the training has not seen."""
    X, y = make_classification(12_000, 20, n_informative=8, flip_y=0.1, class_sep=0.8, random_state=0)
    train, test = write(folder / 'train.csv', y[:6000], X[:6000]), write(folder / 'test.csv', y[6000:], X[6000:])
    run('train', 'pesvm', train, '--probabilities', '--model', folder / 'sure.npz', '-q')
    run('evaluate', folder / 'sure.npz', test, '--figure', path, '-q')


def draw_nodes(path: Path, folder: Path) -> None:
    """Let `mr-elm tune` draw the error over nu and the number of nodes, all from one pass over the rows."""
    X, y = load_digits(return_X_y=True)
    rows = write(folder / 'digits.csv', y, X)
    run('tune', 'pesvm', rows, '--hidden', '50,100,200,400,800', '--figure', path, '-q')


def draw_speedup(path: Path, folder: Path) -> None:
    """Draw the speedup that the formula of benchmarks.scaling.cost expects; the time of a row is measured here."""
    seconds_a_row = measure(n_features=50, n_hidden=1000, packed=True)
    cores = 2 ** np.arange(9)
    with open_figure(path, figsize=(6.4, 3.8), dpi=90) as (_, axes):
        axes.plot(cores, cores, '--', color=GREY, label='ideal')
        for n_rows, colour in (10**7, '#e9a03b'), (10**8, RED), (10**9, BLUE):
            seconds = JOB + n_rows * seconds_a_row / cores
            axes.plot(cores, seconds[0] / seconds, 'o-', color=colour, label=f'{n_rows:,} rows')
        axes.set(xscale='log', yscale='log', xlabel='cores of the cluster', ylabel='times faster than one core')
        axes.set_xticks(cores, [str(n) for n in cores])
        axes.set_yticks([1, 10, 100], ['1', '10', '100'])
        axes.set_title('an estimate by the formula of the cost command, not a measurement', fontsize=10)
        axes.legend(frameon=False)


def draw_drift(path: Path, folder: Path) -> None:
    """Let `mr-elm parts` draw how far months are from each other: from October on boundary and a column move."""
    rng = np.random.default_rng(0)
    months = []
    for month in range(1, 13):
        turn = 0.3 * max(0, month - 9)
        X = rng.standard_normal((400, 5))
        X[:, 4] += turn
        y = np.cos(turn) * X[:, 0] + np.sin(turn) * X[:, 1] + 0.3 * rng.standard_normal(400) > 0
        months.append(write(folder / f'month-{month:02}.csv', y.astype(int), X, 'label,a,b,c,d,e'))
    run('train', 'pesvm', *months, '--hidden', '200', '--part-by', 'file', '--model', folder / 'year.npz', '-q')
    run('parts', folder / 'year.npz', '--figure', path)


FIGURES = {
    'boundaries': draw_boundaries,
    'importance': draw_importance,
    'reliability': draw_reliability,
    'nodes': draw_nodes,
    'speedup': draw_speedup,
    'drift': draw_drift,
}


def main(target: str, *names: str) -> None:
    """Draw some figures, or all of them, into a folder."""
    for name in names or FIGURES:
        path = Path(target).resolve() / f'{name}.png'
        path.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            FIGURES[name](path, Path(folder))
        print(path)


if __name__ == '__main__':
    main(*sys.argv[1:])
