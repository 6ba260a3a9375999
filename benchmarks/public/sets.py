"""Fetch public data sets as LIBSVM text whose digest is checked.

sets.json lists them: urls, the files at their origin, at a fixed commit, whose rows follow each other; sha256, of the
LIBSVM text that the recipe makes of these files; the shape of that text; source, who published the set.
"""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pooch

from benchmarks.public.convert import Recipe, to_libsvm
from mr_elm.errors import DataFormatError
from mr_elm.store import replace_file

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


DATA_SETS = {
    name: PublicSet(**facts)
    for name, facts in json.loads(Path(__file__).with_name('sets.json').read_text(encoding='utf-8')).items()
}


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
        raise DataFormatError(
            f'expected {name} with sha256 {data_set.sha256}, but {" and ".join(data_set.urls)} gives {digest}'
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as new:
        new.write(text)
    return path


def fetch(url: str, folder: str | Path) -> Path:
    """Fetch a file into a folder and return its path. Raises OSError, which names the URL."""
    pooch.get_logger().setLevel('ERROR')
    try:
        return Path(pooch.retrieve(url, None, path=folder, downloader=pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)))
    except (OSError, ValueError) as error:
        raise OSError(f'could not fetch {url}: {error}') from error
