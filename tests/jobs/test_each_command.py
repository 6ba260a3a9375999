"""Each command once, as a user types it, on a small table: what `make test-quick` runs beside the unit tests."""

import json

import numpy as np
import pytest
from reference.by_hand import run_to_the_last
from reference.commands import succeed

from mr_elm.methods import METHODS


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Work in a folder with 300 rows that a curve parts, 60 of them in another file too."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(300, 3)).round(4)
    lines = [f'{"in" if a * a + b * b < 1.5 else "out"},{a},{b},{c}\n' for a, b, c in X]
    (tmp_path / 'rows.csv').write_text('where,a,b,c\n' + ''.join(lines))
    (tmp_path / 'few.csv').write_text('where,a,b,c\n' + ''.join(lines[:60]))
    (tmp_path / 'rest.csv').write_text('where,a,b,c\n' + ''.join(lines[60:]))
    return tmp_path


@pytest.fixture
def done(elm):
    """Run a command, which must succeed; return what it prints."""

    def run(words):
        result = elm(*words.split(), *([] if words.startswith('inspect') else ['-q']))
        assert result.status == 0, result.err
        return result.out

    return run


@pytest.mark.parametrize('method', METHODS)
def test_each_method_learns_the_table(table, done, method):
    options = '--budget 100' if method == 'auto' else ''
    done(f'train {method} rows.csv --model m.npz {options}')
    assert json.loads(done('evaluate m.npz rows.csv --json'))['accuracy'] > 0.85
    done('predict m.npz rows.csv -o said.csv')
    assert len((table / 'said.csv').read_text().splitlines()) == 301
    assert json.loads(done('inspect m.npz --json'))['method'] == method


def test_rows_come_and_go(table, done):
    done('train pesvm few.csv --hidden 30 --ledger m.ledger --model m.npz')
    done('update m.npz rest.csv --ledger m.ledger --model all.npz')
    done('verify all.npz rows.csv --ledger m.ledger')
    done('forget all.npz few.csv --ledger m.ledger --model left.npz')
    done('verify left.npz rest.csv --ledger m.ledger')


def test_models_are_merged(table, done):
    done('train pesvm few.csv --hidden 30 --model m.npz')
    done('train pesvm rest.csv --like m.npz --model other.npz')
    done('merge m.npz other.npz --model both.npz')
    assert json.loads(done('inspect both.npz --json'))['n_rows_used'] == 300


def test_rows_are_packed_and_parameters_are_tuned(table, done):
    done('pack rows.csv -o pack')
    done('tune sparse-elm pack --folds 2 --sample 200 --model best.npz')
    assert json.loads(done('evaluate best.npz pack --json'))['accuracy'] > 0.8


def test_a_model_is_taken_out_as_a_page(table, elm, done):
    done('train pesvm rows.csv --hidden 10 --model m.npz')
    assert elm('export', 'm.npz', '-o', 'm.html').status == 0
    assert 'm.npz' in (table / 'm.html').read_text()


def test_stages_by_hand_make_the_same_model(table, elm, done):
    done('train pesvm rows.csv --hidden 10 --model m.npz')
    script = elm('train', 'pesvm', 'rows.csv', '--hidden', 10, '--model', 'h.npz', '--script').out
    succeed(elm(*run_to_the_last(script)))
    with np.load('m.npz') as one, np.load('h.npz') as other:
        np.testing.assert_allclose(one['output_weights'], other['output_weights'], rtol=1e-6, atol=1e-9)


def test_rows_are_generated(table, elm, done):
    assert elm('generate', 'twonorm', '--rows', 50, '-o', 'made.csv', '-q').status == 0
    assert len((table / 'made.csv').read_text().splitlines()) == 50
