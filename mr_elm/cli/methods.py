"""Find the method that a command line names, and import only that."""
import sys
from importlib import import_module


def run_method(argv, command, methods, *more):
    """Run a command of a method; returns the exit status.

    argv : the method, then its arguments.
    methods : name -> (module of this folder, function of the arguments and `more`, what it is).
    """
    asked = argv[0] if argv else None
    if asked in methods:
        module, function, _ = methods[asked]
        return getattr(import_module(f'.{module}', __package__), function)(argv[1:], *more)
    helped = asked in ('-h', '--help')
    if not helped:
        came = '' if asked is None else f', {asked!r} came'
        print(f'mr-elm {command}: one of {", ".join(methods)} was expected{came}', file=sys.stderr)
        return 2
    print('\n'.join([f'usage: mr-elm {command} METHOD INPUT... [options]', '',
                     *(f'  {name:10} {what}' for name, (_, _, what) in methods.items()), '',
                     f'`mr-elm {command} METHOD --help` tells more.']))
    return 0
