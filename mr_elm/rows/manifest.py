"""Write and read the manifest of a pack: what its readers need to know of the rows without reading them."""
import json
import zlib
from collections.abc import Mapping
from typing import Any

from mr_elm.errors import DataFormatError
from mr_elm.rows.packs import MANIFEST
from mr_elm.rows.storage import store_of, write_file

FORMAT = {'format': 'mr_elm-pack', 'version': 1}
NEEDED = {'files', 'n_rows', 'labels', 'statistics', 'rejected', 'input'}


def write_manifest(folder: str, facts: Mapping[str, Any]) -> None:
    """Close a pack. facts : what JSON can hold; format, version and checksum are added."""
    manifest = {**FORMAT, **facts}
    text = json.dumps({**manifest, 'crc32': checksum(manifest)}, indent=1)
    with write_file(f'{folder}/{MANIFEST}') as local, open(local, 'w') as stream:
        stream.write(text + '\n')


def checksum(manifest: Mapping[str, Any]) -> int:
    """Return the CRC-32 of a manifest, all but its own crc32."""
    plain = {key: value for key, value in manifest.items() if key != 'crc32'}
    return zlib.crc32(json.dumps(plain, sort_keys=True).encode())


def load_manifest(folder: str) -> dict:
    """Read the manifest of a pack as a dictionary. Raises DataFormatError when it is none."""
    path = f'{folder}/{MANIFEST}'
    try:
        with store_of(path).open(path) as stream:
            manifest = json.load(stream)
        if {**manifest, **FORMAT} != manifest:
            raise ValueError('another format or version')
        if missing := NEEDED - set(manifest):
            raise ValueError(f'without {", ".join(sorted(missing))}')
        if manifest.get('crc32') != checksum(manifest):
            raise ValueError('it was altered: its checksum does not match')
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataFormatError(f'{path}: expected the manifest of a pack ({error})') from None
    return manifest
