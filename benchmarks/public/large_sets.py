"""Fetch public data sets of millions of rows as CSV text: training rows and test rows, a line at a time.

There is no digest to check: the numbers of rows and of features must be those that were published.
"""
import gzip
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from benchmarks.public.fetching import open_url
from mr_elm.data.generators import write_whole
from mr_elm.errors import DataFormatError


@dataclass(frozen=True)
class LargeSet:
    """Describe a public data set.

    url: a ZIP file of one CSV file, which may be compressed. n_rows, n_features: of that file; the first field of a row
    is its label. n_test: how many rows at its end are the test set. has_classes: whether labels are whole numbers of
    classes. source: who published the set.
    """

    name: str
    url: str
    n_rows: int
    n_features: int
    n_test: int
    has_classes: bool
    source: str


_UCI = 'https://archive.ics.uci.edu/static/public/'
_ALL = (
    LargeSet('higgs', _UCI + '280/higgs.zip', 11_000_000, 28, 500_000, True,
             'UCI: HIGGS; CC BY 4.0; Baldi, Sadowski and Whiteson, 2014'),
    LargeSet('msd', _UCI + '203/yearpredictionmsd.zip', 515_345, 90, 51_630, False,
             'UCI: YearPredictionMSD; CC BY 4.0; a regression: the year of a song'),
    LargeSet('susy', _UCI + '279/susy.zip', 5_000_000, 18, 500_000, True,
             'UCI: SUSY; CC BY 4.0; Baldi, Sadowski and Whiteson, 2014'),
)
LARGE_SETS = {data_set.name: data_set for data_set in _ALL}


def download_large(name: str, folder: str | Path) -> tuple[Path, Path]:
    """Fetch a data set into folder/NAME-train.csv and folder/NAME-test.csv, and return these paths.

    Files that are already there are kept, and nothing is fetched. Raises DataFormatError for content that is not the
    data set's, OSError when nothing can be fetched or written.
    """
    data_set, folder = LARGE_SETS[name], Path(folder)
    train, test = (folder / f'{name}-{part}.csv' for part in ('train', 'test'))
    if train.exists() and test.exists():
        return train, test
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        packed = stack.enter_context(tempfile.TemporaryFile(dir=folder))
        with open_url(data_set.url) as response:
            shutil.copyfileobj(response, packed)
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
def open_member(packed: IO[bytes], data_set: LargeSet) -> Iterator[Iterable[bytes]]:
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
