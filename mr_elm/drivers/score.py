"""Apply a model to a data set: write predictions in input order, score them, or judge the columns by them."""

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError, warn_of_leaves
from mr_elm.machines.answer_columns import ONLY_LABELS, AnswerColumns
from mr_elm.machines.evaluation import COUNTS, Evaluation, check_labels, compare_targets
from mr_elm.machines.permutation import name_labels, permute_columns
from mr_elm.model.base import Model
from mr_elm.model.file import model_words
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.accounting import Accounts, describe_row
from mr_elm.rows.blocks import BLOCK_ROWS, Block, spread, take_rows, widen
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.splits import SplitReader
from mr_elm.rows.storage import write_file
from mr_elm.rows.wire import split_key
from mr_elm.scores.selection import TARGET_TEST_SHARE
from mr_elm.sparse import expand
from mr_elm.store import temporary_folder
from mr_elm.streaming.mr_evaluate import MREvaluate
from mr_elm.streaming.mr_predict import MRPredict
from mr_elm.typing import Floats

MOST_ROWS = 10_000  # that judge the columns


def predict(
    model_path: str,
    plan: InputPlan,
    out: str,
    engine: Engine,
    columns: AnswerColumns = ONLY_LABELS,
    bad_rows: str = 'stop',
    write: Callable[[str, Iterator[str]], int] | None = None,
) -> Accounts:
    """Write one line a row to `out`, in input order. columns : what stands there behind the label.

    write : writes the lines to a file in another form, and returns how many there are.
    Returns the Accounts. The file appears whole or not at all.
    """
    data = DataSet(plan, engine, bad_rows)
    job = data.run(MRPredict, [*model_words(model_path, columns.reads_sums), *columns.arguments], 'predictions')
    accounts = job.accounts
    with job.open_output() as output, write_file(out) as local:
        n_written = 0
        # the first record of a part says which split of which file it begins with
        firsts = {path: next(output.read_part(path), ('', None))[0] for path in output.parts()}
        paths = sorted(firsts, key=lambda path: split_key(firsts[path])[1][:2])
        pairs = (pair for path in paths for pair in output.read_part(path))
        blocks = (value['lines'] for key, value in pairs if not accounts.take(key, value))
        if write is not None:
            n_written = write(local, chain.from_iterable(blocks))
        else:
            with open(local, 'w', encoding='utf-8', newline='\n') as stream:
                for lines in blocks:
                    stream.writelines(f'{line}\n' for line in lines)
                    n_written += len(lines)
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
    """Score a model on labelled rows: their Evaluation. Also returns the Accounts. See `check_labels`.

    leave_one_out : the rows are those of the training; each is judged by the model of the others. Raises
        DataFormatError when they are not as many.
    threshold : of the probability of the class `positive`, None for the labels of the model.
    """
    arguments = model_words(model_path, leave_one_out)
    if leave_one_out:
        arguments.append('--leave-one-out')
        if any('leaves' in member.header.parameters for member in model.members):
            warn_of_leaves('--leave-one-out')
    if threshold is not None and positive is not None:
        arguments += ['--threshold', repr(threshold), '--positive', str(model.classes.index(positive))]
    job, evaluation = DataSet(plan, engine, bad_rows).run(MREvaluate, arguments, 'evaluation'), Evaluation()
    for key, value in job:
        kind, numbers = split_key(key)
        evaluation.add((kind, *map(int, numbers)), COUNTS[kind][0](value))
    trained = model.header.n_rows_used
    if leave_one_out and job.accounts.used != trained:
        raise DataFormatError(
            f'{plan.name}: expected the {trained} rows that the model was trained on, found {job.accounts.used}'
        )
    if not evaluation.counts:
        raise DataFormatError(f'{plan.name}: expected rows, found none that can be used')
    check_labels(model, evaluation.n_rows, plan.name)
    return evaluation, job.accounts


def test(model: Model, plan: InputPlan, engine: Engine, bad_rows: str = 'stop') -> dict[str, Any]:
    """Return the scores of a model on labelled rows, as `mr-elm evaluate --json` prints them, without rows_rejected."""
    with temporary_folder() as folder:
        path = os.path.join(folder, 'model.npz')
        model.without_sums().save(path)
        evaluation, accounts = evaluate(path, model, plan, engine, bad_rows)
    header = model.header
    return {**evaluation.scores(header.classes, header.target_names, header.positive), 'rows': accounts.used}


def test_held_out(model: Model, plan: InputPlan, engine: Engine, bad_rows: str) -> dict[str, Any]:
    """Return the scores of a model on the rows that the plan of its training holds out."""
    tested = replace(plan.change_formats(tested=True), encoding=model.encoding)
    if find_kind(plan.form.kind).sparse:  # such a row may have features that no other row has
        tested = tested.change_formats(n_features=model.n_features, ignore_extra=True)
    return test(model, tested, engine, bad_rows)


def choose_target(train: Callable[[InputPlan], tuple], plan: InputPlan, engine: Engine, bad_rows: str) -> InputPlan:
    """Return the plan of a training: with target auto of logarithms, if machines of these err less on held-out rows.

    train : plan -> (Model, Accounts). The error is the root mean squared error in the unit of the targets, on rows of
    the training: those that the plan holds out for a test are not looked at.
    """
    if plan.form.target != 'auto':
        return plan
    errors = {}
    unseen = plan.form.held_out
    for target in ('none', 'log'):
        tried = plan.change_formats(target=target, held_out=1 - (1 - unseen) * (1 - TARGET_TEST_SHARE), unseen=unseen)
        try:
            model, accounts = train(tried)
            errors[target] = test_held_out(model, tried, engine, bad_rows)['rmse']
        except DataFormatError as error:
            if target == 'none':
                raise
            engine.reporter.say(f'target: none, logarithms cannot be learned ({error})')
            return plan.change_formats(target='none')
        if target == 'none':
            n_usable = accounts.used
    if accounts.used < n_usable:  # bad rows are skipped, and targets that are not above 0 are such rows
        errors['log'] = math.inf
    target, said = compare_targets(errors)
    engine.reporter.say(said)
    return plan.change_formats(target=target)


def sample_pairs(model: Model, plan: InputPlan, n_rows: int, bad_rows: str) -> tuple[Floats, Floats]:
    """Return targets and predictions of a regression, (n,) or (n, K) both, of at most 2,000 rows, which lie evenly.

    n_rows : of the plan, that can be used.
    """
    pairs = []
    first, step = 0, -(-n_rows // 2000)
    for block in read_blocks(model, plan, bad_rows == 'stop'):
        taken = take_rows(block, slice(first, None, step))
        first = (first - len(block)) % step
        if len(taken):
            pairs.append((taken.targets, model.predict(widen(spread(taken.X), model.n_features))))
    actual, predicted = map(np.concatenate, zip(*pairs, strict=True))
    return actual, predicted


def measure_importance(model: Model, plan: InputPlan, bad_rows: str, most_rows: int = MOST_ROWS) -> list[float]:
    """Return the importance of each column, as the first rows judge it; see `permute_columns`.

    Raises ValueError for a model of several labels, DataFormatError when one of these rows cannot be used.
    """
    if model.multilabel:
        raise ValueError('--permutation: expected a model of one label in a row, found several')
    blocks = []
    for block in read_blocks(model, plan, bad_rows == 'stop'):
        blocks.append(block)
        if sum(map(len, blocks)) >= most_rows:
            break
    if not blocks:
        raise DataFormatError(f'{plan.name}: expected rows, found none that can be used')
    X = np.concatenate([expand(widen(spread(block.X), model.n_features)) for block in blocks])
    labels = np.concatenate([name_labels(model, block) for block in blocks])
    return permute_columns(model, X[:most_rows], labels[:most_rows])


def read_blocks(model: Model, plan: InputPlan, stop: bool) -> Iterator[Block]:
    """Yield the rows of all files as blocks, in this process. Raises DataFormatError where a bad row is to stop it."""
    splits = SplitReader(plan, model.encoding, stop, BLOCK_ROWS)
    for number, file in enumerate(plan.files):
        reader, chunks = splits.open(number, 0, file.size, lambda _: None)
        yield from reader.blocks(chunks)
        for row in reader.rejected:
            if stop:
                raise DataFormatError(describe_row(plan, file.path, row.ordinal + 1, row.reason, row.detail))
