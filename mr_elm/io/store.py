"""Write and read model files: npz without pickles, with a JSON text as header."""
import errno
import json
import os
import uuid
import zipfile

import numpy as np

from ..errors import ModelFormatError

FORMAT = 'mr_elm'
VERSION = 1
# What numpy and zipfile raise for a file that is no npz, a damaged one, and one that holds pickles.
DAMAGE = (ValueError, KeyError, zipfile.BadZipFile, EOFError, AttributeError, TypeError, IndexError, RuntimeError)


def save_model(path, header, arrays):
    """Write a model under exactly this name, whole or not at all.

    header : dictionary that JSON can hold; format and version are added.
    arrays : name -> ndarray.
    """
    text = json.dumps({'format': FORMAT, 'version': VERSION, **header})
    with replacing(path) as stream:
        np.savez(stream, header=np.array(text), **arrays)


class replacing:
    """Open a temporary file beside `path` that takes its place when all went well, and vanishes otherwise."""

    def __init__(self, path, mode='wb', **options):
        self.path = os.path.abspath(path)
        self.temporary = f'{self.path}.{uuid.uuid4().hex[:8]}.tmp'
        self.mode, self.options = mode, options

    def __enter__(self):
        self.stream = open(self.temporary, self.mode, **self.options)
        return self.stream

    def __exit__(self, kind, error, trace):
        try:
            self.stream.close()
            if kind is None:
                os.replace(self.temporary, self.path)
        finally:
            if os.path.exists(self.temporary):
                os.unlink(self.temporary)


def load_model(path, name=None):
    """Read a model, called `name` in messages: (header, arrays). Raises ModelFormatError when the file is not one."""
    name = name or path
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
            header = json.loads(str(arrays.pop('header')[()]))
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):
            raise  # the file cannot be read, whatever it is
        raise ModelFormatError(f'{name}: a model file of mr-elm was expected, this one is damaged') from None
    except DAMAGE as error:
        reason = 'it may hold pickled objects, which are never loaded' if 'pickle' in str(error) else error
        raise ModelFormatError(f'{name}: a model file of mr-elm was expected ({reason})') from None
    if not isinstance(header, dict) or header.get('format') != FORMAT:
        raise ModelFormatError(f'{name}: a model file of mr-elm was expected, this is another npz')
    if header.get('version') != VERSION:
        raise ModelFormatError(f'{name}: model version {VERSION} was expected, version {header.get("version")} came')
    return header, arrays
