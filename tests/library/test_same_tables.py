"""The same table has the same answers, whatever holds it: text of CSV, Parquet, Arrow, a data frame."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from reference.commands import elm

from mr_elm.estimators import ESVMClassifier, to_estimator
from mr_elm.model.file import read_model
from mr_elm.rows.columns import NumberColumn, TextColumn
from mr_elm.rows.encoding import Column

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


TYPES = {'float': float, 'int': int, 'text': str}
SPELLINGS = {'whole': ['12', '7', '3'], 'with a point': ['12.0', '7.0', '3.0'], 'codes': ['02139', '00501', '10001']}


@pytest.mark.parametrize('spelling', SPELLINGS)
@pytest.mark.parametrize('trained', ['csv', *TYPES])
def test_numbers_that_are_categories_are_known_by_their_value(trained, spelling, here, rng, tmp_path):
    """A model of each type of column answers rows of each type alike, where text is spelled alike."""
    rows = make_rows(rng, SPELLINGS[spelling])
    write_csv(rows, tmp_path / 'csv')
    for name, type in TYPES.items():
        rows.assign(plan=rows['plan'] if type is str else rows['plan'].astype(float).astype(type)).to_parquet(
            tmp_path / name
        )
    model = train(here, tmp_path / trained, tmp_path / 'm.npz', '--category', 'plan')
    assert model.encoding.columns[0].kind == 'category'
    labels, scores = predict(here, tmp_path / 'm.npz', tmp_path / trained, tmp_path)
    estimator = to_estimator(model)
    for name in ['csv', *TYPES]:
        again, others = predict(here, tmp_path / 'm.npz', tmp_path / name, tmp_path)
        assert again == labels and (others == scores).all(), name
        here('pack', tmp_path / name, '-o', tmp_path / f'pack.{name}', '--like', tmp_path / 'm.npz', '-q')
        again, others = predict(here, tmp_path / 'm.npz', tmp_path / f'pack.{name}', tmp_path)
        assert again == labels and (others == scores).all(), name
        if name != 'csv':
            frame = pd.read_parquet(tmp_path / name)[['plan', 'size']]
            for kind in FRAMES.values():
                found = estimator.decision_function(kind(frame))
                np.testing.assert_allclose(found, scores[:, 0], rtol=0, atol=1e-9)


@pytest.mark.parametrize('spelling', SPELLINGS)
def test_a_column_whose_type_is_text_is_a_category_whatever_it_holds(spelling, here, rng, tmp_path):
    """The type says so in a frame, in Parquet and in Arrow; text of CSV has no type, so numbers are numbers there."""
    rows = make_rows(rng, SPELLINGS[spelling])
    kinds = {}
    for kind, write in WRITERS.items():
        write(rows, tmp_path / kind)
        kinds[kind] = train(here, tmp_path / kind, tmp_path / f'{kind}.npz').encoding.columns[0]
    for kind, read in FRAMES.items():
        kinds[kind] = (
            ESVMClassifier(encode='auto', n_hidden=5)
            .fit(read(rows[['plan', 'size']]), rows['label'])
            .encoding_.columns[0]
        )
    assert kinds.pop('csv').kind == 'number'
    assert {column.categories for column in kinds.values()} == {tuple(sorted(SPELLINGS[spelling]))}
    with pytest.raises(ValueError, match="column 'plan', it holds text: encode='auto'"):
        ESVMClassifier().fit(rows[['plan', 'size']], rows['label'])


def test_text_of_dates_and_of_mixed_values_is_what_it_was(rng):
    days = pd.date_range('2020-01-01', periods=N).strftime('%Y-%m-%d')
    mixed = np.where(np.arange(N) % 3 == 0, 'x', '7')
    objects = np.array([7, '8'] * (N // 2), object)
    frame = pd.DataFrame({'day': days, 'mixed': mixed, 'objects': objects, 'none': np.array([None] * N, object)})
    fitted = ESVMClassifier(encode='auto', n_hidden=5).fit(frame, rng.integers(2, size=N))
    assert [column.kind for column in fitted.encoding_.columns] == ['date', 'category', 'number', 'number']


def test_a_model_of_a_frame_of_numeric_categories_reads_their_text(here, rng, tmp_path):
    rows = make_rows(rng, [12, 7, 3]).astype({'plan': int}).astype({'plan': 'category'})
    estimator = ESVMClassifier(encode='auto', n_hidden=20).fit(rows[['plan', 'size']], rows['label'])
    estimator.to_model().save(tmp_path / 'm.npz')
    for style in ('{}', '{}.0'):
        texts = rows[['plan', 'size']].assign(plan=[style.format(plan) for plan in rows['plan']])
        write_csv(texts, tmp_path / 'rows.csv')
        _, scores = predict(here, tmp_path / 'm.npz', tmp_path / 'rows.csv', tmp_path)
        np.testing.assert_allclose(scores[:, 0], estimator.decision_function(rows[['plan', 'size']]), rtol=0, atol=1e-9)


def column(*categories):
    return Column('plan', 'category', categories=categories)


@pytest.mark.parametrize(
    ('categories', 'values', 'wanted'),
    [
        (('02139', '2139'), [2139.0], [1]),  # as it is usually written
        (('02139', '2139.0'), [2139.0], [2]),  # which of the two is in doubt
        (('02139', 'x'), [2139.0, 2139.5, np.nan], [0, 2, 2]),
        (('', '1.50'), [1.5, np.nan], [1, 0]),
        (('False', 'True'), [0.0, 1.0], [0, 1]),
        (('02139', 'x'), ['2139', '02139'], [2, 0]),  # text is text
        (('12.0', '7.0'), ['12', '12.0'], [2, 0]),
        (('12', '7'), ['12.0', '7', 'True', '', 'x'], [0, 1, 2, 2, 2]),
        (('0', '1'), ['False', 'True'], [0, 1]),
    ],
)
def test_a_number_is_the_category_of_the_same_value_if_there_is_one(categories, values, wanted):
    if isinstance(values[0], float):
        given = NumberColumn(np.array(values))
    else:
        given = TextColumn(values)
    assert column(*categories).find_categories(given).tolist() == wanted


def check_warnings(model, new, said, runner, tmp_path):
    """Demand that an estimator and the commands warn alike of new rows, a command once for all its three tasks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        to_estimator(model).predict(new.drop(columns='label'))
    assert [str(each.message) for each in caught] == said
    write_csv(new, tmp_path / 'new.csv')
    for words in (
        ('predict', tmp_path / 'm.npz', tmp_path / 'new.csv', '-o', tmp_path / 'said'),
        ('evaluate', tmp_path / 'm.npz', tmp_path / 'new.csv'),
        ('update', tmp_path / 'm.npz', tmp_path / 'new.csv', '--model', tmp_path / 'updated.npz'),
    ):
        done = elm(*words, '-q', '-r', runner, '-D', 'mapreduce.job.maps=3')
        assert (done.status, done.err.splitlines()) == (0, [f'mr-elm: warning: {each}' for each in said])


@pytest.mark.parametrize(
    ('values', 'warns'), [(['x'] * 20, True), ([''] * 20, True), (['x'] * 19, False), (['x'] * 25 + ['a'], False)]
)
@pytest.mark.parametrize('categories', [('a', 'b'), ('', 'a', 'b')])
def test_a_column_without_any_known_category_is_named(values, warns, categories, here, tmp_path):
    texts = [*categories] * 20
    rows = pd.DataFrame({'plan': texts, 'size': np.arange(len(texts)), 'label': np.arange(len(texts)) % 2})
    write_csv(rows, tmp_path / 'old.csv')
    model = train(here, tmp_path / 'old.csv', tmp_path / 'm.npz')
    new = pd.DataFrame({'plan': values, 'size': range(len(values)), 'label': np.arange(len(values)) % 2})
    said = "column 'plan' holds only missing or unknown values, none of those of the training, such as 'a', 'b'"
    check_warnings(model, new, warns * [said], 'inline', tmp_path)


@pytest.mark.parametrize(
    ('n_rows', 'last', 'lost', 'runner'),
    [
        (20, {}, ['age', 'height', 'joined', 'left'], 'inline'),
        (19, {}, [], 'inline'),
        (20, {'height': '2', 'left': '2024-03-11'}, ['age', 'joined'], 'local'),
    ],
)
def test_a_column_of_numbers_or_dates_that_has_lost_its_values_is_named(n_rows, last, lost, runner, here, tmp_path):
    """A single value is enough. A column without one in the training is not named, nor one that is always the mean."""
    n = np.arange(40)
    days = [f'2024-0{k % 9 + 1}-{k % 15 + 11}' for k in n]
    old = pd.DataFrame(
        {'age': n % 7, 'height': n % 11, 'joined': days, 'left': days, 'one': 3, 'never': '', 'label': n % 2}
    )
    old = old.astype(str)
    old.loc[5, ['height', 'left']] = ''
    write_csv(old, tmp_path / 'old.csv')
    model = train(here, tmp_path / 'old.csv', tmp_path / 'm.npz')
    new = old[:n_rows].copy()
    new[['age', 'height', 'joined', 'left']] = ''
    new.loc[n_rows - 1, [*last]] = [*last.values()]
    said = [
        f"column '{name}' has no value in any of the 20 rows, although it had values in the training: its mean is "
        'taken instead; fill it, or train without this column'
        for name in lost
    ]
    check_warnings(model, new, said, runner, tmp_path)
