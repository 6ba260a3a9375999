"""Add up the sums that the map tasks of a job have written, by a second job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from mr_elm.errors import DataFormatError
from mr_elm.passes.data_set import DataSet, JobOutput
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.options import RowOptions
from mr_elm.rows.storage import Entry


@dataclass(frozen=True)
class SumTree:
    """Say how a second job adds up the sums of the map tasks of the first.

    job_class : the stage that adds up. fan_in : the files that one map task of it reads.
    arguments : of the second job, such as how many reduce tasks it has.
    """

    job_class: Any
    fan_in: int
    arguments: tuple[str, ...] = ()

    @contextmanager
    def add_up(self, engine: Any, written: JobOutput) -> Iterator[JobOutput]:
        """Run the second job; the context's value is its output, with all records about the rows of the first."""
        plan = plan_sums(written.entries(), self.fan_in)
        with engine.run_job(self.job_class, plan, list(self.arguments), 'partial sums') as added:
            yield replace(added, map_input_records=written.map_input_records)


class WrittenSums(DataSet):
    """Hold files of sums that map tasks have written; the records in them are about rows that are not here."""

    def reconcile(self, accounts: Accounts) -> None:
        """Raise DataFormatError when a file could not be read. Who reads the output accounts for the rows."""
        if accounts.errors:
            raise DataFormatError(accounts.errors[min(accounts.errors)]['message'])


def plan_sums(entries: Iterable[Entry], fan_in: int = 16) -> InputPlan:
    """Make the InputPlan of files of sums, of which a map task reads about `fan_in`, each whole."""
    files = [
        InputFile(entry.path, entry.size, RowOptions('csv'), entry.copy, entry.modified, cuts=(0,))
        for entry in entries
        if entry.size
    ]
    if not files:
        raise DataFormatError('expected files of sums, all are empty')
    return InputPlan(files, n_tasks=ceil(len(files) / fan_in))
