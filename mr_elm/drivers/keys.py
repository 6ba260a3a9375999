"""Read keys of the package cryptography from PEM files."""

from pathlib import Path
from typing import Any

from mr_elm.errors import import_package

PACKAGE = 'cryptography.hazmat.primitives'


def read_private_key(path: str, kind: str) -> Any:
    """Read a private key. kind : Ed25519 or X25519. Raises ValueError when the file holds none."""
    return read_key(path, kind, 'Private', None)


def read_public_key(path: str, kind: str) -> bytes:
    """Read a public key, 32 bytes. kind : Ed25519 or X25519. Raises ValueError when the file holds none."""
    return read_key(path, kind, 'Public').public_bytes_raw()


def read_key(path: str, kind: str, which: str, *password: None) -> Any:
    """Read a key of a kind. which : Private or Public. Raises ValueError."""
    expected = f'{path}: expected a {which.lower()} key of {kind} in PEM, without a password'
    load = getattr(import_cryptography(f'{PACKAGE}.serialization'), f'load_pem_{which.lower()}_key')
    text = Path(path).read_bytes()
    try:
        key = load(text, *password)
    except (ValueError, TypeError) as error:
        raise ValueError(f'{expected} ({error})') from None
    keys = import_cryptography(f'{PACKAGE}.asymmetric.{kind.lower()}')
    if not isinstance(key, getattr(keys, f'{kind}{which}Key')):
        raise ValueError(f'{expected}, found another kind')
    return key


def import_cryptography(name: str) -> Any:
    """Import a module of cryptography. Raises ValueError where the package is missing."""
    return import_package(name, 'signatures and masks')
