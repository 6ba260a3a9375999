"""Train models on rows of the generators, and keep digests of their arrays: nobody changes the bits unseen.

`make digests` runs this program, which stores the digests of this machine.
"""

import contextlib
import hashlib
import json
import platform
import sys
import tempfile
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
import scipy

from data.generators import generate
from mr_elm import linalg
from mr_elm.arithmetic import describe_blas
from reference.commands import elm, succeed

FILE = Path(__file__).parents[1] / 'jobs' / 'digests.json'


def read_file():
    """Read the stored file: {trainings: name -> list of commands, digests: list of {holds_for, of: name -> digest}}."""
    return json.loads(FILE.read_text())


def describe_machine():
    """Return what the bits of a model depend on: core type of BLAS, processor that loops are compiled for, versions."""
    linalg.load()
    return {
        'blas': describe_blas(),
        'processor': f'{platform.machine()} {llvmlite.binding.get_host_cpu_name()}',
        'numpy': np.__version__,
        'scipy': scipy.__version__,
        'numba': numba.__version__,
    }


def find_digests(stored, machine):
    """Return (name -> digest, '') for a machine, or (None, a sentence that says why there are none)."""
    for entry in stored:
        if entry['holds_for'] == machine:
            return entry['of'], ''
    known = '; '.join(', '.join(entry['holds_for'].values()) for entry in stored)
    return None, (
        f'digests are stored for other machines only ({known}), this one is '
        f'{", ".join(machine.values())}: `make digests` adds it'
    )


def write_rows(folder):
    """Write the rows of all trainings to a folder, as text and, under the name of the file, packed."""

    def draw(kind, n_features, n_rows=200, seed=1):
        ((X, y),) = generate(kind, n_rows, n_features, seed)
        return X, y

    def write(name, columns, *words):
        rows = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
        (folder / f'{name}.csv').write_text(''.join(','.join(map(str, row)) + '\n' for row in rows))
        pack(name, f'{name}.csv', *words)

    def pack(name, file, *words):
        succeed(elm('pack', folder / file, '-o', folder / name, '--block-rows', 64, '-q', *words))

    (X, y), (Z, z), (F, t) = draw('twonorm', 5), draw('blobs', 4), draw('regression', 5)
    more, labels = draw('twonorm', 5, n_rows=60, seed=2)
    write('two', [y, *X.T])
    write('more', [labels, *more.T])
    write('three', [z, *Z.T])
    write('curve', [t, *F.T], '--task', 'regression')
    write('curves', [t, np.round(10 * F.sum(axis=1), 3), *F.T], '--task', 'regression', '--targets', '0,1')
    write('weighted', [z, np.arange(len(z)) % 3 + 1, *Z.T], '--weight-column', 1)
    words = np.array(['red', 'green', 'blue', ''])[(4 * F[:, 1]).astype(int)]
    write('table', [np.where(t > 14, 'high', 'low'), words, *F[:, 2:].T], '--encode', 'auto', '--header', 'no')
    succeed(elm('generate', 'ringnorm', '--rows', 200, '--features', 6, '-o', folder / 'sparse.libsvm', '-q'))
    pack('sparse', 'sparse.libsvm')


def train(commands, folder, out, *words):
    """Run the commands of a training; MODEL stands for the model so far. words : further options of each command."""
    for command in commands:
        places = {'MODEL': out, **{path.name: path for path in folder.iterdir() if path.is_dir()}}
        succeed(elm(*(places.get(word, word) for word in command), '--model', out, '--overwrite', '-q', *words))
    return digest_model(out)


def digest_model(path):
    """Return the digest of the arrays of a model and of its sums, in the order of their names."""
    digest, arrays = hashlib.sha256(), {}
    for file in path, path.with_suffix('.sums.npz'):
        if file.exists():
            with np.load(file, allow_pickle=False) as archive:
                arrays |= {name: archive[name] for name in archive.files if name != 'header'}
    for name, array in sorted(arrays.items()):
        digest.update(f'{name} {array.dtype.str} {array.shape}\n'.encode() + array.tobytes())
    return digest.hexdigest()[:32]


def main():
    """Store the digests of this machine."""
    file, machine = read_file(), describe_machine()
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(sys.stderr):
        folder = Path(name)
        write_rows(folder)
        found = {
            training: train(commands, folder, folder / 'm.npz') for training, commands in file['trainings'].items()
        }
    before, _ = find_digests(file['digests'], machine)
    changed = [training for training, digest in found.items() if (before or {}).get(training) != digest]
    others = [entry for entry in file['digests'] if entry['holds_for'] != machine]
    file['digests'] = [*others, {'holds_for': machine, 'of': found}]
    write_file(file)
    print(f'{len(changed)} of {len(found)} digests are new: {", ".join(changed) or "none"}')


def write_file(file):
    """Write the stored file, a line for a command or a digest."""
    trainings = ',\n'.join(
        f'    {json.dumps(name)}: {json.dumps(commands)}' for name, commands in file['trainings'].items()
    )
    entries = ',\n'.join(json.dumps(entry, indent=2) for entry in file['digests'])
    FILE.write_text(f'{{\n  "trainings": {{\n{trainings}\n  }},\n  "digests": [\n{entries}\n  ]\n}}\n')


if __name__ == '__main__':
    main()
