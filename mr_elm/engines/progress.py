"""Show on standard error how far a stage is, from what its tasks report."""
from __future__ import annotations

import glob
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

from tqdm import tqdm

COUNTER = re.compile(rb'^reporter:counter:mr_elm,(rows|bytes),(\d+)$', re.MULTILINE)
STATUS = re.compile(rb'^reporter:status:(iteration .*)$', re.MULTILINE)
INTERVAL = 0.3
FIRST, LONGEST = 5.0, 60.0  # seconds between two lines of a log, which become longer with the work
SHORT = 2.0  # seconds of work that nobody needs to be told of


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
            print(text, file=self.stream, flush=True)

    def announce(self, work: str, estimate: Callable[[], float]) -> None:
        """Say before some work how long it will take, unless that is short.

        estimate : returns the seconds; it may take some time itself, and is not called where nothing is printed.
        """
        if not self.quiet and (seconds := estimate()) >= SHORT:
            self.say(f'{work}: about {describe_time(seconds)}')

    def stage(self, name: str, total_bytes: int, folder: str) -> Stage:
        """Return a context that follows a stage whose tasks write their counters below `folder`."""
        return Stage(self, name, total_bytes, folder)

    def count(self, blocks: Iterable[tuple[Any, Any]], name: str, n_rows: int) -> Iterator[tuple[Any, Any]]:
        """Yield blocks (X, labels) and show how many of all rows have passed."""
        with Meter(self, name, n_rows, 'rows') as meter:
            done = 0
            for X, labels in blocks:
                yield X, labels
                done += len(labels)
                meter.show(done, f'{done:,} rows')


def describe_time(seconds: float) -> str:
    """Write a time for people: 40 s, 3 min, 2.5 h."""
    if seconds < 100:
        return f'{seconds:.0f} s'
    return f'{seconds / 60:.0f} min' if seconds < 6000 else f'{seconds / 3600:.1f} h'


class Meter:
    """Show how much of some work is done, and the time left: a bar on a terminal, now and then a line in a log."""

    def __init__(self, reporter: Reporter, name: str, total: int, unit: str) -> None:
        self.reporter, self.name, self.total = reporter, name, total
        self.start, self.due = time.perf_counter(), FIRST
        self.bar = tqdm(total=total, desc=name, unit=unit, unit_scale=True, leave=False, file=reporter.stream,
                        disable=reporter.quiet or None, delay=1)

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.bar.close()

    def show(self, done: int, note: str) -> None:
        """Show that `done` of the total is done; note : what else is known."""
        if not self.bar.disable:
            self.bar.set_postfix_str(note, refresh=False)
            self.bar.update(done - self.bar.n)
            return
        seconds = time.perf_counter() - self.start
        if seconds >= self.due:
            self.due = seconds + min(max(FIRST, seconds / 4), LONGEST)
            self.reporter.say(f'{self.name}: {note}, {self.describe(done, seconds)}')

    def describe(self, done: int, seconds: float) -> str:
        """Return the share that is done and the time left; the time so far where the rest cannot be counted."""
        if not 0 < done < self.total:
            return f'{done / max(self.total, 1):.0%} read, {seconds:.0f} s so far'
        return f'{done / self.total:.0%}, about {describe_time(seconds * (self.total - done) / done)} left'


class Stage:
    """Follow the counters of running tasks and close with a line: rows, MB, seconds, MB/s."""

    def __init__(self, reporter: Reporter, name: str, total_bytes: int, folder: str) -> None:
        self.reporter, self.name, self.total_bytes, self.folder = reporter, name, total_bytes, folder
        self.done = threading.Event()
        self.tails: dict[str, int] = {}
        self.seen = {b'rows': 0, b'bytes': 0}
        self.status = ''

    def __enter__(self) -> Stage:
        self.start = time.perf_counter()
        if not self.reporter.quiet:
            self.thread = threading.Thread(target=self._follow, daemon=True)
            self.thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.reporter.quiet:
            return
        self.done.set()
        self.thread.join()
        if kind is None:
            self._poll()
            seconds = time.perf_counter() - self.start
            megabytes = self.total_bytes / 1e6
            rows = f'{self.seen[b"rows"]:,} rows, ' if self.seen[b'rows'] else ''  # a cluster counts elsewhere
            self.reporter.say(f'{self.name}: {rows}{megabytes:,.1f} MB in {seconds:.1f} s, '
                              f'{megabytes / seconds:,.1f} MB/s')

    def _follow(self) -> None:
        with Meter(self.reporter, self.name, self.total_bytes, 'B') as meter:
            while not self.done.wait(INTERVAL):
                self._poll()
                if note := self.status or (f'{self.seen[b"rows"]:,} rows' if self.seen[b'rows'] else ''):
                    meter.show(min(self.seen[b'bytes'], self.total_bytes), note)

    def _poll(self) -> None:
        for path in glob.glob(os.path.join(glob.escape(self.folder), '**', '*er', '*', 'stderr'), recursive=True):
            with open(path, 'rb') as stream:
                stream.seek(self.tails.get(path, 0))
                text = stream.read()
            end = text.rfind(b'\n') + 1
            self.tails[path] = self.tails.get(path, 0) + end
            for name, amount in COUNTER.findall(text[:end]):
                self.seen[name] += int(amount)
            for status in STATUS.findall(text[:end]):
                self.status = status.decode()
