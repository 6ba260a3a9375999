"""Read base64, by compiled code where a process has it."""
from binascii import a2b_base64

from mr_elm.arithmetic import has_compiler


def decode_base64(text: bytes | memoryview) -> bytes | memoryview:
    """Do what `a2b_base64` does, four times as fast where `has_compiler`."""
    if not has_compiler():
        return a2b_base64(text)
    from mr_elm.io.radix64 import decode_bytes
    return decode_bytes(text)
