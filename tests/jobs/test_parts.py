"""The sums of each file of a training: scores, drift and models of some files, as if trained on their rows alone."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.files import LOCAL

from mr_elm.engines.local import Local
from mr_elm.model.file import read_model

D, N, PARTS = 4, 60, 3
KINDS = {'two': (), 'three': (), 'numbers': ('--task', 'regression'), 'elm': ()}


@pytest.fixture
def files(write, rng, csv_of):
    """Give a function that draws rows of a kind in three files: [(path, X, T)], T the targets of each column."""

    def draw(kind):
        found = []
        for k in range(PARTS):
            X = rng.normal(size=(N + 10 * k, D)) + 0.3 * k
            groups = (X[:, 0] > 0) * 1 + (X[:, 1] > 0) * (kind == 'three')
            labels, T = groups, 2.0 * (groups[:, None] == np.arange(3 if kind == 'three' else 2)) - 1
            if kind != 'three':
                T = T[:, 1:]
            if kind == 'numbers':
                labels = 50 + 7 * X[:, 0] ** 2
                T = labels[:, None]
            found.append((write(f'{k}.csv', csv_of(labels.tolist(), X)), X, T))
        return found

    return draw


@pytest.fixture
def succeed(elm, tmp_path):
    """Run a command quietly that must succeed: the path of its model."""

    def run(*words, model='m.npz'):
        done = elm(*words, '--model', tmp_path / model, '-q')
        assert done.status == 0, done.err
        return tmp_path / model

    return run


@pytest.mark.parametrize('kind', KINDS)
def test_scores_and_drift_are_those_of_models_trained_without_a_file(elm, succeed, files, kind):
    parts, method = files(kind), 'elm' if kind == 'elm' else 'pesvm'
    paths = [path for path, _, _ in parts]
    model = succeed('train', method, *paths, '--hidden', 12, '--part-by', 'file', *KINDS[kind], *LOCAL)
    found = json.loads(elm('parts', model, '--nu', '0.5,4', '--json').out)
    assert [(part['name'], part['rows']) for part in found['parts']] == [(path.name, len(X)) for path, X, _ in parts]
    everything = np.vstack([X for _, X, _ in parts])
    for k, (path, X, T) in enumerate(parts):
        others = [other for other in paths if other != path]
        for score in found['scores']:
            nu = '--C' if method == 'elm' else '--nu', score['nu']
            rest = succeed('train', method, *others, '--like', model, *nu, model=f'{k}-{score["nu"]}.npz')
            error = ((read_model(rest).decision_function(X) - T) ** 2).sum() / len(X)
            assert score['errors'][k] == pytest.approx(error, rel=1e-6)
        rest = read_model(succeed('train', method, *others, '--like', model, model=f'rest-{k}.npz'))
        own = read_model(succeed('train', method, path, '--like', model, model=f'own-{k}.npz'))
        differences = own.decision_function(everything) - rest.decision_function(everything)
        drift = np.sqrt((differences**2).sum() / len(everything))
        assert found['parts'][k]['drift'] == pytest.approx(drift, rel=1e-6)


def test_all_files_and_some_of_them_are_the_models_of_their_rows(elm, succeed, files, model_of):
    parts = files('three')
    paths = [path for path, _, _ in parts]
    model = succeed('train', 'pesvm', *paths, '--hidden', 12, '--part-by', 'file')
    plain = succeed('train', 'pesvm', *paths, '--hidden', 12, model='plain.npz')
    assert np.array_equal(*(model_of(path)[1]['output_weights'] for path in (model, plain)))
    some = succeed('parts', model, '--without', '1.csv', model='some.npz')
    rest = succeed('train', 'pesvm', paths[0], paths[2], '--like', model, model='rest.npz')
    assert np.array_equal(*(model_of(path)[1]['output_weights'] for path in (some, rest)))
    assert json.loads(elm('parts', some, '--json').out)['parts'][1]['name'] == '2.csv'
    one = succeed('parts', some, '--only', '2.csv', model='one.npz')
    alone = succeed('train', 'pesvm', paths[2], '--like', model, model='alone.npz')
    X = parts[2][1]
    assert np.allclose(*(read_model(path).decision_function(X) for path in (one, alone)), rtol=0, atol=1e-8)
    # a model without a file lives on: that file comes back, or another one leaves
    back = read_model(succeed('update', some, paths[1], model='back.npz'))
    assert np.allclose(back.decision_function(X), read_model(plain).decision_function(X), rtol=0, atol=1e-8)


def test_parts_that_are_left_have_the_classes_that_are_left(elm, succeed, write, csv_of, rng):
    paths = [write(f'{k}.csv', csv_of(np.arange(40) % (2 + k // 2), rng.normal(size=(40, D)))) for k in range(3)]
    model = succeed('train', 'pesvm', *paths, '--hidden', 7, '--part-by', 'file')
    left = succeed('parts', model, '--without', '2.csv', model='left.npz')
    again = succeed('train', 'pesvm', *paths[:2], '--like', model, '--part-by', 'file', model='again.npz')
    assert read_model(left).classes == ['0', '1']
    found, wanted = (json.loads(elm('parts', path, '--json').out) for path in (left, again))
    assert found['scores'][0]['errors'] == pytest.approx(wanted['scores'][0]['errors'], rel=1e-8)
    for part, other in zip(found['parts'], wanted['parts'], strict=True):
        assert (part['name'], part['rows']) == (other['name'], other['rows'])
        assert part['drift'] == pytest.approx(other['drift'], rel=1e-6)


def test_folders_name_parts_and_are_no_features(elm, succeed, tmp_path, rng, write):
    X, site, month = rng.normal(size=(200, D)), np.arange(200) % 2, np.arange(200) % 3
    table = pa.table(
        {
            'y': (X[:, 0] > 0) * 1,
            **{f'x{j}': column for j, column in enumerate(X.T)},
            'site': np.array(['Oslo', 'New York'])[site],
            'month': month,
        }
    )
    pq.write_to_dataset(table, tmp_path / 'rows', partition_cols=['site', 'month'])
    model = succeed('train', 'pesvm', tmp_path / 'rows', '--label-column', 'y', '--hidden', 9, '--part-by', 'site')
    found = json.loads(elm('parts', model, '--json').out)
    assert {(part['name'], part['rows']) for part in found['parts']} == {('Oslo', 100), ('New York', 100)}
    assert read_model(model).header.parameters['input']['names'] == [*(f'x{j}' for j in range(D)), 'month']
    fine = succeed(
        'train',
        'pesvm',
        tmp_path / 'rows',
        '--label-column',
        'y',
        '--hidden',
        9,
        '--part-by',
        'site,month',
        model='fine.npz',
    )
    assert len(json.loads(elm('parts', fine, '--json').out)['parts']) == 6
    left = succeed(
        'parts', fine, '--without', 'Oslo,0', '--without', 'Oslo,2', '--without', 'New York,1', model='left.npz'
    )
    kept = (site == 0) & (month == 1) | (site == 1) & (month != 1)
    pq.write_table(table.filter(kept), tmp_path / 'kept.parquet')
    again = succeed('train', 'pesvm', tmp_path / 'kept.parquet', '--like', fine, model='again.npz')
    assert read_model(left).n_features == D
    assert np.allclose(*(read_model(path).decision_function(X) for path in (left, again)), rtol=0, atol=1e-8)


@pytest.fixture
def table(rng):
    """Draw 240 rows of two classes at three sites in four months, mixed: a table of Arrow."""
    X, n = rng.normal(size=(240, D)), np.arange(240)
    order = rng.permutation(240)
    return pa.table(
        {
            'y': ((X[:, 0] > 0) * 1)[order],
            'site': np.array(['Oslo', 'New York, NY', 'Ærø'])[n % 3][order],
            **{f'x{j}': column[order] for j, column in enumerate(X.T)},
            'month': (n % 4)[order],
        }
    )


def write_rows(table, kind, path, elm):
    """Write a table as rows of a kind; returns what to train on."""
    if kind == 'parquet':
        pq.write_table(table, path, row_group_size=50)
    elif kind == 'arrow':
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, 50)
    else:
        table.to_pandas().to_csv(path, index=False)
    if kind != 'packed':
        return path
    words = '--label-column', 'y', '--part-by', 'month,site', '--block-rows', 32, '-q'
    assert elm('pack', path, '-o', f'{path}-packed', *words).status == 0
    return f'{path}-packed'


@pytest.mark.parametrize('maps', [1, 5])
def test_columns_inside_files_name_the_same_parts_in_all_formats(elm, succeed, table, tmp_path, model_of, maps):
    tasks, models = ('-r', 'inline', '-D', f'mapreduce.job.maps={maps}'), []
    for kind in ('csv', 'parquet', 'arrow', 'packed'):
        rows = write_rows(table, kind, tmp_path / f'{kind}-rows', elm)
        words = '--label-column', 'y', '--hidden', 9, '--part-by', 'month,site', *tasks
        models.append(succeed('train', 'pesvm', rows, *words, model=f'{kind}.npz'))
        found = json.loads(elm('parts', models[-1], '--json').out)['parts']
        assert [(part['name'], part['rows']) for part in found] == [
            (f'{month},{site}', 20) for month in range(4) for site in ('"New York, NY"', 'Oslo', 'Ærø')
        ]
        # the columns are no features, and rows for the model may have them or not
        assert read_model(models[-1]).header.parameters['input']['names'] == [f'x{j}' for j in range(D)]
    csv = tmp_path / 'csv-rows'
    models.append(
        succeed('train', 'pesvm', csv, '--label-column', 'y', '--drop', 'site,month', '--hidden', 9, model='x.npz')
    )
    first = read_model(models[0])
    X = np.column_stack([table[f'x{j}'] for j in range(D)])
    for model in map(read_model, models[1:]):
        np.testing.assert_allclose(model.decision_function(X), first.decision_function(X), rtol=0, atol=1e-8)
    bare = tmp_path / 'bare.csv'
    table.drop(['site', 'month']).to_pandas().to_csv(bare, index=False)
    scores = [elm('evaluate', models[0], rows, '--json', '-q').out for rows in (csv, bare)]
    assert scores[0] == scores[1]
    grown = succeed('update', models[0], bare, model='grown.npz')
    back = succeed('forget', grown, csv, model='back.npz')
    assert np.allclose(*(read_model(path).decision_function(X) for path in (models[0], back)), rtol=0, atol=1e-6)
    assert 'train --part-by' in elm('parts', back).err


def test_parts_of_columns_by_position_and_of_processes(elm, succeed, table, tmp_path):
    table.to_pandas().to_csv(tmp_path / 'rows.csv', index=False, header=False)
    model = succeed('train', 'pesvm', tmp_path / 'rows.csv', '--hidden', 7, '--drop', '1', '--part-by', '-1', *LOCAL)
    found = json.loads(elm('parts', model, '--json').out)['parts']
    assert [(part['name'], part['rows']) for part in found] == [(str(month), 60) for month in range(4)]


def test_missing_values_and_categories_have_parts_too(elm, succeed, write):
    text = 'y,town,size\n' + ''.join(f'{i % 2},{["x", "", "5"][i % 3]},{i if i % 7 else ""}\n' for i in range(60))
    words = 'train', 'pesvm', write('a.csv', text), '--hidden', 4, '--encode', 'auto', '--part-by', 'town'
    found = json.loads(elm('parts', succeed(*words), '--json').out)['parts']
    assert [(part['name'], part['rows']) for part in found] == [('5', 20), ('NA', 20), ('x', 20)]


def test_columns_that_name_no_parts_are_refused(elm, table, tmp_path, write, rng, libsvm_of):
    table.to_pandas().to_csv(tmp_path / 'rows.csv', index=False)
    assert elm('pack', tmp_path / 'rows.csv', '--label-column', 'y', '--drop', 'site', '-o', tmp_path / 'p').status == 0
    sparse = write('rows.libsvm', libsvm_of([0, 1] * 5, rng.normal(size=(10, 3))))
    lists = tmp_path / 'lists.parquet'
    pq.write_table(table.append_column('many', pa.array([[1, 2]] * 240)), lists)
    csv = [tmp_path / 'rows.csv', '--label-column', 'y']
    for words, cause in (
        ([*csv, '--part-by', 'town'], "expected a column named 'town'"),
        ([*csv, '--part-by', 'site', '--columns', 'site,x1'], "column 'site' is the label"),
        ([*csv, '--part-by', 'x1', '--memory', '0.1', '--drop', 'site'], '--part-by: expected at most 62 parts'),
        ([sparse, '--part-by', 'site'], 'found libsvm rows'),
        ([tmp_path / 'p', '--part-by', 'site'], 'mr-elm pack --part-by site, found none'),
        ([lists, '--label-column', 'y', '--part-by', 'many', '--drop', 'site'], "in the part column 'many'"),
    ):
        done = elm('train', 'pesvm', *words, '--hidden', 9, '--model', tmp_path / 'x.npz', '-q')
        assert done.status == 1 and cause in done.err and done.err.count('\n') == 1, done.err
        assert not (tmp_path / 'x.npz').exists()


@pytest.mark.parametrize('kind', KINDS)
def test_what_a_node_takes_off_the_error_is_that_of_training_without_it(elm, succeed, files, kind):
    """The oracle solves for the other weights anew, by numpy alone."""
    parts, method = files(kind), 'elm' if kind == 'elm' else 'pesvm'
    model = succeed('train', method, *(path for path, _, _ in parts), '--hidden', 6, '--part-by', 'file', *KINDS[kind])
    found = json.loads(elm('parts', model, '--json').out)['parts']
    layer, B = read_model(model).layer, read_model(model).arrays['output_weights']
    X, T = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    E = [np.c_[expand(layer, part[1]), -np.ones(len(part[1]))] for part in parts]
    mean = T.mean(axis=0) if kind == 'numbers' else 0.0
    others = range(7) if method == 'pesvm' else range(6)
    for j in range(6):
        rest = [i for i in others if i != j]
        F = np.concatenate(E)[:, rest]
        weights = np.linalg.solve(F.T @ F + np.eye(len(rest)), F.T @ (T - mean))
        for part, (_, _, targets), own in zip(found, parts, E, strict=True):
            errors = [((values - targets) ** 2).sum() / len(own) for values in (own[:, rest] @ weights + mean, own @ B)]
            assert part['nodes'][j] == pytest.approx(errors[0] - errors[1], rel=1e-6, abs=1e-9 * errors[1])


def expand(layer, X):
    """Return the outputs of the nodes, (n, L)."""
    Z = (X - layer.offset) * layer.scale
    return 1 / (1 + np.exp(-(Z @ layer.weights.T + layer.biases)))


def test_what_has_no_parts_is_refused(elm, succeed, files, tmp_path):
    (path, _, _), (other, _, _), _ = files('two')
    plain = succeed('train', 'pesvm', path, '--hidden', 5, model='plain.npz')
    model = succeed('train', 'pesvm', path, '--hidden', 5, '--part-by', 'file', '--ledger', tmp_path / 'm.ledger')
    assert 'train --part-by' in elm('parts', plain).err
    assert "found '9.csv'" in elm('parts', model, '--without', '9.csv', '--model', tmp_path / 'x.npz').err
    assert '--ledger' in elm('parts', model, '--only', '0.csv', '--model', tmp_path / 'x.npz').err
    grown = succeed('update', model, other, '--ledger', tmp_path / 'm.ledger', model='grown.npz')
    assert elm('parts', grown).status == 1  # the new rows are of no part
    assert 'parts' not in read_model(grown).header.parameters
    assert elm('parts', model, '--only', '0.csv').status == 2
    for words in (['--memory', '0.001'], ['--solver', 'passes']):
        done = elm('train', 'pesvm', path, '--hidden', 9, '--part-by', 'file', *words, '--model', tmp_path / 'x.npz')
        assert done.status == 1 and '--part-by' in done.err and not (tmp_path / 'x.npz').exists()


def test_a_task_ends_at_the_part_that_does_not_fit_into_the_memory(elm, write, tmp_path, monkeypatch):
    """Not only the driver, which sees the parts when the tasks have ended, refuses them."""
    monkeypatch.setattr('mr_elm.drivers.gram_job.demand_parts', lambda *_: None)
    rows = write('rows.csv', 'y,p,a\n' + ''.join(f'{k % 2},{k % 9},{k}\n' for k in range(90)))
    words = '--hidden', 9, '--part-by', 'p', '--memory', '0.008', '--model', tmp_path / 'm.npz', '-q'
    done = elm('train', 'pesvm', rows, *words)
    assert done.status == 1 and '--part-by: expected at most 5 parts' in done.err, done


def test_a_pack_has_parts_by_columns_only(elm, files, tmp_path):
    done = elm('pack', files('two')[0][0], '--part-by', 'file', '-o', tmp_path / 'pack')
    assert done.status == 2 and '--part-by file: expected columns' in done.err and not (tmp_path / 'pack').exists()


def test_a_task_needs_room_for_the_sums_of_each_file(files, succeed, tmp_path, monkeypatch):
    """The local runner starts only as many processes as --memory has room for."""
    needed, counted = [], Local.count_processes

    def count(engine, plan, stage):
        needed.append(stage.task_bytes)
        return counted(engine, plan, stage)

    monkeypatch.setattr(Local, 'count_processes', count)
    paths = [path for path, _, _ in files('two')]
    succeed('train', 'pesvm', *paths, '--hidden', 9, *LOCAL, model='all.npz')
    succeed('train', 'pesvm', *paths, '--hidden', 9, '--part-by', 'file', *LOCAL)
    assert {*needed} == {0, 3 * 8 * 10**2, (2 * PARTS + 1) * 8 * 10**2}
    needed.clear()
    succeed(
        'train', 'pesvm', *paths, '--hidden', 9, '--part-by', '1', '--memory', 10, *LOCAL, model='columns.npz'
    )  # how many parts there are is not known before: as many as fit
    most = 10_000_000 // 16 // 100
    assert {*needed} == {0, (2 * most + 1) * 8 * 10**2}


def test_parts_whose_values_hold_commas_have_names_of_their_own(elm, succeed, write):
    values = ['"a,b",x', 'a,"b,x"', '"""a",x', '"a,x",']
    rows = write('rows.csv', 'y,p,q,z\n' + ''.join(f'{k % 2},{values[k % 4]},{k}\n' for k in range(40)))
    model = succeed('train', 'pesvm', rows, '--hidden', 5, '--part-by', 'p,q')
    parts = json.loads(elm('parts', model, '--json').out)['parts']
    assert {part['name'] for part in parts} == {'"a,b",x', 'a,"b,x"', '"""a",x', '"a,x",NA'}
    assert [part['rows'] for part in parts] == [10] * 4


@pytest.mark.parametrize('words', [(), ('--scale', 'none'), ('--map', 'nystrom')])
@pytest.mark.parametrize('maps', [1, 7])
def test_the_means_of_a_part_are_compared_with_those_of_the_others(elm, succeed, files, tmp_path, words, maps):
    """The distances are those of numpy, however the files are cut into splits; the figure shows them."""
    parts = files('two')
    tasks = ('-r', 'inline', '-D', f'mapreduce.job.maps={maps}')
    model = succeed(
        'train', 'pesvm', *(path for path, _, _ in parts), '--hidden', 6, '--part-by', 'file', *words, *tasks
    )
    found = json.loads(elm('parts', model, '--json', '--figure', tmp_path / 'f.png').out)['parts']
    deviation = np.vstack([X for _, X, _ in parts]).std(axis=0)
    for k, (_, X, _) in enumerate(parts):
        rest = np.vstack([other for j, (_, other, _) in enumerate(parts) if j != k])
        shifts = np.abs(X.mean(axis=0) - rest.mean(axis=0)) / deviation
        np.testing.assert_allclose(list(found[k]['columns'].values()), shifts, rtol=1e-9)
        assert list(found[k]['columns']) == [f'feature {j + 1}' for j in range(D)]
    assert (tmp_path / 'f.png').read_bytes().startswith(b'\x89PNG')


def test_the_shift_of_a_category_is_that_of_the_share_that_differs_most(elm, succeed, write):
    a, b = (
        'y,town,size\n' + ''.join(f'{i % 2},{town},{i}\n' for i, town in enumerate(towns))
        for towns in ('xxyy' * 5, 'xyyz' * 5)
    )
    model = succeed(
        'train', 'pesvm', write('a.csv', a), write('b.csv', b), '--hidden', 4, '--encode', 'auto', '--part-by', 'file'
    )
    found = json.loads(elm('parts', model, '--json').out)['parts']
    shares = {'x': (0.5, 0.25), 'y': (0.5, 0.5), 'z': (0, 0.25)}
    distances = [abs(p - q) / np.sqrt((p + q) / 2 * (1 - (p + q) / 2)) for p, q in shares.values()]
    for part in found:
        assert part['columns'] == pytest.approx({'town': max(distances), 'size': 0.0}, abs=1e-12)


@pytest.mark.parametrize('words, n', [((), 4), (('--task', 'regression'), 1)])
def test_inspect_lists_parts_and_their_classes_of_one_row(elm, succeed, write, words, n):
    """Their sums are the outputs of the nodes on this row; the means of a part of one row are the row itself."""
    rows = ['0,x,1,2', '1,x,2,3', '0,y,1,4', '1,x,2,2', '1,y,5,5', '1,y,5,6', '2,z,1,1', '2,x,3,1']
    path = write('rows.csv', 'y,p,a,b\n' + '\n'.join(rows) + '\n')
    model = succeed('train', 'pesvm', path, '--hidden', 3, '--part-by', 'p', *words)
    assert json.loads(elm('inspect', model, '--rows', '--json').out)['parts']['count'] == n
    model.with_name('m.sums.npz').unlink()
    assert elm('inspect', model, '--rows').out == 'nothing\n'


def test_what_is_kept_of_a_part_is_no_value_of_a_row(succeed, files):
    parts = files('two')
    model = succeed('train', 'pesvm', *(path for path, _, _ in parts), '--hidden', 4, '--part-by', 'file', *LOCAL)
    values = {value for _, X, _ in parts for value in X.ravel().tolist()}
    with np.load(model.with_name('m.sums.npz')) as sums:
        kept = {value for name in sums.files if 'column_' in name for value in sums[name].ravel().tolist()}
    assert kept and not kept & values
