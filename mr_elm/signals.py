"""Let SIGTERM, which schedulers and `timeout` send, end a command as an interrupt does, and what it started with it."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Terminated(KeyboardInterrupt):
    """Tell of SIGTERM; who cleans up behind an interrupt does so behind this."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated where SIGTERM finds the command that runs inside; only a main thread receives signals.

    A process that this one has forked meanwhile, as mrjob's local runner does, ends at once with those it has started.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    owner = os.getpid()

    def terminate(number: int, frame: object) -> None:
        if os.getpid() == owner:
            raise Terminated
        for path in Path('/proc/self/task').glob('*/children'):
            for child in path.read_text().split():
                os.kill(int(child), signal.SIGTERM)
        os._exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
