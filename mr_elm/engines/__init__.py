"""Run stages: in this process, on the cores of this machine, on Hadoop, on Amazon EMR, on Spark.

A new engine is a module with a subclass of `base.Engine` and a line in `ENGINES`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mr_elm.engines.base import Engine

# name -> class, imported when it is used: only who runs on EMR waits for boto3
ENGINES = {
    'inline': 'mr_elm.engines.local:Inline',
    'local': 'mr_elm.engines.local:Local',
    'hadoop': 'mr_elm.engines.hadoop.engine:Hadoop',
    'emr': 'mr_elm.engines.emr.engine:EMR',
    'spark': 'mr_elm.engines.spark.engine:Spark',
}

DEFAULT_ENGINE = 'local'  # of a command
INLINE_BYTES = 5_000_000  # bytes of rows, below which starting processes takes longer than the tasks


def make_engine(name: str = 'inline', arguments: Iterable[str] = (), *others: Any, **values: Any) -> Engine:
    """Make the engine of a name, which ENGINES must list.

    arguments : options of the engine, as on the command line. others, values : what else `Engine` holds, the reporter
    first; without one, nobody speaks to the user.
    """
    return resolve_name(ENGINES[name])(tuple(arguments), *others, **values)
