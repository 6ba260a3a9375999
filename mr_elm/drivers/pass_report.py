"""Tell the user how far conjugate gradients have come, a line a pass."""

import time

import numpy as np

from mr_elm.progress import Reporter, describe_time


class PassReport:
    """Say after each pass how many there were, the residual, and about how long it may still take.

    name : of the solver in messages. tolerance, max_passes : where it stops.
    """

    def __init__(self, reporter: Reporter, name: str, tolerance: float, max_passes: int) -> None:
        self.reporter, self.name, self.tolerance, self.max_passes = reporter, name, tolerance, max_passes
        self.start = time.monotonic()

    def __call__(self, n: int, residual: float) -> None:
        """Report n passes that left a relative residual."""
        self.reporter.say(self.describe(n, residual, time.monotonic() - self.start))

    def describe(self, n: int, residual: float, seconds: float) -> str:
        """Say how far n passes have come in some seconds; the residual is expected to go on falling like this."""
        text = f'{self.name}: pass {n} of at most {self.max_passes}, relative residual {residual:.1e}'
        if not self.tolerance < residual < 1:
            return text
        expected = n * np.log(self.tolerance) / np.log(residual) + 1  # and one that checks the residual
        left = (min(expected, self.max_passes) - n) * seconds / n
        return f'{text}, about {describe_time(left)} left'
