"""Tell how far a job is on a cluster of Spark, whose tasks write to no disk of the driver."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mr_elm.engines.progress import Reporter

PAUSE = 5.0  # seconds between two lines


@contextmanager
def follow_tasks(context: Any, reporter: Reporter, stage: str) -> Iterator[None]:
    """Print now and then how many tasks have ended, while a job runs inside. context : SparkContext."""
    if reporter.quiet:
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=tell, args=(context.statusTracker(), reporter, stage, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def tell(tracker: Any, reporter: Reporter, stage: str, done: threading.Event) -> None:
    """Print a line when the number of tasks that have ended has changed, until all have: the job then soon ends."""
    said = None
    while not done.wait(PAUSE):
        counts = [(info.numCompletedTasks, info.numTasks) for number in tracker.getActiveStageIds()
                  if (info := tracker.getStageInfo(number)) is not None]
        if counts and counts != said:
            ended, total = map(sum, zip(*counts, strict=True))
            if ended < total:
                reporter.say(f'{stage}: {ended} of {total} tasks have ended')
            said = counts
