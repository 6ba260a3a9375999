"""Let SIGTERM, which schedulers and `timeout` send, end a command as an interrupt does, and what it started with it."""
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(KeyboardInterrupt):
    """Tell of SIGTERM; who cleans up behind an interrupt does so behind this."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated where SIGTERM finds the command that runs inside; only a main thread receives signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, frame: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
