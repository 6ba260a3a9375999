"""mr-elm train METHOD INPUT... --model OUT.npz"""
from .methods import run_method

# method -> (module that knows its options, function)
METHODS = {'pesvm': ('pesvm', 'train_pesvm'), 'elm': ('pesvm', 'train_elm'), 'sparse-elm': ('dual', 'train_sparse_elm'),
           'oelm': ('dual', 'train_oelm'), 'sphere-svm': ('sphere', 'train_sphere_svm'),
           'mr-kelm': ('kelm', 'train_mr_kelm')}


def train(argv):
    """Train the method that the first word names."""
    return run_method(argv, 'train', METHODS)
