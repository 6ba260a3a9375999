"""Check what a driver has learnt before and after its jobs, each in one place."""
import numpy as np

from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.rows.inputs import InputPlan
from mr_elm.solvers.ridge.esvm import Sums
from mr_elm.sums.statistics import Classes
from mr_elm.sums.summary import Summary


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
