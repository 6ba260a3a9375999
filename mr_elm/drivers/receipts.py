"""Write and check receipts: what was done to the rows of a model, each with the digest of the one before it.

A receipt is one line of JSON with its keys in order. `mac` is an HMAC-SHA-256 of all its other fields with the key of
the ledger; `signature` is an Ed25519 signature of all fields but these two, which anyone can check who has the public
key.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

from mr_elm.drivers.keys import PACKAGE, import_cryptography
from mr_elm.errors import DataFormatError
from mr_elm.model.header import make_event

FORMAT, VERSION = 'mr_elm-receipt', 1
SEALS = ('mac', 'signature')


def write_receipt(facts: Mapping[str, Any], previous: Sequence[bytes], key: bytes, signer: Any = None) -> bytes:
    """Return the line of a receipt, without its end.

    facts : what was done. previous : the lines of the receipts before it. signer : private key of Ed25519, or None.
    """
    from importlib.metadata import version

    previous_digest = None
    if previous:
        previous_digest = digest(previous[-1])
    receipt = {
        'format': FORMAT,
        'version': VERSION,
        'mr_elm': version('mr_elm'),
        'number': len(previous) + 1,
        'when': make_event('', 0)['when'],
        'previous': previous_digest,
        **facts,
    }
    if signer is not None:
        receipt['public_key'] = signer.public_key().public_bytes_raw().hex()
        receipt['signature'] = signer.sign(write_line(receipt)).hex()
    receipt['mac'] = seal(receipt, key)
    return write_line(receipt)


def write_line(receipt: Mapping[str, Any]) -> bytes:
    """Write a receipt as a line, the same for equal receipts."""
    return json.dumps(receipt, sort_keys=True).encode()


def seal(receipt: Mapping[str, Any], key: bytes) -> str:
    """Return the HMAC of a receipt without it."""
    rest = {name: value for name, value in receipt.items() if name != 'mac'}
    return hmac.digest(key, b'receipt ' + write_line(rest), 'sha256').hex()


def digest(line: bytes) -> str:
    """Return the SHA-256 of a receipt."""
    return hashlib.sha256(line).hexdigest()


def read_receipts(lines: Sequence[bytes], name: str, key: bytes, public_key: str | None = None) -> list[dict[str, Any]]:
    """Read receipts, the oldest first, and check each and their chain.

    name : of the ledger in messages. public_key : whose signature each receipt of `forget` must have, None for any or
    none. Raises DataFormatError for the first receipt that was altered, or lacks its signature.
    """
    receipts: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        try:
            receipt = json.loads(line)
            check_receipt(receipt, line, key)
            root = previous_digest = None
            if receipts:
                root, previous_digest = receipts[-1]['root_after'], digest(lines[number - 2])
            if (receipt['number'], receipt['root_before'], receipt['previous']) != (number, root, previous_digest):
                raise ValueError('it does not follow the one before it')
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataFormatError(
                f'{name}: receipt {number}: expected a receipt as it was written, found an altered one ({error})'
            ) from None
        signed = 'signature' in receipt and receipt['public_key'] == public_key
        if public_key is not None and receipt['action'] == 'forget' and not signed:
            raise DataFormatError(f'{name}: receipt {number}: expected one signed with the key of --signed-by')
        receipts.append(receipt)
    if not receipts:
        raise DataFormatError(f'{name}: expected receipts, found none')
    return receipts


def check_receipt(receipt: dict[str, Any], line: bytes, key: bytes) -> None:
    """Raise ValueError or KeyError unless a receipt is as it was written."""
    if line != write_line(receipt):
        raise ValueError('it is not written as receipts are')
    if (receipt['format'], receipt['version']) != (FORMAT, VERSION):
        raise ValueError('another format or version')
    if not hmac.compare_digest(receipt['mac'], seal(receipt, key)):
        raise ValueError('its mac does not match')
    if 'signature' in receipt:
        check_signature(receipt)


def check_signature(receipt: Mapping[str, Any]) -> None:
    """Raise ValueError unless the signature of a receipt is one by the public key in it."""
    ed25519 = import_cryptography(f'{PACKAGE}.asymmetric.ed25519')
    signed = write_line({name: value for name, value in receipt.items() if name not in SEALS})
    public_key = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(receipt['public_key']))
    try:
        public_key.verify(bytes.fromhex(receipt['signature']), signed)
    except import_cryptography('cryptography.exceptions').InvalidSignature:
        raise ValueError('its signature does not match') from None
