"""Ask YARN about jobs that a driver left behind: find them by a tag, and end them."""

import json
import subprocess
import urllib.error
import urllib.request
from typing import Any

from mr_elm.rows.hdfs import find_command

CLIENT = 'org.apache.hadoop.yarn.client.cli.ApplicationCLI'  # `hadoop CLASS` is understood by every launcher
FINAL = {'FINISHED', 'FAILED', 'KILLED'}
TIMEOUT = 10
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
