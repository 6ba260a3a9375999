"""Logarithms of targets: a machine of log t answers in the unit of t, in every command and estimator."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from mr_elm.estimators import AutoRegressor, ELMRegressor, ESVMRegressor, KernelELMRegressor, to_estimator
from mr_elm.model.file import read_model
from mr_elm.scores.selection import HELD_OUT_KEY, select_sample
from mr_elm.store import load_arrays

OPTIONS = ('--task', 'regression', '--label-column', 'price')


def make_prices(n, seed):
    generator = np.random.default_rng(seed)
    area, floor = generator.uniform(20, 200, n), generator.integers(0, 9, n)
    price = np.exp(5 + 0.03 * area - 0.1 * floor + generator.normal(0, 0.2, n))
    return pd.DataFrame({'price': price, 'area': area, 'floor': floor.astype(float)})


@pytest.fixture
def paths(tmp_path):
    """Write prices, and the same as logarithms: (prices, later prices, logarithms, later logarithms)."""
    found = []
    for seed, n in ((0, 300), (1, 60)):
        frame = make_prices(n, seed)
        frame.to_csv(tmp_path / f'{seed}.csv', index=False)
        frame.assign(price=np.log(frame['price'])).to_csv(tmp_path / f'log{seed}.csv', index=False)
    found = [tmp_path / name for name in ('0.csv', '1.csv', 'log0.csv', 'log1.csv')]
    return found


@pytest.fixture
def answer(elm, tmp_path):
    """Predict rows with bounds: (n, 3), or (n, 1) without."""

    def run(model, path, *words):
        done = elm('predict', model, path, '-o', tmp_path / 'said', '--overwrite', '-q', *words)
        assert done == (0, '', ''), done
        return np.loadtxt(tmp_path / 'said', ndmin=2)

    return run


def train(elm, path, out, *words):
    done = elm('train', *words, path, *OPTIONS, '--model', out, '-q', '--overwrite')
    assert done == (0, '', ''), done
    return out


@pytest.mark.parametrize(
    'method',
    [
        'pesvm --hidden 30 --intervals',
        'elm --hidden 30 --solver passes',
        'mr-kelm --C 10',
        'auto --budget 100',
    ],
)
def test_predictions_and_bounds_are_powers_of_those_of_logarithms(elm, answer, paths, tmp_path, method):
    raw, later, logs, later_logs = paths
    words = method.split()
    bounds = ['--interval', '0.8'] if '--intervals' in words else []
    model = train(elm, raw, tmp_path / 'm.npz', *words, '--target', 'log')
    other = train(elm, logs, tmp_path / 'n.npz', *words)
    found = answer(model, later, *bounds)
    np.testing.assert_allclose(found, np.exp(answer(other, later_logs, *bounds)), rtol=1e-6)
    assert 'target' in load_arrays(model)[0]['requires'] and 'target' not in load_arrays(other)[0]['requires']
    scores = json.loads(elm('evaluate', model, later, '--json', '-q').out)
    errors = make_prices(60, 1)['price'] - found[:, 0]
    assert scores['rmse'] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert 'medians' in elm('inspect', model).out


def test_rows_come_and_go_as_logarithms(elm, answer, paths, tmp_path):
    raw, later, _, _ = paths
    words = ('pesvm', '--hidden', '20', '--scale', 'none', '--target', 'log')
    model = train(elm, raw, tmp_path / 'm.npz', *words)
    assert elm('update', model, later, '--model', tmp_path / 'both.npz', '-q').status == 0
    assert elm('forget', tmp_path / 'both.npz', later, '--model', tmp_path / 'back.npz', '-q').status == 0
    assert (answer(tmp_path / 'both.npz', raw) != answer(model, raw)).any()
    np.testing.assert_allclose(answer(tmp_path / 'back.npz', raw), answer(model, raw), rtol=1e-7)
    assert elm('pack', raw, *OPTIONS, '-o', tmp_path / 'packed', '-q').status == 0
    packed = tmp_path / 'p.npz'
    done = elm('train', *words, tmp_path / 'packed', '--task', 'regression', '--model', packed, '-q')
    assert done == (0, '', '')
    np.testing.assert_allclose(answer(packed, later), answer(model, later), rtol=1e-7)
    loo = json.loads(elm('evaluate', model, raw, '--leave-one-out', '--json', '-q').out)
    assert loo['rmse'] > json.loads(elm('evaluate', model, raw, '--json', '-q').out)['rmse']


def test_a_target_without_a_logarithm_is_a_bad_row(elm, paths, tmp_path):
    bad = tmp_path / 'bad.csv'
    bad.write_text(paths[0].read_text() + '0,50,1\n')
    words = ['train', 'pesvm', bad, *OPTIONS, '--hidden', 20, '--model', tmp_path / 'm.npz', '--target']
    done = elm(*words, 'log', '-q')
    assert done.status == 1 and 'line 302: target is not above 0' in done.err and '--target log' in done.err
    assert elm(*words, 'log', '-q', '--bad-rows', 'skip').status == 0
    chosen = elm(*words, 'auto', '--overwrite', '--bad-rows', 'skip')
    assert chosen.status == 0 and 'target: none' in chosen.err
    assert load_arrays(tmp_path / 'm.npz')[0]['requires'] == []


def test_auto_takes_what_errs_less_in_the_unit_of_the_targets(elm, paths, tmp_path):
    raw, _, logs, _ = paths
    for path, expected in ((raw, ['target']), (logs, [])):
        words = ('train', 'pesvm', path, *OPTIONS, '--map', 'identity', '--model', tmp_path / 'm.npz', '--overwrite')
        done = elm(*words, '--target', 'auto')
        assert 'error of held-out rows' in done.err, done
        assert load_arrays(tmp_path / 'm.npz')[0]['requires'] == expected
    assert elm('train', 'pesvm', raw, '--target', 'log', '--model', tmp_path / 'x.npz').status == 2
    done = elm(*words, '--target', 'auto', '--script')
    assert done.status == 1 and 'whose stages run one by one' in done.err


def test_auto_chooses_on_the_rows_of_the_training_alone(elm, paths, tmp_path):
    """Whatever the targets of the test are, the choice and the model are the same; the score is in their unit."""
    raw, out = paths[0], tmp_path / 'm.npz'
    words = ('train', 'pesvm', raw, *OPTIONS, '--hidden', '20', '--model', out, '--overwrite', '--test', '0.3')
    chosen = elm(*words, '--target', 'auto', '--json')
    line, scores = re.search('target: log, .*', chosen.err)[0], json.loads(chosen.out)
    direct = json.loads(elm(*words, '--target', 'log', '--json', '-q').out)
    assert scores['test'] == direct['test'] and scores['rows'] == direct['rows'] == 300 - scores['test']['rows']
    frame = pd.read_csv(raw)
    held = select_sample(frame.drop(columns='price').to_numpy(float), 0.3, HELD_OUT_KEY)
    assert held.sum() == scores['test']['rows']
    frame.loc[held, 'price'] *= 1000
    frame.to_csv(raw, index=False)
    other = elm(*words, '--target', 'auto', '--json')
    assert line in other.err and json.loads(other.out)['test']['rmse'] > 100 * scores['test']['rmse']


def test_a_search_learns_logarithms_and_its_choice_is_that_of_a_training(elm, answer, paths, tmp_path):
    raw, later, logs, later_logs = paths
    words = ('--hidden', '10', '--nu', '0.1,10')
    for method, grid in (('pesvm', words), ('mr-kelm', ('--sigma', '1', '--C', '1,10'))):
        said = {}
        for path, target in ((raw, 'log'), (logs, 'none')):
            out = tmp_path / f'{target}.npz'
            done = elm('tune', method, path, *OPTIONS, *grid, '--target', target, '--model', out, '-q', '--overwrite')
            assert done.status == 0, done
            said[target] = done.out
        assert said['log'] == said['none']
        found, expected = answer(tmp_path / 'log.npz', later), answer(tmp_path / 'none.npz', later_logs)
        np.testing.assert_allclose(found, np.exp(expected), rtol=1e-6)
    chosen = []
    for command, more in (('tune', words), ('train', ())):
        out = tmp_path / f'{command}.npz'
        done = elm(command, 'pesvm', raw, *OPTIONS, *more, '--target', 'auto', '--model', out)
        chosen.append([line for line in done.err.splitlines() if line.startswith('target: ')])
        assert ('log' in chosen[-1][0].partition(',')[0]) == ('target' in load_arrays(out)[0]['requires'])
    assert chosen[0] == chosen[1]
    assert 'task regression' in elm('tune', 'pesvm', raw, '--target', 'log').err


def test_sites_learn_logarithms_if_all_of_them_say_so(elm, answer, paths, tmp_path):
    raw, later, logs, later_logs = paths
    models = {}
    for target, names in (('log', (raw, later)), ('none', (logs, later_logs))):
        for number, path in enumerate(names):
            out = tmp_path / f'{target}{number}.stats.json'
            words = ('--task', 'regression', '--label-column', 'price', '--target', target)
            assert elm('sums', path, '--statistics', *words, '-o', out, '-q').status == 0
        stats, layer = (
            [tmp_path / f'{target}{number}.stats.json' for number in (0, 1)],
            tmp_path / f'{target}.layer.npz',
        )
        assert elm('layer', 'pesvm', *stats, '--task', 'regression', '--hidden', 20, '--model', layer, '-q').status == 0
        for number, path in enumerate(names):
            assert elm('sums', path, '--layer', layer, '-o', tmp_path / f'{target}{number}.sums.npz', '-q').status == 0
        sums = [tmp_path / f'{target}{number}.sums.npz' for number in (0, 1)]
        models[target] = tmp_path / f'{target}.npz'
        assert elm('merge', *sums, '--model', models[target], '-q').status == 0
    np.testing.assert_allclose(answer(models['log'], raw), np.exp(answer(models['none'], logs)), rtol=1e-6)
    mixed = [tmp_path / 'log0.stats.json', tmp_path / 'none1.stats.json']
    words = ('layer', 'pesvm', *mixed, '--task', 'regression', '--model', tmp_path / 'x.npz')
    assert 'found other --target' in elm(*words).err
    for words in (['--statistics', '--target', 'auto'], ['--layer', tmp_path / 'log.layer.npz', '--target', 'log']):
        done = elm('sums', raw, '--task', 'regression', *words, '-o', tmp_path / 'x.stats.json')
        assert done.status == 2 and '--target: expected log with --statistics' in done.err


def test_other_programs_answer_in_the_unit_of_the_targets(elm, answer, paths, tmp_path):
    onnxruntime, duckdb = pytest.importorskip('onnxruntime'), pytest.importorskip('duckdb')
    model = train(elm, paths[0], tmp_path / 'm.npz', 'pesvm', '--hidden', '20', '--target', 'log')
    expected, later = answer(model, paths[1])[:, 0], make_prices(60, 1)
    for name in ('m.onnx', 'm.sql'):
        assert elm('export', model, '-o', tmp_path / name).status == 0
    columns = {name: later[[name]].to_numpy() for name in ('area', 'floor')}
    found = onnxruntime.InferenceSession(str(tmp_path / 'm.onnx')).run(['label'], columns)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with duckdb.connect() as database:
        database.register('rows', later)
        rows = database.sql((tmp_path / 'm.sql').read_text()).fetchnumpy()
    np.testing.assert_allclose(next(iter(rows.values())), expected, rtol=1e-6)


@pytest.mark.parametrize(
    'make',
    [
        lambda **more: ESVMRegressor(n_hidden=30, intervals=True, **more),
        lambda **more: ELMRegressor(n_hidden=30, **more),
        lambda **more: KernelELMRegressor(**more),
        lambda **more: AutoRegressor(budget=100, **more),
    ],
)
def test_estimators_answer_in_the_unit_of_the_targets(make, tmp_path):
    frame, later = make_prices(200, 0), make_prices(50, 1)
    X, y, new = frame[['area', 'floor']], frame['price'], later[['area', 'floor']]
    fitted, other = make(target='log').fit(X, y), make().fit(X, np.log(y))
    np.testing.assert_allclose(fitted.predict(new), np.exp(other.predict(new)))
    if hasattr(fitted, 'predict_interval'):
        np.testing.assert_allclose(fitted.predict_interval(new, 0.8), np.exp(other.predict_interval(new, 0.8)))
    fitted.to_model().save(tmp_path / 'm.npz')
    again = to_estimator(read_model(tmp_path / 'm.npz'))
    np.testing.assert_allclose(again.predict(new), fitted.predict(new))
    np.testing.assert_allclose(read_model(tmp_path / 'm.npz').predict(new.to_numpy()), fitted.predict(new))
    with pytest.raises(ValueError, match='expected targets above 0'):
        make(target='log').fit(X, y - y.min())
    with pytest.raises(ValueError, match='target: expected'):
        make(target='root').fit(X, y)


@pytest.mark.parametrize(
    ('make', 'words'),
    [
        (lambda **more: ESVMRegressor(n_hidden=30, **more), 'pesvm --hidden 30'),
        (lambda **more: ELMRegressor(n_hidden=30, **more), 'elm --hidden 30'),
        (lambda **more: KernelELMRegressor(**more), 'mr-kelm'),
    ],
)
def test_auto_chooses_the_target_of_the_command_by_the_same_rows(elm, answer, paths, tmp_path, make, words, capsys):
    for path, later in ((paths[0], paths[1]), (paths[2], paths[3])):
        frame, new = pd.read_csv(path), pd.read_csv(later)
        model = tmp_path / 'm.npz'
        done = elm('train', *words.split(), path, *OPTIONS, '--target', 'auto', '--model', model, '--overwrite')
        fitted = make(target='auto', verbose=1).fit(frame[['area', 'floor']].to_numpy(), frame['price'].to_numpy())
        said = [line for line in done.err.splitlines() if line.startswith('target: ')]
        assert said and said[0] in capsys.readouterr().err
        expected = answer(model, later)[:, 0]
        np.testing.assert_allclose(fitted.predict(new[['area', 'floor']].to_numpy()), expected, rtol=1e-6)
        assert to_estimator(read_model(model)).target_ == fitted.target_
    X, y = frame[['area', 'floor']].to_numpy(), frame['price'].to_numpy()
    fitted = make(target='auto').fit(X, y - y.min())
    assert fitted.target_ == 'none'


def test_packs_keep_targets_as_they_are(elm, paths, tmp_path):
    assert elm('pack', paths[0], *OPTIONS, '--target', 'log', '-o', tmp_path / 'packed').status == 2


def test_models_of_targets_and_of_their_logarithms_are_not_merged(elm, paths, tmp_path):
    words = 'pesvm', '--hidden', '10', '--scale', 'none'
    one = train(elm, paths[0], tmp_path / 'm.npz', *words, '--target', 'log')
    other = train(elm, paths[2], tmp_path / 'n.npz', *words)
    assert (
        'expected targets whose logarithms are learned as in'
        in elm('merge', one, other, '--model', tmp_path / 'both.npz').err
    )
