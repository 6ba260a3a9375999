"""Let Java share the classes of Spark: laid out once in a file, which each later session maps into its memory.

Spark on one machine spends most of its start on reading the same ten thousand classes. Java takes the file only where
Java and the jars are those that it was made of; otherwise it reads the jars. So a file that is stale, damaged or
missing costs time and nothing else.
"""
import contextlib
import os
import time
from hashlib import sha256
from pathlib import Path

WRITTEN = 60.0  # seconds after which a file that has not changed is whole: Java writes it as it ends, in a few seconds
UNQUOTED = set('"\\')  # what no option of Java in quotes may hold


def share_classes(*made_of: str) -> str:
    """Return the option of Java that reads the file or, where there is none, writes it at the end of the session.

    made_of : what the file belongs to, such as the path of Java and the version of Spark. The option is '' where there
    is no folder to write to, or an option cannot hold its name.
    """
    try:
        archive = find_folder() / f'spark-{sha256(" ".join(made_of).encode()).hexdigest()[:16]}.jsa'
        if UNQUOTED & set(str(archive)):
            return ''
        archive.parent.mkdir(parents=True, exist_ok=True)
        adopt(archive)
    except (OSError, RuntimeError):  # Path.home knows no folder
        return ''
    if archive.exists():
        return f'"-XX:SharedArchiveFile={archive}"'
    return f'"-XX:ArchiveClassesAtExit={new_name(archive)}"'


def find_folder() -> Path:
    """Return where programs of this user keep what they can make again."""
    return Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'mr_elm'


def new_name(archive: Path) -> Path:
    """Return a name that no other session writes to."""
    return archive.with_suffix(f'.{os.getpid()}.new')


def adopt(archive: Path) -> None:
    """Give a file that an earlier session has written its name, and remove what was not written to its end."""
    for path in archive.parent.glob(f'{archive.stem}.*.new'):
        with contextlib.suppress(FileNotFoundError):  # another session was faster
            if time.time() - path.stat().st_mtime < WRITTEN:
                continue
            if is_whole(path):
                path.replace(archive)
            else:
                path.unlink()


def is_whole(path: Path) -> bool:
    """Tell whether Java has written the head of a file, which it does last."""
    with path.open('rb') as stream:
        return any(stream.read(4))
