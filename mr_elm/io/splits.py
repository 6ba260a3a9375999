"""Read a piece of a file the way Hadoop does, so that every line belongs to exactly one split.

A split (start, length) owns the lines that begin after the first line end at or behind `start` (or at 0) and
not behind `start + length`. Compressed files are one split.
"""
import bz2
import gzip
import zlib

from ..errors import DataFormatError

CHUNK = 4 << 20
OPENERS = {'.gz': gzip.open, '.bz2': bz2.open}
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)


def is_compressed(path):
    """Tell whether a name ends in .gz or .bz2."""
    return str(path).endswith(tuple(OPENERS))


def open_plain(path):
    """Open a file for reading bytes, decompressed to its last member."""
    opener = next((OPENERS[end] for end in OPENERS if str(path).endswith(end)), open)
    return opener(path, 'rb')


def read_split(path, start=0, length=None):
    """Yield the lines of one split as chunks of bytes, each ending with a whole line.

    Raises DataFormatError when a compressed file is cut or damaged.
    """
    try:
        with open_plain(path) as stream:
            if is_compressed(path):
                yield from whole_lines(stream)
            else:
                yield from split_lines(stream, start, length)
    except DAMAGE as error:
        raise DataFormatError(f'{path}: the compressed file is cut short or damaged ({error})') from None
    except OSError as error:
        if error.errno is None:
            raise DataFormatError(f'{path}: the compressed file is damaged ({error})') from None
        raise


def whole_lines(stream, limit=None):
    """Yield chunks that end with a whole line, until `limit` bytes have been begun or the stream ends."""
    done = 0
    while limit is None or done < limit:
        chunk = stream.read(CHUNK if limit is None else min(CHUNK, limit - done))
        if not chunk:
            return
        if not chunk.endswith(b'\n'):
            chunk += stream.readline()
        done += len(chunk)
        yield chunk


def split_lines(stream, start, length):
    """Yield the chunks of one split of a plain file."""
    stream.seek(start)
    if start:
        stream.readline()
    limit = None if length is None else start + length + 1 - stream.tell()
    if limit is None or limit > 0:
        yield from whole_lines(stream, limit)
