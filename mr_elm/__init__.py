"""Extreme learning machines and their kernel relatives, trained exactly, at any size."""


def __getattr__(name: str) -> object:
    """Import `pack` when it is first used: a program that needs it not starts sooner."""
    if name == 'pack':
        from mr_elm.drivers.pack import pack_stream

        return pack_stream
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
