"""Check what a driver has learnt before and after its jobs, each in one place."""
import numpy as np

from mr_elm.drivers.summary import Summary, summarise
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan
from mr_elm.solvers.ridge.esvm import Sums
from mr_elm.sums.statistics import Classes

CONTINUOUS = 20  # more classes than this, on half of the rows or more, are no classes


def check_labels(plan: InputPlan, summary: Summary, task: str) -> None:
    """Raise DataFormatError when the rows have no labels, or were packed for another task."""
    if summary.target is None and not summary.labels.entries:
        raise DataFormatError(f'{plan.pack or plan.name}: labels were expected, the rows have none')
    if (task == 'regression') != (summary.target is not None):
        raise DataFormatError(f'{plan.pack}: rows packed for {task} were expected, these were packed for '
                              f'another task (mr-elm pack --task {task})')


def find_classes(plan: InputPlan, summary: Summary) -> Classes:
    """Return the Classes of a data set. Raises DataFormatError when the labels cannot be classes."""
    classes = Classes.of(summary.labels)
    k = len(classes.names)
    if k < 2:
        raise DataFormatError(f'{plan.name}: at least two classes were expected, every row has the label '
                              f'{classes.names[0]!r}')
    if k > CONTINUOUS and 2 * k >= summary.n_rows:
        raise DataFormatError(f'{plan.name}: classes were expected, {summary.n_rows} rows have {k} different labels: '
                              'is this a regression (--task regression) or another column (--label-column)?')
    return classes


def learn_rows(data: DataSet, task: str, n_landmarks: int = 0, seed: int = 0) -> tuple[Summary, Classes | None]:
    """Look at the rows of a DataSet once: their Summary, and their Classes, None for a regression.

    Raises DataFormatError when the rows or their labels cannot be used.
    """
    summary = summarise(data, n_landmarks, seed)
    check_labels(data.plan, summary, task)
    return summary, None if task == 'regression' else find_classes(data.plan, summary)


def check_counts(plan: InputPlan, classes: Classes | None, sums: Sums) -> None:
    """Raise AccountingError when the Gram job saw other labels than the pass before."""
    if classes and sums.counts.tolist() != classes.counts:
        raise AccountingError(f'{plan.name}: as many rows of each class were expected in every pass, other numbers '
                              'came: the data changed meanwhile')


def share_of(plan: InputPlan, summary: Summary, sample: int | None, memory: float, row_pair_bytes: int,
             need: str) -> float:
    """Return the share of the rows to tune on. Raises DataFormatError when they do not fit into memory.

    sample : about how many rows, or None for all. memory : of a task, in MB. row_pair_bytes : kept for each two rows.
    need : what these are, for the message.
    """
    room = int(np.sqrt(memory * 1e6 / row_pair_bytes))
    n = summary.n_rows if sample is None else min(sample, summary.n_rows)
    if n > room:
        raise DataFormatError(f'{plan.name}: at most {room:,} rows have {need} --memory {memory:g} MB, {n:,} came: '
                              f'tune on a part of them (--sample {room}), or raise --memory')
    return n / summary.n_rows
