"""Run the command line in this process."""

import contextlib
import io
from collections import namedtuple

from mr_elm.cli import main

Result = namedtuple('Result', 'status out err')


def elm(*words, main=main):
    """Run mr-elm, or another program by its `main`; returns the status and what it wrote."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding='utf-8', write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:
            status = stop.code
    return Result(status, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def succeed(result):
    """Return the standard output of a command that succeeded."""
    assert result.status == 0, result.err
    return result.out


def run_here(*words):
    """Run mr-elm in this process where a benchmark starts a process of its own; returns what it wrote as an error."""
    result = elm(*words)
    succeed(result)
    return result.err
