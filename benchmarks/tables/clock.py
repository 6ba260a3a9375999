"""Tell how far a run is."""
import sys
import time

from benchmarks.public_sets import find_set


class Clock:
    """Tell how much of a run is done and when it will end; know when its time is up.

    waiting : set -> trials to measure.
    """

    def __init__(self, waiting: dict[str, int], minutes: float | None) -> None:
        self.waiting, self.start = dict(waiting), time.monotonic()
        self.work = {name: estimate_work(name) for name in waiting}
        self.total, self.whole = self.n_left, self.work_left
        self.end = self.start + 60 * minutes if minutes else float('inf')

    @property
    def is_over(self) -> bool:
        """Say whether no more trials may begin."""
        return time.monotonic() > self.end

    @property
    def n_left(self) -> int:
        """Count the trials to go."""
        return sum(self.waiting.values())

    @property
    def work_left(self) -> int:
        """Return what the trials to go take, by `estimate_work`."""
        return sum(n * self.work[name] for name, n in self.waiting.items())

    def tell(self, what: str) -> None:
        """Say on standard error what was done, of how much, and the time left."""
        done = max(self.whole - self.work_left, 1)
        left = (time.monotonic() - self.start) / done * self.work_left
        print(f'{what}; {self.total - self.n_left} of {self.total} trials, about {left / 60:.0f} min left',
              file=sys.stderr, flush=True)


def estimate_work(name: str) -> int:
    """Guess what a trial on a set takes: a little, and more with its bytes, but rows beyond MOST are not taken."""
    path = find_set(name)
    size = path.stat().st_size * (4 if path.suffix == '.gz' else 1) if path else 0
    return 50_000 + min(size, 2_000_000)
