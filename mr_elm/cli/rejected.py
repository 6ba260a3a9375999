"""Write the rows that a command has left out."""
from mr_elm.engines.base import Engine
from mr_elm.files.storage import write_file
from mr_elm.rows.accounting import Accounts


def write_rejected(path: str, accounts: Accounts, engine: Engine) -> None:
    """Write the rows that were left out: file, line, reason, the bytes of the row, tab between."""
    with write_file(path) as local, open(local, 'wb') as stream:
        for row in accounts.rejected():
            why = f'{row.path}\t{row.line}\t{row.reason}: {row.detail}\t'
            stream.write(why.encode('utf-8', 'surrogateescape') + row.text.encode('latin-1') + b'\n')
    reasons = ', '.join(f'{n} {reason}' for reason, n in sorted(accounts.reasons.items()))
    engine.reporter.say(f'rows left out: {reasons}; see {path}')
