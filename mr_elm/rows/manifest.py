"""Read the manifest that closes a pack: what its readers need to know of the rows without reading them."""
import json

from mr_elm.errors import DataFormatError
from mr_elm.files.storage import store_of
from mr_elm.io.packed import MANIFEST, checksum

NEEDED = {'n_rows', 'labels', 'statistics', 'rejected', 'input'}


def load_manifest(folder: str) -> dict:
    """Read the manifest of a pack as a dictionary. Raises DataFormatError when it is none."""
    path = f'{folder}/{MANIFEST}'
    try:
        with store_of(path).open(path) as stream:
            manifest = json.load(stream)
        if manifest['format'] != 'mr_elm-pack' or manifest['version'] != 1:
            raise ValueError('another format or version')
        if missing := NEEDED - set(manifest):
            raise ValueError(f'without {", ".join(sorted(missing))}')
        if 'crc32' in manifest and manifest['crc32'] != checksum(manifest):  # older packs have none
            raise ValueError('it was altered: its checksum does not match')
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataFormatError(f'{path}: the manifest of a pack was expected ({error})') from None
    return manifest
