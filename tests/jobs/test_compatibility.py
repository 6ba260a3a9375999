"""Models that were written once are read for ever: the same predictions, and sums that still live.

`tests/compat` has models and packs that the oldest and the newest Python wrote. docs/reader.mjs, in JavaScript, reads
them too.
"""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from compat.write import MODELS

ROOT = Path(__file__).parents[2]
OLD, COMPAT, READER = ROOT / 'tests/models', ROOT / 'tests/compat', ROOT / 'docs/reader.mjs'
PYTHONS = sorted(path.name for path in COMPAT.iterdir() if path.is_dir() and path.name[0].isdecimal())
NAMES = sorted(path.stem for path in OLD.glob('*.npz') if not path.stem.endswith('.sums'))


def table(path):
    """Read predictions: (labels, scores); of a regression the labels are the scores."""
    rows = [line.split('\t') for line in path.read_text().splitlines()]
    return [row[0] for row in rows], np.array([row[1:] or row for row in rows], dtype=float)


def demand_same(found, expected):
    """Demand the same labels and, but for the rounding of another processor's BLAS, the same scores."""
    (labels, scores), (old_labels, old_scores) = table(found), table(expected)
    np.testing.assert_allclose(scores, old_scores, rtol=1e-11, atol=1e-11)
    assert labels == old_labels or scores.shape[1] == 1


def test_there_is_a_model_of_each_method(model_of):
    methods = {model_of(OLD / f'{name}.npz')[0]['method'] for name in NAMES}
    assert methods == {'pesvm', 'elm', 'sparse-elm', 'oelm', 'sphere-svm', 'mr-kelm'}
    assert {model_of(OLD / f'{name}.npz')[0]['version'] for name in NAMES} == {1}


@pytest.mark.parametrize('name', NAMES)
def test_an_old_model_predicts_what_it_predicted(elm, tmp_path, name):
    done = elm('predict', OLD / f'{name}.npz', OLD / 'later.csv', '--scores', '-o', tmp_path / 'out', '-q')
    assert done == (0, '', '')
    demand_same(tmp_path / 'out', OLD / f'{name}.scores')


def test_an_old_model_is_updated_as_it_was(elm, tmp_path):
    model = tmp_path / 'm.npz'
    assert elm('update', OLD / 'pesvm.npz', OLD / 'later.csv', '--model', model, '-q').status == 0
    assert elm('predict', model, OLD / 'later.csv', '--scores', '-o', tmp_path / 'out', '-q').status == 0
    demand_same(tmp_path / 'out', OLD / 'updated.scores')


@pytest.mark.parametrize('name', ['pesvm', 'pesvm-landmarks'])
def test_rows_leave_an_old_model_as_if_they_had_never_come(elm, tmp_path, model_of, name):
    model = tmp_path / 'm.npz'
    assert elm('update', OLD / f'{name}.npz', OLD / 'later.csv', '--model', model, '-q').status == 0
    assert elm('forget', model, OLD / 'later.csv', '--model', model, '--overwrite', '-q').status == 0
    (_, old), (_, new) = model_of(OLD / f'{name}.npz'), model_of(model)
    assert all(new[part].tobytes() == old[part].tobytes() for part in ('counts', 'hidden_weights') if part in old)
    np.testing.assert_allclose(new['output_weights'], old['output_weights'], rtol=1e-9, atol=1e-11)


def test_an_old_model_is_an_estimator(model_of):
    from mr_elm.estimators import to_estimator
    from mr_elm.model.file import read_model

    X = np.loadtxt(OLD / 'later.csv', delimiter=',', usecols=(1, 2, 3))
    for name in NAMES:
        estimator = to_estimator(read_model(OLD / f'{name}.npz'))
        labels, scores = table(OLD / f'{name}.scores')
        predicted = estimator.predict(X)
        if predicted.dtype.kind == 'f':
            np.testing.assert_allclose(predicted, scores[:, 0], rtol=1e-11)
        else:
            assert predicted.tolist() == labels


def demand_predictions(found, python, name):
    """Demand what was written with a model: the same labels, and numbers to 1e-12, relative where they are above 1."""
    expected = (COMPAT / python / f'{name}.txt').read_text().splitlines()
    for line, known in zip(found, expected, strict=True):
        for text, old in zip(line.split('\t'), known.split('\t'), strict=True):
            assert text == old or float(text) == pytest.approx(float(old), rel=1e-12, abs=1e-12), (python, name)


@pytest.mark.parametrize('python', PYTHONS)
def test_a_model_of_another_python_predicts_what_it_predicted(elm, python):
    packs = set()
    for name, (rows, _, words) in MODELS.items():
        model, pack = COMPAT / python / f'{name}.npz', COMPAT / python / f'pack-{Path(rows).stem}'
        for source in [COMPAT / f'later-{rows}'] if pack in packs else [COMPAT / f'later-{rows}', pack]:
            done = elm('predict', model, source, *(words.split() or ['--scores']), '-q', '-r', 'inline', '-o', '-')
            assert (done.status, done.err) == (0, '')
            demand_predictions(done.out.splitlines(), python, name)
        packs.add(pack)


@pytest.mark.skipif(shutil.which('node') is None, reason='needs Node.js')
def test_a_program_of_another_language_predicts_the_same():
    known = [(name, *model) for name, model in MODELS.items() if '--interval' not in model[2]]
    wanted = [
        (python, name, [str(folder / f'{name}.npz'), str(source), words == '--probabilities'])
        for python, folder in ((python, COMPAT / python) for python in PYTHONS)
        for name, rows, _, words in known
        for source in (COMPAT / f'later-{rows}', folder / f'pack-{Path(rows).stem}')
    ]
    script = f"""
        import {{ predictFile }} from {json.dumps(str(READER))}
        const wanted = JSON.parse(process.argv[1])
        console.log(JSON.stringify(wanted.map((words) => predictFile(...words))))"""
    words = json.dumps([each[-1] for each in wanted])
    done = subprocess.run(['node', '--input-type=module', '-e', script, words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, '')
    for (python, name, _), lines in zip(wanted, json.loads(done.stdout), strict=True):
        demand_predictions(lines, python, name)


@pytest.mark.skipif(shutil.which('node') is None, reason='needs Node.js')
def test_the_program_prints_what_predict_prints():
    command = ['node', READER, COMPAT / '3.13/mr-kelm.npz', COMPAT / 'later-three.csv']
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    demand_predictions(done.stdout.splitlines(), '3.13', 'mr-kelm')
