"""Reach S3 by pyarrow, with the keys that boto3's rules find."""

import os
from importlib import import_module
from typing import Any

from mr_elm.rows.storage import ANSWER_SECONDS

CONNECTION: dict[str, str] = {}  # what -r emr was told of S3: options of boto3.client
ATTEMPTS = 3


def open_s3() -> Any:
    """Return a file system of fsspec for S3. Raises PermissionError when there are no keys.

    Keys, region and endpoint are those of the environment, of a profile or of the role of this machine, as AWS's own
    command line finds them, unless CONNECTION names them.
    """
    from pyarrow import fs

    region = CONNECTION.get('region_name') or os.environ.get('AWS_REGION') or os.environ.get('AWS_DEFAULT_REGION')
    endpoint = (
        CONNECTION.get('endpoint_url') or os.environ.get('AWS_ENDPOINT_URL_S3') or os.environ.get('AWS_ENDPOINT_URL')
    )
    attempts = int(os.environ.get('AWS_MAX_ATTEMPTS', ATTEMPTS))
    system = fs.S3FileSystem(
        **find_keys(),
        region=region,
        endpoint_override=endpoint,
        request_timeout=ANSWER_SECONDS,
        connect_timeout=ANSWER_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=attempts),
    )
    return import_module('fsspec.implementations.arrow').ArrowFSWrapper(system, skip_instance_cache=True)


def find_keys() -> dict[str, str]:
    """Return access key, secret key and token; none where pyarrow finds and renews them itself, as those of a role.

    Nodes of a cluster may lack boto3: they have a role.
    """
    names = {
        'access_key': 'aws_access_key_id',
        'secret_key': 'aws_secret_access_key',
        'session_token': 'aws_session_token',
    }
    if 'aws_access_key_id' in CONNECTION:
        return {name: CONNECTION[key] for name, key in names.items() if CONNECTION.get(key)}
    try:
        session = import_module('boto3').Session()
    except ModuleNotFoundError:
        return {}
    credentials = session.get_credentials()
    if credentials is None:
        raise PermissionError(
            's3://: expected AWS credentials in the environment, in a profile of the AWS command '
            'line or by the role of this machine, found none'
        )
    if hasattr(credentials, 'refresh_needed'):
        return {}
    return {
        'access_key': credentials.access_key,
        'secret_key': credentials.secret_key,
        **({'session_token': credentials.token} if credentials.token else {}),
    }
