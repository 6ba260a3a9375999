"""Run the command line in this process."""
import contextlib
import io
from collections import namedtuple

from mr_elm.cli import main

Result = namedtuple('Result', 'status out err')


def elm(*words):
    """Run mr-elm; returns the status and what it wrote."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:
            status = stop.code
    return Result(status, out.getvalue(), err.getvalue())


def succeed(result):
    """Return the standard output of a command that succeeded."""
    assert result.status == 0, result.err
    return result.out
