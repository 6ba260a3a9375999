"""Numbers that are names of something, and numbers of rows: what a table's columns are."""

import json

import numpy as np
import pandas as pd
import pytest

from mr_elm.cli import main
from mr_elm.model.file import read_model


def write_customers(path, n=400):
    """Write rows whose label depends on a postal code, not on its size, and that are numbered from 1."""
    rng = np.random.default_rng(0)
    codes = rng.choice([1001, 1002, 2050, 73301], n)
    lines = [
        f'{k + 1},{"yes" if code in (1002, 73301) else "no"},{code},{rng.integers(18, 90)}\n'
        for k, code in enumerate(codes)
    ]
    path.write_text('id,churn,zip,age\n' + ''.join(lines))
    return path


def test_numbers_that_are_names_are_categories_where_the_user_says_so(tmp_path, capsys):
    rows = write_customers(tmp_path / 'rows.csv')
    table = pd.read_csv(rows)
    table.to_parquet(tmp_path / 'rows.parquet', index=False)
    models = []
    for k, (name, column) in enumerate([('rows.csv', 'zip'), ('rows.csv', '2'), ('rows.parquet', 'zip')]):
        assert (
            main(
                [
                    'train',
                    'pesvm',
                    str(tmp_path / name),
                    '--label-column',
                    'churn',
                    '--drop',
                    'id',
                    '--hidden',
                    '20',
                    '--encode',
                    'auto',
                    '--category',
                    column,
                    '--model',
                    str(tmp_path / f'{k}.npz'),
                    '-q',
                ]
            )
            == 0
        )
        models.append(read_model(tmp_path / f'{k}.npz'))
    for model in models:
        zips, age = model.encoding.columns
        assert (zips.kind, age.kind) == ('category', 'number')
        assert zips.categories == ('1001', '1002', '2050', '73301')
        np.testing.assert_allclose(model.arrays['output_weights'], models[0].arrays['output_weights'], rtol=1e-6)
    assert main(['evaluate', str(tmp_path / '0.npz'), str(rows), '--json', '-q']) == 0
    assert json.loads(capsys.readouterr().out)['accuracy'] == 1


@pytest.mark.parametrize(
    'words, cause',
    [
        (['--category', 'zip'], 'expected --encode auto too'),
        (['--encode', 'auto', '--category', 'churn'], "names column 'churn', which is none"),
        (['--encode', 'auto', '--category', 'zap'], "expected a column named 'zap'"),
    ],
)
def test_a_category_must_be_a_column_of_the_table(tmp_path, capsys, words, cause):
    rows = write_customers(tmp_path / 'rows.csv', 40)
    assert (
        main(['train', 'pesvm', str(rows), '--label-column', 'churn', '--model', str(tmp_path / 'm.npz'), *words]) == 1
    )
    assert cause in capsys.readouterr().err


def test_a_column_that_numbers_the_rows_is_named(tmp_path, capsys):
    rows = write_customers(tmp_path / 'rows.csv')
    for words in (), ('--encode', 'auto'), ('--drop', 'id'):
        assert (
            main(
                [
                    'train',
                    'pesvm',
                    str(rows),
                    '--label-column',
                    'churn',
                    '--hidden',
                    '5',
                    '--overwrite',
                    '--model',
                    str(tmp_path / 'm.npz'),
                    *words,
                ]
            )
            == 0
        )
        said = capsys.readouterr().err
        assert ("column 'id' seems to name or number the rows: " in said) == ('--drop' not in words)
        assert "'age' seems" not in said
