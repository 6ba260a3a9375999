"""Forgetting means forgetting: a row that left cannot be read in the model, or it was refused in a sentence."""

import json

import numpy as np
import pytest
from reference.files import LOCAL

from mr_elm.features.nodes import LANDMARK_NODES, MAPS
from mr_elm.machines import auto
from mr_elm.model.file import read_model

N, D = 120, 4
CITIES = np.array(['Oslo', 'Rome', 'Bern', 'New York'])
NYSTROM = ('--map', 'nystrom', '--hidden', 30)


def draw(kind, rng):
    """Draw rows: (features as a matrix of numbers, how the row of each is written)."""
    X = rng.normal(size=(N, D)).round(6)
    if kind == 'sparse':
        X[rng.random((N, D)) < 0.4] = 0
    labels = (X[:, 0] + X[:, 1] > 0).astype(int)
    if kind == 'sparse':
        return X, [
            f'{label} ' + ' '.join(f'{j}:{x!r}' for j, x in enumerate(row, 1) if x) + '\n'
            for label, row in zip(labels, X.tolist(), strict=True)
        ]
    lines = [f'{label},' + ','.join(map(repr, row)) for label, row in zip(labels, X.tolist(), strict=True)]
    if kind == 'dense':
        return X, [line + '\n' for line in lines]
    cities, missing = rng.integers(0, len(CITIES), N), rng.random(N) < 0.1
    lines = [
        f'{label},' + ','.join(['' if gap else repr(row[0]), *map(repr, row[1:])]) + f',{city}\n'
        for label, row, gap, city in zip(labels, X.tolist(), missing, CITIES[cities], strict=True)
    ]
    # the features, as docs/model-file.md says: a number with its indicator, numbers, categories in byte order, other
    first = np.where(missing, X[~missing, 0].mean(), X[:, 0])
    order = np.argsort(CITIES)
    return np.column_stack([first, missing, X[:, 1:], cities[:, None] == order, np.zeros(N)]), lines


KINDS = {'dense': ('rows.csv', ()), 'sparse': ('rows.libsvm', ()), 'encoded': ('rows.csv', ('--encode', 'auto'))}


def pair_up(first, second):
    """Return cases (kind of rows, one of `first`, one of `second`) such that any two of these meet in one of them."""
    return [(kind, one, second[(k + n) % len(second)]) for k, kind in enumerate(KINDS) for n, one in enumerate(first)]


@pytest.fixture(params=list(KINDS))
def kind(request):
    """Name a kind of rows."""
    return request.param


@pytest.fixture
def rows(kind, write, rng):
    """Write rows of a kind: (path, options to read them by, features, lines)."""
    X, lines = draw(kind, rng)
    name, options = KINDS[kind]
    return write(name, ''.join(lines)), options, X, lines


@pytest.fixture
def forget(elm, tmp_path):
    """Forget some lines: (Result, path of the new model)."""

    def run(model, lines, *words, suffix='.csv'):
        path, out = tmp_path / f'leaving{suffix}', tmp_path / 'left.npz'
        path.write_text(''.join(lines))
        for old in out, tmp_path / 'left.sums.npz':
            old.unlink(missing_ok=True)
        return elm('forget', model, path, '--model', out, *words), out

    return run


def place(X, arrays):
    """Turn rows into what a model compares."""
    Z = (X - arrays['feature_offset']) * arrays['feature_scale']
    metric = arrays.get('feature_metric')
    if metric is None:
        return Z
    return Z * metric if metric.ndim == 1 else Z @ metric.T


def distances(X, arrays):
    """Return how far each row is from the nearest landmark."""
    Z = place(X, arrays)
    return np.abs(Z[:, None] - arrays['landmarks']).max(axis=2).min(axis=1)


def numbers_of(value):
    """Yield all numbers of a header."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from numbers_of(each)
    elif isinstance(value, float):
        yield value


def demand_absent(row, path, model_of):
    """Demand that no array of a model, scaled or not, and no number of its header is a row or one of its numbers."""
    header, arrays = model_of(path)
    machines = [''] if header.get('members') is None else [f'{k}/' for k in range(len(header['members']))]
    for prefix in machines:
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        for name, array in own.items():
            vectors = np.atleast_2d(array)
            for vector in (row, place(row, own)):
                if vectors.shape[-1] == len(vector):
                    assert np.abs(vectors - vector).max(axis=1).min() > 1e-9, name
    telling = row[(row != 0) & (row != 1)]
    if header.get('encoding'):  # a missing number is the mean of its column
        means = np.array([column['mean'] for column in header['encoding']['columns']])
        telling = telling[np.abs(telling[:, None] - means).min(axis=1) > 1e-12]
    stored = np.array(list(numbers_of(header)))
    assert not telling.size * stored.size or np.abs(telling[:, None] - stored).min() > 1e-9


@pytest.mark.parametrize('kind, nodes, scale', pair_up(list(MAPS), ['standard', 'minmax', 'none']))
def test_a_row_that_left_is_nowhere_in_the_model(elm, forget, rows, model_of, tmp_path, nodes, scale):
    path, options, X, lines = rows
    size = () if nodes == 'identity' else ('--hidden', 12)
    model = tmp_path / 'm.npz'
    assert (
        elm('train', 'pesvm', path, *options, '--map', nodes, *size, '--scale', scale, '--model', model, '-q').status
        == 0
    )
    arrays = model_of(model)[1]
    numbers = X[:, [len(set(column)) > 2 for column in X.T.tolist()]]
    inside = np.flatnonzero(((numbers > numbers.min(axis=0)) & (numbers < numbers.max(axis=0))).all(axis=1))
    free = inside if nodes != 'nystrom' else inside[distances(X[inside], arrays) > 1e-6]
    done, out = forget(model, [lines[free[0]]], suffix=path.suffix)
    assert done.status == 0, done.err
    demand_absent(X[free[0]], out, model_of)
    if nodes == 'nystrom':
        stored = np.flatnonzero(distances(X, arrays) < 1e-12)
        done, out = forget(model, [lines[k] for k in stored[:3]] + [lines[free[0]]], suffix=path.suffix)
        assert done.status == 1 and not out.exists()
        assert 'cannot forget 3 of these 4 rows: they are landmarks' in done.err
        assert '--landmarks synthetic' in done.err and len(done.err.splitlines()[-1:]) == 1


@pytest.mark.parametrize('kind, kernel, metric', pair_up(list(LANDMARK_NODES), ['none', 'diagonal', 'full']))
def test_landmarks_are_found_behind_any_kernel_and_metric(elm, forget, rows, model_of, tmp_path, kernel, metric):
    path, options, X, lines = rows
    words = () if metric == 'none' else ('--metric', metric)
    model = tmp_path / 'm.npz'
    assert (
        elm('train', 'pesvm', path, *options, *NYSTROM, '--kernel', kernel, *words, '--model', model, '-q').status == 0
    )
    near = distances(X, model_of(model)[1]) < 1e-12
    done, out = forget(model, [lines[k] for k in np.flatnonzero(near)], suffix=path.suffix)
    assert done.status == 1 and f'cannot forget {near.sum()} of these {near.sum()} rows' in done.err
    others = np.flatnonzero(~near)[:20]
    done, out = forget(model, [lines[k] for k in others], suffix=path.suffix)
    assert done.status == 0, done.err
    for k in others:
        demand_absent(X[k], out, model_of)


@pytest.fixture
def stored(elm, write, rng, tmp_path, model_of):
    """Train on dense rows: (model, lines of landmarks, lines of other rows)."""
    X, lines = draw('dense', rng)
    model = tmp_path / 'm.npz'
    assert elm('train', 'pesvm', write('rows.csv', ''.join(lines)), *NYSTROM, '--model', model, '-q').status == 0
    near = distances(X, model_of(model)[1]) < 1e-12
    return (
        model,
        [line for line, k in zip(lines, near, strict=True) if k],
        [line for line, k in zip(lines, near, strict=True) if not k],
    )


@pytest.mark.parametrize(
    'words',
    [(), ('-D', 'mapreduce.job.maps=5'), (*LOCAL, '-D', 'mapreduce.job.maps=3')],
    ids=['one task', 'tasks', 'local'],
)
def test_rows_of_all_tasks_are_counted(forget, stored, words):
    model, landmarks, others = stored
    runner = () if '-r' in words else ('-r', 'inline')
    done, out = forget(model, landmarks[:7] + others[:20] + landmarks[:5], *runner, *words)
    assert done.status == 1 and 'cannot forget 12 of these 32 rows' in done.err and not out.exists()


def test_a_landmark_is_known_whatever_its_label_and_however_it_is_written(elm, forget, stored, write, tmp_path):
    pa = pytest.importorskip('pyarrow')
    parquet = pytest.importorskip('pyarrow.parquet')
    model, landmarks, others = stored
    before = model.read_bytes()
    label, numbers = landmarks[0].split(',', 1)
    done, _ = forget(model, [f'{1 - int(label)},{numbers}'], '--overwrite')
    assert done.status == 1 and 'cannot forget 1 of these 1 rows' in done.err
    values = [float(x) for x in numbers.split(',')]
    table = pa.table({name: [value] for name, value in zip('yabcd', [int(label), *values], strict=True)})
    parquet.write_table(table, tmp_path / 'rows.parquet')
    write('rows.libsvm', f'{label} ' + ' '.join(f'{j}:{x!r}' for j, x in enumerate(values, 1)) + '\n')
    assert elm('pack', write('one.csv', landmarks[0]), '-o', tmp_path / 'pack', '-q').status == 0
    for rows in ('pack', 'rows.libsvm', 'rows.parquet'):
        done = elm('forget', model, tmp_path / rows, '--model', model, '--overwrite', '-q')
        assert done.status == 1 and 'landmarks' in done.err, rows
    assert model.read_bytes() == before
    assert elm('forget', model, write('other.csv', others[0]), '--model', model, '--overwrite', '-q').status == 0
    assert model.read_bytes() != before


def test_a_landmark_of_float32_is_known_in_all_digits(elm, forget, rng, write, tmp_path, model_of):
    X, lines = draw('dense', rng)
    model = tmp_path / 'm.npz'
    elm('pack', write('rows.csv', ''.join(lines)), '-o', tmp_path / 'pack', '--dtype', 'float32', '-q')
    elm('train', 'pesvm', tmp_path / 'pack', *NYSTROM, '--model', model, '-q')
    near = np.flatnonzero(distances(X, model_of(model)[1]) < 1e-5)
    assert len(near) == 30
    done, _ = forget(model, [lines[k] for k in near])
    assert done.status == 1 and 'cannot forget 30 of these 30 rows' in done.err


def test_landmarks_of_every_machine_of_an_average_count(elm, forget, stored, tmp_path):
    from mr_elm.model.models import join_members

    model, landmarks, others = stored
    elm('train', 'pesvm', tmp_path / 'rows.csv', '--hidden', 9, '--model', tmp_path / 'nodes.npz', '-q')
    join_members([read_model(path, sums=True) for path in (tmp_path / 'nodes.npz', model)]).save(tmp_path / 'mean.npz')
    done, out = forget(tmp_path / 'mean.npz', landmarks[:2])
    assert done.status == 1 and 'cannot forget 2 of these 2 rows' in done.err and not out.exists()
    assert forget(tmp_path / 'mean.npz', others[:2])[0].status == 0


def test_rows_that_an_update_brought_are_landmarks_if_they_are_equal(elm, forget, stored, write, tmp_path):
    model, landmarks, others = stored
    more = write('more.csv', landmarks[0] + others[0])
    assert elm('update', model, more, '--model', tmp_path / 'more.npz', '-q').status == 0
    done, _ = forget(tmp_path / 'more.npz', [landmarks[0]])
    assert done.status == 1 and 'landmarks' in done.err
    assert forget(tmp_path / 'more.npz', [others[0]])[0].status == 0


@pytest.mark.parametrize('seed', [0, 3])
def test_synthetic_landmarks_are_no_rows_and_let_all_rows_leave(elm, forget, rows, model_of, tmp_path, seed):
    path, options, X, lines = rows
    model = tmp_path / 'm.npz'
    assert (
        elm(
            'train',
            'pesvm',
            path,
            *options,
            *NYSTROM,
            '--landmarks',
            'synthetic',
            '--seed',
            seed,
            '--model',
            model,
            '-q',
        ).status
        == 0
    )
    header, arrays = model_of(model)
    assert header['parameters']['landmarks'] == 'synthetic' and arrays['landmarks'].shape == (30, X.shape[1])
    assert distances(X, arrays).min() > 1e-3
    done, out = forget(model, lines[: N // 2], suffix=path.suffix)
    assert done.status == 0, done.err
    assert model_of(out)[0]['parameters']['landmarks'] == 'synthetic'
    for row in X[: N // 2]:
        demand_absent(row, out, model_of)


@pytest.mark.parametrize(
    'words',
    [
        ('train', 'pesvm', '--solver', 'passes'),
        ('train', 'pesvm', '--metric', 'full'),
        ('train', 'elm', '--kernel', 'product-laplacian', '--task', 'regression'),
        ('train', 'pesvm', '--scale', 'minmax'),
        ('tune', 'pesvm', '--kernel', 'laplacian', '--weight-scale', '1', '--nu', '1,10'),
        ('tune', 'pesvm', '--weight-scale', '1', '--nu', '1,10', '--sample', '60'),
    ],
    ids=' '.join,
)
def test_every_training_takes_synthetic_landmarks(elm, rng, write, tmp_path, model_of, words):
    X, lines = draw('dense', rng)
    done = elm(
        *words[:2],
        write('rows.csv', ''.join(lines)),
        *NYSTROM,
        '--landmarks',
        'synthetic',
        *words[2:],
        '--model',
        tmp_path / 'm.npz',
        '-q',
    )
    assert done.status == 0, done.err
    header, arrays = model_of(tmp_path / 'm.npz')
    assert header['parameters']['landmarks'] == 'synthetic' and len(arrays['landmarks']) == 30
    assert distances(X, arrays).min() > 1e-4


def test_synthetic_landmarks_are_the_same_on_runners_and_stay_through_a_life(elm, rng, write, tmp_path, model_of):
    X, lines = draw('encoded', rng)
    a, b = (write(f'{k}.csv', ''.join(part)) for k, part in enumerate((lines[:80], lines[80:])))
    made = {}
    for name, words in {
        'inline': ('-r', 'inline'),
        'local': LOCAL,
        'tasks': ('-r', 'inline', '-D', 'mapreduce.job.maps=4'),
    }.items():
        made[name] = tmp_path / f'{name}.npz'
        assert (
            elm(
                'train',
                'pesvm',
                a,
                '--encode',
                'auto',
                *NYSTROM,
                '--landmarks',
                'synthetic',
                '--model',
                made[name],
                *words,
                '-q',
            ).status
            == 0
        )
    landmarks = model_of(made['inline'])[1]['landmarks']
    for path in made.values():
        assert np.allclose(model_of(path)[1]['landmarks'], landmarks, rtol=0, atol=1e-12)
    paths = {name: tmp_path / f'{name}.npz' for name in ('update', 'like', 'merge', 'back')}
    elm('update', made['inline'], b, '--model', paths['update'], '-q')
    elm('train', 'pesvm', b, '--like', made['inline'], '--model', paths['like'], '-q')
    elm('merge', made['inline'], paths['like'], '--model', paths['merge'], '-q')
    elm('forget', paths['merge'], b, '--model', paths['back'], '-q')
    for path in paths.values():
        header, arrays = model_of(path)
        assert header['parameters']['landmarks'] == 'synthetic'
        assert np.array_equal(arrays['landmarks'], landmarks)
    weights = [model_of(path)[1]['output_weights'] for path in (made['inline'], paths['back'])]
    assert np.allclose(*weights, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    'words, what',
    [
        (
            ('train', 'pesvm', '--landmarks', 'synthetic'),
            '--landmarks synthetic: expected --map nystrom, found sigmoid',
        ),
        (('tune', 'pesvm', '--landmarks', 'synthetic'), '--landmarks synthetic: expected --map nystrom'),
    ],
    ids=str,
)
def test_synthetic_landmarks_belong_to_landmarks(elm, rng, write, tmp_path, words, what):
    done = elm(*words[:2], write('rows.csv', ''.join(draw('dense', rng)[1])), *words[2:], '--model', tmp_path / 'm.npz')
    assert done.status == 2 and what in done.err.replace('\n', ' ')


def test_columns_too_many_to_draw_are_refused(elm, write, tmp_path):
    path = write('wide.libsvm', ''.join(f'{k % 2} {k + 1}:1 2000:{k / 7!r}\n' for k in range(60)))
    done = elm('train', 'pesvm', path, *NYSTROM, '--landmarks', 'synthetic', '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and not (tmp_path / 'm.npz').exists()
    assert '--landmarks synthetic: expected at most 1,000 columns of numbers, found 2,000' in done.err


def test_what_was_fitted_to_rows_that_left_is_left_out(elm, forget, rng, write, tmp_path, model_of):
    X, lines = draw('dense', rng)
    model = tmp_path / 'm.npz'
    path = write('rows.csv', ''.join(lines))
    elm('train', 'pesvm', path, '--hidden', 9, '--probabilities', '--threshold', 'f1', '--model', model, '-q')
    assert {'calibration', 'threshold'} <= set(model_of(model)[0]['requires'])
    done, out = forget(model, lines[:3])
    assert 'probabilities: left out, they may have been fitted to rows that left' in done.err
    assert 'threshold: left out' in done.err
    assert 'calibration' not in model_of(out)[1] and model_of(out)[0]['requires'] == []
    rest = write('rest.csv', ''.join(lines[3:]))
    done, out = forget(model, lines[:3], '--calibrate', rest)
    assert 'calibration' in model_of(out)[1] and model_of(out)[0]['requires'] == ['calibration']
    targets = write('targets.csv', ''.join(f'{row[0]!r},{row[1]!r}\n' for row in X.tolist()))
    elm(
        'train',
        'pesvm',
        targets,
        '--task',
        'regression',
        '--intervals',
        '--hidden',
        9,
        '--model',
        model,
        '--overwrite',
        '-q',
    )
    done, out = forget(model, targets.read_text().splitlines(keepends=True)[:3])
    assert 'intervals: left out' in done.err and 'interval_residuals' not in model_of(out)[1]


def test_bounds_of_scaling_that_leave_are_named(elm, forget, rng, write, tmp_path):
    X, lines = draw('dense', rng)
    path, model = write('rows.csv', ''.join(lines)), tmp_path / 'm.npz'
    inner = (np.abs(X - (X.min(axis=0) + X.max(axis=0)) / 2) < 0.9 * np.ptp(X, axis=0) / 2).all(axis=1).nonzero()[0][0]
    for scale, warns in (('minmax', True), ('standard', False)):
        elm('train', 'pesvm', path, '--hidden', 9, '--scale', scale, '--model', model, '--overwrite', '-q')
        for row in (X[:, 2].argmax(), X[:, 1].argmin()):
            done, _ = forget(model, [lines[row]])
            assert done.status == 0 and ('the smallest or the largest value of ' in done.err) == warns
        assert 'warning' not in forget(model, [lines[inner]])[0].err


def test_the_statistics_pass_chooses_no_rows_for_synthetic_landmarks(elm, rng, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = 'layer', 'pesvm', write('rows.csv', ''.join(draw('dense', rng)[1])), *NYSTROM, '--model', 'm.npz'
    assert '--landmarks 30' in elm(*words).err
    assert '--landmarks' not in elm(*words, '--landmarks', 'synthetic').err


def test_a_model_says_what_its_landmarks_are(elm, rng, write, tmp_path):
    path, model = write('rows.csv', ''.join(draw('dense', rng)[1])), tmp_path / 'm.npz'
    elm('train', 'pesvm', path, *NYSTROM, '--landmarks', 'synthetic', '--model', model, '-q')
    assert json.loads(elm('inspect', model, '--json').out)['parameters']['landmarks'] == 'synthetic'


@pytest.mark.parametrize(
    'words, parts',
    [
        (('pesvm',), {}),
        (('elm', '--map', 'rbf'), {}),
        (('pesvm', *NYSTROM), {'landmarks': 30}),
        (('pesvm', *NYSTROM, '--landmarks', 'synthetic'), {}),
        (('pesvm', '--scale', 'minmax'), {'scaling': 2 * D}),
        (('mr-kelm',), {'support_vectors': N}),
        (('pesvm', '--probabilities', '--threshold', 'f1'), {'threshold': 1}),
    ],
)
def test_inspect_lists_what_stems_from_single_rows(elm, write, rng, tmp_path, words, parts):
    path = write('rows.csv', ''.join(draw('dense', rng)[1]))
    size = () if words[0] == 'mr-kelm' or '--hidden' in words else ('--hidden', 10)
    done = elm('train', words[0], path, *words[1:], *size, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 0, done.err
    found = json.loads(elm('inspect', tmp_path / 'm.npz', '--rows', '--json').out)
    assert {part: each['count'] for part, each in found.items()} == parts
    text = elm('inspect', tmp_path / 'm.npz', '--rows').out
    assert text == 'nothing\n' if not parts else text.startswith(f'{next(iter(parts))}: ')


def test_inspect_lists_categories_trees_and_classes_of_one_row(elm, write, rng, tmp_path, monkeypatch):
    lines = draw('encoded', rng)[1]
    path = write('rows.csv', ''.join([*lines, '7' + lines[0][1:]]))
    words = '--encode', 'auto', '--hidden', 5, '--model', tmp_path / 'm.npz', '-q'
    assert elm('train', 'pesvm', path, *words).status == 0
    found = json.loads(elm('inspect', tmp_path / 'm.npz', '--rows', '--json').out)
    assert {part: each['count'] for part, each in found.items()} == {'sums': 1, 'encoding': len(CITIES)}
    monkeypatch.setattr(auto, 'COMPARED_ROWS', 100)
    monkeypatch.setattr(auto, 'SIZES', ((np.inf, 8, 60),))
    X = rng.normal(size=(150, D))
    rows = write('more.csv', ''.join(f'{int(x[0] * x[1] > 0)},' + ','.join(map(repr, x)) + '\n' for x in X.tolist()))
    assert elm('train', 'auto', rows, '--model', tmp_path / 'a.npz', '-q').status == 0
    arrays = read_model(tmp_path / 'a.npz').arrays
    inner = sum((array >= 0).sum() for name, array in arrays.items() if name.endswith('tree_features'))
    found = json.loads(elm('inspect', tmp_path / 'a.npz', '--rows', '--json').out)
    assert inner > 0 and found['tree_thresholds']['count'] == inner and found['landmarks']['count'] > 0
