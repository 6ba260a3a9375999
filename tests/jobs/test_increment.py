"""A model that lives is the model of the rows that it has: added in any batches, forgotten, merged."""

import itertools
import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from reference.files import LOCAL, copy_model

from mr_elm.cli.increment import locked
from mr_elm.model.sums import name_sums

N, D = 240, 4


@pytest.fixture
def table(rng):
    """Draw rows of three classes, those of the last in the last third only: (X, labels)."""
    X = rng.normal(size=(N, D))
    return X, np.where((np.arange(N) >= 160) & (X[:, 1] > 0), 9, (X[:, 0] > 0.2) * 1)


@pytest.fixture
def batches(write, csv_of, table):
    """Write three batches of rows, and all rows: a list of four paths."""
    X, labels = table
    parts = [slice(0, 80), slice(80, 160), slice(160, N), slice(0, N)]
    return [write(f'{k}.csv', csv_of(labels[part], X[part])) for k, part in enumerate(parts)]


@pytest.fixture
def packs(elm, batches, tmp_path):
    """Pack the batches in blocks of 20 rows, and all rows in the same blocks."""
    for path in batches:
        assert elm('pack', path, '-o', tmp_path / f'{path.stem}.packed', '--block-rows', 20, '-q').status == 0
    return [tmp_path / f'{path.stem}.packed' for path in batches]


@pytest.fixture
def changed(elm, tmp_path, model_of):
    """Run a command that writes a model: its path."""
    count = itertools.count()

    def run(*arguments):
        path = tmp_path / f'changed-{next(count)}.npz'
        done = elm(*arguments, '--model', path, '-q')
        usual = (
            'warning: this machine',
            'gets new ones',
        )  # many are constant, and some batches have a new class
        others = [line for line in done.err.splitlines() if not any(text in line for text in usual)]
        assert (done.status, done.out, others) == (0, '', []), done.err
        return path

    return run


@pytest.fixture
def first(changed, packs):
    return changed('train', 'pesvm', packs[0], '--hidden', 15, '--nu', 5)


def different(model_of, one, other):
    """Name the arrays of two models that differ in any bit."""
    (_, ours), (_, theirs) = model_of(one), model_of(other)
    return [name for name in {**ours, **theirs} if name not in ours or ours[name].tobytes() != theirs[name].tobytes()]


@pytest.mark.parametrize('order', [(1, 2), (2, 1)])
def test_batches_in_any_order_give_the_bits_of_all_rows_at_once(changed, first, packs, model_of, order, maps):
    grown = first
    for k in order:
        grown = changed('update', grown, packs[k], *maps(2))
    whole = changed('train', 'pesvm', packs[3], '--like', first)
    assert different(model_of, grown, whole) == []
    header = model_of(grown)[0]
    assert header['classes'] == ['0', '1', '9'] and header['n_rows_used'] == N
    assert [(event['action'], event['rows_used']) for event in header['history']] == [
        ('train', 80),
        ('update', 80),
        ('update', 80),
    ]
    assert all(event['when'].endswith('Z') for event in header['history'])


@pytest.mark.parametrize(
    'options, runner',
    [
        (('--map', 'nystrom'), LOCAL),
        (('--map', 'nystrom', '--kernel', 'laplacian'), ('-r', 'inline')),
        (('--map', 'nystrom', '--kernel', 'product-laplacian'), ('-r', 'inline')),
        (('--map', 'relu', '--scale', 'minmax'), ('-r', 'inline')),
    ],
)
def test_any_nodes_grow(changed, packs, model_of, options, runner):
    first = changed('train', 'pesvm', packs[0], '--hidden', 15, *options)
    grown = changed('update', changed('update', first, packs[1]), packs[2], *runner)
    assert different(model_of, grown, changed('train', 'pesvm', packs[3], '--like', first)) == []


@pytest.mark.parametrize('scale', ['standard', 'none'])
def test_few_rows_do_not_change_the_width_of_a_kernel(changed, batches, write, model_of, scale):
    first = changed('train', 'pesvm', batches[0], '--map', 'nystrom', '--hidden', 15, '--scale', scale)
    line = batches[1].read_text().splitlines(keepends=True)[0]
    grown = changed('update', first, write('one.csv', line))
    whole = changed('train', 'pesvm', write('all.csv', batches[0].read_text() + line), '--like', first)
    assert np.allclose(*(model_of(path)[1]['output_weights'] for path in (grown, whole)), rtol=1e-9, atol=1e-12)


def test_elm_and_regression_grow_and_forget(elm, changed, write, csv_of, table, tmp_path, model_of):
    X, _ = table
    for name, rows in (('a', slice(0, 100)), ('b', slice(100, N))):
        elm(
            'pack',
            write(f'{name}.csv', csv_of((7 * X[rows, 0]).tolist(), X[rows])),
            '-o',
            tmp_path / name,
            '--task',
            'regression',
            '--block-rows',
            10,
            '-q',
        )
    first = changed('train', 'elm', tmp_path / 'a', '--hidden', 15, '--task', 'regression', '--C', 3)
    grown = changed('update', first, tmp_path / 'b')
    origin = model_of(first)[0]['parameters']['origin'][0]
    assert np.isclose(origin, 7 * X[:100, 0].mean())
    assert np.isclose(model_of(grown)[1]['counts'][0], ((7 * X[:, 0] - origin) ** 2).sum())
    assert different(model_of, changed('forget', grown, tmp_path / 'b'), first) == []


def test_rows_that_leave_as_they_came_give_the_old_bits_back(changed, first, packs, model_of, maps):
    grown = changed('update', changed('update', first, packs[1]), packs[2])
    back = changed('forget', changed('forget', grown, packs[1], *maps(2)), packs[2])
    assert different(model_of, back, first) == []
    (old, _), (new, _) = model_of(first), model_of(back)
    assert new['classes'] == old['classes'] and new['n_rows_used'] == old['n_rows_used']


def test_rows_that_leave_otherwise_give_the_old_predictions_back(elm, changed, first, batches, packs, model_of):
    """Text is read in blocks of its own."""
    back = changed('forget', changed('update', first, packs[1]), batches[1])
    old, new = (model_of(path)[1]['output_weights'] for path in (first, back))
    assert np.abs(old - new).max() < 1e-8 * np.abs(old).max()


def test_one_row_at_a_time(elm, changed, batches, write, model_of):
    first = changed('train', 'pesvm', batches[0], '--hidden', 8, '--nu', 5)
    grown = first
    for line in batches[1].read_text().splitlines()[:3]:
        grown = changed('update', grown, write('row.csv', line + '\n'))
    some = write('some.csv', ''.join(batches[1].read_text().splitlines(keepends=True)[:3]))
    once = changed('update', first, some)
    assert np.allclose(*(model_of(path)[1]['output_weights'] for path in (grown, once)), rtol=1e-9, atol=1e-12)


def test_models_trained_apart_merge_to_the_model_of_all_rows(changed, first, packs, model_of):
    others = [changed('train', 'pesvm', packs[k], '--like', first) for k in (1, 2)]
    whole = changed('train', 'pesvm', packs[3], '--like', first)
    merged = changed('merge', first, *others)
    assert different(model_of, merged, whole) == [] and model_of(merged)[0]['n_rows_used'] == N
    assert different(model_of, changed('merge', first, *others[::-1]), whole) == []


def test_a_label_written_otherwise_is_the_same_class(changed, write, csv_of, table, model_of):
    X, labels = table
    labels = (labels > 0) * 1
    a = write('a.csv', csv_of(labels[:80], X[:80]))
    b = write('b.csv', csv_of([f'{label}.0' for label in labels[80:]], X[80:]))
    first = changed('train', 'pesvm', a, '--hidden', 10)
    grown = changed('update', first, b)
    assert model_of(grown)[0]['classes'] == ['0', '1'] and model_of(grown)[1]['counts'].sum() == N
    assert model_of(changed('forget', grown, b))[0]['classes'] == ['0', '1']


def test_an_update_names_the_classes_that_it_adds(elm, changed, write, csv_of, table, tmp_path):
    X, labels = table[0], np.where(table[0][:, 0] > 0, 'Yes', 'No')
    model = changed('train', 'pesvm', write('a.csv', csv_of(labels, X)), '--hidden', 10)
    rows = write('b.csv', csv_of(np.char.lower(labels), X))
    done = elm('update', model, rows, '--model', tmp_path / 'new.npz', '-q')
    said = f'{rows}: the model with the classes No, Yes gets new ones: no, yes'
    assert done.status == 0 and said in done.err
    assert 'new ones' not in elm('update', model, rows.parent / 'a.csv', '--model', tmp_path / 'same.npz', '-q').err


def refused(elm, tmp_path, *arguments):
    done = elm(*arguments, '--model', tmp_path / 'refused.npz', '-q')
    assert done.status == 1 and not (tmp_path / 'refused.npz').exists()
    return done.err


def test_rows_that_were_never_there_cannot_leave(elm, first, packs, batches, write, csv_of, table, tmp_path):
    assert "found ['9']" in refused(elm, tmp_path, 'forget', first, packs[3])
    assert 'cannot forget 80 rows: the model was' in refused(elm, tmp_path, 'forget', first, packs[0])
    assert "found ['9']" in refused(elm, tmp_path, 'forget', first, write('nine.csv', '9,1,2,3,4\n'))
    _, labels = table
    ones = write('ones.csv', '1,0,0,0,0\n' * (int((labels[:80] == 1).sum()) + 1))
    n_ones = int((labels[:80] == 1).sum())
    wanted = f"more of them than the model was trained on: of class '1', {n_ones + 1} where it has {n_ones} (by weight)"
    assert wanted in refused(elm, tmp_path, 'forget', first, ones)
    strangers = write('far.csv', '0,30,-30,30,30\n' * 20)
    assert 'some of them were never part of the model' in refused(elm, tmp_path, 'forget', first, strangers)
    only = write(
        'zeros.csv', ''.join(line for line in batches[0].read_text().splitlines(keepends=True) if line.startswith('0'))
    )
    assert 'two classes' in refused(elm, tmp_path, 'forget', first, only)


@pytest.mark.parametrize('keys', ['id\n1001\n1002\n', 'id,sick\n1001,0\n1002,1\n', '1001\n1002\n'])
@pytest.mark.parametrize('words', [(), ('--drop', 'id')])
def test_keys_of_rows_are_not_enough_to_forget_them(keys, words, elm, write, tmp_path):
    rows = write('rows.csv', 'id,age,sick\n' + ''.join(f'{1001 + k},{k % 7},{k % 2}\n' for k in range(40)))
    model = tmp_path / 'm.npz'
    assert elm('train', 'pesvm', rows, '--hidden', 5, '--label-column', 'sick', *words, '--model', model).status == 0
    hint = '; forget needs whole rows with their labels, not only keys\n'
    assert refused(elm, tmp_path, 'forget', model, write('keys.csv', keys)).endswith(hint)
    assert hint not in refused(elm, tmp_path, 'update', model, tmp_path / 'keys.csv')
    more = write('more.csv', rows.read_text().replace('\n', ',0\n').replace('sick,0', 'sick,extra'))
    assert "found also 'extra'" in (found := refused(elm, tmp_path, 'forget', model, more)) and hint not in found


@pytest.fixture
def numbers(write, csv_of, table):
    """Write 80 rows with a target, some of them so many times larger: a path."""

    def file(targets=1.0, features=1.0):
        X = table[0][:80]
        return write(f'{targets:g}-{features:g}.csv', csv_of((targets * X[:, 1]).tolist(), features * X))

    return file


# nu is so small that no size of the rows below makes rounding errors show
RELU = ('--task', 'regression', '--map', 'relu', '--hidden', 10, '--scale', 'none', '--nu', 1e-15)


@pytest.mark.parametrize(
    'way',
    [lambda model, rows: ('update', model, rows), lambda model, rows: ('train', 'pesvm', rows, '--like', model)],
    ids=['update', 'like'],
)
@pytest.mark.parametrize('what', ['targets', 'features'])
def test_rows_too_large_for_the_exact_sums_of_a_model_are_refused(elm, changed, numbers, tmp_path, way, what):
    first, far = changed('train', 'pesvm', numbers(), *RELU), numbers(**{what: 1e12})
    expected = f'{far}: expected numbers of about the size that the model was trained on'
    assert expected in refused(elm, tmp_path, *way(first, far))
    changed(*way(first, numbers(**{what: 1e3})))


def test_rows_of_a_model_count_where_new_rows_are_large(elm, changed, write, csv_of, table, tmp_path):
    """Squared targets 2^31 times those of the model leave room for 2^(38 - 31) = 128 rows: 80, but not 160."""
    X, y = table[0][:80], np.linspace(-1, 1, 80)
    small, large = (write(f'{k}.csv', csv_of((2.0**k * y).tolist(), X)) for k in (0, 15.5))
    first = changed('train', 'pesvm', small, '--task', 'regression', '--hidden', 10)
    changed('train', 'pesvm', large, '--like', first)
    assert 'numbers of about the size' in refused(elm, tmp_path, 'update', first, large)


@pytest.mark.parametrize('what', ['targets', 'features'])
def test_models_of_numbers_too_far_apart_are_not_merged(elm, changed, numbers, tmp_path, model_of, what):
    words = (*RELU, '--weights', 'uniform')  # nodes that do not depend on the rows
    one, near, far = (changed('train', 'pesvm', numbers(**{what: size}), *words) for size in (1, 1e3, 1e12))
    expected = '{}: expected numbers of about the size that {} was trained on'
    assert expected.format(far, one) in refused(elm, tmp_path, 'merge', one, far)
    assert expected.format(one, far) in refused(elm, tmp_path, 'merge', far, one)
    grids = [model_of(path)[0]['parameters']['grid'] for path in (one, near, changed('merge', one, near))]
    assert grids[0] != grids[1] and grids[2] == np.minimum(*grids[:2]).tolist()


def test_what_does_not_fit_is_refused(elm, changed, first, packs, write, tmp_path, model_of):
    wide = write('wide.csv', '0,1,2,3,4,5\n')
    assert 'expected rows of 4 features' in refused(elm, tmp_path, 'update', first, wide)
    apart = changed('train', 'pesvm', packs[1], '--hidden', 15)
    assert 'feature offset' in refused(elm, tmp_path, 'merge', first, apart)
    fewer = changed('train', 'pesvm', packs[1], '--hidden', 14)
    assert 'hidden nodes 15' in refused(elm, tmp_path, 'merge', first, fewer)
    dual = changed('train', 'sparse-elm', packs[0])
    assert 'keeps no sums' in refused(elm, tmp_path, 'update', dual, packs[1])
    balanced = changed('train', 'pesvm', packs[0], '--hidden', 15, '--class-weight', 'balanced')
    assert '--class-weight' in refused(elm, tmp_path, 'update', balanced, packs[1])
    for models in [first], [first, first], [first, f'{first.parent}/./{first.name}']:  # its rows would count twice
        done = elm('merge', *models, '--model', tmp_path / 'one.npz')
        assert done.status == 2 and 'at least two models, each of them once' in done.err
    for name, *words in (('--hidden', 3), ('--leaves', 64, '--map', 'leaves'), ('--metric', 'full')):
        done = elm('train', 'pesvm', packs[0], '--like', first, name, *words, '--model', tmp_path / 'one.npz')
        assert done.status == 2 and f'{name}: cannot be used with --like' in done.err  # the layer is the other model's


@pytest.fixture
def doubts(elm, tmp_path):
    """Run a command that writes a model: whether it warns of nu. A warning that comes again is a warning too."""

    def run(name, *arguments):
        with warnings.catch_warnings():
            warnings.simplefilter('always')
            done = elm(*arguments, '--model', tmp_path / name, '-q', '--overwrite')
        assert (done.status, done.out) == (0, '')
        return 'rounding errors may show in the model' in done.err

    return run


def test_a_nu_is_doubtful_where_the_ridge_is_below_the_rounding_errors_of_the_sums(
    doubts, batches, table, tmp_path, model_of
):
    """The ridge is 1/nu, the errors about 1000 u |E'E|, u = 2^-53, where |E'E| is at most the trace of E'E."""
    train = ('train', 'pesvm', batches[0], '--hidden', 15)
    assert not doubts('m.npz', *train)
    _, arrays = model_of(tmp_path / 'm.npz')
    Z = (table[0] - arrays['feature_offset']) * arrays['feature_scale']
    E = np.c_[1 / (1 + np.exp(-Z @ arrays['hidden_weights'].T - arrays['hidden_biases'])), -np.ones(N)]
    limit, limit_of_all = (1 / (1000 * 2.0**-53 * (rows**2).sum()) for rows in (E[:80], E))
    assert not doubts('m.npz', *train, '--nu', 0.99 * limit) and doubts('m.npz', *train, '--nu', 1.01 * limit)
    between = np.sqrt(limit * limit_of_all)
    other = ('train', 'pesvm', batches[2], '--like', tmp_path / 'a.npz')
    assert not doubts('a.npz', *train, '--nu', between) and not doubts('b.npz', *other, '--nu', 1)
    assert doubts('ab.npz', 'update', tmp_path / 'a.npz', batches[1], batches[2])
    assert doubts('back.npz', 'forget', tmp_path / 'ab.npz', batches[1], batches[2])  # the errors stay
    copy = copy_model(tmp_path / 'b.npz')  # the same rows twice, which merge refuses of one file
    assert doubts('merged.npz', 'merge', tmp_path / 'a.npz', tmp_path / 'b.npz', copy)


def test_an_update_that_fails_leaves_the_old_model_untouched(elm, first, packs, write, tmp_path, model_of):
    living = tmp_path / 'living.npz'
    shutil.copy(first, living)
    shutil.copy(name_sums(first), name_sums(living))
    bad = write('bad.csv', '0,1,2,3,4\n1,x,2,3,4\n')
    assert elm('update', living, bad, '--model', living, '--overwrite', '-q').status == 1
    assert living.read_bytes() == first.read_bytes()
    assert elm('update', living, bad, '--model', living, '--overwrite', '-q', '--bad-rows', 'skip').status == 0
    header = model_of(living)[0]
    assert (header['n_rows_used'], header['n_rows_rejected']) == (81, 1)
    assert (tmp_path / 'living.npz.rejected').exists()
    assert json.loads(elm('inspect', living, '--json').out)['history'][1]['rows_rejected'] == {'not a number': 1}


def test_commands_that_replace_one_model_do_not_lose_rows(elm, first, packs, tmp_path, model_of):
    living = copy_model(first)
    words = ['update', living, packs[1], '--model', living, '--overwrite', '-q']
    with locked(str(living), str(living)):
        told = elm(*words)
        assert told.status == 1 and 'no other command changes, found one at work' in told.err
        assert (
            elm('update', living, packs[1], '--model', tmp_path / 'other.npz', '-q').status == 0
        )  # it replaces nothing
    assert model_of(living)[0]['n_rows_used'] == 80
    assert elm(*words).status == 0 and model_of(living)[0]['n_rows_used'] == 160


def test_programs_that_update_one_model_together_add_all_rows_or_say_so(first, packs, model_of):
    living = copy_model(first)
    program = Path(sys.executable).with_name('mr-elm')
    words = [program, 'update', living, packs[1], '--model', living, '--overwrite', '-q']
    running = [subprocess.Popen(list(map(str, words)), stderr=subprocess.PIPE, text=True) for _ in range(3)]
    errors = [each.communicate()[1] for each in running]
    done = [each.returncode == 0 for each in running]
    assert model_of(living)[0]['n_rows_used'] == 80 * (1 + sum(done)) and any(done)
    assert all(worked or 'other command' in text for worked, text in zip(done, errors, strict=True))


def test_the_table_of_a_model_has_the_first_event_and_the_last_ones(elm, first, packs, tmp_path):
    living = copy_model(first)
    for _ in range(5):
        assert elm('update', living, packs[1], '--model', living, '--overwrite', '-q').status == 0
    (line,) = (line for line in elm('inspect', living).out.splitlines() if line.startswith('history'))
    assert line.split()[1] == 'train' and '; 2 more; ' in line and line.count('update') == 3
