"""The stages of the kernel ELM: Omega by rows, tiles or entries; its product with vectors; Algorithm 2."""
import os
import shutil
import tempfile

import numpy as np
import scipy.sparse as sp

from mr_elm.errors import AccountingError
from mr_elm.features.kernels import row_squares
from mr_elm.files.storage import store_of
from mr_elm.io.blocks import Block
from mr_elm.io.formats import RowOptions
from mr_elm.io.json_file import write_json
from mr_elm.io.packed import encode_block
from mr_elm.io.store import save_arrays
from mr_elm.io.wire import NUMBER_BYTES, make_key, split_key
from mr_elm.machines.gathering import RECORD_BYTES
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import InputPlan, look_at
from mr_elm.rows.partition import tasks_for
from mr_elm.solvers.shared.matrix_products import U, V
from mr_elm.streaming.mr_kernel import TILE, MRKernel, tile_corners
from mr_elm.streaming.mr_kernel_rows import MRKernelRows
from mr_elm.streaming.mr_matvec import MRMatvec
from mr_elm.streaming.mr_product import MRProduct

ENTRY_BYTES = 57  # of one entry on the wire
COLUMN_GROUPS = 16  # records that columns are cut into, at least, so that tasks can share them


def kernel_matrix(data, emit):
    """Compute Omega by jobs: (N, N), the lower triangle filled. Raises AccountingError when a part is missing."""
    omega = np.empty((data.n_rows, data.n_rows))
    n_filled = by_rows(data, omega) if emit == 'rows' else by_columns(data, emit, omega)
    if n_filled != data.n_rows * (data.n_rows + 1) // 2:
        raise AccountingError(f'{data.n_rows * (data.n_rows + 1) // 2} entries of the kernel matrix were expected, '
                              f'{n_filled} came')
    if data.kernel.kind.of_distance:
        omega[np.diag_indices_from(omega)] = 1.0
    return omega


def by_rows(data, omega):
    """Fill Omega without a shuffle; returns how many entries of its lower triangle came."""
    job = data.source.run(MRKernelRows, ['--rows', data.rows_file, '--starts', data.starts_file], 'kernel')
    return sum(place_tile(omega, *map(int, split_key(key)[1]), tile) for key, (tile,) in job)


def place_tile(omega, row, column, tile):
    """Put a tile into Omega; returns how many of its entries are in the lower triangle."""
    omega[row:row + len(tile), column:column + tile.shape[1]] = tile
    return int(np.clip(row + 1 + np.arange(len(tile)) - column, 0, tile.shape[1]).sum())


def by_columns(data, emit, omega):
    """Fill Omega by Algorithm 1, from columns; returns how many entries of its lower triangle came."""
    runner = data.source.runner
    demand_disk(data, emit, runner)
    columns = DataSet(column_plan(data), runner, n_rows=data.problem.n_features)
    keys = [make_key('tile', *corner) for corner in tile_corners(data.n_rows)]
    arguments = ['--emit', emit, '--kernel', kernel_file(data), *runner.reducers(tasks_for(keys))]
    n_filled = 0
    for key, (value,) in columns.run(MRKernel, arguments, f'kernel by {emit}'):
        i, j = map(int, split_key(key)[1])
        if i >= j:
            n_filled += place_tile(omega, i, j, np.atleast_2d(value))
    return n_filled


def kernel_file(data):
    """Write kernel and grid for the tasks of Algorithm 1; the path."""
    described = [data.kernel.name, data.kernel.parameters, grid_of(data)]
    return write_json(os.path.join(data.folder, 'kernel.json'), described)


def grid_of(data):
    """Return the grid on which sums of all columns are exact: 2^-51 of their bound."""
    largest = float(row_squares(data.rows.X).max())
    bound = (4 if data.kernel.kind.of_distance else 1) * max(largest, 1e-200)
    return float(2.0 ** (np.ceil(np.log2(bound)) - 51))


def shuffle_bytes(n_rows, n_features, emit, n_maps):
    """Predict the bytes that Algorithm 1 shuffles, and its records."""
    pairs = n_rows * (n_rows + 1) // 2
    if emit == 'entries':
        return pairs * n_features * ENTRY_BYTES, pairs * n_features
    n_tiles = n_maps * sum(1 for _ in tile_corners(n_rows))
    return int(min(n_tiles * TILE**2, n_maps * n_rows**2) * NUMBER_BYTES), n_tiles


def demand_disk(data, emit, runner):
    """Say what will be shuffled. Raises ValueError when the disk of this machine has no room for it."""
    n_bytes, n_records = shuffle_bytes(data.n_rows, data.problem.n_features, emit, runner.n_maps)
    runner.reporter.say(f'kernel by {emit}: about {n_records:,} records, {n_bytes / 1e6:,.0f} MB will be shuffled')
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if not runner.is_cluster and 3 * n_bytes > free:  # as output of maps, sorted, and as output of reducers
        raise ValueError(f'{data.source.plan.name}: --emit {emit} shuffles {n_bytes / 1e9:,.1f} GB, at most a third of '
                         f'the {free / 1e9:,.1f} GB free in {tempfile.gettempdir()} was expected: take --emit rows, '
                         'or --solver cg')


def column_plan(data):
    """Turn rows into columns, the input of Algorithm 1: several features a record, in a file of the driver.

    The driver has all rows, which the model needs; a job would send them through a shuffle once more.
    """
    X, d = data.rows.X, data.problem.n_features
    a_record = max(1, min(RECORD_BYTES // (8 * data.n_rows), d // COLUMN_GROUPS))
    groups = (slice(first, first + a_record) for first in range(0, d, a_record))
    if sp.issparse(X):
        X = X.tocsc()
        columns = (X[:, group].T.toarray() for group in groups)
    else:
        columns = (X[:, group].T for group in groups)
    return plan_blocks(os.path.join(data.folder, 'columns'), map(Block, columns))


def plan_blocks(path, blocks):
    """Write blocks to a packed file and plan it as an input of jobs."""
    with open(path, 'wb') as stream:
        for block in blocks:
            stream.write(encode_block(block))
            stream.write(b'\n')
    return InputPlan([look_at(store_of(path).find(path), RowOptions())])


def multiplier(data, scale=None):
    """Return the function V (N, k) -> s Omega s V, each call one job over the rows."""
    def multiply(vectors):
        path = os.path.join(data.folder, 'vectors.npz')
        save_arrays(path, {}, {'vectors': vectors if scale is None else scale[:, None] * vectors})
        product, n_rows = np.empty(vectors.shape), 0
        for key, (part,) in data.source.run(MRProduct, ['--rows', data.rows_file, '--vectors', path], 'product'):
            file, start, ordinal = map(int, split_key(key)[1])
            first = data.first_rows[file, start] + ordinal
            product[first:first + len(part)] = part
            n_rows += len(part)
        if n_rows != data.n_rows:
            raise AccountingError(f'{data.n_rows} rows of a product were expected, {n_rows} came')
        return product if scale is None else scale[:, None] * product

    return multiply


def multiply_factors(data, vectors, S, T, emit='blocks'):
    """Run Algorithm 2: U'T, (n, K), and V S^-1, (N, n), with U = V = `vectors`, (N, n)."""
    factors = os.path.join(data.folder, 'factors.npz')
    save_arrays(factors, {}, {'S': S, 'T': T})
    plan = plan_blocks(os.path.join(data.folder, 'factors'), [*cut(U, vectors.T), *cut(V, vectors)])
    rows = DataSet(plan, data.source.runner, n_rows=len(vectors) + len(S))
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


def cut(matrix, rows):
    """Yield the blocks of a matrix, labelled with its name and the number of their first row."""
    step = max(1, RECORD_BYTES // (8 * rows.shape[1]))
    for first in range(0, len(rows), step):
        part = np.ascontiguousarray(rows[first:first + step])
        yield Block(part, (f'{matrix} {first}',), np.zeros(len(part), np.int32))
