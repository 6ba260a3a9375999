"""mr-elm tune METHOD INPUT... [--model OUT.npz]"""
from mr_elm.cli.methods import run_method

# method -> (module that knows its options, function, what it scores)
METHODS = {
    'pesvm': ('tune_pesvm', 'tune_pesvm', 'map, weight scale, nu and L, from one pass over the rows'),
    'sparse-elm': ('tune_dual', 'tune_sparse_elm', 'kernel and C, by cross-validation with warm starts'),
    'oelm': ('tune_dual', 'tune_oelm', 'the same'),
    'sphere-svm': ('tune_dual', 'tune_sphere_svm', 'the same'),
    'mr-kelm': ('tune_kelm', 'tune_mr_kelm', 'kernel and C, by leave-one-out in closed form'),
}


def tune(argv):
    """Tune the method that the first word names."""
    return run_method(argv, 'tune', METHODS)
