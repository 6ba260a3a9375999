"""mr-elm tune METHOD INPUT... [--model OUT.npz]"""
from collections.abc import Sequence
from importlib import import_module

from mr_elm.cli.methods import run_method
from mr_elm.methods import METHODS, Method

LINES = {name: method.tuning.what for name, method in METHODS.items() if method.tuning}
# the search -> the module of this folder that runs it and reports what it found
FACES = {'NodeSearch': 'tune_nodes', 'DualSearch': 'tune_kernel', 'BoxSearch': 'tune_kernel',
         'KELMSearch': 'tune_kernel'}


def tune(argv: Sequence[str]) -> int | None:
    """Tune the method that the first word names."""
    return run_method(argv, 'tune', tune_method, LINES)


def tune_method(name: str, method: Method, argv: Sequence[str]) -> None:
    """Search for the best parameters of a method; what that takes is imported now."""
    if method.tuning:
        face = FACES[method.tuning.search.partition(':')[2]]
        import_module(f'.{face}', __package__).tune(name, method, method.tuning, argv)
