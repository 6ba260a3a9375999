"""List the files that a user names: files, folders and patterns, on any store."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from mr_elm.errors import DataFormatError
from mr_elm.rows.storage import Entry, Store, store_of

GLOB = set('*?[')


def expand_patterns(patterns: Sequence[str | Entry]) -> list[Entry]:
    """List the Entry of every file behind names, folders and globs: sorted by their absolute path, each once.

    An Entry stands for itself.
    """
    entries: dict[str, Entry] = {}
    for pattern in patterns:
        if isinstance(pattern, Entry):
            entries[pattern.path] = pattern
            continue
        pattern = drop_file_scheme(pattern)
        store = store_of(pattern)
        is_name = store.find(pattern) is not None
        if is_name:
            matches = [pattern]
        else:
            matches = store.glob(pattern)
        if not matches:
            raise FileNotFoundError(f'{pattern}: expected an input file or folder, found none')
        for match in matches:
            entry = store.find(store.absolute(match))
            if entry is None:
                raise FileNotFoundError(f'{match}: expected an input file, found a link to a missing file')
            if is_name:
                root = entry.path
            else:
                root = store.absolute(fixed_part(pattern))
            entries.update((file.path, replace(file, root=root)) for file in list_files(store, entry))
    if not entries:
        raise DataFormatError(f'{", ".join(map(str, patterns))}: expected input files, found none in the folder')
    return [entries[path] for path in sorted(entries)]


def drop_file_scheme(path: str) -> str:
    """Return the path of this machine that a URI with the scheme `file` names; other paths are left as they are."""
    if path.startswith('file:/'):
        return unquote(urlsplit(path).path)
    return path


def fixed_part(pattern: str) -> str:
    """Return the folder above the first name of a pattern that stands for several."""
    names = pattern.split('/')
    return '/'.join(names[: next((i for i, name in enumerate(names) if GLOB & set(name)), -1)])


def list_files(store: Store, entry: Entry) -> Iterator[Entry]:
    """Yield the files at or below an entry, leaving out names that begin with _ or a dot."""
    if not entry.is_folder:
        yield entry
        return
    children = store.entries(entry.path)
    if any(child.name == '_temporary' for child in children):
        raise DataFormatError(
            f'{entry.path}: expected finished output, its _temporary says that a job did not finish writing'
        )
    for child in children:
        if not child.name.startswith(('_', '.')):
            yield from list_files(store, child)


def name_folders(entry: Entry) -> tuple[tuple[str, str], ...]:
    """Return (name, value) of the folders between the one that the user named and a file, such as city=Oslo."""
    if entry.path != entry.root:
        folders = entry.path.removeprefix(entry.root).split('/')[:-1]
    else:
        folders = []
    return tuple((name, unquote(value)) for name, equals, value in (part.partition('=') for part in folders) if equals)
