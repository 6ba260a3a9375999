"""Keep what a command says on standard error in a file too: --log-file FILE, each line with the time."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any, TextIO

FLAG = '--log-file'


@contextmanager
def log_to(path: str) -> Iterator[None]:
    """Copy whole lines of standard error to the end of a file; a progress bar, which has no lines, stays out of it."""
    with open(path, 'a', encoding='utf-8') as log, redirect_stderr(Copy(sys.stderr, log)):  # type: ignore[type-var]
        yield


class Copy:
    """Write to a stream, and whole lines with the time to a log."""

    def __init__(self, stream: TextIO, log: TextIO) -> None:
        self.stream, self.log, self.line = stream, log, ''

    def write(self, text: str) -> int:
        """Write text."""
        *lines, self.line = (self.line + text).split('\n')
        for line in lines:
            self.log.write(f'{time.strftime("%Y-%m-%dT%H:%M:%S%z")} {line.rpartition(chr(13))[2]}\n')
        self.log.flush()
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        """Be the stream in all else."""
        return getattr(self.stream, name)
