"""The text of small files of rows, good ones, and options that make a small model of them in few processes."""

import shutil

GOOD = ''.join(f'{i % 2},{i / 7:.4f},{(i * i) % 11}\n' for i in range(60))
SPARSE = '1 1:3 4:1\n-1 1:3\n' * 20
FEW = ['--hidden', '5']
LOCAL = ('-r', 'local', '--num-cores', '1')  # each task is a process, two for the reducers; more cores make more


def copy_model(model):
    """Copy a model and its sums: the path of another file of the same model."""
    other = model.with_name('copy.npz')
    for kind in '.npz', '.sums.npz':
        if model.with_suffix(kind).exists():
            shutil.copyfile(model.with_suffix(kind), other.with_suffix(kind))
    return other
