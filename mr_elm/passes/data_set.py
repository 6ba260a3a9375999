"""Run several jobs over the same rows, and demand of each that it read what the first one read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from mr_elm import linalg
from mr_elm.arithmetic import describe_blas
from mr_elm.errors import BadRowError, DataFormatError, TaskError, warn_unsuitable
from mr_elm.rows.accounting import Accounts, describe_bad_row
from mr_elm.rows.encoding import Encoding
from mr_elm.rows.inputs import InputPlan, demand_unchanged
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.storage import store_of
from mr_elm.store import temporary_folder, write_json

ABOUT_INPUT = b'counts ', b'rejected ', b'error '  # begin the keys of records about the input


class DataSet:
    """Hold the rows that the jobs of one command read, and what the first job counted.

    plan : InputPlan. engine : Engine that runs the jobs. bad_rows : stop or skip.
    n_rows : how many rows every pass must use, where that is known before the first one; a pack's manifest says it.
    first : Accounts of the first pass, None before it.
    """

    def __init__(self, plan: InputPlan, engine: Any, bad_rows: str = 'stop', n_rows: int | None = None) -> None:
        self.plan = plan
        self.engine = engine
        self.bad_rows = bad_rows
        if plan.manifest:
            self.n_rows = plan.manifest['n_rows']
        else:
            self.n_rows = n_rows
        self.first: Accounts | None = None
        self._blas_of_tasks: set[str] = set()
        self._n_blas = 1  # of them, as many as the user knows

    @property
    def encoding(self) -> Encoding | None:
        """Return the Encoding of rows that are tables; packed rows are encoded already."""
        if self.plan.pack:
            return None
        return self.plan.encoding

    def encode(self, encoding: Encoding) -> None:
        """Read rows as an Encoding says from now on."""
        self.plan = replace(self.plan, encoding=encoding)

    def fix_width(self, n_features: int) -> None:
        """Read sparse rows as rows of so many features from now on."""
        if find_kind(self.plan.form.kind).sparse:
            self.plan = self.plan.change_formats(n_features=n_features)

    def run(self, job_class: Any, arguments: list[str], stage: str) -> Pass:
        """Return the Pass of a job over all rows: iterate over it to run the job.

        job_class : subclass of MRRows. arguments : its options, but for --bad-rows. stage : its name for the user.
        """
        return Pass(self, job_class, arguments, stage)

    def reconcile(self, accounts: Accounts) -> None:
        """Demand that a pass which has ended read all rows once, and the same rows as the first pass.

        accounts : Accounts of the pass, complete.
        Raises DataFormatError when a row cannot be used or a pack is not whole; AccountingError when rows were lost or
        counted twice.
        """
        accounts.settle(self.bad_rows)
        form = self.plan.form
        if self.first is None and form.held_out and not form.tested and not self.plan.needs_encoding:
            demand_held_out(accounts, form.held_out)
        if self.first is not None:
            self.first.compare(accounts)
        elif self.n_rows is not None and accounts.used + accounts.held != self.n_rows:
            if self.plan.pack:
                who = f'{self.plan.pack}: expected {self.n_rows} rows, as its manifest says'
            else:
                who = f'{self.plan.name}: expected {self.n_rows} rows'
            raise DataFormatError(f'{who}, found {accounts.used + accounts.held}: a part is missing or cut short')
        elif self.encoding is not None:
            known = {name for counts in accounts.counts.values() for name in counts['known']}
            self.encoding.warn_of_unknown(known, accounts.used)
        self.first = self.first or accounts
        self._blas_of_tasks |= {counts['blas'] for counts in accounts.counts.values()}
        self._compare_blas()

    @property
    def blas(self) -> set[str]:
        """Return the set of descriptions of the BLAS that tasks compute with, and this process where it solves."""
        linalg.load()
        return self._compare_blas()

    def _compare_blas(self) -> set[str]:
        """Warn once of every BLAS that computes otherwise: the last bits of the model depend on it. Returns all."""
        descriptions = whole_descriptions(self._blas_of_tasks | {describe_blas()})
        if len(descriptions) > self._n_blas:
            self._n_blas = len(descriptions)
            warn_unsuitable(
                f'tasks used different BLAS libraries or processor types ({"; ".join(sorted(descriptions))}): another '
                'run may give a model with other last digits'
            )
        return descriptions


def demand_held_out(accounts: Accounts, share: float) -> None:
    """Raise DataFormatError where a pass has no rows for the test, or less than half of those for the training.

    Warn where the test has many more or fewer rows than its share.
    """
    held = accounts.held
    n_rows = accounts.used + accounts.held
    text = (
        f'--test {share:g}: expected rows for training and test, found {held:,} of {n_rows:,} for the test: equal '
        'features go together, so take another share, or --test FILE'
    )
    if n_rows and (not held or n_rows - held < (1 - share) * n_rows / 2):
        raise DataFormatError(text)
    if abs(held - share * n_rows) > 10 + share * n_rows / 2:  # of few rows, that is chance
        warn_unsuitable(text)


def whole_descriptions(descriptions: set[str]) -> set[str]:
    """Leave out descriptions of only some libraries of another one: a task that counts rows loads fewer of them."""
    libraries = {text: set(text.split(', ')) for text in descriptions}
    return {text for text in descriptions if not any(libraries[text] < others for others in libraries.values())}


class Pass:
    """Run one job over a data set, once: iterating yields its pairs and ends with the reconciliation.

    accounts : Accounts of the job, complete when the iteration has ended.
    """

    def __init__(self, data: DataSet, job_class: Any, arguments: list[str], stage: str) -> None:
        self.data = data
        self.job_class = job_class
        self.arguments = arguments
        self.stage = stage
        self.accounts = Accounts(data.plan)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        with self.open_output() as output:
            yield from output.pairs(self.accounts)
        self.data.reconcile(self.accounts)

    @contextmanager
    def open_output(self) -> Iterator[JobOutput]:
        """Run the job; the context's value is `JobOutput`. Whoever reads that calls `DataSet.reconcile` at the end."""
        arguments = list(self.arguments)
        if self.data.bad_rows == 'skip':
            arguments[:0] = ['--bad-rows', 'skip']
        plan = replace(self.data.plan, n_rows=self.data.first.used if self.data.first else self.data.n_rows)
        with temporary_folder() as folder:
            if self.data.encoding is not None:
                path = os.path.join(folder, 'encoding.json')
                arguments += ['--column-encoding', write_json(path, self.data.encoding.to_json())]
            try:
                with self.data.engine.run_job(self.job_class, plan, arguments, self.stage) as output:
                    if not self.data.engine.by_hand:  # which reads no rows, and need not have them
                        demand_unchanged(plan)
                    self.accounts.map_input_records = output.map_input_records
                    yield output
            except (TaskError, BadRowError) as error:
                bad_row = describe_bad_row(str(error), plan)
                if bad_row is None:
                    raise
                raise DataFormatError(bad_row) from None


@dataclass(frozen=True)
class JobOutput:
    """Give access to the output of a job that has run.

    folder : where its parts are.
    map_input_records : how many lines Hadoop says its map tasks were given; None where nobody counts but the tasks.
    """

    job_class: Any
    folder: str
    map_input_records: int | None = None

    def pairs(self, accounts: Accounts) -> Iterator[tuple[str, Any]]:
        """Yield the output pairs, except those about the input, which `accounts` takes."""
        for key, value in self.all_pairs():
            if not accounts.take(key, value):
                yield key, value

    def all_pairs(self) -> Iterator[tuple[str, Any]]:
        """Yield the output pairs."""
        return chain.from_iterable(map(self.read_part, self.parts()))

    def read_part(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yield the pairs of a part. Raises DataFormatError when it is cut or damaged."""
        return map(self.job_class.OUTPUT_PROTOCOL().read, self.read_lines(path))

    def lines(self, accounts: Accounts) -> Iterator[bytes]:
        """Yield all lines of the output as they are; `accounts` takes the records about the input among them."""
        for line in chain.from_iterable(map(self.read_lines, self.parts())):
            if line.startswith(ABOUT_INPUT):
                accounts.take(*self.job_class.OUTPUT_PROTOCOL().read(line))
            yield line

    def read_lines(self, path: str) -> Iterator[bytes]:
        """Yield the lines of a part. Raises DataFormatError when the last one is cut."""
        with store_of(path).open(path) as stream:
            for line in stream:
                if not line.endswith(b'\n'):
                    raise DataFormatError(f'{path}: expected whole lines, the last one is cut short')
                yield line

    def write(self) -> str:
        """Return the folder, where the output stands in files: another job may read them."""
        return self.folder

    def parts(self) -> list[str]:
        """List the paths of the parts, sorted."""
        entries = store_of(self.folder).entries(self.folder)
        return sorted(entry.path for entry in entries if entry.name.startswith('part-'))


def map_input_records(running: Any) -> int | None:
    """Return how many lines Hadoop says its map tasks were given; None when it does not say."""
    counters = running.counters()
    if counters:
        return counters[0].get('Map-Reduce Framework', {}).get('Map input records')
    return None
