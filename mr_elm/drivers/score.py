"""Apply a model to a data set: write predictions in input order, or score them against the labels."""
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.files.storage import store_of, write_file
from mr_elm.io.wire import split_key
from mr_elm.models import Model
from mr_elm.passes.data_set import DataSet
from mr_elm.passes.finished import Finished
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.metrics import Residuals
from mr_elm.streaming.mr_evaluate import MREvaluate, pairs_from_json
from mr_elm.streaming.mr_predict import MRPredict


def predict(model_path: str, plan: InputPlan, out: str, engine: Engine, scores: bool = False,
            bad_rows: str = 'stop') -> Accounts:
    """Write one line a row to `out`, in input order: the label, with scores also the decision values, tab between.

    Returns the Accounts. The file appears whole or not at all.
    """
    data = DataSet(plan, engine, bad_rows)
    job = data.run(MRPredict, ['--model', model_path, *(['--scores'] if scores else [])], 'predictions')
    accounts = job.accounts
    with job.finished() as finished, write_file(out) as local:
        accounts.map_input_records = finished.map_input_records
        with open(local, 'wb') as stream:
            n_written = join_parts(finished, accounts, stream)
        data.reconcile(accounts)
        if n_written != accounts.used:
            raise AccountingError(f'{out}: {accounts.used} predictions were expected, {n_written} came')
    return accounts


def join_parts(finished: Finished, accounts: Accounts, out: BinaryIO) -> int:
    """Copy the predictions of all parts in input order; returns how many."""
    store, n_written = store_of(finished.folder), 0
    places = {path: first_place(store, path) for path in finished.parts()}
    for _, path in sorted((place, path) for path, place in places.items() if place is not None):
        with store.open(path) as part:
            for key, facts in frames(part):
                n_lines = facts.pop('following')
                if split_key(key)[0] == 'rows':
                    out.writelines(without_tab(line) for line in islice(part, n_lines))
                    n_written += n_lines
                else:
                    accounts.take(key, facts)
    return n_written


def without_tab(line: bytes) -> bytes:
    """Drop the tab that Hadoop appends to a line without one."""
    return line[:-2] + b'\n' if line.endswith(b'\t\n') else line


def frames(part: Iterable[bytes]) -> Iterator[tuple[str, Any]]:
    """Yield (key, facts) of the records of a part; the caller reads the lines that belong to each."""
    for line in part:
        key, _, facts = line.partition(b'\t')
        yield key.decode(), json.loads(facts)


def first_place(store: Any, path: str) -> tuple[int, ...] | None:
    """Return the place of the first record of a part, or None when it is empty."""
    with store.open(path) as part:
        for key, _ in frames(part):
            return tuple(int(c) for c in split_key(key)[1][:2])
    return None


def evaluate(model_path: str, model: Model, plan: InputPlan, engine: Engine, bad_rows: str = 'stop',
             leave_one_out: bool = False) -> tuple[dict[str, Any], Accounts]:
    """Score a model on labelled rows: a dictionary with accuracy or rmse, and more. Also returns the Accounts.

    leave_one_out : the rows are those of the training; each is judged by the model of the others. Raises
        DataFormatError when they are not as many.
    """
    arguments = ['--model', model_path, *(['--leave-one-out'] if leave_one_out else [])]
    job, scores = DataSet(plan, engine, bad_rows).run(MREvaluate, arguments, 'evaluation'), None
    for key, value in job:
        scores = (Residuals(**value).scores() if key == 'residuals'
                  else pairs_from_json(value).scores(list(model.classes)))
    trained = model.header.n_rows_used
    if leave_one_out and job.accounts.used != trained:
        raise DataFormatError(f'{plan.name}: the {trained} rows that the model was trained on were expected, '
                              f'{job.accounts.used} came')
    if scores is None:
        raise DataFormatError(f'{plan.name}: rows were expected, not one could be used')
    return scores, job.accounts
