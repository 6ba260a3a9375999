"""Measure what is claimed of speed, and write one table: the target, what was measured, whether it is held.

    python -m benchmarks.bench OUT.json [--size quick|normal|full] [--resume] [TOPIC | TOPIC/PART]...

Without names all is measured but what needs a Hadoop. OUT.json and OUT.md get the rows after each part; rows of parts
that are not measured now stay. With --resume, parts that are there are not measured again. The exit status is 1 when a
target was missed, but for --size quick, whose sizes are not those that the targets are about. Other sizes are measured
only on a clean commit, and while other programs use at most half of the cores.
"""
import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from benchmarks.bench import auto, dual, hadoop, kelm, passes, pesvm, probabilities, rows, spark, sphere, threads
from benchmarks.bench.context import NORMAL, QUICK, SIZES, Bench
from benchmarks.machine import demand_clean, describe, describe_in_a_line, wait_until_quiet
from benchmarks.verdict import MISSED, RULES, Claim, count_verdicts, read_claim, tabulate
from mr_elm.arithmetic import one_thread

TOPICS = {'pesvm': pesvm, 'passes': passes, 'dual': dual, 'sphere': sphere, 'kelm': kelm, 'auto': auto,
          'probabilities': probabilities, 'rows': rows, 'threads': threads, 'spark': spark, 'hadoop': hadoop}
ON_A_CLUSTER = ('hadoop',)
PARTS = {f'{topic}/{name}': part for topic, module in TOPICS.items() for name, part in module.PARTS.items()}


def choose_parts(names: list[str]) -> list[str]:
    """Return the parts of some topics or parts; without names, all that need no cluster. Raises ValueError."""
    if strangers := [name for name in names if name not in TOPICS and name not in PARTS]:
        raise ValueError(f'expected one of {", ".join([*TOPICS, *PARTS])}, found {strangers[0]!r}')
    names = names or [topic for topic in TOPICS if topic not in ON_A_CLUSTER]
    return [part for part in PARTS if part in names or part.partition('/')[0] in names]


class Report:
    """Keep what was measured of each part, and where, in OUT.json and OUT.md. size : of the rows, one of SIZES."""

    def __init__(self, path: str | Path, size: str = NORMAL) -> None:
        self.path, self.size = Path(path), size
        self.found = json.loads(self.path.read_text()) if self.path.exists() else {}

    def add(self, part: str, rows: list[Claim], seconds: float) -> None:
        """Keep the rows of a part in place of those that were there; one without rows, for want of data, is absent."""
        kept = {'size': self.size, 'seconds': round(seconds, 1), 'machine': describe(), 'rows': list(map(asdict, rows))}
        found = {**self.found, part: kept}
        self.found = {name: found[name] for name in PARTS if name in found and found[name]['rows']}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.found, indent=1) + '\n')
        self.path.with_suffix('.md').write_text(self.markdown())

    def claims(self, parts: Iterable[str]) -> list[Claim]:
        """Return the claims of some parts."""
        return [read_claim(row) for part in parts if part in self.found for row in self.found[part]['rows']]

    def markdown(self) -> str:
        """Lay out all claims, with how many targets are held and what is not measured."""
        claims = self.claims(self.found)
        seconds = sum(part['seconds'] for part in self.found.values())
        lines = [f'{len(claims)} targets: {count_verdicts(claims)}. Measured in {seconds / 60:.0f} min on '
                 f'{describe_in_a_line()}.', '', tabulate(claims), '', RULES]
        if self.size == QUICK:
            lines[1:1] = ['', 'Few rows, for a look: the targets are about more of them.']
        if absent := [part for part in PARTS if part not in self.found]:
            lines += ['', f'Not measured: {", ".join(absent)}.']
        return '\n'.join(lines) + '\n'


def main(words: list[str] | None = None) -> int:
    """Measure, print the table, write JSON and Markdown; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out', metavar='OUT.json')
    parser.add_argument('names', metavar='NAME', nargs='*')
    parser.add_argument('--size', choices=SIZES, default=NORMAL)
    parser.add_argument('--resume', action='store_true')
    given = parser.parse_intermixed_args(words)
    report, parts = Report(given.out, given.size), choose_parts(given.names)
    if given.size != QUICK:
        demand_clean()
    with Bench(given.size) as bench, one_thread(), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for part in parts:
            if given.resume and part in report.found:
                continue
            if given.size != QUICK:
                wait_until_quiet()
            print(f'{part} ...', file=sys.stderr, flush=True)
            start = time.monotonic()
            report.add(part, PARTS[part](bench), time.monotonic() - start)
    print(report.markdown())
    missed = any(claim.verdict == MISSED for claim in report.claims(parts))
    return int(missed and given.size != QUICK)


if __name__ == '__main__':
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(f'benchmarks.bench: {error}')
