"""Show on standard error how far a stage is, from what its tasks report."""
from __future__ import annotations

import glob
import os
import re
import sys
import threading
import time
from typing import TextIO

from tqdm import tqdm

COUNTER = re.compile(rb'^reporter:counter:mr_elm,(rows|bytes),(\d+)$', re.MULTILINE)
INTERVAL = 0.3


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

    def stage(self, name: str, total_bytes: int, folder: str) -> Stage:
        """Return a context that follows a stage whose tasks write their counters below `folder`."""
        return Stage(self, name, total_bytes, folder)


class Stage:
    """Follow the counters of running tasks and close with a line: rows, MB, seconds, MB/s."""

    def __init__(self, reporter: Reporter, name: str, total_bytes: int, folder: str) -> None:
        self.reporter, self.name, self.total_bytes, self.folder = reporter, name, total_bytes, folder
        self.done = threading.Event()
        self.tails: dict[str, int] = {}
        self.seen = {b'rows': 0, b'bytes': 0}

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
        bar = tqdm(total=self.total_bytes, desc=self.name, unit='B', unit_scale=True, leave=False,
                   file=self.reporter.stream, disable=None, delay=1)
        with bar:
            while not self.done.wait(INTERVAL):
                self._poll()
                bar.set_postfix_str(f'{self.seen[b"rows"]:,} rows', refresh=False)
                bar.update(min(self.seen[b'bytes'], self.total_bytes) - bar.n)

    def _poll(self) -> None:
        for path in glob.glob(os.path.join(glob.escape(self.folder), '**', 'mapper', '*', 'stderr'), recursive=True):
            with open(path, 'rb') as stream:
                stream.seek(self.tails.get(path, 0))
                text = stream.read()
            end = text.rfind(b'\n') + 1
            self.tails[path] = self.tails.get(path, 0) + end
            for name, amount in COUNTER.findall(text[:end]):
                self.seen[name] += int(amount)
