"""Measure how training scales, or estimate what it costs: python -m benchmarks.scaling COMMAND [options]."""

import sys
from collections.abc import Sequence

from benchmarks.scaling import cost, experiments

PROGRAM = 'python -m benchmarks.scaling'


def main(argv: Sequence[str]) -> int:
    """Run a command; returns the exit status: 0 done, 1 failed. Options that are wrong exit with 2."""
    command, *words = argv or ['']
    try:
        if command == 'cost':
            cost.main(words, f'{PROGRAM} {command}')
        elif command in experiments.MEANING:
            experiments.main(command, words, f'{PROGRAM} {command}')
        else:
            print(f'{PROGRAM}: expected one of {", ".join([*experiments.MEANING, "cost"])}', file=sys.stderr)
            return 2
    except (ValueError, OSError, RuntimeError) as error:
        print(f'{PROGRAM}: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
