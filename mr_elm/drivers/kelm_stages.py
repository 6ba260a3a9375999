"""The stages of the kernel ELM: Omega by rows, or by Algorithm 1; its product with vectors; Algorithm 2."""

import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from mr_elm.drivers.kelm_data import KernelData
from mr_elm.engines.base import REDUCE_TASKS
from mr_elm.errors import AccountingError
from mr_elm.features.kernel_tiles import place_tile
from mr_elm.machines.gathering import RECORD_BYTES
from mr_elm.machines.kernel import ColumnsTask
from mr_elm.passes.data_set import DataSet, Pass
from mr_elm.progress import Meter
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import plan_blocks, plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.wire import split_key
from mr_elm.solvers.kelm import U, V
from mr_elm.store import save_arrays, write_json
from mr_elm.streaming.mr_columns import MRColumns
from mr_elm.streaming.mr_kernel import ENTRY_BYTES, MRKernel
from mr_elm.streaming.mr_kernel_rows import MRKernelRows
from mr_elm.streaming.mr_matvec import MRMatvec, cut_rows, read_products
from mr_elm.streaming.mr_product import MRProduct, read_product
from mr_elm.typing import Floats

COLUMN_GROUPS = 16  # records that columns are cut into, at least, so that tasks can share them


def compute_matrix(data: KernelData) -> Floats:
    """Compute Omega by jobs: (N, N), the lower triangle filled. Raises AccountingError when a part is missing."""
    n_entries = data.n_rows * (data.n_rows + 1) // 2
    omega = np.empty((data.n_rows, data.n_rows))
    if data.options.emit == 'entries':
        n_filled = fill_by_columns(data, omega)
    else:
        files = ['--rows', data.rows_file, '--starts', data.starts_file]
        n_filled = fill_tiles(data, omega, data.source.run(MRKernelRows, files, 'kernel'))
    if n_filled != n_entries:
        raise AccountingError(f'expected {n_entries} entries of the kernel matrix, found {n_filled}')
    if data.kernel.kind.of_distance:
        omega[np.diag_indices_from(omega)] = 1.0
    return omega


def fill_by_columns(data: KernelData, omega: Floats) -> int:
    """Fill Omega by Algorithm 1, from columns that a job makes; returns how many entries of its lower triangle came."""
    demand_disk(data)
    engine = data.source.engine
    kernel = write_json(data.path('kernel.json'), [data.kernel.name, data.kernel.parameters])
    with make_columns(data).open_output() as output:
        plan = plan_inputs([output.write()], RowOptions(), closed=False)
        columns = DataSet(plan, engine, n_rows=data.task.n_features)
        arguments = ['--kernel', kernel, *engine.reducers(REDUCE_TASKS)]
        n_filled = fill_tiles(data, omega, columns.run(MRKernel, arguments, 'kernel by entries'))
        accounts = Accounts.of_packing(data.source.plan, columns.first)
        accounts.map_input_records = output.map_input_records
        data.source.reconcile(accounts)
    return n_filled


def make_columns(data: KernelData) -> Pass:
    """Return the job that turns the rows into columns, the input of Algorithm 1; both stay where tasks run."""
    width = max(1, min(RECORD_BYTES // (8 * data.n_rows), data.task.n_features // COLUMN_GROUPS))
    task = data.task.extend(ColumnsTask, width=width)
    task.save(data.path('problem.npz'))
    reducers = data.source.engine.reducers(min(len(task.first_columns), REDUCE_TASKS))
    return data.source.run(MRColumns, ['--problem', data.path('problem.npz'), *reducers], 'columns')


def fill_tiles(data: KernelData, omega: Floats, pairs: Iterable[tuple[str, Any]]) -> int:
    """Put tiles and entries into Omega; returns how many entries of its lower triangle came."""
    n_filled, pairs = 0, iter(pairs)
    first = list(islice(pairs, 1))  # comes when the job has run
    with Meter(data.reporter, 'filling the kernel matrix', data.n_rows * (data.n_rows + 1) // 2) as meter:
        for key, (value,) in chain(first, pairs):
            row, column = map(int, split_key(key)[1])
            n_filled += place_tile(omega, row, column, np.atleast_2d(value))
            meter.show(n_filled, partial('{:,} entries'.format, n_filled))
    return n_filled


def demand_disk(data: KernelData) -> None:
    """Say what will be shuffled. Raises ValueError when the disk of this machine has no room for it."""
    n_records = data.n_rows * (data.n_rows + 1) // 2 * data.task.n_features
    n_bytes = n_records * ENTRY_BYTES
    data.reporter.say(f'kernel by entries: about {n_records:,} records, {n_bytes / 1e6:,.0f} MB will be shuffled')
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if not data.source.engine.is_cluster and 3 * n_bytes > free:  # as output of maps, sorted, and as output of reducers
        raise ValueError(
            f'{data.source.plan.name}: --emit entries shuffles {n_bytes / 1e9:,.1f} GB, expected at most '
            f'a third of the {free / 1e9:,.1f} GB that are free in {tempfile.gettempdir()}: use --emit '
            'rows or --solver cg'
        )


def make_product(data: KernelData) -> Callable[[Floats], Floats]:
    """Return the function V (N, k) -> Omega V, each call one job over the rows."""

    def multiply(vectors: Floats) -> Floats:
        path = data.path('vectors.npz')
        save_arrays(path, {}, {'vectors': vectors})
        job = data.source.run(MRProduct, ['--rows', data.rows_file, '--vectors', path], 'product')
        return read_product(job, vectors.shape, data.rows.first_of_splits)

    return multiply


def make_factor_product(data: KernelData) -> Callable[[Floats, Floats, Floats], Floats]:
    """Return the function (U, S^-1, T) -> U S^-1 U'T, whose first products are Algorithm 2."""

    def multiply(vectors: Floats, inverse: Floats, T: Floats) -> Floats:
        with np.errstate(divide='ignore'):
            UT, VS = multiply_factors(data, vectors, 1 / inverse, T)
        return VS @ UT

    return multiply


def multiply_factors(data: KernelData, vectors: Floats, S: Floats, T: Floats) -> tuple[Floats, Floats]:
    """Run Algorithm 2: U'T, (n, K), and V S^-1, (N, n), with U = V = `vectors`, (N, n)."""
    save_arrays(data.path('factors.npz'), {}, {'S': S, 'T': T})
    plan = plan_blocks(data.path('factors'), [*cut_rows(U, vectors.T), *cut_rows(V, vectors)])
    rows = DataSet(plan, data.source.engine, n_rows=len(vectors) + len(S))
    job = rows.run(MRMatvec, ['--factors', data.path('factors.npz')], 'products')
    return read_products(job, (len(S), T.shape[1]), vectors.shape)
