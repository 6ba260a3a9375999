"""Ask YARN about jobs that a driver left behind: find them by a tag, wait for them, end them."""

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import cached_property
from typing import Any

from mr_elm.rows.hdfs import find_command, find_home, read_configuration

CLIENT = 'org.apache.hadoop.yarn.client.cli.ApplicationCLI'  # `hadoop CLASS` is understood by every launcher
FINAL = {'FINISHED', 'FAILED', 'KILLED'}
POLL_SECONDS = 1.0
TIMEOUT = 10
CLIENT_TIMEOUT = 120
HISTORY_SECONDS, HISTORY_PAUSE = 30, 0.5  # until the history server knows of a job that has ended; between questions


class Yarn:
    """Find, follow and end jobs of the cluster."""

    @cached_property
    def properties(self) -> dict[str, str]:
        """Return the configuration of Hadoop, name -> value."""
        find_command()  # or there is none
        return read_configuration(find_home())

    def find(self, tag: str) -> dict[str, tuple[str, str]]:
        """Return the jobs that carry a tag: application id -> (state, final state)."""
        if not speaks_http(self.properties):
            return listed(client('-list', '-appTags', tag, '-appStates', 'ALL'))
        answer = get_json(f'http://{manager_address(self.properties)}/ws/v1/cluster/apps?applicationTags={tag}')
        return {app['id']: (app['state'], app['finalStatus']) for app in (answer['apps'] or {}).get('app', ())}

    def wait(self, tag: str, started: Callable[[str], None]) -> str | None:
        """Wait until no job with a tag runs; returns the application id of one that succeeded, or None.

        started : called with an application id when there is something to wait for.
        """
        application = self.find(tag)
        if running := still_running(application):
            started(running[0])
        while still_running(application):
            time.sleep(POLL_SECONDS)
            application = self.find(tag)
        return next((job for job, (_, final) in application.items() if final == 'SUCCEEDED'), None)

    def end(self, tag: str) -> None:
        """End all jobs that carry a tag and still run."""
        for job in still_running(self.find(tag)):
            client('-kill', job)

    def map_input_records(self, application: str) -> int | None:
        """Ask the history server how many lines the map tasks of a job were given; None when it does not know."""
        address = self.properties.get('mapreduce.jobhistory.webapp.address')
        job = application.replace('application', 'job', 1)
        try:
            if address:
                return wait_for_json(
                    f'http://{address}/ws/v1/history/mapreduce/jobs/{job}/counters',
                    lambda answer: read_counters(answer)['MAP_INPUT_RECORDS'],
                )
            return None
        except (OSError, ValueError, KeyError):
            return None


def still_running(jobs: dict[str, tuple[str, str]]) -> list[str]:
    """List the ids of those jobs that have not ended."""
    return [job for job, (state, _) in jobs.items() if state not in FINAL]


def speaks_http(properties: dict[str, str]) -> bool:
    """Tell whether the ResourceManager answers plain HTTP: no Kerberos, no TLS, only one of it."""
    return (
        properties.get('hadoop.security.authentication', 'simple') == 'simple'
        and properties.get('yarn.http.policy', 'HTTP_ONLY') == 'HTTP_ONLY'
        and properties.get('yarn.resourcemanager.ha.enabled', 'false') == 'false'
    )


def manager_address(properties: dict[str, str]) -> str:
    """Return host:port of the ResourceManager's web server."""
    host = properties.get('yarn.resourcemanager.hostname', '127.0.0.1')
    return properties.get('yarn.resourcemanager.webapp.address', f'{host}:8088')


def get_json(address: str, timeout: float = TIMEOUT) -> Any:
    """Fetch JSON. Raises OSError."""
    request = urllib.request.Request(address, headers={'Accept': 'application/json'})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)
    except urllib.error.URLError as error:
        raise OSError(f'{address}: expected an answer, found none ({error})') from None


def wait_for_json(address: str, read: Callable[[Any], Any] = lambda answer: answer) -> Any:
    """Fetch JSON from a server that may not know the answer yet, and return what `read` makes of it.

    Raises OSError, ValueError or KeyError when the server does not learn it.
    """
    deadline = time.monotonic() + HISTORY_SECONDS
    while True:
        try:
            return read(get_json(address))
        except (OSError, ValueError, KeyError):
            if time.monotonic() > deadline:
                raise
            time.sleep(HISTORY_PAUSE)


def read_counters(answer: Any) -> dict[str, int]:
    """Return the counters of a job, name -> value, of what Hadoop answers."""
    return {
        counter['name']: counter['totalCounterValue']
        for group in answer['jobCounters']['counterGroup']
        for counter in group['counter']
    }


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


def listed(table: str) -> dict[str, tuple[str, str]]:
    """Read the table of `yarn application -list`: application id -> (state, final state)."""
    rows = [[cell.strip() for cell in line.split('\t')] for line in table.splitlines()]
    return {row[0]: (row[5], row[6]) for row in rows if row[0].startswith('application_')}
