"""Judge measured values by one rule: for benchmarks, tables of peers and scaling experiments."""
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import inf, isnan

STEADY = 0.10  # the largest share by which repeated runs may differ
VERDICTS = MET, MISSED, UNKNOWN = ('met', 'missed', 'not measurable')
COUNTED = ()  # the runs of what is counted, not timed: it is the same in every run


@dataclass(frozen=True)
class Aim:
    """Describe which values are good enough. limit : the last of these. at_most : whether smaller values are too."""

    limit: float
    at_most: bool

    def __str__(self) -> str:
        return f'{"at most" if self.at_most else "at least"} {self.limit:g}'

    def holds(self, value: float) -> bool:
        """Return whether a value is good enough."""
        return value <= self.limit if self.at_most else value >= self.limit


def at_most(limit: float) -> Aim:
    """Return the Aim of values up to a limit."""
    return Aim(limit, True)


def at_least(limit: float) -> Aim:
    """Return the Aim of values from a limit on."""
    return Aim(limit, False)


def measure_movement(runs: Iterable) -> float:
    """Return the share by which the largest run of a side exceeds its smallest, of the side where that is most.

    runs : list of positive numbers for each side, such as our seconds and those of a peer. 0 for COUNTED; infinity
    where a side has one run only, which cannot show that it is steady.
    """
    return max((max(side) / min(side) - 1 if len(side) > 1 and min(side) > 0 else inf for side in runs), default=0.0)


def judge(value: float | None, aim: Aim, runs: Iterable) -> str:
    """Return met, missed or not measurable.

    value : what was measured; None where it could not be reached, which is a miss; NaN where there is nothing to
    compare. aim : Aim. runs : those of each side, see `measure_movement`; beyond STEADY they decide nothing.
    """
    if value is None:
        return MISSED
    if isnan(value) or measure_movement(runs) > STEADY:
        return UNKNOWN
    return MET if aim.holds(value) else MISSED


@dataclass(frozen=True)
class Claim:
    """Report one claim: a value, what it must be, the runs behind it, and whether it held.

    value : a ratio, a share or a difference; None and NaN as in `judge`. aim : Aim. runs : list of numbers for each
    side, or COUNTED. note : what a reader wants to know beside it, such as seconds.
    """

    name: str
    value: float | None
    aim: Aim
    runs: tuple | list
    note: str = ''

    @property
    def verdict(self) -> str:
        """Return met, missed or not measurable."""
        return judge(self.value, self.aim, self.runs)

    @property
    def steadiness(self) -> str:
        """Return in words by how much the runs moved; nothing for COUNTED."""
        if self.runs == COUNTED:
            return ''
        moved = measure_movement(self.runs)
        return 'steadiness unknown' if moved == inf else f'runs moved by {moved:.0%}'


def describe_claim(row: Claim) -> dict:
    """Return a Claim as a dictionary, its aim, steadiness and verdict in words."""
    return {**asdict(row), 'claim': str(row.aim), 'steadiness': row.steadiness, 'verdict': row.verdict}


def tabulate(rows: Iterable[dict]) -> str:
    """Lay rows out as Markdown: dictionaries of `describe_claim`."""
    lines = ['| what | measured | target | verdict | seconds and more |', '|---|---:|---|---|---|']
    return '\n'.join(lines + [f'| {row["name"]} | {show_value(row["value"])} | {row["claim"]} | '
                              f'{show_verdict(row["verdict"])} | {describe(row)} |' for row in rows])


def show_value(value: float | None) -> str:
    """Write a value, in words where there is none."""
    if value is None:
        return 'not reached'
    return '' if isnan(value) else f'{value:.2f}'


def show_verdict(verdict: str) -> str:
    """Write a verdict, in bold when a target is missed."""
    return f'**{verdict}**' if verdict == MISSED else verdict


def describe(row: dict) -> str:
    """Join what there is to say beside a value."""
    return '; '.join(text for text in (row['note'], row.get('steadiness')) if text)
