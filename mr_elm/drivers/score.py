"""Apply a model to a data set: write predictions in input order, or score them against the labels."""
from typing import Any

from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.files.storage import write_file
from mr_elm.models import Model
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan
from mr_elm.scores.metrics import Residuals
from mr_elm.streaming.mr_evaluate import MREvaluate, pairs_from_json
from mr_elm.streaming.mr_predict import MRPredict, join_parts


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
            raise AccountingError(f'{out}: expected {accounts.used} predictions, found {n_written}')
    return accounts


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
        raise DataFormatError(f'{plan.name}: expected the {trained} rows that the model was trained on, found '
                              f'{job.accounts.used}')
    if scores is None:
        raise DataFormatError(f'{plan.name}: expected rows, found none that can be used')
    return scores, job.accounts
