"""Say how a training solves for its output weights: from a Gram, or by passes over the rows."""

import numpy as np

from mr_elm.errors import DataFormatError
from mr_elm.machines.options import GRAM, MOST_GRAM_NODES, PASSES, PESVMOptions

TOLERANCES = {'classification': 1e-4, 'regression': 1e-6}
SAMPLE = {'nystrom': 2}  # rows of the sample for each node; kernels need fewer than other nodes
SAMPLE_OF_OTHERS = 4
SINGLE_NODES = 4096  # from which on float32 halves the time and the memory of the preconditioner


def count_sample(options: PESVMOptions, n_hidden: int) -> int:
    """Return about how many rows make the preconditioner. Raises DataFormatError where it does not fit into memory."""
    choose_type(options.memory, n_hidden)
    return SAMPLE.get(options.map, SAMPLE_OF_OTHERS) * n_hidden


def choose_type(memory: float, n_hidden: int, coarseness: float = 0.0) -> type:
    """Return the type of the preconditioner, float32 or float64.

    It is float64, where the memory in MB allows it, for few nodes, and where float32 is too coarse.
    coarseness : nu times what float32 adds to the diagonal, see `measure_rounding`.
    Raises DataFormatError where neither fits.
    """
    types: tuple[type, ...] = (np.float32,)
    if n_hidden < SINGLE_NODES or coarseness > 100:  # beyond it the rounding of float32 costs many passes
        types = (np.float64, np.float32)
    for dtype in types:
        if np.dtype(dtype).itemsize * (n_hidden + 1) ** 2 <= memory * 1e6:
            return dtype
    needed, most = 4 * (n_hidden + 1) ** 2 / 1e6, int(np.sqrt(memory * 1e6 / 4)) - 1
    raise DataFormatError(
        f'--solver passes: expected at most {most:,} hidden nodes with --memory {memory:g} MB, found '
        f'{n_hidden:,}: raise --memory to {needed:,.0f}, or take fewer nodes'
    )


def demand_memory(options: PESVMOptions) -> None:
    """Raise DataFormatError, before any job, where a training by passes has no memory for its factor."""
    if options.map != 'identity' and choose_solver(options, 0, options.n_hidden)[0] == PASSES:
        choose_type(options.memory, options.n_hidden)


def choose_solver(options: PESVMOptions, n_rows: int, n_hidden: int) -> tuple[str, str]:
    """Return gram or passes, and why: by the options, the rows, the nodes and the memory alone."""
    if options.solver is not None:
        return options.solver, '--solver says so'
    needed = 3 * 8 * (n_hidden + 1) ** 2 / 1e6  # MB: high part, low part and factor
    if needed > options.memory:
        return PASSES, f'a Gram of {n_hidden:,} nodes takes {needed:,.0f} MB, --memory is {options.memory:g} MB'
    if n_hidden > MOST_GRAM_NODES and n_rows > n_hidden:
        return PASSES, f'there are more than {MOST_GRAM_NODES:,} hidden nodes'
    return GRAM, f'a Gram of {n_hidden:,} nodes fits into --memory {options.memory:g} MB'
