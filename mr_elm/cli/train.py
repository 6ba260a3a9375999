"""mr-elm train METHOD INPUT... --model OUT.npz"""
import sys
from importlib import import_module

# method -> (module that knows its options, function)
METHODS = {'pesvm': ('pesvm', 'train_pesvm'), 'sparse-elm': ('dual', 'train_sparse_elm'),
           'oelm': ('dual', 'train_oelm')}


def train(argv):
    """Train the method that the first word names."""
    if not argv or argv[0] in ('-h', '--help') or argv[0] not in METHODS:
        came = f', {argv[0]!r} came' if argv and argv[0] not in ('-h', '--help') else ''
        stream = sys.stderr if came or not argv else sys.stdout
        print(f'mr-elm train METHOD INPUT... --model OUT.npz: METHOD is one of {", ".join(METHODS)}{came}', file=stream)
        return 0 if stream is sys.stdout else 2
    module, function = METHODS[argv[0]]
    return getattr(import_module(f'.{module}', __package__), function)(argv[1:])
