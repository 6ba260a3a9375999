"""mr-elm export: a file of another program answers as predict does."""
import sys

import numpy as np
import pytest

CSV = 'kind,size,colour,weight\n' + ''.join(
    f'{"big" if (k * 7) % 13 > 6 else "small"},{(k * 7) % 13 if k % 5 else ""},{"red" if k % 3 else "blue"},{k / 10}\n'
    for k in range(60))


@pytest.fixture
def named(here, write):
    """Train on a table with names, gaps and text: the path of the model."""
    rows = write('rows.csv', CSV)
    model = rows.with_name('m.npz')
    here('train', 'pesvm', rows, '--encode', 'auto', '--hidden', 20, '--probabilities', '--model', model, '-q')
    return model


def test_a_graph_predicts_the_rows_of_a_table(elm, named, tmp_path):
    onnxruntime = pytest.importorskip('onnxruntime')
    assert elm('export', named, '-o', tmp_path / 'm.onnx')[:2] == (0, '')
    elm('predict', named, tmp_path / 'rows.csv', '-o', tmp_path / 'out', '--scores', '--probabilities', '-q')
    lines = [line.split('\t') for line in (tmp_path / 'out').read_text().splitlines()]
    cells = [line.split(',') for line in CSV.splitlines()[1:]]
    feed = {'size': np.array([[float(row[1] or 'nan')] for row in cells]),
            'colour': np.array([[row[2]] for row in cells], object), 'weight': np.array([[float(r[3])] for r in cells])}
    label, scores, probabilities = onnxruntime.InferenceSession(tmp_path / 'm.onnx').run(
        ['label', 'scores', 'probabilities'], feed)
    assert label.tolist() == [line[0] for line in lines]
    np.testing.assert_allclose(np.hstack([scores, probabilities]), [list(map(float, line[1:])) for line in lines],
                               rtol=0, atol=1e-9)


def test_a_query_predicts_the_rows_of_a_table(elm, named, tmp_path):
    duckdb = pytest.importorskip('duckdb')
    words = '-o', tmp_path / 'm.sql', '--table', 'my rows', '--keep', 'weight'
    assert elm('export', named, *words)[:2] == (0, '')
    elm('predict', named, tmp_path / 'rows.csv', '-o', tmp_path / 'out.csv', '--scores', '--probabilities', '-q')
    wanted = [line.split(',') for line in (tmp_path / 'out.csv').read_text().splitlines()]
    with duckdb.connect() as database:
        database.sql(f"create table \"my rows\" as from read_csv('{tmp_path / 'rows.csv'}')")
        found = database.sql((tmp_path / 'm.sql').read_text())
        assert found.columns == [*wanted[0], 'weight']
        rows = found.fetchall()
    assert [row[0] for row in rows] == [line[0] for line in wanted[1:]]
    np.testing.assert_allclose([row[1:4] for row in rows], [list(map(float, line[1:])) for line in wanted[1:]],
                               rtol=0, atol=1e-9)
    assert [row[4] for row in rows] == [float(line.split(',')[3]) for line in CSV.splitlines()[1:]]


def test_a_file_that_exists_is_replaced_only_when_asked(elm, named, tmp_path):
    pytest.importorskip('onnx')
    out = tmp_path / 'm.onnx'
    out.write_text('mine')
    assert elm('export', named, '-o', out).err == (
        f'mr-elm: {out}: expected a new file, it exists (--overwrite replaces it)\n')
    assert out.read_text() == 'mine'
    assert elm('export', named, '-o', out, '--overwrite', '--float32').status == 0 and out.stat().st_size > 1000


def test_another_ending_is_a_wrong_usage(elm, named):
    done = elm('export', named, '-o', 'm.pmml')
    assert done.status == 2 and 'expected a name that ends in .onnx' in done.err and 'm.pmml' in done.err


@pytest.mark.parametrize('ending, package', [('onnx', 'onnx'), ('sql', 'sqlglot')])
def test_a_missing_extra_is_named(elm, named, tmp_path, monkeypatch, ending, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert elm('export', named, '-o', tmp_path / f'm.{ending}').err == (
        f"mr-elm: export: expected {package}, it is not installed: pip install 'mr_elm[{ending}]'\n")
