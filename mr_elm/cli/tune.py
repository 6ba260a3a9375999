"""mr-elm tune METHOD INPUT... [--model OUT.npz]"""
from .methods import run_method

# method -> (module that knows its options, function)
METHODS = {'pesvm': ('tune_pesvm', 'tune_pesvm'), 'sparse-elm': ('tune_dual', 'tune_sparse_elm'),
           'oelm': ('tune_dual', 'tune_oelm'), 'sphere-svm': ('tune_dual', 'tune_sphere_svm'),
           'mr-kelm': ('tune_kelm', 'tune_mr_kelm')}


def tune(argv):
    """Tune the method that the first word names."""
    return run_method(argv, 'tune', METHODS)
