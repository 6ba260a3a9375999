"""Read and write small files of JSON."""

import json
import os
from typing import Any


def read_json(path: str) -> Any:
    """Return the value in a file of JSON."""
    with open(path, encoding='utf-8') as stream:
        return json.load(stream)


def write_json(path: str | os.PathLike, value: object, end: str = '') -> str:
    """Write a value as JSON and return the path."""
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(json.dumps(value) + end)
    return os.fspath(path)
