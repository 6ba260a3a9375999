"""Ask YARN about jobs: why one waits, which ones a driver left behind, to end them."""

import json
import re
import subprocess
import urllib.request
from http.client import HTTPException
from typing import Any

from mr_elm.rows.hdfs import find_command, find_home, read_configuration

CLIENT = 'org.apache.hadoop.yarn.client.cli.ApplicationCLI'  # `hadoop CLASS` is understood by every launcher
FINAL = {'FINISHED', 'FAILED', 'KILLED'}
TIMEOUT, SHORT_TIMEOUT = 10, 2  # seconds; the short one where the user hears nothing else
CLIENT_TIMEOUT = 120


class Yarn:
    """Find and end jobs of the cluster."""

    def find(self, tag: str) -> dict[str, tuple[str, str]]:
        """Return the jobs that carry a tag: application id -> (state, final state)."""
        rows = [line.strip().split('\t') for line in client('-list', '-appTags', tag, '-appStates', 'ALL').splitlines()]
        return {row[0]: (row[5].strip(), row[6].strip()) for row in rows if row[0].startswith('application_')}

    def end(self, tag: str) -> None:
        """End all jobs that carry a tag and still run."""
        for job, (state, _) in self.find(tag).items():
            if state not in FINAL:
                client('-kill', job)


def ask_manager(path: str) -> Any:
    """Ask the web server of the ResourceManager while a job runs. Raises OSError where it does not answer."""
    properties = read_configuration(find_home())
    host = properties.get('yarn.resourcemanager.hostname', '127.0.0.1')
    address = properties.get('yarn.resourcemanager.webapp.address', f'{host}:8088')
    return get_json(f'http://{address}/{path}', SHORT_TIMEOUT)


def explain_waiting(job: str) -> str:
    """Return in one line why a job gets no container, empty where it has some. job : its number.

    Raises OSError, ValueError or KeyError where YARN does not say.
    """
    app = ask_manager(f'ws/v1/cluster/apps/application_{job}')['app']
    if app['state'] == 'ACCEPTED':
        reason = ' '.join(re.sub(r'^\[.*?\]', '', app['diagnostics']).split())  # without its date
        return f'YARN has not started it: {reason or "it gives no reason"}'
    requests = app.get('resourceRequests', ())
    wanted = sum(request['numContainers'] for request in requests if request['resourceName'] == '*')
    if not wanted or app['runningContainers'] > 1:  # more than that of its master
        return ''
    free = ask_manager('ws/v1/cluster/metrics')['clusterMetrics']
    cores = free['availableVirtualCores']
    memory = free['availableMB']
    return f'no container for its tasks yet: {wanted} wanted, {cores} cores and {memory:,} MB free in the cluster'


def get_json(address: str, timeout: float = TIMEOUT) -> Any:
    """Fetch JSON. Raises OSError."""
    request = urllib.request.Request(address, headers={'Accept': 'application/json'})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)
    except (OSError, HTTPException) as error:
        raise OSError(f'{address}: expected an answer, found none ({error})') from None


def client(*words: str) -> str:
    """Run YARN's own client, which has whatever security the cluster has; returns what it prints."""
    command = [find_command(), CLIENT, 'application', *words]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CLIENT_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise OSError(f'yarn application {words[0]}: YARN did not answer within {CLIENT_TIMEOUT} s') from None
    if done.returncode:
        raise OSError(f'yarn application {" ".join(words)}: {(done.stderr.strip().splitlines() or ["failed"])[-1]}')
    return done.stdout
