"""Write and read model files: npz without pickles, with a JSON text as header."""
import json
import os
import uuid
import zipfile

import numpy as np

from ..errors import ModelFormatError

FORMAT = 'mr_elm'
VERSION = 1


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
        self.stream.close()
        if kind is None:
            os.replace(self.temporary, self.path)
        else:
            os.unlink(self.temporary)


def load_model(path):
    """Read a model: (header, arrays). Raises ModelFormatError when the file is not one."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
            header = json.loads(str(arrays.pop('header')[()]))
    except (ValueError, KeyError, zipfile.BadZipFile, EOFError, AttributeError, TypeError, IndexError) as error:
        raise ModelFormatError(f'{path}: a model file of mr-elm was expected ({error})') from None
    if not isinstance(header, dict) or header.get('format') != FORMAT:
        raise ModelFormatError(f'{path}: a model file of mr-elm was expected, this is another npz')
    if header.get('version') != VERSION:
        raise ModelFormatError(f'{path}: model version {VERSION} was expected, version {header.get("version")} came')
    return header, arrays
