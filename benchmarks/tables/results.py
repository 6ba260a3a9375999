"""Keep measured trials in a CSV file, and lay their means out as JSON and Markdown."""
import csv
import io
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.machine import Sessions, list_machines
from benchmarks.scaling.report import write_machines
from benchmarks.tables.claims import AsGood
from benchmarks.tables.printed import write_deviation, write_sections
from benchmarks.verdict import RULES, Claim, tabulate

COLUMNS = ('set', 'method', 'trial', 'rows', 'n_features', 'n_classes', 'train_accuracy', 'accuracy', 'train_seconds',
           'test_seconds', 'model_bytes', 'n_support', 'parameters', 'session')
MEANS = ('train_accuracy', 'train_seconds', 'test_seconds', 'model_bytes', 'n_support')


class KeptRows:
    """Keep rows in a CSV file, each at once; a line that a killed run left unfinished is dropped.

    Exits with a sentence where a file has other columns, as one of an older version has.
    """

    def __init__(self, path: Path, columns: tuple[str, ...]) -> None:
        self.path, self.columns = path, columns
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text() if path.exists() else ''
        whole = text[:text.rfind('\n') + 1] or ','.join(columns) + '\n'
        if whole.partition('\n')[0] != ','.join(columns):
            sys.exit(f'{path}: expected the columns {", ".join(columns)}, found others: remove the file')
        if whole != text:
            path.write_text(whole)
        self.rows = list(csv.DictReader(io.StringIO(whole)))

    def add(self, row: dict) -> None:
        """Keep a row, on disk too."""
        line = io.StringIO()
        csv.DictWriter(line, self.columns, lineterminator='\n').writerow(round_numbers(row))
        with open(self.path, 'a') as stream:
            stream.write(line.getvalue())
        self.rows += csv.DictReader(line.getvalue().splitlines(), self.columns)


class Results(KeptRows):
    """Keep one row a trial."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, COLUMNS)
        self.sessions, self.session = Sessions(path), ''

    def add(self, row: dict) -> None:
        """Keep a trial with the session that measures it."""
        self.session = self.session or self.sessions.begin()
        super().add({**row, 'session': self.session})

    def of(self, name: str, method: str) -> list[dict]:
        """Return the rows of a method on a set."""
        return [row for row in self.rows if (row['set'], row['method']) == (name, method)]

    def trials(self, name: str, method: str) -> set[int]:
        """Return the numbers of the trials that are there."""
        return {int(row['trial']) for row in self.of(name, method)}

    def parameters(self, name: str, method: str) -> dict | None:
        """Return the parameters that a stopped run chose, or None."""
        return next((json.loads(row['parameters']) for row in self.of(name, method)), None)


def round_numbers(row: dict) -> dict:
    """Write the real numbers of a row with 6 digits."""
    return {name: f'{value:.6g}' if isinstance(value, float) else value for name, value in row.items()}


def summarise(rows: list[dict]) -> dict:
    """Return the means of a method's trials on a set, and the deviation of the accuracy."""
    first = rows[0]
    accuracies, training = ([float(row[name]) for row in rows] for name in ('accuracy', 'train_accuracy'))
    chosen = {row['parameters'] for row in rows}
    words = ', '.join(f'{value}' if isinstance(value, str) else f'{key.rpartition("__")[2]} {value:.4g}'
                      for key, value in json.loads(first['parameters']).items())
    known = {name: [float(row[name]) for row in rows if row[name] != ''] for name in MEANS}
    return {**{name: first[name] for name in ('set', 'method', 'rows', 'n_features', 'n_classes')},
            'trials': len(rows), 'accuracy': float(np.mean(accuracies)), 'deviation': float(np.std(accuracies)),
            'train_deviation': float(np.std(training)),
            **{name: float(f'{np.mean(values):.6g}') if values else None for name, values in known.items()},
            'parameters': words if len(chosen) == 1 else 'chosen in each trial'}


def summarise_all(results: Results, names: list[str], methods: Iterable[str]) -> list[dict]:
    """Return the summary rows of what was measured of some sets and methods, in this order."""
    found = [results.of(name, method) for name in names for method in methods]
    return [summarise(rows) for rows in found if rows]


@dataclass(frozen=True)
class Table:
    """Hold a comparison as it was measured.

    rows : of `summarise_all`. notes : the protocol. left_out : what was not compared, and why. claims : what is claimed
    of mean accuracies. sessions : name -> machine. sections : (title, methods) of tables laid out as in a paper.
    """

    rows: list[dict]
    notes: str
    left_out: list[str]
    claims: list[AsGood]
    sessions: dict[str, dict]
    sections: list = field(default_factory=list)

    @classmethod
    def from_json(cls, kept: dict) -> 'Table':
        """Return the Table that `dataclasses.asdict` has turned into a dictionary."""
        return cls(**{**kept, 'claims': [AsGood(**claim) for claim in kept['claims']]})

    def write(self, out: Path) -> str:
        """Write OUT.json and OUT.md; returns the Markdown."""
        out.with_suffix('.json').write_text(json.dumps(asdict(self), indent=1) + '\n')
        out.write_text('\n\n'.join([*self.describe(), write_details(self.rows), RULES]) + '\n')
        return out.read_text()

    def describe(self) -> list[str]:
        """Return the paragraphs of a page: the protocol, the machines, accuracies, verdicts, what is left out."""
        parts = [self.notes, '\n'.join(write_machines(list_machines(self.sessions.values()))).strip(),
                 write_overview(self.rows), tabulate(self.judge()) if self.claims else '',
                 *write_sections(self.rows, self.sections)]
        if self.left_out:
            parts.append('Left out:\n\n' + '\n'.join(f'* {reason}' for reason in self.left_out))
        return [part for part in parts if part]

    def judge(self) -> list[Claim]:
        """Return the Claims, over the sets that all methods did."""
        names, methods, cells = index_rows(self.rows)
        whole = list_whole_sets(names, methods, cells)
        accuracies = {method: [cells[name, method]['accuracy'] for name in whole] for method in methods}
        return [claim.row(accuracies) for claim in self.claims]


def write_overview(rows: list[dict]) -> str:
    """Lay out the accuracies, a column a method, the best of a set in bold; below, what all sets come to."""
    names, methods, cells = index_rows(rows)
    lines = [f'| accuracy % | training rows | trials | {" | ".join(methods)} |', '|---|' + '---:|' * (2 + len(methods))]
    for name in names:
        of_set = [row for row in rows if row['set'] == name]
        best = max(row['accuracy'] for row in of_set)
        trials = sorted({row['trials'] for row in of_set})
        first = [name, f'{int(of_set[0]["rows"]):,}', ' to '.join(map(str, {trials[0]: 0, trials[-1]: 0}))]
        lines.append('| ' + ' | '.join([*first, *(write_accuracy(cells.get((name, method)), best)
                                                  for method in methods)]) + ' |')
    if whole := list_whole_sets(names, methods, cells):
        lines += write_totals(cells, whole, methods)
    return '\n'.join(lines)


def index_rows(rows: list[dict]) -> tuple[list[str], list[str], dict]:
    """Return the names of sets and methods, and (set, method) -> row."""
    names, methods = (list(dict.fromkeys(row[column] for row in rows)) for column in ('set', 'method'))
    return names, methods, {(row['set'], row['method']): row for row in rows}


def list_whole_sets(names: list[str], methods: list[str], cells: dict) -> list[str]:
    """Return the sets that all methods did."""
    return [name for name in names if all((name, method) in cells for method in methods)]


def write_accuracy(row: dict | None, best: float) -> str:
    """Write an accuracy and its deviation, in bold where it is the best."""
    if row is None:
        return ''
    mean = f'{100 * row["accuracy"]:.2f}'
    return f'{f"**{mean}**" if row["accuracy"] == best else mean}{write_deviation(row)}'



def write_totals(cells: dict, names: list[str], methods: list[str]) -> list[str]:
    """Return lines of the mean accuracy and rank, and of sums, over the sets that all methods did."""
    ranks = [[1 + sum(cells[name, other]['accuracy'] > cells[name, method]['accuracy'] for other in methods)
              for method in methods] for name in names]
    means = [np.mean([cells[name, method]['accuracy'] for name in names]) for method in methods]
    lines = [(f'mean accuracy, {len(names)} sets', [f'{100 * mean:.2f}' for mean in means]),
             ('mean rank', [f'{rank:.2f}' for rank in np.mean(ranks, axis=0)])]
    for column, title in (('train_seconds', 'training seconds, sum'), ('test_seconds', 'testing seconds, sum'),
                          ('model_bytes', 'model MB, sum'), ('n_support', 'support vectors, sum')):
        sums = [[cells[name, method][column] for name in names] for method in methods]
        lines.append((title, ['' if None in values else write_sum(sum(values), column) for values in sums]))
    return [f'| {title} | | | {" | ".join(values)} |' for title, values in lines]


def write_sum(value: float, column: str) -> str:
    """Write a sum of a column."""
    return f'{value:,.0f}' if column == 'n_support' else f'{value / 1e6 if column == "model_bytes" else value:.3g}'


def write_details(rows: list[dict]) -> str:
    """Lay out all that was measured."""
    lines = ['| set | classes | features | training rows | method | trials | accuracy % | training s | testing s '
             '| model bytes | support vectors | parameters |', '|---|---:|---:|---:|---|' + '---:|' * 6 + '---|']
    for row in rows:
        numbers = (f'{100 * row["accuracy"]:.2f}{write_deviation(row)}', f'{row["train_seconds"]:.3g}',
                   f'{row["test_seconds"]:.3g}', f'{row["model_bytes"]:,.0f}',
                   '' if row['n_support'] is None else f'{row["n_support"]:,.0f}')
        what = (row['set'], row['n_classes'], row['n_features'], f'{int(row["rows"]):,}', row['method'], row['trials'])
        lines.append('| ' + ' | '.join(map(str, (*what, *numbers, row['parameters']))) + ' |')
    return '\n'.join(lines)
