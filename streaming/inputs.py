"""Find the files of a data set, look at each once, and cut them into splits."""
import glob
import os
from dataclasses import dataclass, replace

from mr_elm.errors import DataFormatError
from mr_elm.io.formats import RowFormat
from mr_elm.io.packed import MANIFEST
from mr_elm.io.sniff import first_lines, sniff
from mr_elm.io.splits import is_compressed, read_split


@dataclass(frozen=True)
class InputFile:
    """Name a file, its size in bytes and the format of its lines."""

    path: str
    size: int
    format: RowFormat


@dataclass(frozen=True)
class InputPlan:
    """List the files of a data set in input order; `pack` is the folder of a packed one, else None."""

    files: list
    pack: str | None = None

    @property
    def kind(self):
        """Return csv, libsvm or packed."""
        return self.files[0].format.kind

    @property
    def size(self):
        """Return the bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def name(self):
        """Name the data set for a message."""
        return self.files[0].path if len(self.files) == 1 else f'{self.files[0].path} and {len(self.files) - 1} more'

    @property
    def input_facts(self):
        """Return what a reader of similar rows must know: kind, and where label and weight stood."""
        form = self.files[0].format
        return {'kind': form.kind, 'label_column': form.label_column, 'weight_column': form.weight_column}

    def to_json(self):
        """Return what tasks need to know."""
        return {'files': [{'path': file.path, 'format': file.format.to_json()} for file in self.files]}

    def with_width(self, n_features):
        """Fix the width of sparse rows."""
        return replace(self, files=[replace(file, format=replace(file.format, n_features=n_features))
                                    for file in self.files])


def plan_inputs(patterns, options):
    """Make the InputPlan of what the user named.

    patterns : files, folders or globs; one that exists is never a pattern. Names that begin with _ or . are left out
    of folders.
    options : RowOptions.
    Raises FileNotFoundError when nothing is there, DataFormatError when it cannot be rows.
    """
    paths = expand(patterns)
    files = [look_at(path, options) for path in paths]
    files = [file for file in files if file is not None]
    if not files:
        raise DataFormatError(f'{paths[0]}: rows were expected, the file is empty' if len(paths) == 1 else
                              f'{paths[0]} and {len(paths) - 1} more: rows were expected, all files are empty')
    check_alike(files)
    return InputPlan(files, find_pack(files))


def expand(patterns):
    """List the files behind names, folders and globs: sorted, absolute, each once."""
    found = set()
    for pattern in patterns:
        matches = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
        if not matches:
            raise FileNotFoundError(f'{pattern}: an input file or folder was expected, there is none')
        for match in matches:
            found.update(walk(match) if os.path.isdir(match) else [os.path.abspath(match)])
    if not found:
        raise DataFormatError(f'{", ".join(patterns)}: input files were expected, the folder holds none')
    return sorted(found)


def walk(folder):
    """List the files below a folder, leaving out names that begin with _ or a dot."""
    for where, folders, names in os.walk(os.path.abspath(folder)):
        if '_temporary' in folders:
            raise DataFormatError(f'{where}: finished output was expected, its _temporary says that a job '
                                  'did not finish writing')
        folders[:] = [name for name in folders if not name.startswith(('_', '.'))]
        yield from (os.path.join(where, name) for name in names if not name.startswith(('_', '.')))


def look_at(path, options):
    """Return the InputFile of a path, or None when it is empty. Raises DataFormatError when it holds no rows."""
    if not os.path.isfile(path):
        raise DataFormatError(f'{path}: a file was expected, a pipe or a device cannot be read twice')
    size = os.path.getsize(path)
    chunks = read_split(path, 0, None if is_compressed(path) else size)
    lines = first_lines(chunks)
    chunks.close()
    return InputFile(path, size, sniff(lines, path, options)) if lines else None


def check_alike(files):
    """Demand that all files are of one kind and, as csv, of one width."""
    first = files[0]
    for file in files[1:]:
        if file.format.kind != first.format.kind:
            raise DataFormatError(f'{file.path}: {first.format.kind} rows were expected as in {first.path}, '
                                  f'{file.format.kind} rows came')
        if file.format.kind == 'csv' and file.format.n_columns != first.format.n_columns:
            raise DataFormatError(f'{file.path}: {first.format.n_columns} fields a row were expected as in '
                                  f'{first.path}, {file.format.n_columns} came')


def find_pack(files):
    """Return the folder of a packed data set. Raises DataFormatError when its manifest is missing."""
    if files[0].format.kind != 'packed':
        return None
    folders = sorted({os.path.dirname(file.path) for file in files})
    if len(folders) > 1:
        raise DataFormatError(f'{folders[1]}: one pack was expected, {folders[0]} is another')
    if not os.path.exists(os.path.join(folders[0], MANIFEST)):
        raise DataFormatError(f'{folders[0]}: a pack with its {MANIFEST} was expected, there is none: '
                              'packing did not finish')
    return folders[0]


def plan_splits(plan, n_maps):
    """Cut the files into the input of at most n_maps tasks of about equal size, in input order.

    Returns a list of tasks, each a list of [file number, start, length]. Compressed files are not cut.
    """
    share = max(1, -(-plan.size // max(n_maps, 1)))
    tasks, room = [[]], share
    for number, file in enumerate(plan.files):
        start = 0
        while start < file.size:
            length = file.size - start if is_compressed(file.path) else min(room, file.size - start)
            tasks[-1].append([number, start, length])
            start, room = start + length, room - length
            if room <= 0:
                tasks.append([])
                room = share
    return [task for task in tasks if task]
