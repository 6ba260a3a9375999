"""Apply a model to a data set: write predictions in input order, or score them against the labels."""

from collections.abc import Callable

from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.machines.answer_columns import ONLY_LABELS, AnswerColumns
from mr_elm.machines.evaluation import Evaluation
from mr_elm.model.base import Model
from mr_elm.model.sums import model_words
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.storage import write_file
from mr_elm.rows.wire import split_key
from mr_elm.scores.label_sets import LabelSets
from mr_elm.scores.metrics import Residuals
from mr_elm.scores.probability_scores import ProbabilityScores
from mr_elm.scores.ranking import Ranking
from mr_elm.streaming.mr_evaluate import MREvaluate, pairs_from_json
from mr_elm.streaming.mr_predict import MRPredict, join_parts

READERS: dict[str, Callable] = {
    'confusion': pairs_from_json,
    'sets': lambda value: LabelSets(**value),
    'residuals': lambda value: Residuals(**value),
}


def predict(
    model_path: str,
    plan: InputPlan,
    out: str,
    engine: Engine,
    columns: AnswerColumns = ONLY_LABELS,
    bad_rows: str = 'stop',
) -> Accounts:
    """Write one line a row to `out`, in input order. columns : what stands there behind the label.

    Returns the Accounts. The file appears whole or not at all.
    """
    data = DataSet(plan, engine, bad_rows)
    job = data.run(MRPredict, [*model_words(model_path, columns.reads_sums), *columns.arguments], 'predictions')
    accounts = job.accounts
    with job.open_output() as output, write_file(out) as local:
        accounts.map_input_records = output.map_input_records
        with open(local, 'wb') as stream:
            n_written = join_parts(output, accounts, stream)
        data.reconcile(accounts)
        if n_written != accounts.used:
            raise AccountingError(f'{out}: expected {accounts.used} predictions, found {n_written}')
    return accounts


def evaluate(
    model_path: str,
    model: Model,
    plan: InputPlan,
    engine: Engine,
    bad_rows: str = 'stop',
    leave_one_out: bool = False,
    threshold: float | None = None,
    positive: str | None = None,
) -> tuple[Evaluation, Accounts]:
    """Score a model on labelled rows: their Evaluation. Also returns the Accounts.

    leave_one_out : the rows are those of the training; each is judged by the model of the others. Raises
        DataFormatError when they are not as many.
    threshold : of the probability of the class `positive`, None for the labels of the model.
    """
    arguments = model_words(model_path, leave_one_out)
    if leave_one_out:
        arguments.append('--leave-one-out')
    if threshold is not None and positive is not None:
        arguments += ['--threshold', repr(threshold), '--positive', str(model.classes.index(positive))]
    job, evaluation = DataSet(plan, engine, bad_rows).run(MREvaluate, arguments, 'evaluation'), Evaluation()
    for key, value in job:
        kind, numbers = split_key(key)
        if kind == 'ranking':
            evaluation.rankings[int(numbers[0])] = Ranking.from_arrays(value)
        elif kind == 'probabilities':
            evaluation.probabilities = ProbabilityScores.from_arrays(value)
        elif kind == 'residuals' and numbers:
            evaluation.targets[int(numbers[0])] = Residuals(**value)
        else:
            evaluation.counts = READERS[kind](value)
    trained = model.header.n_rows_used
    if leave_one_out and job.accounts.used != trained:
        raise DataFormatError(
            f'{plan.name}: expected the {trained} rows that the model was trained on, found {job.accounts.used}'
        )
    if evaluation.counts is None and not evaluation.targets:
        raise DataFormatError(f'{plan.name}: expected rows, found none that can be used')
    return evaluation, job.accounts
