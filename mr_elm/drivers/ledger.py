"""Keep the ledger of a model: hash rows by a job, and change model and ledger together.

How they change together. The new ledger is written as FILE.next, whole. Then the model gets its name, which is the
moment from which the change counts, then FILE.next becomes FILE. If the command is killed before the model has its
name, the old model and the old ledger fit each other; if it is killed after that, the new model fits FILE.next, which
the next command takes for the ledger. The root in the header of the model says which of both it is.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from mr_elm.drivers.keys import read_private_key
from mr_elm.drivers.receipts import read_receipts, write_line, write_receipt
from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError, ModelFormatError
from mr_elm.model.base import Model
from mr_elm.model.sums import compute_digest
from mr_elm.passes.data_set import DataSet
from mr_elm.progress import Reporter
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.ledger import (
    Entries,
    Ledger,
    change_ledger,
    check_of_key,
    count_missing,
    demand_private,
    make_key_file,
    read_key,
)
from mr_elm.rows.storage import demand_free, is_local
from mr_elm.store import lock, replace_file, write_json
from mr_elm.streaming.mr_ledger import MRLedger, read_entries

Kind = TypeVar('Kind', bound=Model)
BUCKET_BYTES = 1 << 22  # of input, whose hashes are about one line of the shuffle


class LedgerChange(ExitStack):
    """Change the ledger of a model together with it. A context, at whose end temporary files and the lock vanish.

    path : of the ledger. action : train, update or forget. reporter : speaks to the user. signer : of receipts, or
    None. before : the Ledger that is to change, None for a training. model_before : the digest of its model.
    """

    def __init__(self, path: str, action: str, reporter: Reporter, sign: str | None = None) -> None:
        super().__init__()
        self.path, self.action, self.reporter = path, action, reporter
        self.before: Ledger | None = None
        self.model_before: str | None = None
        demand_local(path)
        self.signer: Any = None
        if sign is not None:
            self.signer = read_private_key(sign, 'Ed25519')
        self.folder = f'{path}.mr_elm'

    def begin(self, overwrite: bool) -> None:
        """Begin the ledger of a training; a key that is there is used. Raises FileExistsError when it exists."""
        demand_free(self.path, overwrite)
        make_key_file(name_key(self.path))
        self.lock()

    def lock(self) -> None:
        """Let no other command change the ledger: two that read the same one would each write it without the other.

        Raises BlockingIOError where another command changes it, PermissionError where others can read its key.
        """
        key = name_key(self.path)
        demand_private(key)
        descriptor = os.open(key, os.O_RDWR)  # for writing, which locks on NFS ask for
        self.callback(os.close, descriptor)
        lock(descriptor, self.path, 'ledger')
        shutil.rmtree(self.folder, ignore_errors=True)  # that of a command that was killed: it holds the key
        os.mkdir(self.folder, 0o700)
        self.callback(shutil.rmtree, self.folder)

    def open(self, model: Model, model_path: str, name: str) -> None:
        """Open the ledger of a model; one whose change was interrupted becomes whole. name : of the model.

        Raises FileExistsError where a receipt would replace that of another history, which may be at a customer.
        """
        self.lock()
        self.model_before = compute_digest(model_path)
        ledger, receipts = open_ledger(self.path, model, self.model_before, name)
        if ledger.path != self.path:
            self.reporter.say(f'{self.path}: completing a change that was interrupted')
            os.replace(ledger.path, self.path)
        copy = name_receipt(self.path, len(receipts))
        self.copy = name_receipt(self.path, len(receipts) + 1)
        if receipts[-1]['action'] == 'forget' and not os.path.exists(copy):
            write_copy(copy, write_line(receipts[-1]))  # the interrupted change had no time for it
        if self.action == 'forget' and os.path.exists(self.copy):
            raise FileExistsError(
                f'{self.copy}: expected no such file, it is the receipt of an earlier forget that this ledger does not '
                'contain, as after a rollback: the rows that left then may be in the model again, so forget them '
                'again, once you have moved this file to another folder'
            )
        self.before = replace(ledger, path=self.path)

    def hash(self, data: DataSet, classes: Sequence[str]) -> None:
        """Hash the rows that come or leave, and write the new ledger.

        classes : of the model that has the rows. Raises AccountingError when rows that are to leave were never in.
        """
        self.rows = hash_data(data, name_key(self.path), classes, self.folder)
        if self.before is None:
            self.after = self.rows
            return
        sign = 1
        if self.action == 'forget':
            sign = -1
            if n_strangers := count_missing(self.before, self.rows)[1]:
                raise AccountingError(
                    f'{data.plan.name}: cannot forget {n_strangers:,} of these '
                    f'{self.rows.n_rows:,} rows: they are not in the ledger {self.path}, so they '
                    'were never part of the model, or have left it before'
                )
        self.after = change_ledger(os.path.join(self.folder, 'after'), self.before, self.rows, sign)

    def hash_training(self, plan: InputPlan, engine: Engine, bad_rows: str, model: Model, accounts: Accounts) -> None:
        """Hash the rows of a training. accounts : of its first pass, which this one must agree with."""
        data = DataSet(plan, engine, bad_rows)
        data.first = accounts
        if plan.needs_encoding and model.encoding is not None:
            data.encode(model.encoding)
        self.hash(data, model.classes)

    def mark(self, model: Kind) -> Kind:
        """Write the root of the new ledger into the header of the new model."""
        if model.header.n_rows_used != self.after.n_rows:
            raise AccountingError(
                f'{self.path}: expected a ledger of the {model.header.n_rows_used:,} rows of the '
                f'model, found {self.after.n_rows:,} rows: the data changed between passes'
            )
        return replace(
            model, header=model.header.change_parameters(ledger={'root': self.after.root, 'rows': self.after.n_rows})
        )

    def prepare(self, model_path: str, sums_path: str | None) -> None:
        """Write the new ledger with its receipt beside the old one, just before the model gets its name.

        model_path, sums_path : of the files of the new model, which are whole.
        """
        root_before = sums_after = None
        receipts = []
        if self.before is not None:
            root_before, receipts = self.before.root, self.before.receipts
        if sums_path is not None:
            sums_after = compute_digest(sums_path)
        facts = {
            'action': self.action,
            'rows_asked': self.rows.n_rows,
            'rows_found': self.rows.n_rows,
            'rows_root': self.rows.root,
            'rows_left': self.after.n_rows,
            'root_before': root_before,
            'root_after': self.after.root,
            'model_before': self.model_before,
            'model_after': compute_digest(model_path),
            'sums_after': sums_after,
        }
        receipts.append(write_receipt(facts, receipts, read_key(name_key(self.path)), self.signer))
        with open(self.after.path, 'ab') as stream:
            stream.writelines(line + b'\n' for line in receipts)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(self.after.path, name_next(self.path))
        self.receipt = receipts[-1]

    def finish(self) -> None:
        """Give the new ledger its name, once the model has one, and write a copy of the receipt of rows that left."""
        os.replace(name_next(self.path), self.path)
        self.reporter.say(f'{self.path}: {self.after.n_rows:,} rows, root {self.after.root}')
        if self.action == 'forget':
            write_copy(self.copy, self.receipt)
            self.reporter.say(f'{self.copy}: receipt of {self.rows.n_rows:,} rows that left')


def name_key(path: str) -> str:
    """Return the file for the key of a ledger."""
    return f'{path}.key'


def name_next(path: str) -> str:
    """Return the file for a new ledger whose model has not got its name yet."""
    return f'{path}.next'


def name_receipt(path: str, number: int) -> str:
    """Return the file for a copy of a receipt."""
    return f'{path}.receipt-{number:06d}.json'


def write_copy(path: str, receipt: bytes) -> None:
    """Write a receipt to a file of its own."""
    with replace_file(path) as stream:
        stream.write(receipt + b'\n')


def demand_local(path: str) -> None:
    """Raise ValueError where a ledger would be elsewhere."""
    if not is_local(path):
        raise ValueError(f'{path}: expected a ledger on this machine, where its key stays')


def open_ledger(
    path: str, model: Model, model_digest: str, name: str, public_key: str | None = None
) -> tuple[Ledger, list[dict[str, Any]]]:
    """Return the Ledger of a model, the file at `path` or that of an interrupted change beside it, and its receipts.

    model_digest : SHA-256 of the file of the model. name : of the model in messages. public_key : see `read_receipts`.
    Raises ModelFormatError when the model has no ledger, DataFormatError when it has another one, or another key.
    """
    demand_local(path)
    marked = model.header.parameters.get('ledger')
    if marked is None:
        raise ModelFormatError(f'{name}: expected a model that was trained with --ledger, found one without a ledger')
    ledgers = [Ledger.read(file, path) for file in (path, name_next(path)) if os.path.exists(file)]
    if not ledgers:
        raise FileNotFoundError(f'{path}: expected the ledger of {name}, found no such file')
    named = f'"model_after": "{model_digest}"'.encode()
    ledger = next((each for each in ledgers if named in b''.join(each.receipts[-1:])), ledgers[0])
    if ledger.root != marked['root']:
        raise DataFormatError(
            f'{path}: expected the ledger of {name}, which has the root {marked["root"]}, found the '
            f'root {ledger.root}: an update or forget has changed it since, or the file was altered'
        )
    key = read_key(name_key(path))
    if check_of_key(key) != ledger.key_check:
        raise DataFormatError(f'{name_key(path)}: expected the key that the ledger was made with, found another one')
    receipts = read_receipts(ledger.receipts, path, key, public_key)
    if receipts[-1]['model_after'] != model_digest:  # so the root in the header of the model is sealed too
        raise DataFormatError(
            f'{name}: expected the model that {path} was last written with, found another file with '
            'the same rows, or an altered one'
        )
    return ledger, receipts


def hash_data(data: DataSet, key_path: str, classes: Sequence[str], folder: str) -> Ledger:
    """Hash the rows of a DataSet by a job: their Ledger, in a file of `folder`, without receipts.

    The pieces that the reduce tasks wrote stand in a file until all are there: the driver holds one at a time.
    """
    n_buckets = min(1 + data.plan.size // BUCKET_BYTES, 1 << 16)
    names = write_json(os.path.join(folder, 'class_names.json'), list(classes))
    copy = shutil.copy(key_path, os.path.join(folder, 'ledger.key'))  # under a plain name, with the same mode
    arguments = [
        '--ledger-key',
        copy,
        '--class-names',
        names,
        '--buckets',
        str(n_buckets),
        *data.engine.reducers(1 + n_buckets // 64),
    ]
    positions = {}
    with open(os.path.join(folder, 'pieces'), 'w+b') as stream:
        for key, arrays in data.run(MRLedger, arguments, 'ledger'):
            positions[key] = stream.tell()
            for array in arrays:
                np.save(stream, array)

        def read_pieces() -> Iterator[Entries]:
            for key in sorted(positions):
                stream.seek(positions[key])
                yield read_entries([np.load(stream), np.load(stream)])

        return Ledger.write(os.path.join(folder, 'rows'), check_of_key(read_key(key_path)), read_pieces())
