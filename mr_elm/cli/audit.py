"""mr-elm verify: check a model against the ledger of its rows."""

from collections.abc import Iterable, Sequence

from mr_elm.cli.given_model import fetched_model, rows_for
from mr_elm.cli.options import (
    Parser,
    add_input_options,
    add_runner_options,
    choose_engine,
    plan_rows,
)
from mr_elm.drivers.keys import read_public_key
from mr_elm.drivers.ledger import open_ledger
from mr_elm.drivers.verify import Finding, verify_files, verify_rows
from mr_elm.errors import AccountingError
from mr_elm.model.sums import compute_digest
from mr_elm.passes.data_set import DataSet


def verify(argv: Sequence[str]) -> None:
    """Check a model against its ledger and receipts; with rows, check that it is the model of exactly these rows."""
    parser = Parser('verify', verify.__doc__)
    parser.add_argument('model', metavar='MODEL', help='a model that was trained with --ledger')
    add_input_options(parser, n_inputs='*')
    parser.add_argument('--ledger', required=True, metavar='FILE', help='the ledger of the model')
    parser.add_argument(
        '--signed-by',
        metavar='PUBLIC.pem',
        help='demand that this Ed25519 key has signed the receipts of all rows that left',
    )
    add_runner_options(parser)
    args = parser.parse(argv)
    public_key = None
    if args.signed_by is not None:
        public_key = read_public_key(args.signed_by, 'Ed25519').hex()
    with fetched_model(args.model) as (path, model):
        ledger, receipts = open_ledger(args.ledger, model, compute_digest(path), args.model, public_key)
        report(args.model, verify_files(ledger, receipts, args.model))
        if args.inputs:
            with choose_engine(args) as engine:
                data = DataSet(plan_rows(args, rows_for(model, args)), engine, args.bad_rows)
                report(args.model, verify_rows(ledger, model, args.model, data))


def report(name: str, findings: Iterable[Finding]) -> None:
    """Print findings. Raises AccountingError after the first one that is not sound."""
    for finding in findings:
        print(f'{finding.subject}: {finding.text}')
        if not finding.sound:
            raise AccountingError(
                f'{name}: expected the model of exactly these rows, it is not: {finding.subject}: {finding.text}'
            )
