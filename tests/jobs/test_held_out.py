"""train --test and --json: rows that the training does not see, and what it prints of itself."""

import json
import re

import numpy as np
import pytest

from mr_elm.cli import main
from mr_elm.model.file import read_model
from mr_elm.scores.selection import HELD_OUT_KEY, select_sample

SHARE = 0.3
WORDS = ('--hidden', '20', '-q', '--json')


def run(capsys, *words):
    assert main(list(map(str, words))) == 0
    return json.loads(capsys.readouterr().out)


def write_table(path, X, labels):
    lines = (','.join(map(str, [label, *row])) for label, row in zip(labels, X.tolist(), strict=True))
    path.write_text('\n'.join(['y,a,b,c', *lines, '']), encoding='utf-8')
    return path


def make_rows(n=600, regression=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).round(6)
    target = X[:, 0] + X[:, 1] ** 2
    return X, target if regression else np.where(target > 0.6, 'yes', 'no')


@pytest.mark.parametrize(
    'method, task',
    [('pesvm', 'classification'), ('pesvm', 'regression'), ('mr-kelm', 'classification'), ('oelm', 'classification')],
)
def test_the_model_is_that_of_the_other_rows_and_the_scores_are_those_of_the_held_out_ones(
    tmp_path, capsys, method, task
):
    X, labels = make_rows(regression=task == 'regression')
    held = select_sample(X, SHARE, HELD_OUT_KEY)
    rows = write_table(tmp_path / 'rows.csv', X, labels)
    seen = write_table(tmp_path / 'seen.csv', X[~held], labels[~held])
    test = write_table(tmp_path / 'test.csv', X[held], labels[held])
    words = ['--task', task, '-q'] if method == 'pesvm' else ['-q']
    said = run(capsys, 'train', method, rows, '--model', tmp_path / 'm.npz', '--test', SHARE, '--json', *words)
    apart = run(capsys, 'train', method, seen, '--model', tmp_path / 's.npz', '--test', test, '--json', *words)
    assert (
        (said['rows'], said['test']['rows']) == (600 - held.sum(), held.sum()) == (apart['rows'], apart['test']['rows'])
    )
    model, other = read_model(tmp_path / 'm.npz'), read_model(tmp_path / 's.npz')
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), rtol=1e-6, atol=1e-6)
    score = 'r2' if task == 'regression' else 'accuracy'
    assert said['test'][score] == pytest.approx(apart['test'][score], abs=1e-6) and said['test'][score] > 0.8
    evaluated = run(capsys, 'evaluate', tmp_path / 'm.npz', test, '--json', '-q')
    assert evaluated[score] == pytest.approx(said['test'][score], abs=1e-9)


def test_which_rows_are_held_out_does_not_depend_on_runner_format_and_order(tmp_path, capsys):
    X, labels = make_rows()
    order = np.random.default_rng(1).permutation(600)
    rows, turned = (
        write_table(tmp_path / f'{name}.csv', X[way], labels[way])
        for name, way in (('rows', slice(None)), ('turned', order))
    )
    assert main(['pack', str(rows), '-o', str(tmp_path / 'pack'), '-q']) == 0
    said = [
        run(capsys, 'train', 'pesvm', path, *WORDS, '--model', tmp_path / f'{k}.npz', '--test', SHARE, *more)
        for k, (path, more) in enumerate(
            [(rows, ()), (turned, ()), (tmp_path / 'pack', ()), (rows, ('-r', 'local', '--jobs', 2))]
        )
    ]
    assert len({(each['rows'], each['test']['rows'], each['test']['accuracy']) for each in said}) == 1


def test_tables_with_text_and_gaps_are_encoded_before_rows_are_held_out(tmp_path, capsys):
    X, labels = make_rows()
    table = X.astype(object)
    table[:, 2] = np.where(X[:, 2] > 0, 'red', 'blue')
    table[::7, 1] = ''
    rows = write_table(tmp_path / 'rows.csv', table, labels)
    said = run(
        capsys, 'train', 'pesvm', rows, *WORDS, '--encode', 'auto', '--model', tmp_path / 'm.npz', '--test', SHARE
    )
    assert said['rows'] + said['test']['rows'] == 600 and 120 < said['test']['rows'] < 240
    assert said['features'] == 6 and said['test']['accuracy'] > 0.75


def test_a_test_of_much_fewer_rows_than_was_asked_for_is_named_once_and_of_most_rows_refused(tmp_path, capsys):
    """Most rows agree in the features that are left of them, so they go together."""
    X, labels = make_rows(500)
    words = ('--encode', 'auto', '--test', '0.3', '--hidden', '20', '--max-categories', '1', '--json')
    model, statuses = tmp_path / 'm.npz', set()
    for frequent in (0, 1):
        rare = 1 - frequent
        numbers = np.where(X[:, 0] > 2.5, rare, frequent)
        lines = [f'{label},{number},text {i}' for i, (label, number) in enumerate(zip(labels, numbers, strict=True))]
        rows = tmp_path / f'{frequent}.csv'
        rows.write_text('\n'.join(['y,a,b', *lines, '']), encoding='utf-8')
        status = main(['train', 'pesvm', str(rows), '--model', str(model), *words])
        said = capsys.readouterr()
        n_rows = int(re.search(r'found (\d+) of 500 for the test', said.err)[1])
        assert status == (n_rows > 450) == (not model.exists()) and said.err.count('for the test') == 1
        assert status or n_rows < 50
        statuses.add(status)
        model.unlink(missing_ok=True)
    assert statuses == {0, 1}
    good = write_table(tmp_path / 'good.csv', X, labels)
    assert main(['train', 'pesvm', str(good), '--model', str(tmp_path / 'g.npz'), '--test', '0.3']) == 0
    assert 'for the test' not in capsys.readouterr().err


def test_a_held_out_row_may_have_a_feature_that_no_other_row_has(tmp_path, capsys):
    lines = [f'{k % 2} 1:{k % 2 + k / 1000} {10 + k}:1\n' for k in range(200)]
    (tmp_path / 'rows.libsvm').write_text(''.join(lines))
    said = run(
        capsys, 'train', 'pesvm', tmp_path / 'rows.libsvm', *WORDS, '--model', tmp_path / 'm.npz', '--test', SHARE
    )
    assert said['rows'] + said['test']['rows'] == 200


def test_later_commands_see_all_rows(tmp_path, capsys):
    X, labels = make_rows()
    rows = write_table(tmp_path / 'rows.csv', X, labels)
    run(capsys, 'train', 'pesvm', rows, *WORDS, '--model', tmp_path / 'm.npz', '--test', SHARE)
    assert run(capsys, 'evaluate', tmp_path / 'm.npz', rows, '--json', '-q')['rows'] == 600


def test_json_says_what_was_trained(tmp_path, capsys):
    X, labels = make_rows()
    rows = write_table(tmp_path / 'rows.csv', X, labels)
    said = run(capsys, 'train', 'pesvm', rows, *WORDS, '--model', tmp_path / 'm.npz')
    assert (said['model'], said['files'], said['method']) == (str(tmp_path / 'm.npz'), [str(rows)], 'pesvm')
    assert (said['rows'], said['features'], said['classes'], said['test']) == (600, 3, ['no', 'yes'], None)
    assert said['options']['n_hidden'] == 20 and said['seconds'] > 0


def test_a_share_above_all_rows_is_refused(tmp_path, capsys):
    rows = write_table(tmp_path / 'rows.csv', *make_rows(60))
    with pytest.raises(SystemExit) as stop:
        main(['train', 'pesvm', str(rows), '--model', str(tmp_path / 'm.npz'), '--test', '1.5'])
    assert stop.value.code == 2 and 'expected a share above 0 and below 1, or a file' in capsys.readouterr().err


@pytest.mark.parametrize('content', [None, ''])
def test_a_test_file_without_rows_is_found_before_the_training(tmp_path, capsys, content):
    rows = write_table(tmp_path / 'rows.csv', *make_rows(60))
    if content is not None:
        (tmp_path / 'test.csv').write_text(content)
    assert (
        main(['train', 'pesvm', str(rows), '--model', str(tmp_path / 'm.npz'), '--test', str(tmp_path / 'test.csv')])
        == 1
    )
    assert 'test.csv: expected' in capsys.readouterr().err and not (tmp_path / 'm.npz').exists()


@pytest.mark.parametrize(
    'method, encode', [('pesvm', 'refuse'), ('pesvm', 'auto'), ('oelm', 'auto'), ('auto', 'refuse')]
)
@pytest.mark.parametrize('kind', ['test', 'training'])
def test_rows_that_all_go_to_one_side_are_refused_before_anything_is_written(tmp_path, capsys, method, encode, kind):
    """All rows have the same features, so they go together."""
    candidates = np.tile(np.arange(20.0)[:, None], 3)
    chosen = candidates[select_sample(candidates, 0.5, HELD_OUT_KEY) == (kind == 'training')][0]
    rows = write_table(tmp_path / 'rows.csv', np.tile(chosen, (30, 1)), np.arange(30) % 2)
    words = ['train', method, str(rows), '--model', str(tmp_path / 'm.npz'), '--test', '0.5', '-q', '--encode', encode]
    assert main(words) == 1
    said, held = capsys.readouterr(), {'test': 0, 'training': 30}[kind]
    assert said.err.startswith('mr-elm: --test 0.5: ') and f'found {held} of 30 for the test' in said.err
    assert said.err.count('\n') == 1 and list(tmp_path.iterdir()) == [rows]


@pytest.mark.parametrize('method', ['pesvm', 'mr-kelm', 'oelm'])
@pytest.mark.parametrize('words', [(), ('--task', 'regression', '--target', 'log')], ids=['classes', 'logarithms'])
def test_a_model_of_packed_rows_knows_its_columns_although_some_rows_were_held_out(elm, tmp_path, method, words):
    if words and method != 'pesvm':
        return
    X, labels = make_rows(regression=bool(words))
    rows = write_table(tmp_path / 'rows.csv', X, np.exp(labels) if words else labels)
    swapped = write_table(tmp_path / 'swapped.csv', X[:, ::-1], labels)
    swapped.write_text(swapped.read_text().replace('y,a,b,c', 'y,c,b,a'))
    elm('pack', rows, '-o', tmp_path / 'pack', *words[:2], '-q')
    model = tmp_path / 'm.npz'
    assert elm('train', method, tmp_path / 'pack', '--model', model, '--test', SHARE, *words, '-q').status == 0
    answers = [elm('predict', model, path, '-o', '-', '--scores', '-q').out for path in (rows, swapped)]
    assert answers[0] == answers[1] and len(answers[0].splitlines()) == 600


@pytest.mark.parametrize('words', [('--drop', 'a'), ('--columns', 'b,c'), ('--category', 'a')], ids=' '.join)
def test_columns_are_chosen_before_rows_are_packed(elm, tmp_path, words):
    elm('pack', write_table(tmp_path / 'rows.csv', *make_rows()), '-o', tmp_path / 'pack', '-q')
    done = elm('train', 'pesvm', tmp_path / 'pack', *words, '--hidden', 5, '--model', tmp_path / 'm.npz')
    assert done.status == 1 and f'expected rows that are not packed yet for {words[0]}: say it to' in done.err
