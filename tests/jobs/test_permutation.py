"""The importance of columns for every method, by shuffles of single columns."""

import json

import numpy as np
import pytest


@pytest.mark.parametrize('method', ['pesvm --hidden 50', 'sparse-elm', 'pesvm --hidden 50 --task regression'])
def test_the_column_that_decides_is_the_important_one(elm, write, tmp_path, method):
    generator = np.random.default_rng(0)
    X, kind = generator.normal(size=(200, 2)), generator.choice(['a', 'b'], 200)
    values = 2 * X[:, 1] + (kind == 'a')
    if 'regression' not in method:
        values = values > 0.5
    rows = ''.join(f'{float(y)},{a},{k},{b}\n' for y, (a, b), k in zip(values, X, kind, strict=True))
    path = write('rows.csv', 'y,noise,kind,signal\n' + rows)
    model = tmp_path / 'm.npz'
    assert elm('train', *method.split(), path, '--encode', 'auto', '--model', model, '-q').status == 0
    shown = json.loads(elm('inspect', model, '--json', '--permutation', path, '--figure', tmp_path / 'f.png').out)
    shares = shown['importance_by_column']
    assert list(shares) == ['noise', 'kind', 'signal'] and sum(shares.values()) == pytest.approx(1)
    assert shares['signal'] > shares['kind'] > shares['noise']
    assert (tmp_path / 'f.png').read_bytes().startswith(b'\x89PNG')
    assert (
        elm('inspect', model, '--json', '--permutation', path).out
        == elm('inspect', model, '--json', '--permutation', path).out
    )
    last = write(
        'last.csv',
        'noise;kind;signal;label\n'
        + ''.join(f'{a};{k};{b};{float(y)}\n' for y, (a, b), k in zip(values, X, kind, strict=True)),
    )
    said = elm('inspect', model, '--json', '--permutation', last, '--label-column', 'label')
    assert json.loads(said.out)['importance_by_column'] == shares
    path.write_text('y,noise,kind,signal\n1,x,a,2\n')
    assert 'line 2: not a number' in elm('inspect', model, '--permutation', path).err
    path.write_text('y,noise,kind,signal\n1,x,a,2\n' + rows)
    said = elm('inspect', model, '--json', '--permutation', path, '--bad-rows', 'skip')
    assert json.loads(said.out)['importance_by_column'] == shares


def test_columns_of_a_rare_class_have_an_importance(elm, write, tmp_path):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(400, 2))
    labels = np.where(X[:, 1] + generator.normal(size=400) > 3.2, 'rare', 'frequent')
    path = write(
        'rows.csv', 'y,noise,signal\n' + ''.join(f'{y},{a},{b}\n' for y, (a, b) in zip(labels, X, strict=True))
    )
    model = tmp_path / 'm.npz'
    elm('train', 'pesvm', path, '--nu', '0.01', '--map', 'identity', '--model', model)
    predicted = elm('predict', model, path, '-o', tmp_path / 'labels.txt', '-q')
    assert predicted.status == 0 and set((tmp_path / 'labels.txt').read_text().split()) == {'frequent'}
    shares = json.loads(elm('inspect', model, '--json', '--permutation', path).out)['importance_by_column']
    assert shares['signal'] > 0.9


def test_rows_of_one_class_cannot_say_what_is_important(elm, write, tmp_path):
    path = write('rows.csv', ''.join(f'{k % 2},{k},{k * k % 7}\n' for k in range(40)))
    model, page = tmp_path / 'm.npz', tmp_path / 'm.html'
    elm('train', 'pesvm', path, '--hidden', '5', '--model', model)
    ones = write('ones.csv', '1,3,4\n1,5,6\n')
    told = elm('inspect', model, '--permutation', ones)
    assert told.status == 1 and 'expected rows of two classes at least among the first ones, found 1' in told.err
    told = elm('export', model, '-o', page, '--test', ones)
    assert told.status == 0 and 'the page has no importance of columns' in told.err and page.exists()


def test_a_model_without_important_columns_says_so(elm, write, tmp_path):
    path = write('rows.csv', ''.join(f'{k % 2},7,5\n' for k in range(30)))
    model = tmp_path / 'm.npz'
    elm('train', 'pesvm', path, '--hidden', '5', '--model', model)
    told = elm('inspect', model, '--permutation', path)
    assert told.status == 0 and 'no column is important' in told.err and '0.0000' in told.out


def test_the_unit_of_a_target_does_not_change_the_importance(elm, write, tmp_path):
    generator = np.random.default_rng(2)
    X = generator.normal(size=(200, 3))
    model = tmp_path / 'm.npz'

    def measure(factor, constant=''):
        rows = ''.join(f'{factor * a},{b},{constant or b},{a},{b},{c}\n' for a, b, c in X)
        path = write('rows.csv', 'first,second,third,a,b,noise\n' + rows)
        words = ('--task', 'regression', '--targets', 'first,second,third', '--hidden', 50, '--overwrite', '-q')
        assert elm('train', 'pesvm', path, *words, '--model', model).status == 0
        return json.loads(elm('inspect', model, '--json', '--permutation', path).out)['importance_by_column']

    shares = measure(1)
    assert shares['b'] == pytest.approx(2 / 3, abs=0.05) and shares['a'] == pytest.approx(1 / 3, abs=0.05)
    assert measure(1e6) == pytest.approx(shares, abs=1e-6)
    shares = measure(1e6, '0.1')
    assert shares['a'] == pytest.approx(shares['b'], abs=0.05) and shares['noise'] < 0.05


def test_equal_targets_cannot_say_what_is_important(elm, write, tmp_path):
    path, model = write('rows.csv', ''.join(f'{k % 7}.5,{k},{k * k % 7}\n' for k in range(40))), tmp_path / 'm.npz'
    elm('train', 'pesvm', path, '--task', 'regression', '--hidden', '5', '--model', model)
    told = elm('inspect', model, '--permutation', write('equal.csv', '1.5,3,4\n1.5,5,6\n'))
    assert told.status == 1 and 'expected targets that differ among the first rows, found one value' in told.err
