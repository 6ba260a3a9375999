"""Write pairs of keys of the package cryptography, and the options that mask sums with them."""

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


def write_keys(folder, name, key):
    """Write a private key and its public key: (path of NAME.pem, path of NAME.pub)."""
    private, public = folder / f'{name}.pem', folder / f'{name}.pub'
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


def mask_words(k, keys, session='first'):
    """Return the options that mask the sums of site k. keys : of each site, as of `write_keys`."""
    others = [word for j, (_, public) in enumerate(keys) if j != k for word in ('--with', public)]
    return '--mask', keys[k][0], '--session', session, *others
