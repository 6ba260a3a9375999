"""-r emr-serverless: send a command to EMR Serverless, where it runs with -r spark."""

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import cast

from mr_elm.engines import SERVERLESS
from mr_elm.engines.spark.engine import demand_options as demand_spark_options
from mr_elm.progress import Reporter
from mr_elm.rows.storage import scheme_of, write_file

# options of a value for the service, those of mrjob for EMR, and not for the command
SERVICE = (
    '-c',
    '--conf-path',
    '--cloud-tmp-dir',
    '--cloud-log-dir',
    '--region',
    '--release-label',
    '--extra-cluster-param',
    '--check-cluster-every',
)
REFUSED = ('--resume', '--script', '--python', '--master', '--ledger')
OUTPUTS = ('--model', '-o', '--output', '--table', '--figure')


def submit(argv: Sequence[str]) -> int:
    """Run a command on EMR Serverless; returns the exit status. Raises ValueError where a path is not on S3."""
    from mr_elm.engines.emr.client import read_options
    from mr_elm.engines.emr.serverless import Serverless

    words, service, bundle = separate(argv)
    demand_known(words)
    demand_s3(words, bundle)
    named = () if {'-c', '--conf-path'} & set(service) else ('--no-conf',)
    there = [word.replace('s3://', 's3a://', 1) for word in (*words, '-r', 'spark')]
    reporter = Reporter(bool({'-q', '--quiet'} & set(argv)))
    out, failure = Serverless(read_options((*named, *service)), bundle, reporter).run(there)
    sys.stdout.write(out)
    if failure:
        raise OSError(failure)
    return 0


def perform(output: str, argv: Sequence[str]) -> int:
    """Run a command there; returns the exit status. output : where to write what belongs on standard output.

    Spark mixes standard output and standard error of its driver.
    """
    from mr_elm.cli import main

    out = io.TextIOWrapper(io.BytesIO(), encoding='utf-8', write_through=True)
    with redirect_stdout(out):
        status = main(argv)
    with write_file(output) as local:
        Path(local).write_bytes(cast(io.BytesIO, out.buffer).getvalue())
    return status


def separate(argv: Sequence[str]) -> tuple[list[str], list[str], str]:
    """Separate the words of a command, without its runner, the options of the service, and the archive."""
    words, service, bundle = [], [], ''
    tokens = iter(argv)
    for token in tokens:
        name, equals, value = token.partition('=')
        if name not in ('-r', '--runner', '--bundle', *SERVICE):
            words.append(token)
            continue
        if not equals:
            value = next(tokens, '')
        if name == '--bundle':
            bundle = value
        elif name in SERVICE:
            service += [name, value]
    return words, service, bundle


def demand_options(passed: Sequence[str]) -> None:
    """Raise ValueError where an option of mrjob is neither for the service nor for Spark. passed : these options."""
    words, _, _ = separate(passed)
    demand_spark_options(tuple(words), SERVERLESS)


def demand_known(words: Sequence[str]) -> None:
    """Raise ValueError where an option makes no sense for a command that runs elsewhere, on machines of its own."""
    for word in words:
        if word.partition('=')[0] in REFUSED:
            raise ValueError(f'{word.partition("=")[0]}: cannot be used with -r {SERVERLESS}')


def demand_s3(words: Sequence[str], bundle: str) -> None:
    """Raise ValueError where the archive or an output is not on S3."""
    if not scheme_of(bundle).startswith('s3'):
        raise ValueError(f'-r {SERVERLESS}: expected an archive of `mr-elm bundle` on S3, by --bundle s3://bucket/...')
    for path in find_outputs(words):
        if not scheme_of(path).startswith('s3'):
            raise ValueError(f'{path}: -r {SERVERLESS} expects a path on S3')


def find_outputs(words: Sequence[str]) -> Iterator[str]:
    """Yield the paths that a command writes."""
    for token, following in zip(words, [*words[1:], ''], strict=True):
        name, equals, value = token.partition('=')
        if name in OUTPUTS:
            if equals:
                yield value
            else:
                yield following
