"""Meet Amazon EMR: mrjob's options for it, its runner, and its steps."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import boto3
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
)
from mrjob.emr import EMRJobRunner
from mrjob.job import MRJob

from mr_elm.engines.mrjob_private import (
    GivenFolder,
    TagsAndRoles,
    active_states,
    default_release,
    endpoint_url,
    options_of,
    runner_arguments,
)

KEYS = ('aws_access_key_id', 'aws_secret_access_key', 'aws_session_token')
CONF = 'hadoop-conf/mrjob-emr.conf'


class EMRRunner(GivenFolder, TagsAndRoles, EMRJobRunner):
    """Run jobs like mrjob's own runner, but make no bucket, tag clusters from their start, and know runtime roles."""

    def demand_folder(self) -> None:
        """Raise ValueError: no folder for temporary files was named."""
        raise ValueError(
            '-r emr: expected a folder on S3 for temporary files, by --cloud-tmp-dir s3://bucket/folder/ '
            f'or by cloud_tmp_dir in the configuration file that -c names (see {CONF})'
        )


class Steps:
    """Find steps that a driver left behind, by the tag of its run among their arguments, and end them.

    options : mrjob's for EMR.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    @cached_property
    def client(self) -> Any:
        """Return boto3's client of EMR."""
        return boto3.client('emr', region_name=self.options['region'], **connection(self.options, 'emr_endpoint'))

    def running(self, tag: str) -> list[tuple[str, str]]:
        """List (cluster, step) for what has not ended."""
        clusters = self.client.get_paginator('list_clusters').paginate(ClusterStates=active_states())
        return [
            (cluster['Id'], step['Id'])
            for page in clusters
            for cluster in page['Clusters']
            for steps in self.client.get_paginator('list_steps').paginate(
                ClusterId=cluster['Id'], StepStates=['PENDING', 'RUNNING']
            )
            for step in steps['Steps']
            if any(tag in word for word in step['Config']['Args'])
        ]

    def end(self, tag: str) -> None:
        """Cancel all steps that carry a tag, and wait until they have ended."""
        with translate_errors('EMR'):
            while steps := self.running(tag):
                for cluster, step in steps:
                    self.client.cancel_steps(
                        ClusterId=cluster, StepIds=[step], StepCancellationOption='TERMINATE_PROCESS'
                    )
                time.sleep(self.options['check_cluster_every'])


def read_options(arguments: tuple[str, ...]) -> dict[str, Any]:
    """Return mrjob's options for EMR: those of its configuration files, and over them those of the command line.

    Raises ValueError when they name no folder on S3 or no release of EMR.
    """
    options = options_of(EMRRunner(**runner_arguments(MRJob(args=['-r', 'emr', *arguments]))))
    if options['release_label'] in (None, default_release()):
        raise ValueError(
            '-r emr: expected a release of EMR, by --release-label or by release_label in the '
            f'configuration file that -c names (see {CONF}): the default of mrjob is from 2020'
        )
    return options


def connection(options: dict[str, Any], endpoint: str) -> dict[str, Any]:
    """Return what boto3.client must know to connect where mrjob's options say."""
    keys = {name: options[name] for name in KEYS if options[name]}
    if options[endpoint]:
        return {**keys, 'endpoint_url': endpoint_url(options[endpoint])}
    return keys


@contextmanager
def translate_errors(service: str) -> Iterator[None]:
    """Turn errors of boto3 into an OSError of one sentence."""
    try:
        yield
    except (NoCredentialsError, PartialCredentialsError, TokenRetrievalError):
        raise PermissionError(
            f'{service}: expected AWS credentials in the environment, in a profile of the AWS '
            'command line or by the role of this machine, found none'
        ) from None
    except ClientError as error:
        facts = error.response.get('Error', {})
        code = facts.get('Code', '')
        raise OSError(f'{service}: AWS refused {error.operation_name}: {code}: {facts.get("Message", code)}') from None
    except BotoCoreError as error:
        raise OSError(f'{service}: AWS does not answer ({" ".join(str(error).split())})') from None
