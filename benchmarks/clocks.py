"""Clocks: what a call takes, in processor seconds, by the clock on the wall, or in memory."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

ONE_THREAD = dict.fromkeys(('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'), '1')


def read_processor_clock() -> float:
    """Return the processor seconds of this process so far, and of those that it has started and waited for."""
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run_mr_elm(*words: object) -> str:
    """Run the command line on one BLAS thread; returns what it said on standard error. Raises RuntimeError."""
    command = [str(Path(sys.executable).parent / 'mr-elm'), *map(str, words)]
    done = subprocess.run(command, text=True, capture_output=True, env={**os.environ, **ONE_THREAD})
    if done.returncode:
        raise RuntimeError(f'{" ".join(command)}: {done.stderr}')
    return done.stderr


def measure_peak_megabytes(*words: object) -> float:
    """Run the command line and return its largest resident set."""
    code = (
        'import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); '
        'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)'
    )
    command = [sys.executable, '-c', code, str(Path(sys.executable).parent / 'mr-elm'), *map(str, words)]
    done = subprocess.run(command, check=True, text=True, capture_output=True, env={**os.environ, **ONE_THREAD})
    return int(done.stdout) * 1024 / 1e6


def time_call(action: Callable, clock: Callable[[], float], least: float) -> tuple[float, object]:
    """Call an action until a clock has gone on by so many seconds: (the mean of a call, what the last one returned)."""
    start, calls, spent = clock(), 0, 0.0
    while not calls or spent < least:
        result = action()
        calls += 1
        spent = clock() - start
    return spent / calls, result
