"""The same table has the same answers, whatever holds it: text of CSV, Parquet, Arrow, a data frame."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mr_elm.estimators import ESVMClassifier, to_estimator
from mr_elm.model.file import read_model

N = 90
BLANKS = np.array(['', ' ', '\t', ' \t '])


def write_csv(frame, path):
    frame.to_csv(path, index=False)


def write_parquet(frame, path):
    frame.to_parquet(path, index=False)


def write_dictionary(frame, path):
    texts = frame.select_dtypes(exclude='number').columns
    frame.astype(dict.fromkeys(texts, 'category')).to_parquet(path, index=False)


def write_arrow(frame, path):
    with pa.OSFile(str(path), 'wb') as sink, pa.ipc.new_file(sink, pa.Schema.from_pandas(frame)) as writer:
        writer.write_table(pa.Table.from_pandas(frame))


WRITERS = {
    'csv': write_csv,
    'parquet': write_parquet,
    'dictionary.parquet': write_dictionary,
    'arrow': write_arrow,
}
FRAMES = {
    'frame': lambda frame: frame,
    'categories': lambda frame: frame.astype({'plan': 'category'}),
    'stream': lambda frame: pa.Table.from_pandas(frame).to_reader(),
}


def make_rows(rng, plans):
    """Return rows whose class depends on the plan, and on a number a little."""
    plan, size = rng.integers(len(plans), size=N), rng.random(N).round(3)
    label = np.where((plan == 0) ^ (size > 0.9), 'yes', 'no')
    return pd.DataFrame({'plan': np.array(plans, object)[plan], 'size': size, 'label': label})


def pad(rng, texts):
    """Write blanks around texts, others around each."""
    before, after = BLANKS[rng.integers(len(BLANKS), size=(2, len(texts)))]
    return [f'{a}{text}{b}' for a, text, b in zip(before, texts, after, strict=True)]


def train(here, path, model, *words):
    here(
        'train', 'pesvm', path, '--encode', 'auto', '--hidden', 20, '--label-column', 'label', '--model', model, '-q',
        *words,
    )  # fmt: skip
    return read_model(str(model))


def predict(here, model, path, tmp_path):
    here('predict', model, path, '-o', tmp_path / 'said', '--scores', '-q', '--overwrite')
    lines = [line.split('\t') for line in (tmp_path / 'said').read_text().splitlines()]
    return [line[0] for line in lines], np.array([line[1:] for line in lines], float)


@pytest.mark.parametrize('kind', WRITERS)
def test_blanks_around_texts_do_not_count_in_any_file(kind, here, rng, tmp_path):
    clean = make_rows(rng, ['Pro', 'basic', 'no plan', 'NA'])
    padded = clean.assign(plan=pad(rng, clean['plan']), label=pad(rng, clean['label']))
    write_csv(clean, tmp_path / 'clean.csv')
    WRITERS[kind](padded, tmp_path / f'padded.{kind}')
    wanted = train(here, tmp_path / 'clean.csv', tmp_path / 'clean.npz')
    found = train(here, tmp_path / f'padded.{kind}', tmp_path / 'padded.npz')
    assert found.classes == wanted.classes == ['no', 'yes']
    assert found.encoding == wanted.encoding
    assert found.encoding.columns[0].categories == ('', 'Pro', 'basic', 'no plan')
    labels, scores = predict(here, tmp_path / 'clean.npz', tmp_path / 'clean.csv', tmp_path)
    for model in ('clean', 'padded'):
        again, others = predict(here, tmp_path / f'{model}.npz', tmp_path / f'padded.{kind}', tmp_path)
        assert again == labels
        np.testing.assert_allclose(others, scores, rtol=0, atol=1e-9)


@pytest.mark.parametrize('kind', FRAMES)
def test_blanks_around_texts_do_not_count_in_frames(kind, rng):
    clean = make_rows(rng, ['Pro', 'basic', 'no plan', 'NA'])
    y = clean.pop('label')
    padded = clean.assign(plan=pad(rng, clean['plan']))
    wanted = ESVMClassifier(encode='auto', n_hidden=20).fit(clean, y)
    found = ESVMClassifier(encode='auto', n_hidden=20).fit(FRAMES[kind](padded), y)
    assert found.encoding_ == wanted.encoding_
    for estimator in (wanted, found, to_estimator(wanted.to_model())):
        assert (estimator.decision_function(FRAMES[kind](padded)) == wanted.decision_function(clean)).all()


def test_blanks_in_names_of_folders_do_not_count(here, rng, tmp_path):
    clean = make_rows(rng, ['Pro', 'basic', 'no plan'])
    for padding in ('', ' '):
        for plan, rows in clean.groupby('plan'):
            folder = tmp_path / f'rows{len(padding)}' / f'plan={plan}{padding}'
            folder.mkdir(parents=True)
            rows.drop(columns='plan').to_parquet(folder / 'part.parquet', index=False)
    train(here, tmp_path / 'rows0', tmp_path / 'm.npz')
    labels, scores = predict(here, tmp_path / 'm.npz', tmp_path / 'rows0', tmp_path)
    again, others = predict(here, tmp_path / 'm.npz', tmp_path / 'rows1', tmp_path)
    assert again == labels and (others == scores).all()
