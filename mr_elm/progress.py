"""Show on standard error how far a stage is, from what its tasks report."""

from __future__ import annotations

import glob
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TextIO

COUNTER = re.compile(r'^reporter:counter:mr_elm,(rows|bytes|reduced),(\d+)$', re.MULTILINE)
STATUS = re.compile(r'^reporter:status:(?!computing$)(.*)$', re.MULTILINE)
REDRAW_SECONDS = 0.3
# Between two lines of a log: the pauses become longer with the work.
FIRST_LINE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 60.0
SILENT_SECONDS = 2.0  # seconds of work that nobody needs to be told of
EARLY_SHARE, LONG_SECONDS = 0.1, 30.0  # share done and seconds before which the time left is a guess


class Reporter:
    """Speak to the user on standard error, or not at all.

    stream : kept from the start, since inline tasks replace sys.stderr.
    """

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.quiet = quiet
        self.stream = stream or sys.stderr

    def say(self, text: str) -> None:
        """Print a line."""
        if not self.quiet:
            print(f'{text}\n', end='', file=self.stream, flush=True)  # at once: other threads print lines too

    def announce(self, work: str, estimate: Callable[[], float]) -> None:
        """Say before some work how long it will take, unless that is short.

        estimate : returns the seconds; it may take some time itself, and is not called where nothing is printed.
        """
        if not self.quiet and (seconds := estimate()) >= SILENT_SECONDS:
            self.say(f'{work}: about {describe_time(seconds)}')

    @contextmanager
    def follow(self, name: str, n_rows: int) -> Iterator[Callable[[int], None]]:
        """Show how far work on rows in this process is, and close with a line; the context's value counts rows.

        Work that counts none, as a solver does, shows how long it has taken.
        """
        start, done, ended = time.perf_counter(), 0, threading.Event()

        def count(amount: int) -> None:
            nonlocal done
            done += amount

        def show() -> None:
            while not ended.wait(REDRAW_SECONDS):
                meter.is_counted = done > 0
                meter.show(min(done, n_rows), partial('{:,} rows'.format, done or n_rows))

        with Meter(self, name, n_rows) as meter:
            thread = threading.Thread(target=show, daemon=True)
            if not self.quiet:
                thread.start()
            try:
                yield count
            finally:
                ended.set()
                if not self.quiet:
                    thread.join()
        self.say(f'{name}: {n_rows:,} rows in {time.perf_counter() - start:.1f} s')

    def count(self, blocks: Iterable[tuple[Any, Any]], name: str, n_rows: int) -> Iterator[tuple[Any, Any]]:
        """Yield blocks (X, labels) and show how many of all rows have passed."""
        with Meter(self, name, n_rows) as meter:
            done = 0
            for X, labels in blocks:
                yield X, labels
                done += len(labels)
                meter.show(done, partial('{:,} rows'.format, done))


class LogLines(logging.Handler):
    """Print what the library logs, such as that it compiles, as lines of a Reporter."""

    def __init__(self, reporter: Reporter) -> None:
        super().__init__(logging.INFO)
        self.reporter = reporter

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line, unless the command whose lines these are has ended and closed its stream."""
        if not self.reporter.stream.closed:
            self.reporter.say(record.getMessage())

    @contextmanager
    def listening(self, name: str = 'mr_elm') -> Iterator[None]:
        """Print what a logger gets until the context ends, beside its other handlers."""
        log = logging.getLogger(name)
        level = log.level
        if self.reporter.quiet:
            yield
            return
        log.addHandler(self)
        log.setLevel(logging.INFO)
        try:
            yield
        finally:
            log.removeHandler(self)
            log.setLevel(level)

    def listen(self, name: str = 'mr_elm') -> None:
        """Take the place of earlier handlers of a logger and of those that it logs below."""
        log = logging.getLogger(name)
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
        self.bar = None
        if not reporter.quiet and reporter.stream.isatty():
            from tqdm import tqdm  # takes half as long to import as numpy

            self.bar = tqdm(total=total, bar_format='{bar:20} {desc}', leave=False, file=reporter.stream)
        self.is_counted = True  # whether anybody says how much is done
        self.is_even = True  # whether equal shares of the work take equal times
        self.start = time.perf_counter()
        if self.bar is None:
            self.due = FIRST_LINE_SECONDS
        else:
            self.due = SILENT_SECONDS

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def show(self, done: float, describe: Callable[[], str]) -> None:
        """Show that `done` of the total is done, if it is time to. describe : returns what else is known."""
        seconds = time.perf_counter() - self.start
        if self.reporter.quiet or seconds < self.due:
            return
        text = f'{self.name}: {describe()}, {self.describe_share(done, seconds)}'
        if self.bar is None:
            self.due = seconds + min(max(FIRST_LINE_SECONDS, seconds / 4), LONGEST_PAUSE_SECONDS)
            self.reporter.say(text)
        else:
            self.due, self.bar.n = seconds + REDRAW_SECONDS, done
            self.bar.set_description_str(text)

    def describe_share(self, done: float, seconds: float) -> str:
        """Return the share that is done and the time left; the time so far where the time left is not known."""
        if not self.is_counted:
            return f'{describe_time(seconds)} so far'
        share = done / max(self.total, 1)
        if share in (0, 1) or not self.is_even or share < EARLY_SHARE and seconds < LONG_SECONDS:
            return f'{share:.0%} done, {describe_time(seconds)} so far'
        return f'{share:.0%} done, about {describe_time(seconds / share - seconds)} left'


class Listener:
    """Hear how far a task is, and forget it: the base of those who tell the user."""

    def count(self, name: str, amount: int) -> None:
        """Take so many more rows, bytes or reduced bytes."""

    def set_status(self, text: str) -> None:
        """Take what the task does."""


class Stage(Listener):
    """Follow the counters of running tasks and close with a line: rows, MB, seconds, MB/s.

    folder : where tasks write their counters, as standard error of Hadoop Streaming, or None: they call `count`.
    n_rows : how many rows the maps use, where that is known before they have read them, else None.
    reduced_bytes : how many bytes are to be reduced, set when the maps have ended.
    """

    def __init__(
        self, reporter: Reporter, name: str, total_bytes: int, folder: str | None = None, n_rows: int | None = None
    ) -> None:
        self.reporter, self.name, self.total_bytes, self.folder = reporter, name, total_bytes, folder
        self.n_rows = n_rows
        self.done = threading.Event()
        self.tails: dict[str, int] = {}
        self.seen = {'rows': 0, 'bytes': 0, 'reduced': 0}
        self.lock = threading.Lock()
        self.status = ''
        self.reduced_bytes: int | None = None

    def __enter__(self) -> Stage:
        self.start = time.perf_counter()
        if not self.reporter.quiet:
            self.thread = threading.Thread(target=self._follow, daemon=True)
            self.thread.start()
        return self

    def count(self, name: str, amount: int) -> None:
        """Take so many more rows, bytes, or reduced bytes, from any thread."""
        with self.lock:
            self.seen[name] = self.seen.get(name, 0) + amount

    def set_status(self, text: str) -> None:
        """Take what a task does."""
        self.status = text

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.reporter.quiet:
            return
        self.done.set()
        self.thread.join()
        if kind is None:
            self._poll()
            seconds = time.perf_counter() - self.start
            megabytes = self.total_bytes / 1e6
            # a cluster counts elsewhere
            rows = ''
            if self.seen['rows']:
                rows = f'{self.seen["rows"]:,} rows, '
            self.reporter.say(
                f'{self.name}: {rows}{megabytes:,.1f} MB in {seconds:.1f} s, {megabytes / seconds:,.1f} MB/s'
            )

    def _follow(self) -> None:
        if self.n_rows is None:
            counter, total = 'bytes', self.total_bytes
        else:
            counter, total = 'rows', self.n_rows
        with Meter(self.reporter, f'{self.name}, map', total) as meter:
            while not self._is_reducing() and not self.done.wait(REDRAW_SECONDS):
                self._poll()
                if self.seen['bytes']:
                    rows = self.seen['rows']
                    done = min(self.seen[counter], total, rows and total)  # a task may have read all, and used nothing
                    meter.show(done, partial('{:,} rows'.format, rows))
        total = self.reduced_bytes or sum(map(os.path.getsize, self._find('reducer', 'input')))
        with Meter(self.reporter, f'{self.name}, reduce', total) as meter:
            while not self.done.wait(REDRAW_SECONDS):
                self._poll()
                meter.is_even = not self.status.startswith('candidate')  # one may take a hundred times as long
                meter.show(min(self.seen['reduced'], total), lambda: self.status or f'{total / 1e6:,.1f} MB')

    def _is_reducing(self) -> bool:
        return self.reduced_bytes is not None or bool(self._find('reducer', 'stderr'))

    def _find(self, kind: str, name: str) -> list[str]:
        if self.folder is None:
            return []
        return glob.glob(os.path.join(glob.escape(self.folder), '**', kind, '*', name), recursive=True)

    def _poll(self) -> None:
        for path in self._find('*er', 'stderr'):
            with open(path, 'rb') as stream:
                stream.seek(self.tails.get(path, 0))
                text = stream.read()
            end = text.rfind(b'\n') + 1
            self.tails[path] = self.tails.get(path, 0) + end
            lines = text[:end].decode()
            for name, amount in COUNTER.findall(lines):
                self.count(name, int(amount))
            for status in STATUS.findall(lines):
                self.set_status(status)
