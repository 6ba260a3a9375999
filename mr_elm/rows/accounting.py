"""Check that every input line of every pass is accounted for, and name the line of a bad row."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.splits import count_lines_before
from mr_elm.rows.wire import split_key

BAD_ROW = re.compile(r'(?=\{"file": \d+, "start": \d+, "row": )')  # begins the text of a BadRowError
LINE_KINDS = ('lines', 'headers', 'comments', 'blank', 'used', 'held')

RECORDS = """\
Records about the input, in the output of every stage:
        <counts FILE START, JSON>
            account of a split: file, start, length in bytes; records, the lines
            read; lines, of which so many are headers, comments, blank, used,
            held (rows of the test) or rejected (reason -> number); blas, the
            libraries that computed; packing, for packed rows the accounts of
            the tasks that packed them; known, the columns with a value that
            the training had
        <rejected FILE START LINE, JSON>
            a row that cannot be used: reason, detail, and the line itself
        <error FILE START, JSON>
            message: why a split cannot be read; the stage then fails

FILE is the number of a file in the sorted list of input files, START the first
byte of a split. FIRST and ROW count the used rows of a split, LINE its lines.
All numbers begin at 0. Numbers in a key have 12 digits, labels are
percent-encoded; an array is its shape, a colon and float64 in base64, see
docs/wire.md."""


@dataclass(frozen=True)
class RejectedLine:
    """Name a row that was left out."""

    path: str
    line: int
    reason: str
    detail: str
    text: str


def describe_bad_row(text: str, plan: InputPlan) -> str | None:
    """Name the row at which a task ended, by the text of its BadRowError wherever it stands in a text; None if none."""
    found = BAD_ROW.search(text)
    if found is None:
        return None
    facts, _ = json.JSONDecoder().raw_decode(text, found.start())
    file = plan.files[facts['file']]
    line = count_lines_before(file, facts['start']) + facts['row'] + 1
    row = describe_row(plan, file.path, line, facts['reason'], facts['detail'])
    if facts['n_bad'] > 1:
        row += f' ({facts["n_bad"]:,} bad rows so far)'
    if facts['n_bad'] > max(1, facts['n_lines'] / 2):  # it is no fault of rows
        return row
    return f'{row}; --bad-rows skip leaves such rows out'


def describe_row(plan: InputPlan, path: str, line: int, reason: str, detail: str) -> str:
    """Say where a row is that cannot be used, and why. line : of the file, from 1."""
    return f'{path}, {find_kind(plan.form.kind).unit} {line}: {reason}: {detail}'


class Accounts:
    """Gather what the tasks of one pass said about the input.

    plan : InputPlan.
    map_input_records : the lines that Hadoop counted, or None.
    """

    def __init__(self, plan: InputPlan) -> None:
        self.plan = plan
        self.counts: dict[Any, dict] = {}
        self.map_input_records: int | None = None
        self.rows: dict[Any, dict] = {}
        self.errors: dict[Any, dict] = {}

    @classmethod
    def of_packing(cls, plan: InputPlan, packed: 'Accounts | None') -> 'Accounts':
        """Gather the accounts of packed text from the end lines that its tasks left; packed : those of the blocks."""
        accounts = cls(plan)
        for counts in packed.counts.values() if packed else ():
            for facts in counts['packing']:
                accounts.keep(facts.pop('kind'), tuple(facts.pop('place')), facts)
        return accounts

    def take(self, key: str, value: Any) -> bool:
        """Keep a record if it is about the input; returns whether it was."""
        kind, coordinates = split_key(key)
        if kind not in ('counts', 'rejected', 'error'):
            return False
        self.keep(kind, tuple(int(c) for c in coordinates), value)
        return True

    def keep(self, kind: str, key: tuple[int, ...], value: Any) -> None:
        """Keep a record about the input. Raises AccountingError at a second one of a place, unless it is an error."""
        table = {'counts': self.counts, 'rejected': self.rows, 'error': self.errors}[kind]
        if key in table and kind != 'error':
            raise AccountingError(f'expected one record for {kind} {key}, found two: a task was counted twice')
        table[key] = value

    def settle(self, bad_rows: str) -> None:
        """Demand that the pass read everything once.

        Raises DataFormatError for damage, and for bad rows unless skipped; AccountingError where the splits of a file
        do not follow one another from its first byte to its last, or numbers do not add up.
        """
        if self.errors:
            message = self.errors[min(self.errors)]['message']
            named = any(file.path in message for file in self.plan.files)
            raise DataFormatError(message if named else f'{self.plan.name}: {message}')
        if bad_rows == 'stop' and self.rows:
            first = next(self.rejected())
            raise DataFormatError(describe_row(self.plan, first.path, first.line, first.reason, first.detail))
        splits: dict[int, list[tuple[int, int, int]]] = {}
        for (number, start), counts in sorted(self.counts.items()):
            splits.setdefault(number, []).append((start, counts['length'], counts['lines']))
        for number, file in enumerate(self.plan.files):
            end = lines = 0
            for start, length, n_lines in [*splits.get(number, ()), (file.size, 0, 0)]:
                if end != start:
                    raise AccountingError(
                        f'{file.path}: every byte must be read once, but tasks read up to byte {end:,} and went on at '
                        f'byte {start:,}: a task was lost or counted twice, run it again'
                    )
                end += length
                lines += n_lines
            if file.n_rows not in (None, lines):
                raise AccountingError(
                    f'{file.path}: the file says that it has {file.n_rows:,} rows, tasks read {lines:,}: it is '
                    'damaged, or rows were lost'
                )
        for key, counts in sorted(self.counts.items()):
            explained = sum(counts[kind] for kind in LINE_KINDS[1:]) + sum(counts['rejected'].values())
            if counts['lines'] != explained:
                raise AccountingError(
                    f'{counts["file"]}, split at byte {key[1]}: {counts["lines"]} lines were read, '
                    f'{explained} are accounted for'
                )
        n_records = sum(counts['records'] for counts in self.counts.values())
        if self.map_input_records not in (None, n_records):
            raise AccountingError(
                f'{self.plan.name}: Hadoop gave its map tasks {self.map_input_records} lines, they '
                f'say that they read {n_records}'
            )

    def rejected(self) -> Iterator[RejectedLine]:
        """Yield the rows left out as RejectedLine, in input order."""
        before = self.lines_before()
        for (number, start, ordinal), row in sorted(self.rows.items()):
            line = before.get((number, start), 0) + ordinal + 1
            yield RejectedLine(self.plan.files[number].path, line, row['reason'], row['detail'], row['line'])

    def lines_before(self) -> dict[tuple[int, int], int]:
        """Count the lines of each file in front of each split."""
        before = {}
        total = Counter[int]()
        for (number, start), counts in sorted(self.counts.items()):
            before[number, start] = total[number]
            total[number] += counts['lines']
        return before

    @property
    def used(self) -> int:
        """Count the rows used."""
        return sum(counts['used'] for counts in self.counts.values())

    @property
    def held(self) -> int:
        """Count the rows that were passed over, since they are held out, or since the others are."""
        return sum(counts['held'] for counts in self.counts.values())

    @property
    def reasons(self) -> Counter:
        """Count the rows left out by reason."""
        return sum((Counter(counts['rejected']) for counts in self.counts.values()), Counter())

    def per_file(self) -> Counter[tuple[int, str]]:
        """Sum up the counts of each file: (number of the file, what is counted) -> how many."""
        totals = Counter[tuple[int, str]]()
        for (number, _), counts in self.counts.items():
            totals.update({(number, kind): counts[kind] for kind in LINE_KINDS})
            totals.update({(number, f'rejected as {reason}'): n for reason, n in counts['rejected'].items()})
        return totals

    def compare(self, other: 'Accounts') -> None:
        """Demand that two passes over the same files counted the same. Raises AccountingError naming what differs."""
        first = self.per_file()
        second = other.per_file()
        for number, kind in sorted(first | second):
            counts = first[number, kind], second[number, kind]
            if counts[0] != counts[1]:
                raise AccountingError(
                    f'{self.plan.files[number].path}: the first pass counted {counts[0]} {kind}, this one '
                    f'{counts[1]}: the file changed meanwhile, or rows were lost'
                )
