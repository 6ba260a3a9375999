"""A ledger knows the rows of a model by keyed hashes: strangers cannot leave, and who left can be proven."""

import hashlib
import hmac
import json
import os
import stat
import struct
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from reference.files import LOCAL, copy_model
from reference.keys import write_keys

from mr_elm.drivers import ledger as ledger_driver
from mr_elm.drivers.ledger import LedgerChange, open_ledger
from mr_elm.drivers.receipts import read_receipts, seal, write_line, write_receipt
from mr_elm.drivers.verify import verify_files
from mr_elm.engines.local import Local
from mr_elm.errors import DataFormatError
from mr_elm.estimators import to_estimator
from mr_elm.model.file import read_model
from mr_elm.model.sums import compute_digest
from mr_elm.progress import Reporter
from mr_elm.rows.ledger import Ledger
from mr_elm.streaming import mr_ledger

N, D = 90, 4
PROGRAM = Path(sys.executable).with_name('mr-elm')


def hash_row(label, weight, features, key):
    """Hash a row as docs/audit.md says. label : text, or a list of numbers."""
    if isinstance(label, str):
        text = b'=' + label.encode()
    else:
        text = b'#' + struct.pack(f'<{len(label)}d', *(x + 0.0 for x in label))  # -0.0 is 0.0
    row = struct.pack('<Q', len(text)) + text + struct.pack('<d', weight)
    row += b''.join(struct.pack('<qd', j, x) for j, x in enumerate(features) if x != 0)
    return hmac.new(key, row, hashlib.sha256).digest()[:16]


def read_ledger(path):
    """Read a ledger with the standard library: (hash -> number of rows, lines of receipts, root)."""
    text = path.read_bytes()
    magic, version, _, n_entries, n_rows = struct.unpack_from('<8sI16sQQ', text)
    assert (magic, version) == (b'mrledger', 1)
    entries = list(struct.iter_unpack('<16sI', text[44 : 44 + 20 * n_entries]))
    assert [name for name, _ in entries] == sorted(name for name, _ in entries)
    counts = Counter()
    for name, count in entries:
        counts[name] += count
    assert counts.total() == n_rows
    receipts = text[44 + 20 * n_entries :].splitlines()
    return counts, receipts, hashlib.sha256(text[: 44 + 20 * n_entries]).hexdigest()


def demand_ledger(path, rows):
    """Demand that a ledger is the one of some rows: (label, weight, features)."""
    key = path.with_name(f'{path.name}.key').read_bytes()
    assert read_ledger(path)[0] == Counter(hash_row(*row, key) for row in rows)


@pytest.fixture
def table(rng):
    """Draw rows of two classes with some zeros, the first three twice: (X, labels)."""
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.8)
    X[3:6] = X[:3]
    return X, (X[:, 0] + X[:, 1] > 0) * 1


@pytest.fixture
def audited(elm, tmp_path):
    """Train, update or forget with the ledger m.ledger: (Result, path of the model)."""

    def run(command, *words, model='m.npz'):
        done = elm(*command.split(), *words, '--ledger', tmp_path / 'm.ledger', '--model', tmp_path / model, '-q')
        return done, tmp_path / model

    return run


@pytest.fixture
def living(audited, elm, tmp_path, write, csv_of, table):
    """Train on all rows: (model, ledger, lines of the rows)."""
    X, labels = table
    text = csv_of(labels, X)
    done, model = audited('train pesvm', write('rows.csv', text), '--hidden', 10)
    assert done == (0, '', '')
    return model, tmp_path / 'm.ledger', text.splitlines(keepends=True)


@pytest.fixture
def signer(tmp_path):
    """Write a pair of Ed25519 keys: paths of the private and of the public one."""
    return write_keys(tmp_path, 'sign', ed25519.Ed25519PrivateKey.generate())


def write_formats(elm, write, tmp_path, csv_of, libsvm_of, labels, X):
    """Write the same rows as csv, LIBSVM text, Parquet and a pack: name -> path."""
    pq.write_table(
        pa.table({'label': labels, **{f'x{j}': column for j, column in enumerate(X.T)}}), tmp_path / 'rows.parquet'
    )
    paths = {
        'csv': write('rows.csv', csv_of(labels, X)),
        'libsvm': write('rows.libsvm', libsvm_of(labels, X)),
        'parquet': tmp_path / 'rows.parquet',
        'pack': tmp_path / 'pack',
    }
    assert elm('pack', paths['libsvm'], '-o', paths['pack'], '--block-rows', 16, '-q').status == 0
    return paths


@pytest.mark.parametrize('runner', [('-r', 'inline'), (*LOCAL, '-D', 'mapreduce.job.maps=3')])
def test_a_ledger_holds_the_hash_of_each_row_whatever_its_format(
    elm, write, csv_of, libsvm_of, table, tmp_path, runner
):
    X, labels = table
    roots = set()
    for name, path in write_formats(elm, write, tmp_path, csv_of, libsvm_of, labels, X).items():
        ledger = tmp_path / f'{name}.ledger'
        ledger.with_name(f'{name}.ledger.key').write_bytes(bytes(range(32)))
        ledger.with_name(f'{name}.ledger.key').chmod(0o600)
        done = elm(
            'train',
            'pesvm',
            path,
            '--hidden',
            5,
            '--ledger',
            ledger,
            '--model',
            tmp_path / f'{name}.npz',
            '-q',
            *runner,
        )
        assert done.status == 0, done.err
        demand_ledger(ledger, [(str(label), 1.0, x) for label, x in zip(labels, X, strict=True)])
        roots.add(read_ledger(ledger)[2])
        header = read_model(tmp_path / f'{name}.npz').header
        assert header.parameters['ledger'] == {'root': read_ledger(ledger)[2], 'rows': N}
    assert len(roots) == 1


def test_hashes_travel_in_pieces_and_buckets(audited, write, csv_of, table, tmp_path, monkeypatch):
    X, labels = table
    monkeypatch.setattr(mr_ledger, 'MOST_ENTRIES', 7)
    monkeypatch.setattr(ledger_driver, 'BUCKET_BYTES', 256)
    done, _ = audited(
        'train pesvm', write('rows.csv', csv_of(labels, X)), '--hidden', 5, '-r', 'inline', '--bad-rows', 'stop'
    )
    assert done.status == 0, done.err
    demand_ledger(tmp_path / 'm.ledger', [(str(label), 1.0, x) for label, x in zip(labels, X, strict=True)])


def test_weights_targets_and_encoded_columns_are_hashed(audited, write, tmp_path, table):
    X, _ = table
    cities, missing = np.array(['Oslo', 'Bern', 'Rome'])[np.arange(N) % 3], np.arange(N) % 10 == 0
    weights = 0.5 + np.arange(N) % 4
    lines = [
        f'{x[1]!r},{w!r},{"" if gap else repr(x[0])},{city}\n'
        for x, w, gap, city in zip(X.tolist(), weights.tolist(), missing, cities, strict=True)
    ]
    path = write('rows.csv', 'y,w,a,city\n' + ''.join(lines))
    words = '--task', 'regression', '--weight-column', 'w', '--encode', 'auto', '--map', 'tanh', '--hidden', 5
    done, model = audited('train elm', path, *words)
    assert done.status == 0, done.err
    mean = read_model(model).header.encoding['columns'][0]['mean']
    # docs/model-file.md: the number, its indicator of a missing one, categories in byte order, others
    features = [
        [mean if gap else x[0], gap, city == 'Bern', city == 'Oslo', city == 'Rome', 0]
        for x, gap, city in zip(X, missing, cities, strict=True)
    ]
    demand_ledger(tmp_path / 'm.ledger', [([x[1]], w, z) for x, w, z in zip(X, weights, features, strict=True)])
    other = write('other.csv', 'y,w,a,city\n' + lines[5].replace(repr(weights.tolist()[5]), '9.0', 1))
    done, _ = audited('forget', model, other, model='x.npz')
    assert done.status == 1 and '1 of these 1 rows' in done.err  # the same row with another weight
    done, left = audited('forget', model, write('some.csv', 'y,w,a,city\n' + ''.join(lines[:20])), model='f.npz')
    assert done.status == 0, done.err
    demand_ledger(
        tmp_path / 'm.ledger', [([x[1]], w, z) for x, w, z in zip(X[20:], weights[20:], features[20:], strict=True)]
    )


@pytest.mark.parametrize('trained, leaving', [('pack', 'libsvm'), ('parquet', 'csv'), ('csv', 'pack')])
def test_rows_may_leave_in_another_format_and_verify_agrees(
    elm, audited, write, csv_of, libsvm_of, table, tmp_path, trained, leaving
):
    X, labels = table
    paths = write_formats(elm, write, tmp_path, csv_of, libsvm_of, labels, X)
    done, model = audited('train pesvm', paths[trained], '--hidden', 10)
    assert done.status == 0, done.err
    (tmp_path / 'few').mkdir()
    (tmp_path / 'rest').mkdir()
    few = write_formats(
        elm, lambda name, text: write(f'few/{name}', text), tmp_path / 'few', csv_of, libsvm_of, labels[:20], X[:20]
    )
    rest = write_formats(
        elm, lambda name, text: write(f'rest/{name}', text), tmp_path / 'rest', csv_of, libsvm_of, labels[20:], X[20:]
    )
    done, left = audited('forget', model, few[leaving], model='f.npz')
    assert done.status == 0, done.err
    for path in rest.values():
        done = elm('verify', left, path, '--ledger', tmp_path / 'm.ledger', '-q')
        assert done.status == 0, done.err
        assert 'rows: exactly the 70 rows' in done.out and 'predictions: those of a new training' in done.out
    done = elm('verify', left, paths['csv'], '--ledger', tmp_path / 'm.ledger', '-q')
    assert done.status == 1 and '20 of these 90 rows' in done.err


def test_verify_finds_the_bits_of_the_model_where_whole_blocks_have_left(
    elm, audited, write, csv_of, table, tmp_path, model_of
):
    X, labels = table
    for name, rows in (('all', slice(None)), ('leaving', slice(0, 32)), ('left', slice(32, None))):
        path = write(f'{name}.csv', csv_of(labels[rows], X[rows]))
        assert elm('pack', path, '-o', tmp_path / name, '--block-rows', 16, '-q').status == 0
    done, model = audited('train pesvm', tmp_path / 'all', '--hidden', 10)
    assert done.status == 0, done.err
    done, left = audited('forget', model, tmp_path / 'leaving', model='f.npz')
    assert done.status == 0, done.err
    done = elm('verify', left, tmp_path / 'left', '--ledger', tmp_path / 'm.ledger', '-q')
    assert done.status == 0 and 'differ by up to 0.0e+00' in done.out
    assert elm('train', 'pesvm', tmp_path / 'left', '--like', model, '--model', tmp_path / 'n.npz', '-q').status == 0
    again, found = (model_of(path)[1]['output_weights'] for path in (tmp_path / 'n.npz', left))
    assert again.tobytes() == found.tobytes()


def test_a_row_leaves_as_often_as_it_came(audited, living, write):
    model, ledger, lines = living  # rows 0 to 2 are twice in
    done, _ = audited('forget', model, write('leaving.csv', lines[0] * 3), model='x.npz')
    assert done.status == 1 and '1 of these 3 rows' in done.err and not (ledger.parent / 'x.npz').exists()
    before = ledger.read_bytes()
    done, once = audited('forget', model, write('leaving.csv', lines[0]), model='once.npz')
    assert done.status == 0 and ledger.read_bytes() != before
    done, twice = audited('forget', once, write('leaving.csv', lines[3]), model='twice.npz')
    assert done.status == 0
    done, _ = audited('forget', twice, write('leaving.csv', lines[0]), model='x.npz')
    assert done.status == 1 and '1 of these 1 rows' in done.err


def test_one_entry_counts_all_equal_rows(audited, elm, write, tmp_path):
    path = write('rows.csv', '0,1,2\n' * 65_536 + '1,2,1\n' * 3)
    done, model = audited('train pesvm', path, '--hidden', 3)
    assert done.status == 0, done.err
    demand_ledger(tmp_path / 'm.ledger', [('0', 1.0, [1, 2])] * 65_536 + [('1', 1.0, [2, 1])] * 3)
    done, left = audited('forget', model, write('leaving.csv', '0,1,2\n' * 65_530), model='f.npz')
    assert done.status == 0, done.err
    demand_ledger(tmp_path / 'm.ledger', [('0', 1.0, [1, 2])] * 6 + [('1', 1.0, [2, 1])] * 3)


def test_any_interleaving_of_updates_and_forgets_is_the_model_of_the_rows_that_are_left(
    audited, elm, living, write, csv_of, rng
):
    model, ledger, lines = living
    inside, outside = list(lines), csv_of(rng.integers(0, 2, 60), rng.normal(size=(60, D))).splitlines(keepends=True)
    for step in range(5):
        source, target, command = (inside, outside, 'forget') if step % 2 else (outside, inside, 'update')
        moved = [source.pop(k) for k in sorted(rng.permutation(len(source))[:12], reverse=True)]
        target += moved
        done, model = audited(command, model, write('moved.csv', ''.join(moved)), model=f'{step}.npz')
        assert done == (0, '', '')
    done = elm('verify', model, write('inside.csv', ''.join(inside)), '--ledger', ledger, '-q')
    assert done.status == 0, done.err
    whole, left = inside[:10], inside[10:]
    done = elm('verify', model, write('inside.csv', ''.join(left + whole[:9] + outside[:1])), '--ledger', ledger, '-q')
    assert done.status == 1 and '1 of these' in done.err and 'and 1 rows of the ledger' in done.err
    assert len(read_ledger(ledger)[1]) == 6 and len(list(ledger.parent.glob('m.ledger.receipt-*.json'))) == 2


def test_auto_with_its_sums_has_a_ledger(audited, elm, write, csv_of, table, tmp_path):
    X, labels = table
    done, _ = audited('train auto', path := write('rows.csv', csv_of(labels, X)))
    assert done.status == 2 and '--keep-sums' in done.err
    done, model = audited('train auto', path, '--keep-sums')
    assert done.status == 0, done.err
    few = write('few.csv', '0,9,8,7,6\n1,5,4,3,2\n')  # the others are landmarks, which it does not forget
    done, more = audited('update', model, few, model='u.npz')
    assert done.status == 0, done.err
    done, left = audited('forget', more, few, model='f.npz')
    assert done.status == 0, done.err
    done = elm('verify', left, path, '--ledger', tmp_path / 'm.ledger', '-q')
    assert done.status == 0, done.err


@pytest.mark.parametrize('method', ['pesvm', 'elm'])
def test_a_model_with_weights_of_classes_is_trained_again_with_these(
    audited, elm, write, csv_of, table, tmp_path, method
):
    """The rows of the ledger have the same classes, so the same weights."""
    X, labels = table
    labels = labels + (X[:, 2] > 1.2)
    rows, ledger = write('rows.csv', csv_of(labels, X)), tmp_path / 'm.ledger'
    done, model = audited(f'train {method}', rows, '--hidden', 6, '--class-weight', 'balanced')
    assert done.status == 0, done.err
    done = elm('verify', model, rows, '--ledger', ledger, '-q')
    assert done.status == 0 and 'predictions: those of a new training on these rows differ' in done.out, done


def test_zeros_that_are_written_are_zeros_that_are_left_out(audited, write, tmp_path):
    rows = ['0 1:1 2:0 3:5\n', '1 2:2\n', '0 3:-0.0\n', '1 1:3 2:4\n', '1 3:1\n']
    done, model = audited('train pesvm', write('rows.libsvm', ''.join(rows)), '--hidden', 3)
    assert done.status == 0, done.err
    table = [[1, 0, 5], [0, 2, 0], [0, 0, 0], [3, 4, 0], [0, 0, 1]]
    demand_ledger(tmp_path / 'm.ledger', [(row[0], 1.0, x) for row, x in zip(rows, table, strict=True)])
    done, _ = audited('forget', model, write('few.libsvm', '0 1:1 3:5\n1 1:0 2:2.0 3:0\n'), model='f.npz')
    assert done.status == 0, done.err


def test_what_a_killed_command_has_left_vanishes_with_the_next_change(audited, living, write):
    model, ledger, lines = living
    left = ledger.with_name('m.ledger.mr_elm')
    left.mkdir()
    (left / 'ledger.key').write_bytes(bytes(32))
    assert audited('forget', model, write('few.csv', lines[5]), model='f.npz')[0].status == 0
    assert not left.exists()


def test_labels_that_are_one_class_are_one_row(audited, write):
    rows = ['+1,1,2\n', '0,2,1\n', '1,3,4\n', '0,5,5\n']
    done, model = audited('train pesvm', write('rows.csv', ''.join(rows)), '--hidden', 3)
    assert done.status == 0, done.err
    done, _ = audited('forget', model, write('few.csv', '1.0,1,2\n'), model='f.npz')
    assert done.status == 0, done.err


def test_sets_of_labels_and_several_targets_have_a_ledger(audited, elm, write, tmp_path):
    rows = [f'{label},{n % 7},{n % 5}\n' for n, label in enumerate(['a;b', 'b', ''] * 9)]
    done, model = audited('train pesvm', write('sets.csv', ''.join(rows)), '--labels-separator', ';', '--hidden', 3)
    assert done.status == 0, done.err
    demand_ledger(
        tmp_path / 'm.ledger', [(row.split(',')[0], 1.0, [float(x) for x in row.split(',')[1:]]) for row in rows]
    )
    done, left = audited('forget', model, write('few.csv', rows[0].replace('a;b', 'b; a')), model='f.npz')
    assert done.status == 0, done.err
    assert elm('verify', left, write('rest.csv', ''.join(rows[1:])), '--ledger', tmp_path / 'm.ledger').status == 0


def test_a_model_with_a_ledger_changes_only_with_it(elm, audited, living, write, tmp_path):
    model, ledger, lines = living
    few = write('few.csv', lines[5])
    for words in ('update', model, few), ('forget', model, few), ('merge', model, copy_model(model)):
        done = elm(*words, '--model', tmp_path / 'x.npz')
        assert done.status == 1 and '--ledger' in done.err and not (tmp_path / 'x.npz').exists()
    assert elm('train', 'pesvm', few.with_name('rows.csv'), '--model', tmp_path / 'plain.npz', '-q').status == 0
    for command in 'update', 'forget', 'verify':
        out = [] if command == 'verify' else ['--model', tmp_path / 'x.npz']
        done = elm(command, tmp_path / 'plain.npz', few, '--ledger', ledger, *out)
        assert done.status == 1 and 'trained with --ledger' in done.err


def test_a_model_that_an_estimator_has_changed_has_no_ledger(living, table):
    model, _, _ = living
    estimator = to_estimator(read_model(model, sums=True))
    X, labels = table
    estimator.forget(X[10:20], labels[10:20])
    assert 'ledger' not in estimator.to_model().header.parameters
    assert estimator.n_rows_ == N - 10


def test_the_old_model_no_longer_fits_the_ledger(elm, audited, living, write):
    model, ledger, lines = living
    assert elm('verify', model, '--ledger', ledger).status == 0
    assert audited('forget', model, write('few.csv', lines[5]), model='f.npz')[0].status == 0
    done = elm('verify', model, '--ledger', ledger)
    assert done.status == 1 and 'an update or forget has changed it since' in done.err
    done, _ = audited('forget', model, write('few.csv', lines[6]), model='x.npz')
    assert done.status == 1 and not (ledger.parent / 'x.npz').exists()


def test_wrong_usage(elm, audited, write, csv_of, table, tmp_path):
    rows, ledger = write('rows.csv', csv_of(table[1], table[0])), tmp_path / 'm.ledger'
    assert audited('train pesvm', rows, '--no-sums')[0].status == 2
    assert audited('train pesvm', rows, '--script')[0].status == 1
    assert elm('train', 'pesvm', rows, '--ledger', ledger, '--model', ledger).status == 1
    assert elm('train', 'pesvm', rows, '--sign', ledger, '--model', tmp_path / 'm.npz').status == 1
    assert elm('train', 'pesvm', rows, '--ledger', 'hdfs:///m.ledger', '--model', tmp_path / 'm.npz').status == 1
    assert not ledger.exists() and not (tmp_path / 'm.npz').exists()
    ledger.write_text('something')
    done, _ = audited('train pesvm', rows, '--hidden', 3)
    assert done.status == 1 and 'it exists' in done.err and ledger.read_text() == 'something'
    assert audited('train pesvm', rows, '--hidden', 3, '--overwrite')[0].status == 0


@pytest.mark.parametrize('mode', [0o644, 0o640, 0o604, 0o620])
def test_only_the_owner_reads_the_key(audited, living, write, mode):
    model, ledger, lines = living
    key = ledger.with_name('m.ledger.key')
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600 and len(key.read_bytes()) == 32
    key.chmod(mode)
    done, _ = audited('forget', model, write('few.csv', lines[5]), model='x.npz')
    assert done.status == 1 and 'chmod 600' in done.err


def test_receipts_say_what_left_and_are_signed(elm, audited, living, signer, write, tmp_path):
    model, ledger, lines = living
    private, public = signer
    before = read_ledger(ledger)[2]
    done, left = audited('forget', model, write('few.csv', ''.join(lines[6:16])), '--sign', private, model='f.npz')
    assert done == (0, '', '')
    line = (tmp_path / 'm.ledger.receipt-000002.json').read_bytes()
    receipt, first = json.loads(line), read_ledger(ledger)[1][0]
    wanted = {
        'action': 'forget',
        'number': 2,
        'rows_asked': 10,
        'rows_found': 10,
        'rows_left': N - 10,
        'root_before': before,
        'root_after': read_ledger(ledger)[2],
        'previous': hashlib.sha256(first).hexdigest(),
        'model_before': hashlib.sha256(model.read_bytes()).hexdigest(),
        'model_after': hashlib.sha256(left.read_bytes()).hexdigest(),
        'sums_after': hashlib.sha256((tmp_path / 'f.sums.npz').read_bytes()).hexdigest(),
    }
    assert {name: receipt[name] for name in wanted} == wanted
    key, header = ledger.with_name('m.ledger.key').read_bytes(), ledger.read_bytes()[:28]  # magic, version, check
    rows = [[float(number) for number in line.split(',')] for line in lines[6:16]]
    hashes = sorted(hash_row(str(int(label)), 1.0, x, key) for label, *x in rows)
    alone = header + struct.pack('<QQ', 10, 10) + b''.join(name + b'\1\0\0\0' for name in hashes)
    assert receipt['rows_root'] == hashlib.sha256(alone).hexdigest()  # who has rows and key can check which rows left
    signed = json.dumps({k: v for k, v in receipt.items() if k not in ('mac', 'signature')}, sort_keys=True).encode()
    key = serialization.load_pem_public_key(public.read_bytes())
    key.verify(bytes.fromhex(receipt['signature']), signed)
    assert elm('verify', left, '--ledger', ledger, '--signed-by', public).status == 0
    done, last = audited('forget', left, write('few.csv', lines[16]), model='g.npz')
    done = elm('verify', last, '--ledger', ledger, '--signed-by', public)
    assert done.status == 1 and 'receipt 3: expected one signed with the key of --signed-by' in done.err
    assert elm('verify', last, '--ledger', ledger).status == 0


@pytest.mark.parametrize('rate, sound', [(1e-6, False), (1e-13, True)])
def test_verify_finds_a_model_that_is_not_the_one_of_its_rows(
    audited, elm, write, csv_of, table, monkeypatch, rate, sound
):
    """Its files fit each other, since the program that wrote them was altered; only training again shows it."""
    mark, rows = LedgerChange.mark, write('rows.csv', csv_of(table[1], table[0]))

    def alter(change, model):
        marked = mark(change, model)
        weights = marked.arrays['output_weights'] * (1 + rate)
        return replace(marked, arrays={**marked.arrays, 'output_weights': weights})

    monkeypatch.setattr(LedgerChange, 'mark', alter)
    done, model = audited('train pesvm', rows, '--hidden', 10)
    assert done.status == 0, done.err
    ledger = model.with_name('m.ledger')
    assert elm('verify', model, '--ledger', ledger, '-q').status == 0
    done = elm('verify', model, rows, '--ledger', ledger, '-q')
    assert done.status == (0 if sound else 1) and sound != ('predictions: those of a new training' in done.err)


def test_rows_of_several_packs_are_verified_by_the_files_that_were_packed(elm, audited, write, tmp_path):
    days = [write(f'{day}.csv', ''.join(f'{i % 2},{i % 7},{i % day}\n' for i in range(90))) for day in (5, 11)]
    packs = [tmp_path / f'{path.name}.pack' for path in days]
    for path, pack in zip(days, packs, strict=True):
        assert elm('pack', path, '-o', pack, '-q').status == 0
    model = audited('train pesvm', packs[0], '--hidden', 5)[1]
    assert audited('update', model, packs[1], '--overwrite')[0].status == 0
    done = elm('verify', model, *packs, '--ledger', tmp_path / 'm.ledger', '-q')
    assert done.status == 1 and 'name the files that were packed' in done.err
    assert elm('verify', model, *days, '--ledger', tmp_path / 'm.ledger', '-q').status == 0


def test_a_receipt_follows_the_one_before_it():
    """Number, root and digest each tell; even who has the key must write all receipts anew to change one."""
    key, train = b'k' * 32, {'action': 'train', 'root_before': None, 'root_after': 'a'}
    forget = {'action': 'forget', 'root_before': 'a', 'root_after': 'b'}
    first, other = write_receipt(train, [], key), write_receipt({**train, 'rows_asked': 3}, [], key)
    last = write_receipt(forget, [first], key)
    assert len(read_receipts([first, last], 'm.ledger', key)) == 2
    for receipts in (
        [other, last],
        [first, write_receipt(forget, [other, first], key)],
        [first, write_receipt({**forget, 'root_before': 'c'}, [first], key)],
        [last],
        [first, last, last],
    ):
        with pytest.raises(DataFormatError, match='it does not follow'):
            read_receipts(receipts, 'm.ledger', key)


def test_a_ledger_of_other_rows_than_the_model_is_not_written(audited, write, csv_of, table, monkeypatch):
    hash_rows = LedgerChange.hash

    def lose_a_row(change, *words):
        hash_rows(change, *words)
        change.after = replace(change.after, n_rows=change.after.n_rows - 1)

    monkeypatch.setattr(LedgerChange, 'hash', lose_a_row)
    done, model = audited('train pesvm', write('rows.csv', csv_of(table[1], table[0])), '--hidden', 5)
    assert done.status == 1 and 'the data changed between passes' in done.err
    assert not model.exists() and not model.with_name('m.ledger').exists()


def test_a_ledger_has_one_key(elm, audited, living, write):
    model, ledger, lines = living
    key = ledger.with_name('m.ledger.key')
    text = key.read_bytes()
    for change, cause in (
        (lambda: key.write_bytes(text[::-1]), 'expected the key that the ledger was made with'),
        (lambda: key.write_bytes(text[1:]), 'found 31 bytes'),
        (key.unlink, 'm.ledger.key: expected the key of the ledger, found no such file: bring it back from a backup'),
    ):
        change()
        for done in (
            audited('forget', model, write('few.csv', lines[5]), model='x.npz')[0],
            elm('verify', model, '--ledger', ledger),
        ):
            assert done.status == 1 and cause in done.err and done.err.count('\n') == 1
    assert not ledger.with_name('x.npz').exists()


@pytest.mark.parametrize('is_signed', [False, True])
def test_mac_and_signature_cover_each_field_of_a_receipt(is_signed):
    """Who has no key cannot change a field, and who has the key of the ledger alone cannot change what is signed."""
    key, train = b'k' * 32, {'action': 'train', 'root_before': None, 'root_after': 'a', 'model_after': 'b'}
    first = write_receipt(train, [], key)
    forget = {'action': 'forget', 'root_before': 'a', 'root_after': 'c', 'model_before': 'b', 'model_after': 'd'}
    last = write_receipt(forget, [first], key, ed25519.Ed25519PrivateKey.generate() if is_signed else None)
    receipt = json.loads(last)
    assert len(read_receipts([first, last], 'm.ledger', key, receipt.get('public_key'))) == 2
    with pytest.raises(DataFormatError, match='its mac does not match'):
        read_receipts([first, last], 'm.ledger', b'l' * 32)
    for name in receipt:
        forged = {**receipt, name: 'e'}
        if is_signed and name != 'mac':
            forged['mac'] = seal(forged, key)
        with pytest.raises(DataFormatError, match='receipt 2'):
            read_receipts([first, write_line(forged)], 'm.ledger', key)


def test_who_has_the_key_of_the_ledger_cannot_name_a_signer_without_a_signature():
    first = write_receipt({'action': 'train', 'root_before': None, 'root_after': 'a'}, [], b'k' * 32)
    forget = {'action': 'forget', 'root_before': 'a', 'root_after': 'b', 'public_key': 'ab'}
    forged = write_receipt(forget, [first], b'k' * 32)
    assert len(read_receipts([first, forged], 'm.ledger', b'k' * 32)) == 2
    with pytest.raises(DataFormatError, match='receipt 2'):
        read_receipts([first, forged], 'm.ledger', b'k' * 32, 'ab')


@pytest.mark.parametrize('name', ['m.sums.npz', 'm.npz', 'm.npz.rejected', 'a.key', 'a.next'])
def test_a_ledger_is_a_file_of_its_own(elm, write, csv_of, tmp_path, name):
    rows = write('rows.csv', csv_of([0, 1] * 4, np.arange(16).reshape(8, 2) % 5))
    done = elm('train', 'pesvm', rows, '--hidden', 3, '--ledger', tmp_path / name, '--model', tmp_path / 'm.npz')
    assert done.status == 1 and 'expected a file for --ledger' in done.err and not (tmp_path / 'm.npz').exists()


def test_a_training_on_the_same_rows_killed_between_the_two_names_is_completed(elm, living, monkeypatch, write):
    model, ledger, lines = living
    rows = write('again.csv', ''.join(lines))

    def stop(change):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LedgerChange, 'finish', stop)
        assert (
            elm('train', 'pesvm', rows, '--hidden', 6, '--ledger', ledger, '--model', model, '--overwrite', '-q').status
            == 130
        )
    assert elm('verify', model, rows, '--ledger', ledger, '-q').status == 0


def test_a_changed_byte_anywhere_is_found(audited, write, csv_of, signer, tmp_path):
    """A byte of each field, and bytes between: every third one of the ledger and of the receipt."""
    rows = csv_of([0, 1] * 4, np.arange(16).reshape(8, 2) % 5).splitlines(keepends=True)
    done, model = audited('train pesvm', write('rows.csv', ''.join(rows)), '--hidden', 2)
    done, left = audited('forget', model, write('few.csv', rows[0]), '--sign', signer[0], model='f.npz')
    assert done.status == 0, done.err

    loaded = read_model(left)

    def verify():
        opened = open_ledger(str(tmp_path / 'm.ledger'), loaded, compute_digest(left), str(left))
        return list(verify_files(*opened, str(left)))

    assert len(verify()) == 3
    for name, step in (
        ('m.ledger', 3),
        ('m.ledger.key', 1),
        ('m.ledger.receipt-000002.json', 3),
        ('f.npz', 23),
        ('f.sums.npz', 23),
    ):
        path = tmp_path / name
        text = path.read_bytes()
        for place in range(0, len(text), step):
            path.write_bytes(text[:place] + bytes([text[place] ^ 1 << place % 8]) + text[place + 1 :])
            with pytest.raises((ValueError, OSError)):
                verify()
        path.write_bytes(text[:-1])
        with pytest.raises((ValueError, OSError)):
            verify()
        path.write_bytes(text)
    assert len(verify()) == 3


@pytest.mark.parametrize('output', ['m.npz', 'f.npz'])
def test_a_command_killed_between_the_two_names_is_completed_by_the_next(
    elm, audited, living, write, monkeypatch, output
):
    model, ledger, lines = living
    few, rest, before = write('few.csv', ''.join(lines[:9])), write('rest.csv', ''.join(lines[9:])), ledger.read_bytes()

    def stop(change):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LedgerChange, 'finish', stop)
        assert audited('forget', model, few, '--overwrite', model=output)[0].status == 130
    left = ledger.with_name(output)
    assert ledger.read_bytes() == before  # the model has its name, the ledger has not
    assert elm('verify', left, rest, '--ledger', ledger, '-q').status == 0
    done, last = audited('forget', left, few, model='x.npz')
    assert done.status == 1 and '9 of these 9 rows' in done.err
    assert read_ledger(ledger)[0].total() == N - 9 and len(read_ledger(ledger)[1]) == 2
    assert elm('verify', left, rest, '--ledger', ledger, '-q').status == 0


def test_a_copy_of_a_receipt_that_a_killed_command_owes_is_missed_and_written_by_the_next(
    elm, audited, living, write, monkeypatch
):
    model, ledger, lines = living
    few, more, rest = (write(f'{k}.csv', ''.join(lines[k : k + 5])) for k in (0, 5, 10))

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr('mr_elm.drivers.ledger.write_copy', stop)
        assert audited('forget', model, few, '--overwrite')[0].status == 130
    copy = ledger.with_name('m.ledger.receipt-000002.json')
    done = elm('verify', model, '--ledger', ledger, '-q')
    assert done.status == 0 and f'there is no copy {copy}' in done.out
    assert audited('update', model, rest, '--overwrite')[0].status == 0
    assert copy.read_bytes() == read_ledger(ledger)[1][1] + b'\n'
    assert audited('forget', model, more, '--overwrite')[0].status == 0
    assert 'no copy' not in elm('verify', model, '--ledger', ledger, '-q').out


def test_after_a_rollback_no_receipt_replaces_one_that_is_there(elm, audited, living, write):
    model, ledger, lines = living
    few, others = write('few.csv', ''.join(lines[6:9])), write('others.csv', ''.join(lines[9:16]))
    files = model, model.with_name('m.sums.npz'), ledger
    backup = [path.read_bytes() for path in files]
    assert audited('forget', model, few, '--overwrite')[0].status == 0
    copy = ledger.with_name('m.ledger.receipt-000002.json')
    receipt = copy.read_bytes()
    for path, data in zip(files, backup, strict=True):
        path.write_bytes(data)
    for rows in (others, few):
        done, _ = audited('forget', model, rows, '--overwrite')
        assert done.status == 1 and str(copy) in done.err and 'may be in the model again' in done.err
        assert [path.read_bytes() for path in files] == backup and copy.read_bytes() == receipt
    assert audited('update', model, others, '--overwrite')[0].status == 0  # writes no copy
    copy.rename(copy.with_name('old.json'))
    assert audited('forget', model, few, '--overwrite')[0].status == 0
    assert elm('verify', model, '--ledger', ledger, '-q').status == 0


@pytest.mark.parametrize('command, n_passes', [('train pesvm', 2), ('forget', 1)])
def test_rows_that_change_between_the_hashes_and_another_pass_are_noticed(
    audited, living, write, monkeypatch, command, n_passes
):
    """A row turns blank after some passes; the file keeps its size and its time. `update` reads it only once."""
    model, ledger, lines = living
    rows, run, passes = write('few.csv', ''.join(lines[:20])), Local.run_job, []

    def blank(*words):
        passes.append(words)
        if len(passes) == n_passes + 1:
            status, text = rows.stat(), rows.read_text()
            rows.write_text(' ' * (len(lines[0]) - 1) + text[len(lines[0]) - 1 :])
            os.utime(rows, ns=(status.st_atime_ns, status.st_mtime_ns))
        return run(*words)

    monkeypatch.setattr(Local, 'run_job', blank)
    before = ledger.read_bytes()
    words = [rows, '--hidden', 5, '--overwrite'] if command == 'train pesvm' else [model, rows]
    done, left = audited(command, *words, model='x.npz')
    assert done.status == 1 and 'the first pass counted' in done.err, done
    assert not left.exists() and ledger.read_bytes() == before


def test_a_command_that_meets_another_one_at_the_same_ledger_is_refused(audited, elm, living, write):
    model, ledger, lines = living
    few, before = write('few.csv', lines[5]), ledger.read_bytes()
    with LedgerChange(str(ledger), 'forget', Reporter(True)) as other:
        other.lock()
        done, left = audited('forget', model, few, model='f.npz')
        assert done.status == 1 and 'no other command changes' in done.err and not left.exists()
        rows = ledger.with_name('rows.csv')
        assert audited('train pesvm', rows, '--hidden', 3, '--overwrite', model='x.npz')[0].status == 1
    assert ledger.read_bytes() == before
    assert audited('forget', model, few, model='f.npz')[0].status == 0


def test_commands_that_begin_together_leave_a_ledger_that_fits_the_model(elm, living, write):
    """Each of them changes the ledger, or is refused and changes nothing."""
    model, ledger, lines = living
    words = [PROGRAM, 'forget', model, '--ledger', ledger, '--model', model, '--overwrite', '-q']
    commands = [subprocess.Popen([*map(str, words), str(write(f'{k}.csv', lines[k]))]) for k in range(8, 12)]
    statuses = [command.wait(120) for command in commands]
    left = [line for k, line in enumerate(lines) if k not in range(8, 12) or statuses[k - 8]]
    assert 0 in statuses and {*statuses} <= {0, 1}
    done = elm('verify', model, write('left.csv', ''.join(left)), '--ledger', ledger, '-q')
    assert done.status == 0 and len(read_ledger(ledger)[1]) == 1 + statuses.count(0), done.err


def test_verify_reads_the_ledger_and_its_receipts_once(elm, living, write, monkeypatch):
    model, ledger, lines = living
    reads, read = [], Ledger.read
    monkeypatch.setattr(Ledger, 'read', lambda *words: reads.append(words) or read(*words))
    receipts = []
    monkeypatch.setattr(
        'mr_elm.drivers.ledger.read_receipts', lambda *words: receipts.append(words) or read_receipts(*words)
    )
    assert elm('verify', model, write('all.csv', ''.join(lines)), '--ledger', ledger, '-q').status == 0
    assert (len(reads), len(receipts)) == (1, 1)


def test_a_command_killed_before_the_model_has_its_name_has_done_nothing(elm, audited, living, write, monkeypatch):
    model, ledger, lines = living
    before, prepare = ledger.read_bytes(), LedgerChange.prepare

    def stop(*arguments):
        prepare(*arguments)
        raise KeyboardInterrupt

    few = write('few.csv', ''.join(lines[:9]))
    with monkeypatch.context() as patch:
        patch.setattr(LedgerChange, 'prepare', stop)
        assert audited('forget', model, few, model='f.npz')[0].status == 130
    assert ledger.read_bytes() == before and not ledger.with_name('f.npz').exists()
    assert elm('verify', model, '--ledger', ledger).status == 0
    assert audited('forget', model, few, model='f.npz')[0].status == 0
    assert elm('verify', ledger.with_name('f.npz'), '--ledger', ledger).status == 0


def test_a_ledger_takes_less_than_20_bytes_a_row(living):
    _, ledger, lines = living
    n_receipts = sum(len(line) + 1 for line in read_ledger(ledger)[1])
    assert ledger.stat().st_size - n_receipts < 20 * len(lines)


def test_the_key_is_on_no_command_line_and_the_stage_runs_by_hand(living, tmp_path, read_pairs):
    _, ledger, lines = living
    program = [sys.executable, '-m', 'mr_elm.streaming.mr_ledger', '--ledger-key', 'm.ledger.key', 'rows.csv', '-q']
    done = subprocess.run(program, capture_output=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    found = Counter()
    for kind, _, value in read_pairs(done.stdout.splitlines()):
        if kind == 'hashes':
            names = np.ascontiguousarray(value[0]).tobytes()
            found.update({names[16 * k : 16 * k + 16]: int(count) for k, count in enumerate(value[1])})
    assert found == read_ledger(ledger)[0]
