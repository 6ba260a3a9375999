"""Read keys of the package cryptography from PEM files."""

from typing import Any

from mr_elm.errors import import_package

PACKAGE = 'cryptography.hazmat.primitives'
CLASSES = {
    'Ed25519': ('ed25519', 'Ed25519PrivateKey', 'Ed25519PublicKey'),
    'X25519': ('x25519', 'X25519PrivateKey', 'X25519PublicKey'),
}


def read_private_key(path: str, kind: str) -> Any:
    """Read a private key. kind : Ed25519 or X25519. Raises ValueError when the file holds none."""
    return read_key(path, kind, 'private', lambda text, module: module.load_pem_private_key(text, None))


def read_public_key(path: str, kind: str) -> bytes:
    """Read a public key, 32 bytes. kind : Ed25519 or X25519. Raises ValueError when the file holds none."""
    key = read_key(path, kind, 'public', lambda text, module: module.load_pem_public_key(text))
    return key.public_bytes_raw()


def read_key(path: str, kind: str, which: str, load: Any) -> Any:
    """Read a key by a function of cryptography. Raises ValueError."""
    module, *classes = CLASSES[kind]
    expected = f'{path}: expected a {which} key of {kind} in PEM, without a password'
    with open(path, 'rb') as stream:
        text = stream.read()
    try:
        key = load(text, import_cryptography(f'{PACKAGE}.serialization'))
    except (ValueError, TypeError) as error:
        raise ValueError(f'{expected} ({error})') from None
    if not isinstance(key, getattr(import_cryptography(f'{PACKAGE}.asymmetric.{module}'), classes[which == 'public'])):
        raise ValueError(f'{expected}, found another kind')
    return key


def import_cryptography(name: str) -> Any:
    """Import a module of cryptography. Raises ValueError where the package is missing."""
    return import_package(name, 'signatures and masks')
