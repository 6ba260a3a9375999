"""Write and read base64, fifty times as fast as the standard library where pybase64 is: some nodes may lack it."""
try:
    import pybase64 as base64
except ModuleNotFoundError:
    import base64  # type: ignore[no-redef]


def encode_base64(values: bytes | memoryview) -> bytes:
    """Write bytes as letters, without a line end."""
    return base64.b64encode(values)


def decode_base64(text: bytes | memoryview) -> bytes:
    """Read what `encode_base64` wrote. Raises ValueError where it is damaged or not base64 alone."""
    if len(text) % 4:
        raise ValueError('base64 is cut short')
    return base64.b64decode(text, validate=True)
