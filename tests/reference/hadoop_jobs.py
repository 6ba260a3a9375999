"""Look into the jobs of a Hadoop, and disturb them."""

import os
import pwd
import re
from pathlib import Path

NAMENODE, HISTORY, MANAGER, NODEMANAGERS = 1, 6, 14, 102  # web ports, counted from the first


def properties(*settings):
    """Write properties of a job as options."""
    return tuple(word for setting in settings for word in ('-D', f'mapreduce.{setting}'))


def hash_key(key):
    """Return the hash by which Hadoop deals out a key, ASCII text. Source: its WritableComparator, HashPartitioner."""
    value = 1
    for byte in key.encode('ascii'):
        value = (31 * value + byte) & 0xFFFFFFFF
    return value & 0x7FFFFFFF


TWO_MAPS = properties('job.maps=2', 'task.progress-report.interval=300')


def demand_same_bits(expected, arrays):
    """Demand that the arrays of two models are the same bit for bit."""
    assert [name for name in expected if expected[name].tobytes() != arrays[name].tobytes()] == []


def failed(process, pattern):
    """Wait for a command, and demand that it fails with one sentence, which is returned."""
    _, err = process.communicate(timeout=300)
    last = err.splitlines()[-1]
    assert process.returncode == 1 and last.startswith('mr-elm: ') and re.search(pattern, last), err
    assert 'Traceback' not in err
    return last


def application(process):
    """Read what a driver says until it names its job on YARN; returns that name."""
    for line in process.stderr:
        if found := re.search(r'application_\d+_\d+', line):
            return found.group(0)
    raise AssertionError('the driver ended without a job')


def rows_counted(cluster, name):
    """Ask the application master how many rows its tasks have counted."""
    job = name.replace('application', 'job')
    answer = cluster.ask(MANAGER, f'/proxy/{name}/ws/v1/mapreduce/jobs/{job}/counters') or {'jobCounters': {}}
    return {
        counter['name']: counter['totalCounterValue']
        for group in answer['jobCounters'].get('counterGroup', ())
        for counter in group['counter']
    }.get('rows', 0)


def mappers(name):
    """Find the Python processes of the map tasks of a job that run: pid -> attempt."""
    found, job = {}, name.replace('application', 'attempt')
    for entry in Path('/proc').glob('[0-9]*'):
        try:
            words = (entry / 'cmdline').read_bytes().split(b'\0')
            if b'--mapper' in words and b'python' in words[0]:
                environ = dict(line.partition(b'=')[::2] for line in (entry / 'environ').read_bytes().split(b'\0'))
                parent = int((entry / 'stat').read_text().rpartition(')')[2].split()[1])
                found[int(entry.name)] = environ[b'mapreduce_task_attempt_id'].decode(), parent
        except (OSError, KeyError):
            continue
    return {pid: attempt for pid, (attempt, parent) in found.items() if parent not in found and attempt.startswith(job)}


def containers(cluster, number):
    """Count the containers that a NodeManager runs."""
    answer = cluster.ask(NODEMANAGERS + 4 * (number - 1), '/ws/v1/node/containers') or {}
    return len((answer.get('containers') or {}).get('container', ()))


def history(cluster, name, what=''):
    """Ask the history server about a job."""
    job = name.replace('application', 'job')
    return cluster.until(lambda: cluster.ask(HISTORY, f'/ws/v1/history/mapreduce/jobs/{job}{what}'))


def attempts(cluster, name, state):
    """Ask how many map attempts of a job failed or were killed."""
    return history(cluster, name)['job'][f'{state}MapAttempts']


def jobs(cluster):
    """List the ids of all jobs that YARN has seen."""
    answer = cluster.ask(MANAGER, '/ws/v1/cluster/apps')
    return {app['id'] for app in (answer['apps'] or {}).get('app', ())}


def quota(cluster, folder, size):
    """Let no more than some bytes into a folder of HDFS; -1 for no limit."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    cluster.ask(NAMENODE, f'/webhdfs/v1{folder}?op=SETQUOTA&storagespacequota={size}&user.name={user}', 'PUT')
