"""Write the files of this folder with one version of Python: models, packs, and what the models predict.

    python tests/compat/write.py tests/compat/3.13

The rows are written where they are missing; a folder that exists is refused: files that were written once stay.
"""

import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
N_ROWS, N_LATER = 50, 12
PROBABLE = '--probabilities'
# name of the rows -> what `pack` has to know of them
ROWS = {
    'two.csv': (),
    'three.csv': (),
    'numbers.csv': ('--task', 'regression'),
    'targets.csv': ('--task', 'regression', '--targets', 'first,second'),
    'tags.csv': ('--labels-separator', ';'),
    'table.csv': ('--like', 'pesvm-table.npz'),
    'words.libsvm': ('--n-features', '30'),
}
# name of a model -> (rows, method and options of train, options of predict)
MODELS = {
    **{
        f'pesvm-{kind}': ('two.csv', f'pesvm --hidden 5 --map {kind}', '')
        for kind in ('sigmoid', 'tanh', 'sine', 'rff', 'relu', 'hardlimit', 'rbf', 'multiquadric')
    },
    'pesvm-identity': ('two.csv', 'pesvm --map identity', ''),
    'pesvm-nystrom': ('three.csv', 'pesvm --hidden 6 --map nystrom', ''),
    'pesvm-laplacian': ('three.csv', 'pesvm --hidden 6 --map nystrom --kernel laplacian', ''),
    'pesvm-product-laplacian': ('three.csv', 'pesvm --hidden 6 --map nystrom --kernel product-laplacian', ''),
    'pesvm-leaves': ('three.csv', 'pesvm --map leaves --leaves 24 --scale none', ''),
    'pesvm-leaves-landmarks': (
        'numbers.csv',
        'pesvm --task regression --map leaves+nystrom --leaves 24 --hidden 5',
        '',
    ),
    'pesvm-sparse': ('words.libsvm', 'pesvm --hidden 6 --map nystrom', ''),
    'pesvm-sparse-nodes': ('words.libsvm', 'pesvm --hidden 4 --seed 3', ''),
    'pesvm-passes': ('two.csv', 'pesvm --hidden 6 --solver passes --tolerance 1e-9', ''),
    'pesvm-probabilities': ('three.csv', f'pesvm --hidden 6 {PROBABLE}', PROBABLE),
    'pesvm-threshold': ('two.csv', f'pesvm --hidden 6 {PROBABLE} --threshold f1 --positive no', PROBABLE),
    'pesvm-metric': ('two.csv', 'pesvm --hidden 6 --metric full', ''),
    'pesvm-tags': ('tags.csv', 'pesvm --hidden 6 --labels-separator ;', ''),
    'pesvm-table': ('table.csv', 'pesvm --label-column answer --hidden 6 --encode auto --scale minmax', ''),
    'elm': ('three.csv', 'elm --hidden 6', ''),
    'elm-targets': ('targets.csv', 'elm --task regression --targets first,second --hidden 6', ''),
    'elm-interval': ('numbers.csv', 'elm --task regression --hidden 6 --intervals', '--interval 0.8'),
    'sparse-elm': ('two.csv', 'sparse-elm --sigma 1', ''),
    'sparse-elm-pairs': ('three.csv', 'sparse-elm --multiclass one-vs-one --kernel laplacian --sigma 2', ''),
    'sparse-elm-words': ('words.libsvm', 'sparse-elm --kernel gaussian --sigma 4', ''),
    'oelm': ('three.csv', 'oelm --kernel polynomial --degree 2', ''),
    'oelm-nodes': ('two.csv', 'oelm --kernel sigmoid --hidden 6', ''),
    'oelm-probabilities': ('three.csv', f'oelm --sigma 2 --multiclass one-vs-one {PROBABLE}', PROBABLE),
    'sphere-svm': ('two.csv', 'sphere-svm --sigma 1', ''),
    'sphere-svm-table': ('table.csv', 'sphere-svm --label-column answer --encode auto --sigma 3', ''),
    'mr-kelm': ('three.csv', 'mr-kelm --sigma 1', ''),
    'mr-kelm-words': ('words.libsvm', 'mr-kelm --sigma 4', ''),
    'mr-kelm-targets': ('targets.csv', 'mr-kelm --task regression --targets first,second --kernel linear', ''),
    'auto': ('two.csv', 'auto --budget 40', ''),
    'auto-table': ('table.csv', 'auto --label-column answer --encode auto --budget 40', ''),
    'auto-numbers': ('numbers.csv', 'auto --task regression --budget 40', ''),
}


def draw_row(name, draw):
    """Return the fields of one row of a file."""
    a, b, c = (draw.gauss(0, 1) for _ in range(3))
    features = [f'{value:.3f}' for value in (a, 100 + 10 * b, c)]
    noise = draw.gauss(0, 0.3)
    if name == 'two.csv':
        return ['yes' if a + b * b - 0.5 + noise > 0 else 'no', *features]
    if name == 'three.csv':
        return [str((a + noise > 0) + 2 * (b > 0.7)).replace('3', '2'), *features]
    if name == 'numbers.csv':
        return [f'{1000 + 3 * a + b * b + 3 * noise:.3f}', *features]
    if name == 'targets.csv':
        return [f'{a - b:.3f}', f'{50 + c:.3f}', *features]
    if name == 'tags.csv':
        return [';'.join(tag for tag, value in (('red', a), ('green', b), ('blue', c)) if value > 0), *features]
    if name == 'table.csv':
        colour = draw.choice(['red', 'green', 'blue', 'grün', ''])
        return [features[0] if b < 1 else '', colour, 'yes' if a + (colour == 'red') > noise else 'no', features[2]]
    used = sorted(draw.sample(range(1, 31), 4))
    return [str(1 + (used[0] > 6)), *(f'{j}:{draw.randint(1, 4)}' for j in used)]


HEADERS = {'targets.csv': 'first,second,a,b,c', 'table.csv': 'size,colour,answer,weight', 'tags.csv': 'tags,a,b,c'}


def write_rows():
    """Write the rows of the trainings, and in `later-NAME` those to predict."""
    for name in ROWS:
        draw = random.Random(name)
        for path, n in ((HERE / name, N_ROWS), (HERE / f'later-{name}', N_LATER)):
            separator = ' ' if name.endswith('libsvm') else ','
            lines = [separator.join(draw_row(name, draw)) for _ in range(n)]
            path.write_text('\n'.join([*([HEADERS[name]] if name in HEADERS else []), *lines, '']))


def run(*words):
    """Run the command of this Python."""
    subprocess.run([Path(sys.executable).with_name('mr-elm'), *map(str, words)], check=True)


def write_all(folder):
    """Write models, predictions and packs into a new folder."""
    folder.mkdir()
    for name, (rows, training, prediction) in MODELS.items():
        model, sums = folder / f'{name}.npz', ['--no-sums'] * training.startswith(('pesvm', 'elm'))
        run('train', training.split()[0], HERE / rows, '--model', model, '-q', *training.split()[1:], *sums)
        words = prediction.split() or ['--scores']
        run('predict', model, HERE / f'later-{rows}', '-o', folder / f'{name}.txt', '-q', *words)
    for name, words in ROWS.items():
        words = [folder / word if word.endswith('.npz') else word for word in words]
        run('pack', HERE / f'later-{name}', '-o', folder / f'pack-{Path(name).stem}', '-q', *words)


if __name__ == '__main__':
    if not (HERE / 'two.csv').exists():
        write_rows()
    write_all(Path(sys.argv[1]))
