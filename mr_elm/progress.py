"""Show on standard error how far a stage is, from what its tasks report."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, TextIO

REDRAW_SECONDS = 0.3
# Between two lines of a log: the pauses become longer with the work.
FIRST_LINE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 60.0
SILENT_SECONDS = 2.0  # seconds of work that nobody needs to be told of
LARGE_SIZE = 3000  # rows of a matrix that takes more than a second to factor (2026-11)
EARLY_SHARE, LONG_SECONDS = 0.1, 30.0  # share done and seconds before which the time left is a guess


class Reporter:
    """Speak to the user on standard error, or not at all.

    stream : kept from the start, since inline tasks replace sys.stderr.
    """

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.quiet = quiet
        self.stream = stream or sys.stderr

    def say(self, text: str) -> None:
        """Print a line, unless the command whose stream this is has ended and closed it."""
        if not self.quiet and not self.stream.closed:
            print(f'{text}\n', end='', file=self.stream, flush=True)  # at once: other threads print lines too

    def announce(self, work: str, size: int) -> None:
        """Say that work on a matrix begins, unless it is short. size : rows of the matrix."""
        if size >= LARGE_SIZE:
            self.say(work)

    @contextmanager
    def follow(self, name: str, n_rows: int) -> Iterator[Callable[[int], None]]:
        """Show how far work on rows in this process is, and close with a line; the context's value counts rows.

        Work that counts none, as a solver does, shows how long it has taken.
        """
        with Stage(self, name, 0, n_rows) as stage:
            yield partial(stage.count, 'rows')

    def count(self, blocks: Iterable[tuple[Any, Any]], name: str, n_rows: int) -> Iterator[tuple[Any, Any]]:
        """Yield blocks (X, labels) and show how many of all rows have passed."""
        with Meter(self, name, n_rows) as meter:
            done = 0
            for X, labels in blocks:
                yield X, labels
                done += len(labels)
                meter.show(done, partial('{:,} rows'.format, done))


class LogLines(logging.Handler):
    """Print what the library logs, such as that it compiles, as lines of a Reporter.

    last : the line that may say why a job failed.
    """

    last = ''

    def __init__(self, reporter: Reporter) -> None:
        super().__init__(logging.INFO)
        self.reporter = reporter

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line."""
        self.reporter.say(record.getMessage())

    @contextmanager
    def listening(self, name: str = 'mr_elm') -> Iterator[None]:
        """Print what a logger gets until the context ends, beside its other handlers."""
        log = logging.getLogger(name)
        level = log.level
        log.addHandler(self)
        log.setLevel(logging.INFO)
        try:
            yield
        finally:
            log.removeHandler(self)
            log.setLevel(level)

    def listen(self) -> None:
        """Take the place of earlier handlers of the library's logger and of those that it logs below."""
        log = logging.getLogger('mr_elm')
        log.handlers, log.propagate = [self], False
        log.setLevel(logging.INFO)


def describe_time(seconds: float) -> str:
    """Write a time for people: 40 s, 3 min, 2.5 h."""
    if seconds < 100:
        return f'{seconds:.0f} s'
    if seconds < 6000:
        return f'{seconds / 60:.0f} min'
    return f'{seconds / 3600:.1f} h'


class Meter:
    """Show how much of some work is done, and the time left: a bar on a terminal, now and then a line in a log."""

    def __init__(self, reporter: Reporter, name: str, total: int) -> None:
        self.reporter, self.name, self.total = reporter, name, total
        self.bar, self.due = None, FIRST_LINE_SECONDS
        if not reporter.quiet and reporter.stream.isatty():
            from tqdm import tqdm  # takes half as long to import as numpy

            self.bar = tqdm(total=total, bar_format='{bar:20} {desc}', leave=False, file=reporter.stream)
            self.due = SILENT_SECONDS
        self.start = time.perf_counter()

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def show(self, done: float | None, describe: Callable[[], str]) -> None:
        """Show that `done` of the total is done, if it is time to; None where nobody says how much that is.

        describe : returns what else is known, '' where nothing is.
        """
        seconds = time.perf_counter() - self.start
        if self.reporter.quiet or seconds < self.due:
            return
        text = f'{self.name}: ' + ', '.join(filter(None, [describe(), self.describe_share(done, seconds)]))
        if self.bar is None:
            self.due = seconds + min(max(FIRST_LINE_SECONDS, seconds / 4), LONGEST_PAUSE_SECONDS)
            self.reporter.say(text)
        else:
            self.due, self.bar.n = seconds + REDRAW_SECONDS, done or 0
            self.bar.set_description_str(text)

    def describe_share(self, done: float | None, seconds: float) -> str:
        """Return the share that is done and the time left; the time so far where the time left is not known."""
        if done is None:
            return f'{describe_time(seconds)} so far'
        share = done / max(self.total, 1)
        if share in (0, 1) or share < EARLY_SHARE and seconds < LONG_SECONDS:
            return f'{share:.0%} done, {describe_time(seconds)} so far'
        return f'{share:.0%} done, about {describe_time(seconds / share - seconds)} left'


class Listener:
    """Hear how far a task is, and forget it: the base of those who tell the user."""

    def count(self, name: str, amount: int) -> None:
        """Take so many more rows, or bytes."""

    def set_status(self, text: str) -> None:
        """Take what the task does."""


class Stage(Meter, Listener):
    """Follow running tasks and close with a line: rows, MB, seconds, MB/s.

    total_bytes : of the rows, 0 where they are in memory. n_rows : how many rows the maps use, where that is known
    before they have read them, else None.
    """

    def __init__(self, reporter: Reporter, name: str, total_bytes: int, n_rows: int | None = None) -> None:
        super().__init__(reporter, name, n_rows or total_bytes)
        self.total_bytes, self.n_rows = total_bytes, n_rows
        self.seen = {'rows': 0, 'bytes': 0}
        self.lock = threading.Lock()
        self.status = ''

    def count(self, name: str, amount: int) -> None:
        """Take so many more rows, or bytes, from any thread."""
        with self.lock:
            self.seen[name] += amount

    def set_status(self, text: str) -> None:
        """Take what a task does."""
        self.status = text

    def __enter__(self) -> Stage:
        self.stack = ExitStack()
        if not self.reporter.quiet:
            self.stack.enter_context(repeat(self.show_tasks, REDRAW_SECONDS))
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.stack.close()
        super().__exit__(kind, error, trace)
        if kind is None:
            seconds, megabytes = time.perf_counter() - self.start, self.total_bytes / 1e6
            rows = self.n_rows or self.seen['rows']
            parts = [f'{rows:,} rows'] if rows else []
            text = f'{seconds:.1f} s'
            if self.total_bytes:
                parts.append(f'{megabytes:,.1f} MB')
                text += f', {megabytes / seconds:,.1f} MB/s'
            self.reporter.say(f'{self.name}: {", ".join(parts)} in {text}')

    def show_tasks(self) -> None:
        """Show how far the maps are, or what a reduce task does: how long that takes is not known."""
        rows, done = self.seen['rows'], None
        if rows and not self.status:
            done = min(rows if self.n_rows else self.seen['bytes'], self.total)
        known = rows or self.n_rows  # neither on a cluster, until it says how far the job is
        self.show(done, lambda: self.status or (f'{known:,} rows' if known else ''))


@contextmanager
def repeat(function: Callable[[], None], pause: float) -> Iterator[None]:
    """Call a function now and then in a thread until the context ends. pause : seconds between two calls."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(pause):
            function()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
