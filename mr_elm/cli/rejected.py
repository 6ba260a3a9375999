"""Write the rows that a command has left out."""
import os
import stat

from mr_elm.engines.base import Engine
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.storage import is_local, store_of, write_file
from mr_elm.store import find_descriptor, is_stream


def name_rejected(output: str) -> str:
    """Return the file for rows that a command leaves out: OUTPUT.rejected, which may itself be a pipe.

    Raises ValueError where the output is a device, beside which no file belongs.
    """
    if is_local(output) and is_stream(output) and (
            find_descriptor(output) is not None or not stat.S_ISFIFO(os.stat(output).st_mode)):
        raise ValueError(f'--bad-rows skip: expected the name of a file for the output, found {output}: '
                         'OUTPUT.rejected gets the bad rows')
    return f'{output}.rejected'


def remove_rejected(output: str) -> None:
    """Remove the file of rows that were left out of an output which another one has replaced."""
    path = f'{output}.rejected'
    if store_of(path).find(path) and not (is_local(path) and is_stream(path)):
        store_of(path).remove(path)


def write_rejected(path: str, accounts: Accounts, engine: Engine) -> None:
    """Write the rows that were left out: file, line, reason, the bytes of the row, tab between."""
    with write_file(path) as local, open(local, 'wb') as stream:
        for row in accounts.rejected():
            why = f'{row.path}\t{row.line}\t{row.reason}: {row.detail}\t'
            stream.write(why.encode('utf-8', 'surrogateescape') + row.text.encode('latin-1') + b'\n')
    reasons = ', '.join(f'{n} {reason}' for reason, n in sorted(accounts.reasons.items()))
    engine.reporter.say(f'rows left out: {reasons}; see {path}')
