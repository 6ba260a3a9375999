"""mr-elm export: a file of another program answers as predict does."""

import json
import platform
import re
import sys
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

CSV = 'kind,size,colour,weight\n' + ''.join(
    f'{"big" if (k * 7) % 13 > 6 else "small"},{(k * 7) % 13 if k % 5 else ""},{"red" if k % 3 else "blue"},{k / 10}\n'
    for k in range(60)
)


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
    feed = {
        'size': np.array([[float(row[1] or 'nan')] for row in cells]),
        'colour': np.array([[row[2]] for row in cells], object),
        'weight': np.array([[float(r[3])] for r in cells]),
    }
    label, scores, probabilities = onnxruntime.InferenceSession(tmp_path / 'm.onnx').run(
        ['label', 'scores', 'probabilities'], feed
    )
    assert label.tolist() == [line[0] for line in lines]
    np.testing.assert_allclose(
        np.hstack([scores, probabilities]), [list(map(float, line[1:])) for line in lines], rtol=0, atol=1e-9
    )


def test_a_query_predicts_the_rows_of_a_table(elm, named, tmp_path):
    duckdb = pytest.importorskip('duckdb')
    words = '-o', tmp_path / 'm.sql', '--table', 'my rows', '--keep', 'weight'
    assert elm('export', named, *words)[:2] == (0, '')
    elm('predict', named, tmp_path / 'rows.csv', '-o', tmp_path / 'out.csv', '--scores', '--probabilities', '-q')
    wanted = [line.split(',') for line in (tmp_path / 'out.csv').read_text().splitlines()]
    with duckdb.connect() as database:
        database.sql(f'create table "my rows" as from read_csv(\'{tmp_path / "rows.csv"}\')')
        found = database.sql((tmp_path / 'm.sql').read_text())
        assert found.columns == [*wanted[0], 'weight']
        rows = found.fetchall()
    assert [row[0] for row in rows] == [line[0] for line in wanted[1:]]
    np.testing.assert_allclose(
        [row[1:4] for row in rows], [list(map(float, line[1:])) for line in wanted[1:]], rtol=0, atol=1e-9
    )
    assert [row[4] for row in rows] == [float(line.split(',')[3]) for line in CSV.splitlines()[1:]]


class Page(HTMLParser):
    """Collect the text of a page, and the tags that must have an end."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.links = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, given):
        self.links += [value for name, value in given if name in ('src', 'href', 'xlink:href', 'style') and value]
        if tag not in ('meta', 'br', 'use', 'path') or 'svg' in self.open:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if text.strip() and not {'svg', 'style'} & set(self.open):
            self.texts.append(text.strip())


def test_a_page_tells_what_a_model_is_and_how_it_does_without_anything_from_elsewhere(elm, named, tmp_path):
    pytest.importorskip('matplotlib')
    out = tmp_path / 'm.html'
    assert elm('export', named, '-o', out, '--test', tmp_path / 'rows.csv')[:3] == (0, '', '')
    page, scores = Page(out.read_text()), json.loads(elm('evaluate', named, tmp_path / 'rows.csv', '--json', '-q').out)
    assert page.open == [] and not [link for link in page.links if re.search('//|url\\((?!#)', link)]
    assert {
        'm.npz',
        'Scores on rows.csv',
        '2: big, small',
        '60 used, 0 rejected',
        '20 sigmoid nodes',
        'colour',
        'category, 2: blue, red',
        'accuracy',
        f'{scores["accuracy"]:.6g}',
        f'{scores["log_loss"]:.6g}',
        'true class, predicted:',
        'computed by',
    } <= set(page.texts)
    told = elm('inspect', named, '--permutation', tmp_path / 'rows.csv', '--json', '-q').out
    shares = json.loads(told)['importance_by_column']
    assert 'importance' in page.texts and {f'{share:.4f}' for share in shares.values()} <= set(page.texts)
    versions = [text for text in page.texts if text.startswith('Written by mr_elm')]
    assert f'numpy {np.__version__}' in versions[0] and f'Python {platform.python_version()}' in versions[0]
    assert 'prefers-color-scheme: dark' in out.read_text()
    assert out.read_text().count('<svg') == 1


def test_a_page_of_several_targets_has_a_figure_that_names_each(here, elm, write, rng, tmp_path):
    pytest.importorskip('matplotlib')
    lines = [f'{a},{100 * b},{a},{b}\n' for a, b in rng.normal(size=(60, 2)).tolist()]
    rows, model, out = (
        write('rows.csv', 'small,<large>,a,b\n' + ''.join(lines)),
        tmp_path / 'm.npz',
        tmp_path / 'm.html',
    )
    here('train', 'elm', rows, '--task', 'regression', '--targets', 'small,<large>', '--hidden', 9, '--model', model)
    done = elm('export', model, '-o', out, '--test', rows)
    assert (done.status, done.err) == (0, '')
    page = out.read_text()
    assert page.count('<svg') == 1 and '<!-- small -->' in page and '<!-- &lt;large&gt; -->' in page


def test_a_page_of_a_regression_shows_residuals_and_escapes_names(here, elm, write, rng, tmp_path):
    pytest.importorskip('matplotlib')
    X = rng.normal(size=(80, 2))
    lines = [f'{a},{b},{a + b}\n' for a, b in X.tolist()]
    rows = write('rows.csv', '<b>left,"a ""quote"" & more",goal\n' + ''.join(lines))
    here(
        'train',
        'elm',
        rows,
        '--label-column',
        'goal',
        '--task',
        'regression',
        '--hidden',
        9,
        '--model',
        tmp_path / 'm.npz',
        '-q',
    )
    assert elm('export', tmp_path / 'm.npz', '-o', tmp_path / 'm.html', '--test', rows)[:3] == (0, '', '')
    text = (tmp_path / 'm.html').read_text()
    pd.read_csv(rows).to_parquet(tmp_path / 'rows.parquet', row_group_size=30)
    words = ('-o', tmp_path / 'p.html', '--test', tmp_path / 'rows.parquet')
    assert elm('export', tmp_path / 'm.npz', *words).status == 0
    for page in (text, (tmp_path / 'p.html').read_text()):
        [(_, n_points), *_] = Counter(re.findall('<use xlink:href="#(.*?)"', page)).most_common(1)
        assert n_points == 2 * len(X)  # predictions, and their errors
    assert {'<b>left', 'a "quote" & more', 'rmse', 'r2'} <= set(Page(text).texts)
    assert '<b>' not in text and text.count('<svg') == 1
    assert elm('export', tmp_path / 'm.npz', '-o', tmp_path / 'plain.html').status == 0
    assert '<svg' not in (tmp_path / 'plain.html').read_text()


def test_a_file_that_exists_is_replaced_only_when_asked(elm, named, tmp_path):
    pytest.importorskip('onnx')
    out = tmp_path / 'm.onnx'
    out.write_text('mine')
    assert elm('export', named, '-o', out).err == (
        f'mr-elm: {out}: expected a new file, it exists (--overwrite replaces it)\n'
    )
    assert out.read_text() == 'mine'
    assert elm('export', named, '-o', out, '--overwrite', '--float32').status == 0 and out.stat().st_size > 1000


def test_another_ending_is_a_wrong_usage(elm, named):
    done = elm('export', named, '-o', 'm.pmml')
    assert done.status == 2 and 'expected a name that ends in .onnx' in done.err and 'm.pmml' in done.err


@pytest.mark.parametrize('ending, package', [('onnx', 'onnx'), ('sql', 'sqlglot')])
def test_a_missing_extra_is_named(elm, named, tmp_path, monkeypatch, ending, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert elm('export', named, '-o', tmp_path / f'm.{ending}').err == (
        f"mr-elm: export: expected the package {package}, it is not installed: pip install '{package}'\n"
    )
