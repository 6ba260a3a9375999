"""Verify a model against its ledger: files, receipts, and whether it is the model of exactly these rows."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mr_elm.arithmetic import one_thread
from mr_elm.drivers.calibrate import run_scores
from mr_elm.drivers.increment import sum_up_batch, summarise_new
from mr_elm.drivers.ledger import hash_data, name_key, name_receipt
from mr_elm.drivers.receipts import write_line
from mr_elm.errors import DataFormatError, ModelFormatError
from mr_elm.machines.calibrating import ScoreSample
from mr_elm.machines.living import Batch, LivingMachine, demand_summable
from mr_elm.model.models import HiddenNodeModel, NodeModel, join_members
from mr_elm.model.sums import compute_digest, find_sums, name_sums
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.ledger import Ledger, count_missing
from mr_elm.rows.storage import fetch_file
from mr_elm.store import temporary_folder
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats

MAX_DIFFERENCE = 1e-8  # of predictions; of a regression, relative to its largest target


@dataclass(frozen=True)
class Finding:
    """Say what was looked at, what was found, and whether that is as it should be."""

    subject: str
    text: str
    sound: bool = True


def verify_files(ledger: Ledger, receipts: Sequence[dict[str, Any]], name: str) -> Iterator[Finding]:
    """Check the copies of the receipts of a ledger, and the file of sums.

    ledger, receipts : of `open_ledger`. name : what the user calls the model. Raises DataFormatError at the first file
    that was altered.
    """
    yield Finding('ledger', f'{ledger.n_rows:,} rows, root {ledger.root}')
    missing, n_forgotten = '', 0
    for number, receipt in enumerate(receipts, 1):
        copy = name_receipt(ledger.name, number)
        if receipt['action'] != 'forget':
            continue
        n_forgotten += receipt['rows_found']
        if not os.path.exists(copy):
            missing += f'; there is no copy {copy}'
        elif Path(copy).read_bytes() != write_line(receipt) + b'\n':
            raise DataFormatError(f'{copy}: expected the receipt {number} of {ledger.name}, found an altered one')
    n_signed = sum('signature' in receipt for receipt in receipts)
    yield Finding(
        'receipts', f'{len(receipts)} in a chain, {n_signed} of them signed; {n_forgotten:,} rows have left{missing}'
    )
    if find_sums(name):
        with fetch_file(name_sums(name)) as sums_path:
            if compute_digest(sums_path) != receipts[-1]['sums_after']:
                raise DataFormatError(
                    f'{name_sums(name)}: expected the sums that were written with {name}, found others'
                )
        yield Finding('sums', 'as they were written')


def verify_rows(ledger: Ledger, model: NodeModel, name: str, data: DataSet) -> Iterator[Finding]:
    """Check whether rows are exactly those of a ledger, and whether training on them gives the model again."""
    with temporary_folder() as folder:
        yield (finding := compare_rows(ledger, hash_data(data, name_key(ledger.name), model.classes, folder)))
    if finding.sound:
        yield retrain(model, name, data)


def compare_rows(ledger: Ledger, rows: Ledger) -> Finding:
    """Say whether rows are exactly those of a ledger."""
    if rows.root == ledger.root:
        return Finding('rows', f'exactly the {rows.n_rows:,} rows of the ledger')
    n_missing, n_strangers = count_missing(ledger, rows)
    return Finding(
        'rows',
        f'{n_strangers:,} of these {rows.n_rows:,} rows are not in the ledger, and {n_missing:,} '
        'rows of the ledger are not among these',
        sound=False,
    )


def retrain(model: NodeModel, name: str, data: DataSet) -> Finding:
    """Train again on rows with the scaling, encoding, nodes and grids of a model, and compare the predictions."""
    try:
        demand_summable(model, name)
    except ModelFormatError as error:
        return Finding('predictions', f'not compared ({error})')
    summary = summarise_new(model, data)
    with one_thread():
        members = [subtract(member, sum_up_batch(member, summary, data)) for member in model.members]
    differences = join_members(members)
    sizes = np.zeros(differences.n_scores)  # the largest of each decision value
    for _, rows in run_scores(data, differences.save, ScoreSample(1.0, 0)):
        sizes = np.maximum(sizes, np.abs(rows.decisions).max(axis=0))
    difference = float((sizes / measure_targets(summary)).max())
    text = (
        f'those of a new training on these rows differ by up to {difference:.1e}, expected at most {MAX_DIFFERENCE:g}'
    )
    return Finding('predictions', text, difference <= MAX_DIFFERENCE)


def subtract(model: HiddenNodeModel, batch: Batch) -> HiddenNodeModel:
    """Return a machine whose decision values are those of training again, by sums of rows, less those of a model."""
    again = LivingMachine(replace(model.header, calibration=None, threshold=None), model.layer, batch.sums).solve()
    return replace(
        again,
        arrays={**again.arrays, 'output_weights': again.arrays['output_weights'] - model.arrays['output_weights']},
    )


def measure_targets(summary: Summary) -> Floats | float:
    """Return the largest size of each target of a regression, (K,); 1 for classes, and where all targets are 0."""
    if summary.target is None:
        return 1.0
    sizes = np.abs([summary.target.minimum, summary.target.maximum]).max(axis=0)
    return np.where(sizes > 0, sizes, 1)
