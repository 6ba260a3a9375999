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
