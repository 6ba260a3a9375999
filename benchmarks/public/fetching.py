"""Open the files of public data sets where they are published."""
import http.client
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

_SCHEMES = ('https', 'file')
_TIMEOUT_SECONDS = 60


@contextmanager
def open_url(url: str) -> Iterator[IO[bytes]]:
    """Open an https or a file URL for reading.

    Raises ValueError for another scheme, OSError, which names the URL, when it cannot be read to its end.
    """
    scheme = urllib.parse.urlsplit(url).scheme
    if scheme not in _SCHEMES:
        raise ValueError(f'expected an https or a file URL, found {url!r}')
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response:
            yield response
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, 'reason', error)
        raise OSError(f'could not fetch {url}: {reason}') from error
