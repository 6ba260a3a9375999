"""Clocks: what a call takes, in processor seconds, by the clock on the wall, or in memory."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

MR_ELM = str(Path(sys.executable).parent / 'mr-elm')
ONE_THREAD = dict.fromkeys(('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'), '1')


def read_processor_clock() -> float:
    """Return the processor seconds of this process so far, and of those that it has started and waited for."""
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run_mr_elm(*words: object) -> str:
    """Run the command line on one BLAS thread; returns what it said on standard error. Raises RuntimeError."""
    command = [MR_ELM, *map(str, words)]
    done = subprocess.run(command, text=True, capture_output=True, env={**os.environ, **ONE_THREAD})
    if done.returncode:
        raise RuntimeError(f'{" ".join(command)}: {done.stderr}')
    return done.stderr


def measure_process(*words: object) -> tuple[dict[str, float], str]:
    """Run a command: what it takes, its largest process counted as its memory, and what it prints.

    Raises RuntimeError, which holds what the command said on standard error.
    """
    code = (
        'import resource, subprocess, sys; status = subprocess.run(sys.argv[1:]).returncode; '
        'used = resource.getrusage(resource.RUSAGE_CHILDREN); '
        'print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6); sys.exit(status)'
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, '-c', code, *map(str, words)], text=True, capture_output=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f'{" ".join(map(str, words))}: {done.stderr}')
    *printed, last = done.stdout.splitlines()
    processor, peak = map(float, last.split())
    return {'seconds': seconds, 'processor seconds': processor, 'megabytes': peak}, '\n'.join(printed)


def time_call(action: Callable, clock: Callable[[], float], least: float) -> tuple[float, object]:
    """Call an action until a clock has gone on by so many seconds: (the mean of a call, what the last one returned)."""
    start, calls, spent = clock(), 0, 0.0
    while not calls or spent < least:
        result = action()
        calls += 1
        spent = clock() - start
    return spent / calls, result
