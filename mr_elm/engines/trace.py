"""Write down what each job of a run took: seconds and bytes by stage, and the seconds of each task."""
import json
import os
import time
from contextlib import contextmanager
from itertools import count

from mr_elm.engines.hadoop.yarn import get_json
from mr_elm.files.hadoop import find_home, read_configuration

PATIENCE, PAUSE = 30, 0.5  # seconds until the history server knows of a job that has ended, and between two questions


@contextmanager
def traced(path, running, stage, size):
    """Append a JSON line to a file when the job that runs inside has ended: what it took. Without a path do nothing.

    running : the runner of mrjob. stage : the job's name. size : bytes of its input.
    `start_seconds` are all that is neither map nor reduce: starting the job, and ending it. A runner that keeps no
    account of tasks, as EMR, leaves `map_seconds` and what belongs to it out.
    """
    began = time.time()
    yield
    if path is not None:
        seconds = time.time() - began
        found = FINDERS.get(running.alias, lambda _: {})(running)
        busy = found.get('map_seconds', 0) + found.get('reduce_seconds', 0)
        with open(path, 'a') as stream:
            json.dump({'stage': stage, 'runner': running.alias, 'seconds': seconds, 'start_seconds': seconds - busy,
                       'input_bytes': size, **found}, stream)
            stream.write('\n')


def from_files(running):
    """Read the account off the files of the embedded runners: a task begins with its input and ends with its output.

    Where there are more tasks than processes, the seconds of a task are those that it waits too.
    """
    maps, reduces = (list(finished_tasks(running, kind)) for kind in ('mapper', 'reducer'))
    shuffled = sum(size for _, _, size in maps) if reduces else 0
    return account([task[:2] for task in maps], [task[:2] for task in reduces], shuffled,
                   sum(size for _, _, size in reduces or maps))


def finished_tasks(running, kind):
    """Yield (begin, end, bytes of output) for each task; mrjob offers no public names for its files."""
    for number in count():
        given, log, output = (path_of(kind, 0, number) for path_of in (
            running._task_input_path, running._task_stderr_path, running._task_output_path))
        if not os.path.exists(given):
            return
        yield os.path.getmtime(given), max(map(os.path.getmtime, (log, output))), os.path.getsize(output)


def from_history(running):
    """Ask the history server of Hadoop."""
    job = running._log_interpretations[-1]['step']['job_id']
    address = read_configuration(find_home()).get('mapreduce.jobhistory.webapp.address')
    base = f'http://{address}/ws/v1/history/mapreduce/jobs/{job}'
    tasks = patiently(f'{base}/tasks')['tasks']['task']
    counters = {counter['name']: counter['totalCounterValue'] for group in
                patiently(f'{base}/counters')['jobCounters']['counterGroup'] for counter in group['counter']}
    maps, reduces = ([(task['startTime'] / 1000, task['finishTime'] / 1000) for task in tasks if task['type'] == kind]
                     for kind in ('MAP', 'REDUCE'))
    return account(maps, reduces, counters.get('REDUCE_SHUFFLE_BYTES', 0), counters.get('HDFS_BYTES_WRITTEN', 0))


def patiently(address):
    """Fetch JSON from a server that may not know the answer yet. Raises OSError when it does not learn it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return get_json(address)
        except (OSError, ValueError):
            if time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)


def account(maps, reduces, shuffle_bytes, output_bytes):
    """Put together what is known of the tasks, (begin, end) each; what follows the last map is shuffle and reduce."""
    mapped = max(end for _, end in maps)
    return {'map_seconds': mapped - min(begin for begin, _ in maps),
            'reduce_seconds': max([end for _, end in reduces], default=mapped) - mapped,
            'shuffle_bytes': shuffle_bytes, 'output_bytes': output_bytes,
            'map_tasks': [end - begin for begin, end in maps], 'reduce_tasks': [end - begin for begin, end in reduces]}


FINDERS = {'inline': from_files, 'local': from_files, 'hadoop': from_history}
