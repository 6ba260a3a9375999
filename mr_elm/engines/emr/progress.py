"""Follow a job on EMR by what mrjob logs."""

from __future__ import annotations

import logging
import re
import time

from mr_elm.engines.hadoop.progress import HadoopProgress
from mr_elm.progress import Reporter, describe_time

CLUSTER = re.compile(r'(?:Created new|Adding our job to existing) cluster (\S+)')
STATE = re.compile(r'^\s*(PENDING|RUNNING|Waiting .* for .* logs?)\b(.*)')
PERCENT = re.compile(r'([\d.]+)% complete')
POLL_SECONDS = 60.0  # seconds between two lines that say the same


class EMRProgress(HadoopProgress):
    """Listen to mrjob's log while a stage runs, and tell the user what the cluster does.

    reporter : Reporter. stage : the name of the stage. region : where the cluster is.
    """

    def __init__(self, reporter: Reporter, stage: str, region: str) -> None:
        super().__init__(reporter, stage)
        self.region = region
        self.state: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line of the log."""
        text = record.getMessage()
        if match := CLUSTER.search(text):
            self.reporter.say(
                f'{self.stage}: cluster {match.group(1)}, https://{self.region}.console.aws.amazon.com'
                f'/emr/home?region={self.region}#/clusterDetails/{match.group(1)}'
            )
        elif match := STATE.search(text):
            self.tell(match.group(1), text.strip())
        elif match := PERCENT.search(text):
            self.tell(match.group(1), self.describe_share(float(match.group(1))))

    def tell(self, state: str, text: str) -> None:
        """Say what is new, and the same again after a while."""
        if state != self.state or time.monotonic() - self.spoke >= POLL_SECONDS:
            self.state, self.spoke = state, time.monotonic()
            self.reporter.say(f'{self.stage}: {text}')

    def describe_share(self, done: float) -> str:
        """Say how much of the job is done, and how long it may still take."""
        left = (time.monotonic() - self.start) * (100 - done) / max(done, 1)
        return f'{done:.0f} %' + (f', about {describe_time(left)} left' if 0 < done < 100 else '')
