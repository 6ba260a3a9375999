"""Measure how training scales, or estimate what it costs: python -m benchmarks.scaling COMMAND [options]."""

import sys
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.scaling import cost, experiments

PROGRAM = 'python -m benchmarks.scaling'
COMMANDS: dict[str, Callable[[Sequence[str], str], None]] = {
    **{name: partial(experiments.main, name) for name in experiments.MEANING},
    'cost': cost.main,
}


def main(argv: Sequence[str]) -> int:
    """Run a command; returns the exit status: 0 done, 1 failed. Options that are wrong exit with 2."""
    command, *words = argv or ['']
    if command not in COMMANDS:
        print(f'{PROGRAM}: expected one of {", ".join(COMMANDS)}', file=sys.stderr)
        return 2
    try:
        COMMANDS[command](words, f'{PROGRAM} {command}')
    except (ValueError, OSError, RuntimeError) as error:
        print(f'{PROGRAM}: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
