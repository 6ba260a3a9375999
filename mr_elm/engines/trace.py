"""Write down what each job of a run took: seconds and bytes by stage, and the seconds of each task."""
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mr_elm.engines.base import Engine

Times = list[tuple[float, float]]  # (begin, end) of each task


@contextmanager
def trace_job(engine: Engine, running: Any, stage: str, size: int) -> Iterator[None]:
    """Append a JSON line to the engine's trace when the job that runs inside has ended: what it took.

    running : the runner of mrjob. stage : the job's name. size : bytes of its input.
    `start_seconds` are all that is neither map nor reduce: starting the job, and ending it. An engine that keeps no
    account of tasks, as EMR, leaves `map_seconds` and what belongs to it out.
    """
    began = time.time()
    yield
    if engine.trace is not None:
        seconds = time.time() - began
        found: dict[str, Any] = engine.task_times(running)
        busy = found.get('map_seconds', 0) + found.get('reduce_seconds', 0)
        with open(engine.trace, 'a') as stream:
            json.dump({'stage': stage, 'runner': engine.name, 'seconds': seconds, 'start_seconds': seconds - busy,
                       'input_bytes': size, **found}, stream)
            stream.write('\n')


def account(maps: Times, reduces: Times, shuffle_bytes: int, output_bytes: int) -> dict[str, object]:
    """Put together what is known of the tasks; what follows the last map is shuffle and reduce."""
    mapped = max(end for _, end in maps)
    return {'map_seconds': mapped - min(begin for begin, _ in maps),
            'reduce_seconds': max([end for _, end in reduces], default=mapped) - mapped,
            'shuffle_bytes': shuffle_bytes, 'output_bytes': output_bytes,
            'map_tasks': [end - begin for begin, end in maps], 'reduce_tasks': [end - begin for begin, end in reduces]}
