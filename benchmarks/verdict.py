"""Judge measured values by one set of rules: for benchmarks, tables of peers and scaling experiments."""
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isnan

STEADY = 0.10  # the largest share by which repeated runs may differ
EVEN = 1 + STEADY  # who is faster than a peer by a smaller factor is neither faster nor slower
VERDICTS = MET, IS_EVEN, MISSED, UNSTEADY, UNKNOWN = ('met', 'even', 'missed', 'unsteady', 'not measured')
COUNTED = ()  # the runs of what is counted, not timed: it is the same in every run
RULES = '\n'.join((
    'The code computes every verdict by the same rules. The target "faster" means: faster than a peer, which is '
    'another program or solver for the same task. The value is then the time of the peer divided by the time of the '
    f'method. Above {EVEN:.2f} it reaches this target, and below {1 / EVEN:.2f} it does not reach it. Between these '
    'two numbers, both take about the same time.', '',
    f'* **{MISSED}**: the value does not reach its target. The verdict is also **{MISSED}** if a method did not reach '
    'the required result; the table then says "not reached" instead of a value.',
    f'* *{MET}*: the value reaches its target, and the runs are steady.',
    f'* *{IS_EVEN}*: the target is "faster", both sides take about the same time, and the runs are steady.',
    f'* *{UNSTEADY}*: the verdict would be *{MET}* or *{IS_EVEN}*, but the runs are not steady.',
    f'* *{UNKNOWN}*: there is no value, because one side of the comparison was not measured.', '',
    'Each side of a comparison runs several times. The runs are steady if each side ran at least twice, and if the '
    f'longest run of each side took at most {STEADY:.0%} longer than its shortest run. "Runs moved by 5%" means that '
    'the longest run of a side took 5% longer than its shortest run; if the sides differ, the table shows the larger '
    'number. Some values are counts, for example of bytes. They need no repeated runs and are always steady.'))


@dataclass(frozen=True)
class Aim:
    """Describe which values are good enough.

    limit : the last of these. at_most : whether smaller values are too. is_race : whether values within a factor of
    EVEN of the limit decide nothing.
    """

    limit: float
    at_most: bool
    is_race: bool = False

    def __str__(self) -> str:
        return 'faster' if self.is_race else f'{"at most" if self.at_most else "at least"} {self.limit:g}'

    def holds(self, value: float) -> bool:
        """Return whether a value is good enough."""
        return value <= self.limit if self.at_most else value >= self.limit

    def is_even(self, value: float) -> bool:
        """Return whether a value decides nothing in a race."""
        return self.is_race and self.limit / EVEN <= value <= self.limit * EVEN


def at_most(limit: float) -> Aim:
    """Return the Aim of values up to a limit."""
    return Aim(limit, True)


def at_least(limit: float) -> Aim:
    """Return the Aim of values from a limit on."""
    return Aim(limit, False)


FASTER = Aim(1.0, False, is_race=True)  # than a peer: the value says how many times


def measure_movement(runs: Iterable) -> float:
    """Return the share by which the largest run of a side exceeds its smallest, of the side where that is most.

    runs : list of positive numbers for each side, such as our seconds and those of a peer. 0 for COUNTED; infinity
    where a side has one run only, which cannot show that it is steady.
    """
    return max((max(side) / min(side) - 1 if len(side) > 1 and min(side) > 0 else inf for side in runs), default=0.0)


def is_steady(runs: Iterable) -> bool:
    """Return whether the runs of every side differ by at most STEADY; see `measure_movement`."""
    return measure_movement(runs) <= STEADY


def judge(value: float | None, aim: Aim, runs: Iterable) -> str:
    """Return one of VERDICTS, by RULES.

    value : what was measured; None where it could not be reached, NaN where there is nothing to compare. aim : Aim.
    runs : those of each side, see `measure_movement`.
    """
    if value is None:
        return MISSED
    if isnan(value):
        return UNKNOWN
    if not (aim.holds(value) or aim.is_even(value)):
        return MISSED
    if not is_steady(runs):
        return UNSTEADY
    return IS_EVEN if aim.is_even(value) else MET


@dataclass(frozen=True)
class Claim:
    """Report one claim: a value, what it must be, the runs behind it, and whether it held.

    value : a ratio, a share or a difference; None and NaN as in `judge`. aim : Aim. runs : list of numbers for each
    side, or COUNTED. note : what a reader wants to know beside it, such as seconds. group : the comparison in whose row
    of a figure the value is a dot, '' for none.
    """

    name: str
    value: float | None
    aim: Aim
    runs: tuple | list
    note: str = ''
    group: str = ''

    @property
    def verdict(self) -> str:
        """Return one of VERDICTS."""
        return judge(self.value, self.aim, self.runs)

    @property
    def steadiness(self) -> str:
        """Return in words by how much the runs moved; nothing for COUNTED."""
        return describe_movement(self.runs)


def describe_movement(runs: Iterable) -> str:
    """Return in words by how much runs moved; nothing for COUNTED."""
    moved = measure_movement(runs)
    return '' if runs == COUNTED else 'one run' if moved == inf else f'runs moved by {moved:.0%}'


def read_claim(kept: dict) -> Claim:
    """Return the Claim that `dataclasses.asdict` has turned into a dictionary, by way of JSON too."""
    return Claim(**{**kept, 'aim': Aim(**kept['aim']), 'runs': kept['runs'] or COUNTED})


def count_verdicts(claims: Iterable[Claim]) -> str:
    """Return in words how many claims have which verdict."""
    verdicts = [claim.verdict for claim in claims]
    return ', '.join(f'{verdicts.count(verdict)} {verdict}' for verdict in VERDICTS if verdict in verdicts)


def tabulate(claims: Iterable[Claim]) -> str:
    """Lay claims out as Markdown."""
    lines = ['| what | measured | target | verdict | details |', '|---|---:|---|---|---|']
    return '\n'.join(lines + [f'| {claim.name} | {show_value(claim.value)} | {claim.aim} | '
                              f'{show_verdict(claim.verdict)} | {describe(claim)} |' for claim in claims])


def show_value(value: float | None) -> str:
    """Write a value, in words where there is none."""
    if value is None:
        return 'not reached'
    return '' if isnan(value) else f'{value:.2f}'


def show_verdict(verdict: str) -> str:
    """Write a verdict, in bold when a target is missed."""
    return f'**{verdict}**' if verdict == MISSED else verdict


def describe(claim: Claim) -> str:
    """Join what there is to say beside a value."""
    return '; '.join(text for text in (claim.note, claim.steadiness) if text)
