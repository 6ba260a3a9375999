"""Count how much of the input of a reduce task is done, for the progress that the user sees."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

INTERVAL = 0.5  # seconds between two reports


class ReducedInput:
    """Pass on the lines, or pairs, of a reduce task, and report now and then how many bytes are reduced.

    lines : the input of the task, sorted by key. report : called with the bytes reduced since its last call.
    measure : returns the bytes of a line. The lines of a key are reduced when the reducer asks for more lines than the
    first one of the next key.
    """

    def __init__(
        self, lines: Iterable[Any], report: Callable[[int], None], measure: Callable[[Any], int] = len
    ) -> None:
        self.lines, self.report, self.measure = lines, report, measure
        self.begin = self.end = 0  # of the newest line
        self.previous = self.newest = 0  # where the lines of the newest key begin, and those of the key before it
        self.reported, self.spoken = 0, time.monotonic()

    def __iter__(self) -> Iterator[Any]:
        for line in self.lines:
            self.begin, self.end = self.end, self.end + self.measure(line)
            yield line

    def follow(self, pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Pass on the pairs that the lines hold."""
        key = None
        for pair in pairs:
            if pair[0] != key:
                key, self.previous, self.newest = pair[0], self.newest, self.begin
            yield pair
            self.tell(self.newest)
        self.previous, self.newest = self.newest, self.end

    def tell_share(self, share: float) -> None:
        """Report that a share of a key is done, 0 to 1; to be called when all its lines are read."""
        self.tell(self.previous + int(share * (self.newest - self.previous)))

    def tell(self, done: int) -> None:
        """Report how many bytes are reduced, if it is time to."""
        if done > self.reported and time.monotonic() - self.spoken >= INTERVAL:
            self.report(done - self.reported)
            self.reported, self.spoken = done, time.monotonic()

    def finish(self) -> None:
        """Report that all is reduced."""
        self.report(self.end - self.reported)
