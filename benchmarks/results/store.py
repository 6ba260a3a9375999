"""Read what was measured: the data that the pages are written from."""
import csv
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.bench.__main__ import PARTS
from benchmarks.bench.context import QUICK
from benchmarks.scaling.aims import judge_curves
from benchmarks.scaling.ratios import make_curves
from benchmarks.scaling.report import MEANING
from benchmarks.scaling.runs import Run, group_by, read_runs
from benchmarks.scaling.simulate import Check, check_model, group_runs
from benchmarks.tables.results import Table, index_rows
from benchmarks.verdict import Claim, read_claim

BENCH = 'bench.json'
TABLES = {'tables': 'All machines and their peers', 'table-sparse-elm': 'Sparse ELM, unified ELM and SVC',
          'table-sparse-elm-paper': 'Sparse ELM, unified ELM and SVC with the grid and the training sizes of the paper',
          'table-sphere-svm': 'SphereSVM, L1- and L2-SVM', 'table-boosting': '--auto and boosted trees',
          'table-boosting-folds': '--auto and boosted trees on published folds'}
FIGURES = 'figures-sparse-elm'
COPIED = (*(f'{name}.json' for name in TABLES), f'{FIGURES}.csv',
          *(f'{experiment}{end}' for experiment in MEANING for end in ('.csv', '.sessions.json')))
SVC = 'SVC'
OURS = ('sparse ELM', 'SphereSVM', 'kernel ELM', 'PESVM')
PEERS_OF_PESVM = ('hpelm', 'RBFSampler + ridge', 'Nystroem + ridge', 'LinearSVC', 'MLP')


@dataclass(frozen=True)
class Measured:
    """Hold all that was measured.

    bench : part -> size, seconds, machine and rows. tables : name of TABLES -> Table. runs : experiment -> runs.
    sessions : experiment -> session -> machine. points : the trainings of the figures of sparse ELM.
    """

    bench: dict[str, dict]
    tables: dict[str, Table]
    runs: dict[str, list[Run]]
    sessions: dict[str, dict]
    points: list[dict]

    @classmethod
    def read(cls, folder: Path) -> 'Measured':
        """Read the data of a folder."""
        points = folder / f'{FIGURES}.csv'
        known = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob('*.json'))}
        return cls({part: known[BENCH][part] for part in PARTS if part in known[BENCH]},
                   {name: Table.from_json(known[f'{name}.json']) for name in TABLES if f'{name}.json' in known},
                   {name: read_runs(folder / f'{name}.csv') for name in MEANING if (folder / f'{name}.csv').exists()},
                   {name: known.get(f'{name}.sessions.json', {}) for name in MEANING},
                   list(csv.DictReader(points.open(newline=''))) if points.exists() else [])

    def claims(self, part: str) -> list[Claim]:
        """Return the claims of a part of the benchmark."""
        return [read_claim(row) for row in self.bench[part]['rows']]

    def machines(self) -> list[dict[str, str]]:
        """Return the machines of all parts."""
        sessions = [*self.sessions.values(), *(table.sessions for table in self.tables.values())]
        return [*(part['machine'] for part in self.bench.values()),
                *(machine for known in sessions for machine in known.values())]

    def groups(self) -> dict[str, list[Claim]]:
        """Return comparison -> its claims, one a data set, as the figure of speed shows them, without quick parts."""
        parts = [name for name, part in self.bench.items() if part['size'] != QUICK]
        claims = [claim for part in parts for claim in self.claims(part) if claim.group and claim.value]
        return group_by(claims, lambda claim: claim.group)

    def judge_scaling(self) -> list[Claim]:
        """Return the claims of speedup, sizeup and scaleup, and of the simulation."""
        curves = [claim for name, runs in self.runs.items() for claim in judge_curves(name, make_curves(name, runs))]
        return curves + [one.claim for one in self.simulations]

    @cached_property
    def simulations(self) -> list[Check]:
        """Return what the simulation says of the runs of each method and runner."""
        return [check_model(group) for group in group_runs(run for runs in self.runs.values() for run in runs)]

    def differences(self) -> dict[str, list[float]]:
        """Return comparison -> points of accuracy above the peer, one a data set, as the figure of accuracy shows."""
        if 'tables' not in self.tables:
            return {}
        names, _, cells = index_rows(self.tables['tables'].rows)
        pairs = [*((ours, SVC) for ours in OURS), *(('PESVM', peer) for peer in PEERS_OF_PESVM)]
        found = {f'{ours} : {peer}': [100 * (cells[name, ours]['accuracy'] - cells[name, peer]['accuracy'])
                                      for name in names if {(name, ours), (name, peer)} <= set(cells)]
                 for ours, peer in pairs}
        return {name: values for name, values in found.items() if values}
