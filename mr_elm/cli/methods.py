"""Find the method that a command line names, and import only that."""
import sys
from importlib import import_module


def run_method(argv, command, methods):
    """Run a command of a method; returns the exit status.

    argv : the method, then its arguments. methods : name -> (module of this folder, function of the arguments).
    """
    asked = argv[0] if argv else None
    if asked in methods:
        module, function = methods[asked]
        return getattr(import_module(f'.{module}', __package__), function)(argv[1:])
    helped = asked in ('-h', '--help')
    came = '' if helped or asked is None else f', {asked!r} came'
    print(f'usage: mr-elm {command} METHOD INPUT... [options]: METHOD is one of {", ".join(methods)}{came}',
          file=sys.stdout if helped else sys.stderr)
    return 0 if helped else 2
