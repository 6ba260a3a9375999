"""Write what a command makes: a model, and beside an output the rows that were left out of it."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mr_elm.engines.base import Engine
from mr_elm.model.base import Model
from mr_elm.model.sums import demand_sums_free, name_sums, takes_sums
from mr_elm.option import AdvancedHelp
from mr_elm.progress import Reporter
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.storage import COPY_BYTES, demand_free, store_of, write_file
from mr_elm.store import find_descriptor, is_stream


@dataclass(frozen=True)
class Output:
    """Write a model where the user wants it.

    args : the options of the command: --model and --overwrite, --bad-rows and --no-sums where it has them.
    """

    args: Any

    def demand_free(self) -> None:
        """Refuse a model that exists, or whose folder does not, before any work is done.

        Sums whose model is gone are replaced. A pipe or a device has any name, and no sums.
        """
        path = self.args.model
        overwrite = self.args.overwrite
        demand_free(path, overwrite)
        if takes_sums(path):
            demand_sums_free(path, overwrite)
            if not path.endswith('.npz'):
                raise ValueError(f'--model: expected a name that ends in .npz, found {path}')
        if getattr(self.args, 'bad_rows', 'stop') == 'skip':
            demand_rejected(path)

    def keep(self, engine: Engine, model: Model, accounts: Accounts | None, ledger: Any = None) -> None:
        """Write a model, its sums, and the rows that were left out. ledger : LedgerChange of the training, or None."""
        path = self.args.model
        if not getattr(self.args, 'sums', True):
            model = model.without_sums()
        if ledger is None:
            model.save(path)
        else:
            ledger.mark(model).save(path, ledger.prepare)
            ledger.finish()
        keep_rejected(path, accounts, engine)
        header = model.header
        say = engine.reporter.say
        say(f'{path}: {header.n_rows_used:,} rows, {header.n_features} features, {describe_size(model)}')
        if model.sums is not None and not takes_sums(path):
            say(f'{path}: a pipe or a device gets no sums, which update, forget and merge need: write a file')


def add_ledger_options(parser: Any) -> None:
    """Add the ledger, and who signs its receipts."""
    parser.add_argument(
        '--ledger',
        metavar='FILE',
        help=AdvancedHelp(
            'a ledger: keyed hashes of the rows of the model, with the key in FILE.key; forget refuses other rows'
        ),
    )
    parser.add_argument(
        '--sign',
        metavar='PRIVATE.pem',
        help=AdvancedHelp(
            '--ledger: sign the receipt, the record of removed rows, with this Ed25519 key (needs cryptography)'
        ),
    )


@contextmanager
def open_change(args: Any, action: str, reporter: Reporter) -> Iterator[Any]:
    """Give the LedgerChange that goes with a command, None without --ledger. action : see LedgerChange."""
    path = getattr(args, 'ledger', None)
    sign = getattr(args, 'sign', None)
    if path is None:
        if sign is not None:
            raise ValueError('--sign: expected --ledger FILE too, whose receipts are signed')
        yield None
        return
    files = [os.path.realpath(name) for name in (args.model, name_sums(args.model), f'{args.model}.rejected')]
    if path.endswith(('.key', '.next')) or os.path.realpath(path) in files:
        raise ValueError(f'{path}: expected a file for --ledger that is not the model, a file beside it, or a key')
    from mr_elm.drivers.ledger import LedgerChange

    with LedgerChange(path, action, reporter, sign) as change:
        yield change


def describe_size(model: Model) -> str:
    """Say how large a model is."""
    header = model.header
    if 'dual_coef' in model.arrays:
        return f'{len(model.arrays["dual_coef"]):,} support vectors'
    sizes = [{**header.parameters, **own}['n_hidden'] for own in header.members or [{}]]
    machines = ''
    if header.members:
        machines = f'the mean of {len(sizes)} machines of '
    return f'{machines}{", ".join(map(str, sizes))} hidden nodes'


def demand_rejected(output: str) -> None:
    """Raise an error where there is no place for the file of rows that are left out, before any work is done.

    Beside a device no file belongs; and a file that some other program wrote stays.
    """
    if is_stream(output) and (find_descriptor(output) is not None or not stat.S_ISFIFO(os.stat(output).st_mode)):
        raise ValueError(
            f'--bad-rows skip: expected the name of a file for the output, found {output}: '
            'OUTPUT.rejected gets the bad rows'
        )
    path = f'{output}.rejected'
    if holds_other(path):
        raise FileExistsError(
            f'{path}: expected no such file, or rows that an earlier command left out, found something else: move it '
            'away, or give the output another name'
        )


def holds_other(path: str) -> bool:
    """Tell whether something else stands at a path than a pipe, or rows that an earlier command left out."""
    entry = store_of(path).find(path)
    if entry is None or is_stream(path):
        return False
    if entry.is_folder:
        return True
    with store_of(path).open(path) as stream:
        return not re.match(rb'.+\t\d+\t.+: .*\t', stream.readline(COPY_BYTES))  # file, line, reason


def keep_rejected(output: str, accounts: Accounts | None, engine: Engine) -> None:
    """Write the rows that were left out of a new output: file, line, reason, the bytes of the row, tab between.

    This file, which may be a pipe, goes with its output: that of an earlier output of this name is replaced, or removed
    where no row was left out.
    """
    path = f'{output}.rejected'
    if accounts is not None and accounts.rows:
        with write_file(path) as local, open(local, 'wb') as stream:
            for row in accounts.rejected():
                why = f'{row.path}\t{row.line}\t{row.reason}: {row.detail}\t'
                stream.write(why.encode('utf-8', 'surrogateescape') + row.text.encode('latin-1') + b'\n')
        report_rejected(accounts.reasons, engine.reporter, f'; see {path}')
    elif store_of(path).find(path) and not is_stream(path) and not holds_other(path):
        store_of(path).remove(path)


def report_rejected(reasons: Mapping[str, int], reporter: Reporter, hint: str = '') -> None:
    """Tell how many rows were left out. hint : where they are."""
    if reasons:
        reporter.say(f'rows left out: {", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items()))}{hint}')


def write_score(value: float | str | None) -> str:
    """Write a count, a score, or the name of a class; a dash where there is no score."""
    if value is None:
        return '-'
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f'{value:,}'
    return f'{value:.6g}'


def lay_out_table(rows: list[list[Any]], least_width: int = 0) -> list[str]:
    """Lay a table out as text. rows : the names of the columns first."""
    texts = [list(map(write_score, row)) for row in rows]
    widths = [max(least_width, *map(len, column)) for column in zip(*texts, strict=True)]
    return [' '.join(map(str.rjust, row, widths)) for row in texts]
