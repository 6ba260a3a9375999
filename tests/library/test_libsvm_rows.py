"""LIBSVM text: sparse rows, what they may look like, and why one is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import rows as twin
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from mr_elm.rows.libsvm_rows import parse
from mr_elm.rows.lines import LineReader
from mr_elm.rows.options import RowOptions


def read(lines, stop=False, block_rows=4096, **form):
    reader = LineReader(RowOptions('libsvm', **form), stop=stop, block_rows=block_rows)
    return reader, list(reader.blocks([('\n'.join(lines)).encode()]))


def labels_of(blocks):
    return [block.names[code] for block in blocks for code in block.codes]


def pairs_of(block):
    return [dict(zip((row.indices + 1).tolist(), row.data.tolist(), strict=True)) for row in block.X]


def test_rows_and_labels_are_those_of_scikit_learn_bit_for_bit(tmp_path):
    X = sp.random(300, 50, 0.1, 'csr', random_state=0)
    X.data *= 10.0 ** np.random.default_rng(0).integers(-200, 200, X.nnz)
    y = np.arange(300) % 4 - 1.0
    dump_svmlight_file(X, y, str(tmp_path / 'rows'), zero_based=False)
    expected, labels = load_svmlight_file(str(tmp_path / 'rows'), n_features=50, zero_based=False)
    _, [block] = read((tmp_path / 'rows').read_text().splitlines(), n_features=50, numeric_labels=True)
    assert sp.issparse(block.X) and block.X.shape == (300, 50)
    assert np.array_equal(block.X.toarray(), expected.toarray())
    assert np.array_equal(block.targets, labels)


@pytest.mark.parametrize(
    'line, label, pairs',
    [
        ('1 1:2 3:4', '1', {1: 2, 3: 4}),
        ('+1 1:2', '+1', {1: 2}),
        ('-1', '-1', {}),
        ('  2   1:2\t3:4  ', '2', {1: 2, 3: 4}),
        ('1 qid:3 1:2', '1', {1: 2}),
        ('1 1:2 # a comment 9:9', '1', {1: 2}),
        ('1 1:2#9:9', '1', {1: 2}),
        ('1 # nothing but a label', '1', {}),
        ('1 1:1e-5 2:-1E+2 3:.5 4:5.', '1', {1: 1e-5, 2: -100, 3: 0.5, 4: 5}),
        ('1 1:0 2:0.0 3:1', '1', {1: 0, 2: 0, 3: 1}),
        ('cat 10000000:1', 'cat', {10_000_000: 1}),
        ('città 1:2', 'città', {1: 2}),
        ('Å\t1:2', 'Å', {1: 2}),
    ],
)
def test_odd_but_good_rows_are_read(line, label, pairs):
    _, [block] = read([line])
    assert labels_of([block]) == [label] and pairs_of(block) == [pairs]


def test_good_rows_are_parsed_all_at_once():
    """Each row begins its indices anew; a refusal of all would let every line be parsed alone."""
    block = parse(b'1 5:1 9:2\n2 2:3\n1 2:4 3:5\n2\n1 1:6\n', RowOptions('libsvm'))
    assert pairs_of(block) == [{5: 1, 9: 2}, {2: 3}, {2: 4, 3: 5}, {}, {1: 6}]


def test_bare_labels_are_rows_of_zeros_among_others():
    _, [block] = read(['1', '2 3:1', '1', '2 1:5', '2'])
    assert block.X.toarray().tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0], [5, 0, 0], [0, 0, 0]]


def test_lines_of_comments_are_counted_and_left_out():
    reader, [block] = read(['# one', '1 1:1', '  # two', '', '2 2:1'])
    assert (reader.counts.comments, reader.counts.blank, len(block)) == (2, 1, 2)


def test_rows_without_labels():
    _, [block] = read(['1:2 3:4', '2:5'], labelled=False)
    assert block.codes is None and pairs_of(block) == [{1: 2, 3: 4}, {2: 5}]
    assert read(['1 1:2'], labelled=False)[1] == []


def test_blocks_of_other_widths_join_when_a_bad_row_stood_between():
    _, [block] = read(['1 1:1', '2 x', '1 7:1', '2 3:1'])
    assert block.X.shape == (3, 7) and pairs_of(block) == [{1: 1}, {7: 1}, {3: 1}]


REASONS = [
    ('1 0:1', 'index below 1'),
    ('1 -1:1', 'index below 1'),
    ('1 2:1 1:1', 'indices not rising'),
    ('1 2:1 2:1', 'indices not rising'),
    ('1 10000001:1', 'index too large'),
    (f'1 {"9" * 20}:1', 'index too large'),
    (f'1 {"9" * 5000}:1', 'not index:value'),
    ('1 1:2:3', 'not a number'),
    ('1 a:1', 'not index:value'),
    ('1 1:b', 'not a number'),
    ('1 1:nan', 'nan or infinite'),
    ('1 1:inf', 'nan or infinite'),
    ('1 1:1e999', 'nan or infinite'),
    ('1:2 3:4', 'missing label'),
    ('nan 1:2', 'missing label'),
    ('1 1', 'not index:value'),
    ('1 1:2 3', 'not index:value'),
    ('1 1:', 'not a number'),
    ('1 :1', 'not index:value'),
    ('1 1: 2', 'not a number'),
    ('1 1 :2', 'not index:value'),
    ('1 1-2:', 'not index:value'),
    ('1 1-2:3', 'not index:value'),
    ('1 1.5:2', 'not index:value'),
    ('1 1:2\0', 'binary data'),
    ('1 1:1_0', 'not a number'),
    ('1 1:0x1', 'not a number'),
    ('1 1:2-3', 'not a number'),
    ('qid:3 1:2', 'missing label'),
    ('a.qid:3 1:2', 'missing label'),
    ('1 1:2.qid:3', 'not a number'),
]


@pytest.mark.parametrize('line, reason', REASONS)
def test_a_bad_row_is_refused_with_its_reason_among_good_ones(line, reason):
    reader, [block] = read(['1 1:1', line, '2 2:2'])
    assert pairs_of(block) == [{1: 1}, {2: 2}]
    assert [(row.ordinal, row.reason, row.line) for row in reader.rejected] == [(1, reason, line)]


@pytest.mark.parametrize('pair', [('1 1:', '1 2:3 4'), ('1 1', '1 2::3'), ('1 1:2 :', '1 3 4:5'), ('1 1:2 3', '1 :4')])
def test_two_bad_rows_never_make_up_for_each_other(pair):
    reader, blocks = read([*pair, '2 2:2'])
    assert labels_of(blocks) == ['2'] and [row.ordinal for row in reader.rejected] == [0, 1]


def test_rows_may_be_narrower_than_the_model_but_not_wider():
    reader, [block] = read(['1 1:1', '1 3:1', '1 4:1'], n_features=3)
    assert block.X.shape == (2, 3)
    assert reader.rejected[0].reason == 'index too large' and '--ignore-extra-features' in reader.rejected[0].detail


def test_extra_features_are_dropped_when_asked_and_still_checked():
    reader, [block] = read(['1 1:1 4:1', '1 3:1', '2 9:1', '1 9:1 8:1'], n_features=3, ignore_extra=True)
    assert pairs_of(block) == [{1: 1}, {3: 1}, {}] and block.X.shape == (3, 3)
    assert [row.ordinal for row in reader.rejected] == [3]


def test_an_index_beyond_ten_millions_is_believed_where_the_number_of_features_is_said():
    lines = ['1 5:1', '1 10000001:1']
    reader, [block] = read(lines)
    assert pairs_of(block) == [{5: 1}] and '--n-features' in reader.rejected[0].detail
    reader, [block] = read(lines, n_features=10_000_001)
    assert pairs_of(block) == [{5: 1}, {10_000_001: 1}] and not reader.rejected


@pytest.mark.parametrize('seed', range(12))
def test_a_corrupted_file_keeps_the_rows_that_a_slow_reader_would_keep(seed):
    rng = np.random.default_rng(seed)
    lines = [f'{i % 3} 1:{x:.3g} {i % 5 + 2}:{y:.3g} 9:1e-5' for i, (x, y) in enumerate(rng.standard_normal((60, 2)))]
    lines = corrupted(lines, list('0123456789..+-eE_:: \tn#\0'), rng)
    good, bad = twin.salvage(lambda line: twin.libsvm_row(line, 10_000_000), lines)
    reader, blocks = read(lines, block_rows=16)
    assert [row.ordinal for row in reader.rejected] == bad
    assert list(zip(labels_of(blocks), [row for block in blocks for row in pairs_of(block)], strict=True)) == good
    assert 0 < len(bad) < len(lines)


def corrupted(lines, alphabet, rng):
    text = [list(line) for line in lines]
    for _ in range(50):
        line = text[rng.integers(len(text))]
        line[rng.integers(1, len(line))] = rng.choice(alphabet)  # never the first: a # there is a comment
        line.insert(1 + rng.integers(len(line)), rng.choice(alphabet))
    return [''.join(line) for line in text]
