"""Packed rows are the rows; a pack that is damaged, unfinished or incomplete is refused."""

import gzip
import json
import os

import numpy as np
import pyarrow.parquet as pq
import pytest
from reference.files import LOCAL

from mr_elm.rows import packs
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.packs import MANIFEST, MAX_RECORD, PackParts, load_manifest
from mr_elm.sums.summary import Summary

N, D = 500, 4


@pytest.fixture
def table(rng):
    return rng.normal(size=(N, D)) * [1, 100, 1e-3, 7], rng.choice(['x', 'y', 'ü z'], N)


@pytest.fixture
def packed(elm, tmp_path):
    """Pack rows: the folder."""

    def pack(*arguments, name='pack'):
        done = elm('pack', *arguments, '-o', tmp_path / name, '-q')
        assert done == (0, '', '')
        return tmp_path / name

    return pack


def read_back(folder, **options):
    """Read a pack in the order of its part files: the blocks."""
    blocks = []
    for file in plan_inputs([str(folder)], RowOptions(**options)).files:
        parts = PackParts(file.path, file.path)
        batches = parts.read(range(len(parts.sizes)), file.format, 4096)
        blocks += [batch.block for _, batch in batches]
    return blocks


def rows_and_labels(blocks):
    X = np.concatenate([block.X.toarray() if hasattr(block.X, 'toarray') else block.X for block in blocks])
    return X, [block.names[code] for block in blocks for code in block.codes]


# Round trip


@pytest.mark.parametrize('dtype', ['float64', 'float32'])
@pytest.mark.parametrize('n_maps', [1, 4])
def test_the_rows_come_back_as_they_were(write, csv_of, packed, table, maps, dtype, n_maps):
    X, labels = table
    folder = packed(write('a.csv', csv_of(labels, X)), '--block-rows', 60, '--dtype', dtype, *maps(n_maps))
    blocks = read_back(folder)
    back, names = rows_and_labels(blocks)
    assert np.array_equal(back, X.astype(dtype).astype(float)) and names == list(labels)
    assert max(map(len, blocks)) == 60 and len(list(folder.glob('part-*'))) == n_maps


def test_sparse_rows_stay_sparse(write, libsvm_of, packed, rng, maps):
    X = rng.normal(size=(200, 9)) * (rng.random((200, 9)) < 0.2)
    X[0, 8] = 1
    folder = packed(write('a.libsvm', libsvm_of(np.arange(200) % 2, X)), '--n-features', 9, *maps(3))
    blocks = read_back(folder)
    assert sum(block.X.nnz for block in blocks) == np.count_nonzero(X)
    assert np.array_equal(rows_and_labels(blocks)[0], X)


def test_targets_and_weights_come_back(write, csv_of, packed, rng):
    y, w, X = rng.normal(size=80), rng.uniform(1, 2, 80), rng.normal(size=(80, 2))
    folder = packed(write('a.csv', csv_of(y.tolist(), np.c_[w, X])), '--task', 'regression', '--weight-column', 1)
    (block,) = read_back(folder, numeric_labels=True)
    assert np.array_equal(block.targets, y) and np.array_equal(block.weights, w) and np.array_equal(block.X, X)


def test_rows_without_labels_can_be_packed(write, csv_of, packed, table):
    X, _ = table
    text = csv_of(X[:, 0].tolist(), X[:, 1:])
    (block,) = read_back(packed(write('a.csv', text), '--no-label'))
    assert np.array_equal(block.X, X) and block.codes is None


@pytest.mark.parametrize('n_maps', [1, 3])
def test_the_manifest_knows_the_statistics_of_the_packed_rows(write, csv_of, packed, table, maps, n_maps):
    X, labels = table
    folder = packed(write('a.csv', csv_of(labels, X)), '--dtype', 'float32', *maps(n_maps))
    summary, kept = Summary.of_manifest(load_manifest(str(folder))), X.astype('float32').astype(float)
    assert summary.n_rows == N and summary.columns.n == N
    assert np.allclose(summary.columns.mean, kept.mean(axis=0), rtol=1e-13)
    assert np.allclose(summary.columns.deviation, kept.std(axis=0), rtol=1e-12)
    assert np.array_equal(summary.columns.maximum, kept.max(axis=0))
    assert {name: entry[0] for name, entry in summary.labels.entries.items()} == {
        name: list(labels).count(name) for name in ('x', 'y', 'ü z')
    }


def test_a_table_is_packed_as_numbers_and_the_places_of_ones(write, packed):
    folder = packed(write('a.csv', 'y,x,city\n' + '0,1,Oslo\n1,2,Rome\n' * 9), '--encode', 'auto')
    assert pq.read_schema(folder / 'part-00000.parquet').names == ['numbers', 'ones', 'label']


def test_lines_stay_below_what_a_task_can_carry(write, packed, csv_of, rng, monkeypatch):
    assert MAX_RECORD < 16_000_000
    monkeypatch.setattr(packs, 'MAX_RECORD', 80_000)
    X = rng.normal(size=(30, 1000))
    folder = packed(write('a.csv', csv_of(np.arange(30) % 2, X.round(1))))
    blocks = read_back(folder)
    assert max(block.X.nbytes for block in blocks) <= 80_000 and len(blocks) > 2


def test_packing_skips_bad_rows_on_demand_and_counts_them(write, csv_of, packed, table):
    X, labels = table
    good = csv_of(labels, X)
    folder = packed(write('a.csv', good + 'x,1,2\n' + 'y,1,2,3,nan\n'), '--bad-rows', 'skip')
    assert json.loads((folder / MANIFEST).read_text())['rejected'] == {'wrong width': 1, 'missing value': 1}
    assert np.array_equal(rows_and_labels(read_back(folder))[0], X)


# What packing refuses


@pytest.mark.parametrize('n_maps', [1, 4])
def test_a_bad_row_is_named_and_no_folder_is_left(write, csv_of, elm, table, tmp_path, maps, n_maps):
    lines = csv_of(table[1], table[0]).splitlines()
    lines[431] = 'x,1,2,three,4'
    path = write('a.csv', '\n'.join(lines))
    done = elm('pack', path, '-o', tmp_path / 'pack', '-q', *maps(n_maps))
    assert (done.status, done.out) == (1, '')
    assert done.err == (
        f"mr-elm: {path}, line 432: not a number: column 3 (counted from 0) holds 'three' (--label-column names the "
        'label, --encode auto reads text and missing values); --bad-rows skip leaves such rows out\n'
    )
    assert not (tmp_path / 'pack').exists()


def test_a_single_bad_row_is_named_even_when_no_other_is_there(write, elm, tmp_path):
    path = write('a.csv', '1,2,3\n0,x,2\n')
    done = elm('pack', path, '-o', tmp_path / 'pack', '-q')
    assert done.err.startswith(f'mr-elm: {path}, line 2: ') and not (tmp_path / 'pack').exists()


def test_numbers_beyond_float32_are_refused_only_there(write, elm, tmp_path):
    path = write('a.csv', '1,2,3\n0,1e39,2\n')
    done = elm('pack', path, '-o', tmp_path / 'small', '--dtype', 'float32', '-q')
    assert done.status == 1 and 'float32' in done.err and str(path) in done.err
    assert elm('pack', path, '-o', tmp_path / 'large', '-q').status == 0


def test_a_folder_that_holds_something_is_refused_and_untouched(write, elm, tmp_path):
    path, other = write('a.csv', '1,2,3\n0,1,2\n'), write('pack/mine', 'keep')
    done = elm('pack', path, '-o', tmp_path / 'pack', '-q')
    assert done.status == 1 and 'empty folder' in done.err
    assert other.read_text() == 'keep' and os.listdir(tmp_path / 'pack') == ['mine']


def test_an_empty_folder_is_welcome_and_a_pack_is_not_packed_again(write, elm, packed, tmp_path):
    (tmp_path / 'pack').mkdir()
    folder = packed(write('a.csv', '1,2,3\n0,1,2\n'))
    done = elm('pack', folder, '-o', tmp_path / 'again', '-q')
    assert done.status == 1 and 'rows of text, found packed rows' in done.err and not (tmp_path / 'again').exists()


# Damage


@pytest.fixture
def pack_of_four(write, csv_of, packed, table, maps):
    """Pack in four part files of several blocks each."""
    return packed(write('rows.csv', csv_of(table[1], table[0])), '--block-rows', 40, *maps(4))


def part(folder, number):
    return sorted(folder.glob('part-*'))[number]


def refusal(elm, folder, tmp_path, maps, n_maps):
    """Train on a damaged pack: the message. No model may appear."""
    done = elm('train', 'pesvm', folder, '--model', tmp_path / 'm.npz', '--hidden', 4, '-q', *maps(n_maps))
    assert (done.status, done.out) == (1, '') and not (tmp_path / 'm.npz').exists()
    assert done.err.count('\n') == 1 and 'Traceback' not in done.err
    return done.err


@pytest.mark.parametrize('n_maps', [1, 2, 7])
@pytest.mark.parametrize('where', [0.02, 0.4, 0.97])
def test_a_flipped_byte_is_found(elm, pack_of_four, tmp_path, maps, where, n_maps):
    path = part(pack_of_four, 2)
    group = pq.read_metadata(path).row_group(1).column(0)
    data, i = path.read_bytes(), group.data_page_offset + 40 + int(where * (group.total_compressed_size - 41))
    path.write_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])
    message = refusal(elm, pack_of_four, tmp_path, maps, n_maps)
    assert f'{path}, row group 2: the file is cut short or damaged' in message


@pytest.mark.parametrize('n_maps', [1, 7])
@pytest.mark.parametrize('number', [0, 3])
def test_a_file_that_is_cut_is_found(elm, pack_of_four, tmp_path, maps, number, n_maps):
    path = part(pack_of_four, number)
    path.write_bytes(path.read_bytes()[:-30])
    assert str(path) in refusal(elm, pack_of_four, tmp_path, maps, n_maps)


@pytest.mark.parametrize('damage', ['no part', 'empty part', 'another part', 'a part twice'])
@pytest.mark.parametrize('command', ['train', 'predict', 'evaluate'])
def test_a_pack_with_other_rows_than_its_manifest_says_is_refused(
    elm, pack_of_four, trained, tmp_path, maps, command, damage
):
    trained(pack_of_four)
    path = part(pack_of_four, 1)
    data = path.read_bytes()
    if damage == 'no part':
        path.unlink()
    elif damage == 'a part twice':
        path = pack_of_four / 'part-00009.parquet'
        path.write_bytes(data)
    else:
        path.write_bytes(b'' if damage == 'empty part' else part(pack_of_four, 0).read_bytes())
    if command == 'train':
        message = refusal(elm, pack_of_four, tmp_path, maps, 2)
    else:
        out = ['-o', tmp_path / 'out'] if command == 'predict' else []
        done = elm(command, trained.path, pack_of_four, '-q', *out)
        assert (done.status, done.out) == (1, '') and not (tmp_path / 'out').exists()
        message = done.err
    assert f'{path}: expected' in message


def test_a_pack_without_manifest_is_unfinished(elm, pack_of_four, tmp_path, maps):
    (pack_of_four / MANIFEST).unlink()
    assert 'packing did not finish' in refusal(elm, pack_of_four, tmp_path, maps, 1)


@pytest.mark.parametrize(
    'text',
    ['', '{}', '[1]', '{"format": "mr_elm-pack", "version": 2}', '{"format": "mr_elm-pack", "version": 1}', '\x00'],
)
def test_a_damaged_manifest_is_named(elm, pack_of_four, tmp_path, maps, text):
    (pack_of_four / MANIFEST).write_text(text)
    assert MANIFEST in refusal(elm, pack_of_four, tmp_path, maps, 1)


def test_a_pack_that_is_still_written_is_refused(elm, pack_of_four, tmp_path, maps):
    (pack_of_four / '_temporary').mkdir()
    assert '_temporary' in refusal(elm, pack_of_four, tmp_path, maps, 1)


def test_two_packs_at_once_are_refused(elm, pack_of_four, packed, write, tmp_path):
    other = packed(write('b.csv', '1,2,3\n0,1,2\n'), name='other')
    done = elm('train', 'pesvm', pack_of_four, other, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and 'expected one pack' in done.err and '`mr-elm update`' in done.err


def test_a_data_set_is_one_pack_and_another_one_is_added_by_update(elm, packed, write, tmp_path):
    """The way out that the message names leads to the model of all rows."""
    rows = [f'{i % 2},{i % 7},{i * i % 5}\n' for i in range(200)]
    days = {day: write(f'{day}.csv', ''.join(part)) for day, part in (('mon', rows[:100]), ('tue', rows[100:]))}
    packs = {day: packed(path, name=f'{day}.pack') for day, path in days.items()}
    both = packed(*days.values(), name='both.pack')
    model = tmp_path / 'm.npz'
    for name, folder in {'m.npz': packs['mon'], 'both.npz': both}.items():
        assert elm('train', 'pesvm', folder, '--hidden', 5, '--model', tmp_path / name, '-q').status == 0
    assert elm('update', model, packs['tue'], '--model', model, '--overwrite', '-q').status == 0
    assert model_rows(elm, model) == model_rows(elm, tmp_path / 'both.npz') == 200


def model_rows(elm, model):
    return json.loads(elm('inspect', model, '--json').out)['n_rows_used']


def test_a_pack_without_its_files_is_damaged_and_not_passed_over(elm, pack_of_four, packed, write, tmp_path, maps):
    other = packed(write('b.csv', '1,2,3\n0,1,2\n' * 20), name='other')
    for file in pack_of_four.glob('*.parquet'):
        file.unlink()
    assert f'{pack_of_four}: the pack is damaged' in refusal(elm, pack_of_four, tmp_path, maps, 1)
    done = elm('train', 'pesvm', other, pack_of_four, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and f'{pack_of_four}: the pack is damaged' in done.err


def test_models_of_a_pack_are_equal_files_if_the_date_is_given(elm, pack_of_four, tmp_path, monkeypatch):
    monkeypatch.setenv('SOURCE_DATE_EPOCH', '1700000000')
    for name, runner in ('a.npz', ('-r', 'inline')), ('b.npz', LOCAL):
        done = elm('train', 'pesvm', pack_of_four, '--hidden', 5, '--model', tmp_path / name, '-q', *runner)
        assert done.status == 0
    for ending in '.npz', '.sums.npz':
        assert (tmp_path / f'a{ending}').read_bytes() == (tmp_path / f'b{ending}').read_bytes()


@pytest.mark.parametrize(('task', 'asked'), [('classification', 'regression'), ('regression', 'classification')])
def test_a_pack_made_for_another_task_is_refused(elm, packed, write, tmp_path, task, asked):
    folder = packed(write('a.csv', '1,2,3\n0,1,2\n' * 30), '--task', task)
    done = elm('train', 'pesvm', folder, '--task', asked, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and f'pack --task {asked}' in done.err


@pytest.mark.parametrize('task', ['classification', 'regression'])
def test_rows_packed_without_labels_cannot_be_learned_from(elm, packed, write, tmp_path, task):
    folder = packed(write('a.csv', '1,2,3\n0,1,2\n' * 30), '--no-label', '--task', task)
    done = elm('train', 'pesvm', folder, '--task', task, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and 'expected labels' in done.err


def test_compressed_text_is_packed_to_its_last_member(write, csv_of, packed, table):
    X, labels = table
    text = csv_of(labels, X).encode()
    folder = packed(write('a.csv.gz', gzip.compress(text) + gzip.compress(text)))
    assert np.array_equal(rows_and_labels(read_back(folder))[0], np.r_[X, X])


def test_rows_left_out_are_listed_beside_the_pack_and_counted_by_its_models(elm, write, tmp_path, model_of):
    rows = ''.join(f'{i % 2},{i},{i * i % 7}\n' for i in range(40))
    path = write('rows.csv', rows + '1,word,3\n')
    assert elm('pack', path, '-o', tmp_path / 'packed', '--bad-rows', 'skip').status == 0
    listed = (tmp_path / 'packed.rejected').read_text().rstrip('\n').split('\t')
    assert listed[:2] == [str(path), '41'] and listed[3] == '1,word,3'
    assert elm('train', 'pesvm', tmp_path / 'packed', '--hidden', 5, '--model', tmp_path / 'm.npz').status == 0
    header, _ = model_of(tmp_path / 'm.npz')
    assert (header['n_rows_used'], header['n_rows_rejected']) == (40, 1)


def test_rows_left_out_are_listed_beside_a_pack_in_a_new_folder(elm, write, tmp_path):
    path, folder = write('rows.csv', '0,1,2\n1,2,1\n1,2\n' * 9), tmp_path / 'new' / 'sub'
    assert elm('pack', path, '-o', folder, '--bad-rows', 'skip', '-q').status == 0
    assert len((tmp_path / 'new' / 'sub.rejected').read_text().splitlines()) == 9


def test_a_number_that_is_another_in_the_manifest_is_found(elm, pack_of_four, tmp_path, maps):
    text = (pack_of_four / MANIFEST).read_text()
    at = text.index('"columns": "') + 20
    (pack_of_four / MANIFEST).write_text(text[:at] + ('B' if text[at] == 'A' else 'A') + text[at + 1 :])
    message = refusal(elm, pack_of_four, tmp_path, maps, 1)
    assert MANIFEST in message and 'its checksum does not match' in message


def test_the_format_that_was_said_is_that_of_the_text(elm, write, tmp_path):
    path = write('rows', ''.join(f'{i % 2} 1:{i} 3:{i * i % 7}\n' for i in range(40)))
    assert elm('pack', path, '--format', 'libsvm', '-o', tmp_path / 'packed').status == 0


@pytest.mark.parametrize('labels', [[0, 1] * 300, [0] * 300 + [1] * 300], ids=['mixed', 'sorted'])
def test_wide_sparse_rows_make_small_row_groups(elm, write, tmp_path, labels):
    row = ' '.join(f'{j}:0.{j}' for j in range(1, 3001))
    path = write('rows.libsvm', ''.join(f'{label} {row}\n' for label in labels))
    assert elm('pack', path, '-o', tmp_path / 'packed').status == 0
    blocks = read_back(tmp_path / 'packed')
    assert max(block.X.data.nbytes for block in blocks) <= MAX_RECORD and len(blocks) > 1
    labels = Summary.of_manifest(load_manifest(str(tmp_path / 'packed'))).labels
    assert {name: entry[0] for name, entry in labels.entries.items()} == {'0': 300, '1': 300}
