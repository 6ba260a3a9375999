"""Measure how training scales, and predict how larger clusters do: python -m benchmarks.scaling COMMAND [options]."""
import sys
from collections.abc import Sequence

from benchmarks.scaling import PROGRAM
from benchmarks.scaling.estimate import cost
from benchmarks.scaling.experiments import scaleup, sizeup, speedup
from benchmarks.scaling.predict import simulate
from mr_elm.cli import run_command

COMMANDS = {command.__name__: command for command in (speedup, sizeup, scaleup, simulate, cost)}


def main(argv: Sequence[str]) -> int:
    """Run a command; returns the exit status: 0 done, 1 failed, 2 wrong usage."""
    if not argv or argv[0] not in COMMANDS:
        print(f'{PROGRAM}: expected one of {", ".join(COMMANDS)}', file=sys.stderr)
        return 2
    return run_command(argv, lambda words: COMMANDS[words[0]](words[1:]), PROGRAM)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
