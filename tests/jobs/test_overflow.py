"""A column whose sums overflow is refused by its name, or left to a scaling that needs none of these sums."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mr_elm.estimators import ESTIMATORS, ESVMClassifier, SparseELMClassifier
from mr_elm.model.file import read_model

METHODS = 'pesvm', 'elm', 'sparse-elm', 'oelm', 'sphere-svm', 'mr-kelm'
N = 40


def make_table(largest=1e308):
    """Return a table whose column c holds some numbers as large as this one."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(N, 3)), columns=list('abc'))
    table.loc[::8, 'c'] = largest
    table.insert(0, 'label', np.where(table['a'] > 0, 'yes', 'no'))
    return table


@pytest.fixture
def path(tmp_path):
    make_table().to_csv(tmp_path / 'rows.csv', index=False)
    return tmp_path / 'rows.csv'


def demand_sentence(done, tmp_path, column="'c'"):
    """Demand exit status 1, one sentence that names a column, and no model."""
    assert done.status == 1 and not (tmp_path / 'm.npz').exists()
    lines = done.err.strip().splitlines()
    assert f'column {column}: ' in lines[-1] and 'too large to scale' in lines[-1] and 'Traceback' not in done.err


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('scale', ['standard', 'none', 'minmax'])
def test_a_training_refuses_the_column_or_gives_a_model_that_works(elm, path, tmp_path, method, scale):
    nodes = ('--hidden', 20) if method in ('pesvm', 'elm') else ()
    done = elm('train', method, path, *nodes, '--scale', scale, '--model', tmp_path / 'm.npz', '-q')
    if scale != 'minmax':
        demand_sentence(done, tmp_path)
        return
    assert done.status == 0
    assert json.loads(elm('evaluate', tmp_path / 'm.npz', path, '--json', '-q').out)['accuracy'] > 0.8


@pytest.mark.parametrize(
    'words',
    [
        ('train', 'auto'),
        ('train', 'pesvm', '--map', 'nystrom'),
        ('train', 'pesvm', '--solver', 'passes'),
        ('train', 'pesvm', '--metric', 'diagonal'),
        ('tune', 'pesvm'),
        ('tune', 'sparse-elm'),
        ('tune', 'mr-kelm'),
    ],
    ids=' '.join,
)
def test_every_way_to_train_refuses_it(elm, path, tmp_path, words):
    demand_sentence(elm(*words[:2], path, *words[2:], '--model', tmp_path / 'm.npz', '-q'), tmp_path)


def test_rows_without_names_are_counted_as_options_and_libsvm_do(elm, tmp_path):
    table = make_table()
    table.to_csv(tmp_path / 'bare.csv', index=False, header=False)
    (tmp_path / 'rows.libsvm').write_text(
        ''.join(f'{int(row[1] == "yes")} 1:{row[2]} 2:{row[3]} 3:{row[4]}\n' for row in table.itertuples())
    )
    for name, column in (('bare.csv', '3 (counted from 0)'), ('rows.libsvm', '3')):
        done = elm('train', 'sparse-elm', tmp_path / name, '--model', tmp_path / 'm.npz', '-q')
        demand_sentence(done, tmp_path, column)


def test_encoded_and_packed_rows_and_parquet_are_refused_by_the_name(elm, path, tmp_path):
    model = '--model', tmp_path / 'm.npz', '-q'
    demand_sentence(elm('train', 'pesvm', path, '--encode', 'auto', *model), tmp_path)
    make_table().to_parquet(tmp_path / 'rows.parquet')
    demand_sentence(elm('train', 'elm', tmp_path / 'rows.parquet', '--label-column', 'label', *model), tmp_path)
    assert elm('pack', path, '-o', tmp_path / 'pack', '-q').status == 0
    demand_sentence(elm('train', 'mr-kelm', tmp_path / 'pack', *model), tmp_path)


@pytest.mark.parametrize('command', ['update', 'forget'])
def test_rows_that_come_later_are_refused_too(elm, tmp_path, command):
    for name, largest in (('good', 3), ('late', 1e170)):
        make_table(largest).to_csv(tmp_path / f'{name}.csv', index=False)
    assert elm('train', 'pesvm', tmp_path / 'good.csv', '--hidden', 9, '--model', tmp_path / 'g.npz').status == 0
    demand_sentence(elm(command, tmp_path / 'g.npz', tmp_path / 'late.csv', '--model', tmp_path / 'm.npz'), tmp_path)


@pytest.mark.parametrize('words', [('pesvm',), ('elm',), ('mr-kelm',), ('auto',)], ids=' '.join)
def test_targets_that_overflow_are_refused_by_their_name(elm, tmp_path, words):
    table = make_table(1).assign(label=np.where(np.arange(N) % 5, 1.0, 1e200))
    table.to_csv(tmp_path / 'rows.csv', index=False)
    done = elm(
        'train',
        words[0],
        tmp_path / 'rows.csv',
        *words[1:],
        '--task',
        'regression',
        '--model',
        tmp_path / 'm.npz',
        '-q',
    )
    assert done.status == 1 and "rows.csv: column 'label': expected targets whose squares" in done.err


def test_weights_that_overflow_are_refused(elm, tmp_path):
    make_table(1).assign(w=1e308).to_csv(tmp_path / 'rows.csv', index=False)
    done = elm('train', 'pesvm', tmp_path / 'rows.csv', '--weight-column', 'w', '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and 'expected row weights that can be added up' in done.err


@pytest.mark.parametrize('kernel, largest', [('linear', 1e100), ('polynomial', 1e60)])
@pytest.mark.parametrize('method', ['sparse-elm', 'mr-kelm'])
def test_a_kernel_that_would_overflow_names_the_column(elm, tmp_path, method, kernel, largest):
    make_table(largest).to_csv(tmp_path / 'rows.csv', index=False)
    demand_sentence(
        elm(
            'train',
            method,
            tmp_path / 'rows.csv',
            '--kernel',
            kernel,
            '--scale',
            'none',
            '--model',
            tmp_path / 'm.npz',
            '-q',
        ),
        tmp_path,
    )
    table = make_table(largest)
    with pytest.raises(ValueError, match="column 'c': .* too large to scale"):
        SparseELMClassifier(kernel, scale='none').fit(table[list('abc')], table['label'])


@pytest.mark.filterwarnings('error::RuntimeWarning')
@pytest.mark.parametrize('kind', [kind for kinds in ESTIMATORS.values() for kind in kinds if kind._method != 'auto'])
@pytest.mark.parametrize('named', [True, False])
def test_estimators_refuse_it(kind, named):
    table = make_table()
    X, y = table[list('abc')], (table['label'] == 'yes').astype(float)
    for scale in 'standard', 'none':
        with pytest.raises(ValueError, match="column 'c': " if named else r'column 2 \(counted from 0\): '):
            kind(scale=scale).fit(X if named else X.to_numpy(), y)
    assert kind(scale='minmax').fit(X, y).score(X, y) > 0.6
    if kind in ESTIMATORS['regression']:
        with pytest.raises(ValueError, match='y: expected targets whose squares'):
            kind().fit(X[['a', 'b']], 1e200 * y)


def test_rows_that_come_to_an_estimator_are_refused_and_change_nothing():
    X, y = make_table(1)[list('abc')], np.arange(N) % 2
    machine = ESVMClassifier(n_hidden=9).fit(X, y)
    before = machine.decision_function(X)
    for change in machine.partial_fit, machine.forget:
        with pytest.raises(ValueError, match="column 'c': "):
            change(make_table(1e170)[list('abc')], y)
    assert np.array_equal(machine.decision_function(X), before)


@pytest.mark.parametrize('damage', ['output_weights', 'gram'])
def test_a_command_that_would_write_a_model_that_nothing_can_read_fails(elm, tmp_path, monkeypatch, damage):
    make_table(1).to_csv(tmp_path / 'rows.csv', index=False)
    words = 'train', 'pesvm', tmp_path / 'rows.csv', '--hidden', 9, '--model', tmp_path / 'm.npz', '-q'
    from mr_elm.drivers import pesvm

    def spoil(*given):
        model = solve(*given)
        kind = 'sums' if damage in model.sums else 'arrays'
        parts = getattr(model, kind)
        return replace(model, **{kind: {**parts, damage: np.full_like(parts[damage], np.nan)}})

    solve = pesvm.solve
    monkeypatch.setattr(pesvm, 'solve', spoil)
    done = elm(*words)
    assert done.status == 1 and sorted(path.name for path in tmp_path.iterdir()) == ['rows.csv']
    assert f'm.npz: expected a model that can be read back, it is not written (expected finite numbers in {damage}' in (
        done.err
    )
    monkeypatch.undo()
    assert elm(*words).status == 0 and read_model(tmp_path / 'm.npz').n_features == 3
