"""mr-elm train METHOD INPUT... --model OUT.npz"""
from functools import partial

from mr_elm.cli.methods import run_method

# method -> (module that knows its options, function, what it is)
METHODS = {
    'pesvm': ('pesvm', 'train_pesvm', 'extreme SVM: ridge regression on random nodes, any number of rows'),
    'elm': ('pesvm', 'train_elm', 'unified ELM: the same without a bias'),
    'sparse-elm': ('dual', 'train_sparse_elm', 'sparse ELM: hinge loss on a kernel, by blocks of variables'),
    'oelm': ('dual', 'train_oelm', 'optimisation ELM: the same machine, by active sets'),
    'sphere-svm': ('sphere', 'train_sphere_svm', 'SphereSVM: squared hinge loss on a kernel, with a bias'),
    'mr-kelm': ('kelm', 'train_mr_kelm', 'kernel ELM: ridge regression on a kernel'),
}


def train(argv):
    """Train the method that the first word names, or print how to do that by hand."""
    return run_method(argv, 'train', METHODS, partial(perform, argv))


def perform(words, driver, options, args, passed, **known):
    """Do what the words of a training ask for; what it takes is imported by then."""
    if args.script:
        from mr_elm.cli.script import print_script
        print_script(words, options, args, passed, **known)
    else:
        from mr_elm.cli.training import run
        run(driver, options, args, passed, **known)
