"""Follow a job on EMR by what mrjob logs."""

from __future__ import annotations

import logging
import re

from mr_elm.engines.hadoop.progress import HadoopProgress
from mr_elm.progress import Stage

CLUSTER = re.compile(r'(?:Created new|Adding our job to existing) cluster (\S+)')
STATE = re.compile(r'^\s*(?:PENDING|RUNNING|Waiting .* for .* logs?)\b.*|[\d.]+% complete')


class EMRProgress(HadoopProgress):
    """Listen to mrjob's log while a stage runs, and tell the user what the cluster does.

    progress : of the stage. region : where the cluster is.
    """

    def __init__(self, progress: Stage, region: str) -> None:
        super().__init__(progress)
        self.region = region

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line of the log."""
        text = record.getMessage()
        if match := CLUSTER.search(text):
            console = f'https://{self.region}.console.aws.amazon.com/emr/home?region={self.region}'
            self.say(f'cluster {match[1]}, {console}#/clusterDetails/{match[1]}')
        elif match := STATE.search(text):
            self.progress.set_status(match[0].strip())
