"""Fetch public data sets: as LIBSVM text whose digest is checked, or, where they are very large, as CSV.

sets.json lists them: urls, the files at their origin, at a fixed commit, whose rows follow each other; sha256, of the
LIBSVM text that the recipe makes of these files; the shape of that text; source, who published the set.
"""
import gzip
import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import pooch

from benchmarks.public.convert import Recipe, to_libsvm
from mr_elm.data.generators import write_whole
from mr_elm.errors import DataFormatError

LISTED = json.loads(Path(__file__).with_name('sets.json').read_text(encoding='utf-8'))
TIMEOUT_SECONDS = 60


class PublicSet(NamedTuple):
    """Describe one public data set; see sets.json."""

    urls: list[str]
    sha256: str
    n_rows: int
    n_features: int
    n_classes: int
    source: str
    recipe: dict[str, Any]


class LargeSet(NamedTuple):
    """Describe a public data set that is fetched row by row.

    url: a ZIP file of one CSV file, which may be compressed. n_rows, n_features: of that file; the first field of a row
    is its label. n_test: how many rows at its end are the test set. has_classes: whether labels are whole numbers of
    classes. source: who published the set.
    """

    url: str
    n_rows: int
    n_features: int
    n_test: int
    has_classes: bool
    source: str


DATA_SETS = {name: PublicSet(**facts) for name, facts in LISTED['sets'].items()}
LARGE_SETS = {name: LargeSet(**facts) for name, facts in LISTED['large_sets'].items()}


def download(name: str, folder: str | Path) -> Path:
    """Fetch one data set into folder/NAME.libsvm and return that path.

    A right file already there is kept and nothing is fetched; a wrong one is replaced. Raises DataFormatError for
    content that is not the data set's, OSError when nothing can be fetched or written.
    """
    data_set, path = DATA_SETS[name], Path(folder) / f'{name}.libsvm'
    if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == data_set.sha256:
        return path
    recipe = Recipe(**data_set.recipe)
    with tempfile.TemporaryDirectory() as temporary:
        text = b''.join(to_libsvm(fetch(url, temporary).read_bytes(), recipe) for url in data_set.urls)
    digest = hashlib.sha256(text).hexdigest()
    if digest != data_set.sha256:
        raise DataFormatError(f'expected {name} with sha256 {data_set.sha256}, but {" and ".join(data_set.urls)} gives '
                              f'{digest}')
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(path, overwrite=True) as new:
        new.write_bytes(text)
    return path


def fetch(url: str, folder: str | Path) -> Path:
    """Fetch a file into a folder and return its path. Raises OSError, which names the URL."""
    pooch.get_logger().setLevel('ERROR')
    try:
        return Path(pooch.retrieve(url, None, path=folder, downloader=pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)))
    except (OSError, ValueError) as error:
        raise OSError(f'could not fetch {url}: {error}') from error


def download_large(name: str, folder: str | Path) -> tuple[Path, Path]:
    """Fetch a data set into folder/NAME-train.csv and folder/NAME-test.csv, and return these paths.

    Files that are already there are kept, and nothing is fetched. There is no digest to check: the numbers of rows and
    of features must be those that were published. Raises DataFormatError for content that is not the data set's,
    OSError when nothing can be fetched or written.
    """
    data_set, folder = LARGE_SETS[name], Path(folder)
    train, test = (folder / f'{name}-{part}.csv' for part in ('train', 'test'))
    if train.exists() and test.exists():
        return train, test
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        packed = fetch(data_set.url, stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        rows = enumerate(stack.enter_context(open_member(packed, data_set)), start=1)
        n_found = 0
        for path, n_rows in ((train, data_set.n_rows - data_set.n_test), (test, data_set.n_test)):
            temporary = stack.enter_context(write_whole(path, overwrite=True))
            with open(temporary, 'wb') as out:
                n_found += copy_rows(islice(rows, n_rows), out, data_set)
        n_found += sum(1 for _ in rows)
        if n_found != data_set.n_rows:
            raise DataFormatError(f'expected {data_set.n_rows:,} rows in {data_set.url}, found {n_found:,}')
    return train, test


@contextmanager
def open_member(packed: Path, data_set: LargeSet) -> Iterator[Iterable[bytes]]:
    """Open the one file of rows in a ZIP file, uncompressed; the context's value gives its lines."""
    with zipfile.ZipFile(packed) as files:
        members = [name for name in files.namelist() if name.endswith(('.csv', '.csv.gz', '.txt'))]
        if len(members) != 1:
            raise DataFormatError(f'expected one file of rows in {data_set.url}, found {members}')
        with files.open(members[0]) as member:
            yield gzip.GzipFile(fileobj=member) if members[0].endswith('.gz') else member


def copy_rows(rows: Iterable[tuple[int, bytes]], out: IO[bytes], data_set: LargeSet) -> int:
    """Copy numbered rows and return how many there are; labels of classes become whole numbers.

    Raises DataFormatError for a row of another width.
    """
    n_fields, n_rows = data_set.n_features + 1, 0
    for number, row in rows:
        label, comma, values = row.partition(b',')
        if values.count(b',') + 2 != n_fields:
            raise DataFormatError(f'expected {n_fields} fields in line {number} of {data_set.url}, found '
                                  f'{row.count(b",") + 1}')
        out.write((b'%d' % float(label) if data_set.has_classes else label) + comma + values)
        n_rows += 1
    return n_rows
