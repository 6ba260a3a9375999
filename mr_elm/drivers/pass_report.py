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
        """Report n passes that left a relative residual, which is expected to go on falling like this."""
        text = f'{self.name}: pass {n} of at most {self.max_passes}, relative residual {residual:.1e}'
        if self.tolerance < residual < 1:
            expected = n * np.log(self.tolerance) / np.log(residual) + 1  # and one that checks the residual
            left = (min(expected, self.max_passes) - n) * (time.monotonic() - self.start) / n
            text += f', about {describe_time(left)} left'
        self.reporter.say(text)
