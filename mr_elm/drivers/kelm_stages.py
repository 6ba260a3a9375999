"""The stages of the kernel ELM: Omega by rows, tiles or entries; its product with vectors; Algorithm 2."""
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import scipy.sparse as sp

from mr_elm.drivers.kelm_data import KernelData
from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError
from mr_elm.features.kernels import row_squares
from mr_elm.io.blocks import Block
from mr_elm.io.formats import RowOptions
from mr_elm.io.json_file import write_json
from mr_elm.io.packed import encode_block
from mr_elm.io.store import save_arrays
from mr_elm.io.wire import NUMBER_BYTES, make_key, split_key
from mr_elm.machines.gathering import RECORD_BYTES
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan, plan_inputs
from mr_elm.rows.partition import count_tasks
from mr_elm.solvers.shared.matrix_products import U, V
from mr_elm.streaming.mr_kernel import TILE, MRKernel, tile_corners
from mr_elm.streaming.mr_kernel_rows import MRKernelRows
from mr_elm.streaming.mr_matvec import MRMatvec
from mr_elm.streaming.mr_product import MRProduct
from mr_elm.typing import Floats

ENTRY_BYTES = 57  # of one entry on the wire
COLUMN_GROUPS = 16  # records that columns are cut into, at least, so that tasks can share them


def compute_matrix(data: KernelData) -> Floats:
    """Compute Omega by jobs: (N, N), the lower triangle filled. Raises AccountingError when a part is missing."""
    omega, emit = np.empty((data.n_rows, data.n_rows)), data.options.emit
    n_filled = fill_by_columns(data, emit, omega) if emit in ('tiles', 'entries') else fill_by_rows(data, omega)
    if n_filled != data.n_rows * (data.n_rows + 1) // 2:
        raise AccountingError(f'{data.n_rows * (data.n_rows + 1) // 2} entries of the kernel matrix were expected, '
                              f'{n_filled} came')
    if data.kernel.kind.of_distance:
        omega[np.diag_indices_from(omega)] = 1.0
    return omega


def fill_by_rows(data: KernelData, omega: Floats) -> int:
    """Fill Omega without a shuffle; returns how many entries of its lower triangle came."""
    job = data.source.run(MRKernelRows, ['--rows', data.rows_file, '--starts', data.starts_file], 'kernel')
    n_filled = 0
    for key, (tile,) in job:
        row, column = map(int, split_key(key)[1])
        n_filled += place_tile(omega, row, column, tile)
    return n_filled


def place_tile(omega: Floats, row: int, column: int, tile: Floats) -> int:
    """Put a tile into Omega; returns how many of its entries are in the lower triangle."""
    omega[row:row + len(tile), column:column + tile.shape[1]] = tile
    return int(np.clip(row + 1 + np.arange(len(tile)) - column, 0, tile.shape[1]).sum())


def fill_by_columns(data: KernelData, emit: str, omega: Floats) -> int:
    """Fill Omega by Algorithm 1, from columns; returns how many entries of its lower triangle came."""
    engine = data.source.engine
    demand_disk(data, emit, engine)
    columns = DataSet(plan_columns(data), engine, n_rows=data.task.n_features)
    keys = [make_key('tile', *corner) for corner in tile_corners(data.n_rows)]
    arguments = ['--emit', emit, '--kernel', write_kernel(data), *engine.reducers(count_tasks(keys))]
    n_filled = 0
    for key, (value,) in columns.run(MRKernel, arguments, f'kernel by {emit}'):
        i, j = map(int, split_key(key)[1])
        if i >= j:
            n_filled += place_tile(omega, i, j, np.atleast_2d(value))
    return n_filled


def write_kernel(data: KernelData) -> str:
    """Write kernel and grid for the tasks of Algorithm 1; the path."""
    described = [data.kernel.name, data.kernel.parameters, choose_grid(data)]
    return write_json(os.path.join(data.folder, 'kernel.json'), described)


def choose_grid(data: KernelData) -> float:
    """Return the grid on which sums of all columns are exact: 2^-51 of their bound."""
    largest = float(row_squares(data.rows.X).max())
    bound = (4 if data.kernel.kind.of_distance else 1) * max(largest, 1e-200)
    return float(2.0 ** (np.ceil(np.log2(bound)) - 51))


def predict_shuffle(n_rows: int, n_features: int, emit: str, n_maps: int) -> tuple[int, int]:
    """Predict the bytes that Algorithm 1 shuffles, and its records."""
    pairs = n_rows * (n_rows + 1) // 2
    if emit == 'entries':
        return pairs * n_features * ENTRY_BYTES, pairs * n_features
    n_tiles = n_maps * sum(1 for _ in tile_corners(n_rows))
    return int(min(n_tiles * TILE**2, n_maps * n_rows**2) * NUMBER_BYTES), n_tiles


def demand_disk(data: KernelData, emit: str, engine: Engine) -> None:
    """Say what will be shuffled. Raises ValueError when the disk of this machine has no room for it."""
    n_bytes, n_records = predict_shuffle(data.n_rows, data.task.n_features, emit, engine.n_maps)
    data.say(f'kernel by {emit}: about {n_records:,} records, {n_bytes / 1e6:,.0f} MB will be shuffled')
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if not engine.is_cluster and 3 * n_bytes > free:  # as output of maps, sorted, and as output of reducers
        raise ValueError(f'{data.source.plan.name}: --emit {emit} shuffles {n_bytes / 1e9:,.1f} GB, at most a third of '
                         f'the {free / 1e9:,.1f} GB free in {tempfile.gettempdir()} was expected: take --emit rows, '
                         'or --solver cg')


def plan_columns(data: KernelData) -> InputPlan:
    """Turn rows into columns, the input of Algorithm 1: several features a record, in a file of the driver.

    The driver has all rows, which the model needs; a job would send them through a shuffle once more.
    """
    X, d = data.rows.X, data.task.n_features
    a_record = max(1, min(RECORD_BYTES // (8 * data.n_rows), d // COLUMN_GROUPS))
    groups = (slice(first, first + a_record) for first in range(0, d, a_record))
    if sp.issparse(X):
        X = X.tocsc()
        columns = (X[:, group].T.toarray() for group in groups)
    else:
        columns = (X[:, group].T for group in groups)
    return plan_blocks(os.path.join(data.folder, 'columns'), map(Block, columns))


def plan_blocks(path: str, blocks: Iterable[Block]) -> InputPlan:
    """Write blocks to a packed file and plan it as an input of jobs."""
    with open(path, 'wb') as stream:
        for block in blocks:
            stream.write(encode_block(block))
            stream.write(b'\n')
    return plan_inputs([path], RowOptions(), closed=False)


def make_product(data: KernelData) -> Callable[[Floats], Floats]:
    """Return the function V (N, k) -> Omega V, each call one job over the rows."""
    def multiply(vectors: Floats) -> Floats:
        path = os.path.join(data.folder, 'vectors.npz')
        save_arrays(path, {}, {'vectors': vectors})
        product, n_rows = np.empty(vectors.shape), 0
        for key, (part,) in data.source.run(MRProduct, ['--rows', data.rows_file, '--vectors', path], 'product'):
            file, start, ordinal = map(int, split_key(key)[1])
            first = data.first_rows[file, start] + ordinal
            product[first:first + len(part)] = part
            n_rows += len(part)
        if n_rows != data.n_rows:
            raise AccountingError(f'{data.n_rows} rows of a product were expected, {n_rows} came')
        return product

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
    factors = os.path.join(data.folder, 'factors.npz')
    emit = 'entries' if data.options.emit == 'entries' else 'blocks'
    save_arrays(factors, {}, {'S': S, 'T': T})
    plan = plan_blocks(os.path.join(data.folder, 'factors'), [*cut_blocks(U, vectors.T), *cut_blocks(V, vectors)])
    rows = DataSet(plan, data.source.engine, n_rows=len(vectors) + len(S))
    found = {U: np.full((len(S), T.shape[1]), np.nan), V: np.full(vectors.shape, np.nan)}
    for key, (value,) in rows.run(MRMatvec, ['--factors', factors, '--emit', emit], 'products'):
        kind, (matrix, *place) = split_key(key)
        row, column = int(place[0]), int(place[-1])
        if kind == 'entry':
            found[matrix][row, column] = value
        else:
            found[matrix][row:row + len(value)] = value
    if any(np.isnan(product).any() for product in found.values()):
        raise AccountingError("every entry of U'T and V S^-1 was expected once, some are missing: run the stage again")
    return found[U], found[V]


def cut_blocks(matrix: str, rows: Floats) -> Iterator[Block]:
    """Yield the blocks of a matrix, labelled with its name and the number of their first row."""
    step = max(1, RECORD_BYTES // (8 * rows.shape[1]))
    for first in range(0, len(rows), step):
        part = np.ascontiguousarray(rows[first:first + step])
        yield Block(part, (f'{matrix} {first}',), np.zeros(len(part), np.int32))
