"""Cut the files of a data set into splits, find the file of a split, and read one."""
import re
from collections.abc import Iterator
from io import BufferedReader
from typing import Any
from urllib.parse import unquote

from mr_elm.errors import DataFormatError
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.split_lines import CHUNK, is_compressed, read_stream
from mr_elm.rows.storage import open_ranges

URI = re.compile(r'(\w+):(?://([^/]*))?(/.*)')


def plan_splits(plan: InputPlan, n_maps: int) -> list[list[list[int]]]:
    """Cut the files into the input of at most n_maps tasks of about equal size, in input order.

    Returns a list of tasks, each a list of [file number, start, length]. Compressed files are not cut, others that are
    no text only between their parts.
    """
    share = max(1, -(-plan.size // max(n_maps, 1)))
    tasks: list[list[list[int]]] = [[]]
    room = share
    for number, file in enumerate(plan.files):
        start = 0
        while start < file.size:
            end = find_end(file, start, start + room)
            tasks[-1].append([number, start, end - start])
            start, room = end, room - (end - start)
            if room <= 0 or start < file.size:
                tasks.append([])
                room = share + (room if file.cuts else 0)
    return [task for task in tasks if task]


def find_end(file: InputFile, start: int, wanted: int) -> int:
    """Return the end of a split: as wanted, or the nearest one that the file allows."""
    if is_compressed(file.path) or file.format.charset:
        return file.size
    ends = [cut for cut in (*file.cuts, file.size) if cut > start]
    return min(ends, key=lambda end: abs(end - wanted)) if file.cuts else min(wanted, file.size)


def find_file(files: list[dict[str, Any]], uri: str) -> int:
    """Return the number of the file that Hadoop calls `uri`."""
    wanted = plain_path(uri)
    for number, file in enumerate(files):
        if plain_path(file['uri']) == wanted:
            return number
    raise DataFormatError(f'{uri}: expected one of the planned input files')


def plain_path(uri: str) -> str:
    """Reduce a URI to what tells files apart: hdfs:///a and hdfs://host:9000/a are one, ? and # are but letters."""
    found = URI.match(uri)
    if not found:
        return uri
    scheme, host, path = found.groups()
    if scheme in ('hdfs', 'file'):
        return unquote(path)
    return f'{host}{unquote(path)}' if scheme.startswith('s3') else uri


def read_lines(file: dict[str, Any], start: int, length: int) -> Iterator[bytes]:
    """Yield the chunks of whole lines of a split, wherever the file is."""
    with (open_ranges(file['uri']) as source,
          open(source, 'rb') if isinstance(source, str) else BufferedReader(source, CHUNK) as stream):
        yield from read_stream(stream, file['path'], start, length, file['format'].get('charset'))
