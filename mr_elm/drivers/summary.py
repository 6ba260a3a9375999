"""Learn what a method must know of a data set before it looks at the rows: from one job, or from a pack's manifest."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.errors import AccountingError, DataFormatError, warn_unsuitable
from mr_elm.machines.doubts import warn_of_numbers
from mr_elm.machines.nodes import NodeProblem
from mr_elm.machines.options import PESVMOptions
from mr_elm.machines.shared_options import TrainingOptions
from mr_elm.parallel import using_threads
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.encoding import CATEGORY, DATE, NUMBER, Encoding
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.labels import find_twins
from mr_elm.rows.text import quote, read_exact
from mr_elm.scores.threshold import choose_positive
from mr_elm.streaming.mr_stats import MRStats, check_classes
from mr_elm.streaming.mr_values import MRValues
from mr_elm.sums.statistics import Classes, describe_single_rows, find_single_rows
from mr_elm.sums.summary import Summary
from mr_elm.sums.values import ColumnValues, choose_encoding

MAX_CLASSES = 20  # more than this, on half of the rows or more, are no classes


def learn_rows(
    data: DataSet, options: TrainingOptions, n_landmarks: int = 0, refuses: str = 'this training'
) -> tuple[Summary, Any]:
    """Look at the rows of a DataSet once: their Summary, and their Classes, None for a regression.

    n_landmarks : how many landmarks to choose, by keyed hashes.
    refuses : what cannot take several targets or labels of a row, '' where they are welcome.
    Raises DataFormatError when the rows or their labels cannot be used.
    """
    form = data.plan.form
    demand_one_label(data.plan, len(form.targets), form.labels_separator, refuses)  # before the first pass
    summary = summarise(data, n_landmarks, options.seed)
    check_labels(data.plan, summary, options.task)
    warn_of_numbers(summary, form.held_out)
    demand_one_label(data.plan, summary.n_targets, summary.separator, refuses)
    if options.numeric:
        return summary, None
    classes = find_classes(data.plan, summary)
    try:
        choose_positive(options.positive, classes.names)
    except ValueError as error:
        raise DataFormatError(f'{data.plan.name}: {error}') from None
    warn_of_labels(data, summary)
    return summary, classes


def demand_rows(plan: InputPlan, summary: Summary) -> None:
    """Raise DataFormatError when a data set has no row, or no feature."""
    if not summary.n_rows:
        raise DataFormatError(f'{plan.name}: expected rows, found none that can be used')
    if not summary.columns.n_features:
        raise DataFormatError(f'{plan.name}: expected rows with features, all rows are empty')


def check_labels(plan: InputPlan, summary: Summary, task: str) -> None:
    """Raise DataFormatError when rows have no labels, or those of another task, or overflow in their sums."""
    if summary.target is None and not summary.labels.entries:
        raise DataFormatError(f'{plan.pack or plan.name}: expected labels, the rows have none')
    if (task == 'regression') != (summary.target is not None):
        raise DataFormatError(
            f'{plan.pack}: expected rows packed for {task}, found rows packed for another task: '
            f'pack them again (mr-elm pack --task {task})'
        )
    if summary.weights is not None and not np.isfinite(summary.columns.n):
        raise DataFormatError(
            f'{plan.name}: expected row weights that can be added up in float64, found weights '
            f'as large as {summary.weights.maximum[0]:.3g}: divide all weights by a constant'
        )
    if summary.target is None:
        return
    names = summary.input.get('target_names') or [summary.input.get('label_name')] * summary.n_targets
    for k in np.flatnonzero(~np.isfinite(summary.target.squares + summary.target.mean**2 * summary.columns.n)):
        largest = max(abs(summary.target.minimum[k]), abs(summary.target.maximum[k]))
        if names[k] is None:
            target = f'target {k + 1}'
        else:
            target = f'column {names[k]!r}'
        raise DataFormatError(
            f'{plan.name}: {target}: expected targets whose squares can be added up in float64, '
            f'found targets as large as {largest:.3g}: divide them by a constant'
        )


def demand_one_label(plan: InputPlan, n_targets: int, separator: str | None, what: str) -> None:
    """Raise DataFormatError when rows have several targets or labels. what : cannot take them, or ''."""
    several = 'labels'
    if n_targets > 1:
        several = 'targets'
    if what and (n_targets > 1 or separator is not None):
        hint = 'train pesvm, elm and mr-kelm take these'
        if what.startswith('--'):
            hint = f'leave {what} out'
        raise DataFormatError(f'{plan.name}: {what}: expected one label in each row, found several {several}: {hint}')


def find_classes(plan: InputPlan, summary: Summary) -> Classes:
    """Return the Classes of a data set. Raises DataFormatError when the labels cannot be classes."""
    classes = Classes.of(summary.labels)
    k = len(classes.names)
    if summary.separator is not None:
        return classes
    if k < 2:
        raise DataFormatError(
            f'{plan.name}: expected at least two classes, every row has the label '
            f'{classes.names[0]!r}{name_label_column(summary)}'
        )
    if k > MAX_CLASSES and 2 * k >= summary.n_rows:
        raise DataFormatError(
            f'{plan.name}: expected classes, {summary.n_rows} rows have {k} different labels'
            f'{name_label_column(summary)}: is this a regression (--task regression), or is another '
            'column the label (--label-column NAME)?'
        )
    return classes


def name_label_column(summary: Summary) -> str:
    """Name the column of the labels, for the end of a phrase; '' where rows have no columns."""
    facts = summary.input
    name, position = facts.get('label_name'), facts.get('label_column', 0)
    if name is not None and position == 0:
        return f' in column {name!r}, the first one'
    if name is not None:
        return f' in column {name!r}'
    if 'n_columns' in facts:
        return f' in column {position} (counted from 0)'
    return ''


def warn_of_labels(data: DataSet, summary: Summary, is_known: Callable[[str], bool] = lambda name: False) -> None:
    """Warn of labels that are probably no classes: they have one row, or text makes two classes of one number.

    is_known : tells whether a label is a class of a model, of which any number of rows may come.
    """
    entries = summary.labels.entries
    classes = Classes.of(summary.labels)
    unit = find_kind(data.plan.form.kind).unit

    def describe_place(name: str) -> str:
        number, _, line = entries[name][1]
        return f'{data.plan.files[number].path}, {unit} {line + 1}'

    single = [classes.names[k] for k in find_single_rows(classes.counts) if not is_known(classes.names[k])]
    if single:
        single.sort(key=lambda name: entries[name][1])
        warn_unsuitable(describe_single_rows([(name, describe_place(name)) for name in single], summary.n_rows))
    if twins := find_twins(entries):
        text = min((name for name in entries if read_exact(name) is None), key=lambda name: entries[name][1])
        warn_unsuitable(
            f'the labels {quote(twins[0])} and {quote(twins[1])} are two classes although they are equal '
            f'numbers: all labels are compared as text, because {quote(text)} ({describe_place(text)}) is no finite '
            'number'
        )


def summarise(data: DataSet, landmarks: int = 0, seed: int = 0) -> Summary:
    """Return the Summary of a DataSet, whose sparse rows have from then on the width that was found.

    Packed rows need a pass only for landmarks. Later passes may find the rows parsed.
    Raises DataFormatError when no row can be used.
    """
    if data.plan.needs_encoding:
        data.encode(learn_encoding(data))
    data.plan = data.engine.keep_parsed(data.plan)
    manifest, holds_out = data.plan.manifest, bool(data.plan.form.held_out)
    is_transformed = data.plan.form.target == 'log'  # the manifest tells of the targets as they are, and of all rows
    if manifest and not (landmarks or is_transformed or holds_out):
        summary = Summary.of_manifest(manifest)
    else:
        summary = survey(data, landmarks, seed)
        demand_rows(data.plan, summary)
        if manifest:
            kept: dict[str, Any] = {'input': manifest['input'] | ({'target': 'log'} if is_transformed else {})}
            if not holds_out:  # a pass rounds its means by its splits, the manifest does not
                kept['landmarks'] = summary.landmarks
                if is_transformed:
                    kept['target'] = summary.target
                summary = Summary.of_manifest(manifest)
            summary = replace(summary, **kept)
    data.fix_width(summary.columns.n_features)
    return summary


def learn_encoding(data: DataSet) -> Encoding:
    """Count the values of every column of the rows of a DataSet, and choose how they become features.

    Raises DataFormatError when a column can be neither numbers nor categories.
    """
    raw = DataSet(data.plan, data.engine, data.bad_rows)  # an infinite number is a bad row only once it is encoded
    values = [
        ColumnValues.from_json(column) for _, table in raw.run(MRValues, [], 'values') for column in table['columns']
    ]
    if not values:
        raise DataFormatError(f'{data.plan.name}: expected rows, found none that can be used')
    form, names = data.plan.form, data.plan.column_names
    categorical = {names[form.feature_positions.index(position)] for position in form.category}
    try:
        encoding = choose_encoding(names, values, data.plan.max_categories, categorical, data.plan.dates)
    except DataFormatError as error:
        raise DataFormatError(f'{data.plan.name}: {error}') from None
    data.engine.reporter.say(describe(encoding))
    return encoding


def describe(encoding: Encoding) -> str:
    """Say for people what an Encoding makes of a table."""
    kinds = Counter(column.kind for column in encoding.columns)
    missing = sum(column.missing for column in encoding.columns)
    dates = ''
    if kinds[DATE]:
        dates = f', {kinds[DATE]} of dates ({encoding.dates})'
    return (
        f'columns: {kinds[NUMBER]} of numbers{dates}, {missing} of them with missing values, {kinds[CATEGORY]} of '
        f'categories: {encoding.width} features'
    )


def survey(data: DataSet, landmarks: int = 0, seed: int = 0) -> Summary:
    """Run the statistics job: the Summary of a DataSet, which may be empty."""
    words = []
    if landmarks:
        words = ['--landmarks', str(landmarks), '--seed', str(seed)]
    job = data.run(MRStats, words, 'statistics')
    summary = Summary.of_pairs(job, data.plan.input_facts)
    summary.n_rows, summary.rejected, summary.encoding = (
        job.accounts.used,
        job.accounts.reasons,
        data.plan.encoding,
    )
    summary.labels.count_lines_of_files(job.accounts.lines_before())
    check_classes(summary.labels, f'{data.plan.name}: ')
    if landmarks and summary.n_rows and summary.landmarks is None:
        raise AccountingError(f'{data.plan.name}: expected rows as landmarks from the statistics, found none')
    return summary


@dataclass(frozen=True)
class NodeInputs(NodeProblem):
    """Hold the rows beside what the nodes depend on."""

    data: DataSet

    @classmethod
    def learn(
        cls, data: DataSet, options: PESVMOptions, n_landmarks: int = 0, refuses: str = 'this training'
    ) -> 'NodeInputs':
        """Look at the rows once, and learn a metric if options ask for one. refuses : see `learn_rows`.

        Raises DataFormatError when the rows cannot be used.
        """
        inputs = cls(options, *learn_rows(data, options, n_landmarks, refuses), data)
        if options.metric != 'none':
            from mr_elm.drivers.sample import read_sample

            sample = read_sample(inputs)
            with one_thread(), using_threads(data.engine.n_threads):
                inputs = inputs.learn_metric(sample)
            data.engine.reporter.say(f'metric: {inputs.learned.kind}, {inputs.learned.n_steps} steps')
        return inputs
