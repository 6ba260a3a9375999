"""A model to which batches are added, from which they are taken, and which merges: it is the model of what is left."""

import csv
import io
import itertools
import tempfile
from collections import Counter
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from reference.commands import elm, succeed
from reference.keys import mask_words, write_keys

from mr_elm.cli import main
from mr_elm.errors import AccountingError
from mr_elm.estimators import ESVMClassifier, ESVMRegressor, to_estimator
from mr_elm.model.file import read_model

RNG = np.random.default_rng(3)
N = 8  # rows of a batch
LABELS = ['ab', 'ab', 'aabbc', 'c', 'a', 'cd']
ROWS = [RNG.standard_normal((N, 3)) for _ in LABELS]
CLASSES = [RNG.choice(list(labels), N) for labels in LABELS]
TARGETS = [size * RNG.standard_normal(N) for size in (1, 1, 1e3, 0, 1e-3, 1e6)]
WEIGHTS = [RNG.uniform(0.2, 5, N) for _ in LABELS]
numbers = st.integers(0, len(ROWS) - 1)
ARRAYS = ('gram', 'gram_low', 'class_sums', 'class_sums_low', 'counts', 'output_weights')


class LivingModel(RuleBasedStateMachine):
    """Change an estimator by whole batches, and compare it with one that never saw what is gone.

    exact : whether order may not show in the bits, as where no batch changes the grid of the sums.
    """

    exact, weighted, targets = False, False, CLASSES

    @initialize(kind=st.sampled_from(['sigmoid', 'rbf', 'hardlimit', 'relu']))
    def begin(self, kind):
        """Fit the first batch."""
        self.kind = 'tanh' if self.exact and kind == 'relu' else kind
        self.held, self.largest = Counter({0: 1}), 0.0
        self.first = self.nodes()
        self.model = self.fitted([0])

    def batch(self, k):
        """Return the rows of a batch as arguments of fit."""
        self.largest = max(self.largest, np.abs(TARGETS[k]).max())
        weights = {'sample_weight': WEIGHTS[k]} if self.weighted else {}
        return {'X': ROWS[k], 'y': self.targets[k], **weights}

    def estimator(self):
        """Make an estimator that has seen nothing."""
        return ESVMClassifier(map=self.kind, n_hidden=5, scale='none', nu=2)

    def nodes(self):
        """Return an estimator whose nodes all others take: those of the first batch."""
        return self.estimator().partial_fit(**self.batch(0), classes=sorted(self.classes_of([0])))

    def fitted(self, ks):
        """Fit an estimator batch by batch, the first of which may be of one class."""
        model, classes = self.estimator(), sorted(self.classes_of(ks))
        for k in ks:
            model.partial_fit(**self.batch(k), classes=classes, like=self.first)
        return model

    def classes_of(self, ks):
        """Return the classes of some batches."""
        return {label for k in ks for label in self.targets[k]}

    def may_remain(self, ks):
        """Tell whether a model can be made of these batches alone."""
        return len(self.classes_of(ks)) > 1

    @rule(k=numbers)
    def add(self, k):
        """Add a batch, perhaps once more."""
        self.model.partial_fit(**self.batch(k))
        self.held[k] += 1

    @rule(k=numbers)
    def forget(self, k):
        """Take away a batch; one that is not there is refused, or was taken for others and can be given back."""
        left, before = self.held - Counter([k]), self.bits(self.model)
        try:
            self.model.forget(**self.batch(k))
        except AccountingError:
            assert not self.held[k] or not self.may_remain(left)
            assert self.bits(self.model) == before
            return
        if self.held[k]:
            assert self.may_remain(left)
            self.held = left
        else:
            self.model.partial_fit(**self.batch(k))

    @rule(ks=st.lists(numbers, min_size=1, max_size=3))
    def merge(self, ks):
        """Merge with an estimator that was fitted apart."""
        if self.may_remain(ks):
            self.model.merge(self.fitted(ks))
            self.held += Counter(ks)

    @rule()
    def save_and_load(self):
        """Turn the estimator into a model and back."""
        self.model = to_estimator(self.model.to_model())

    def bits(self, model):
        """Return what tells two models apart, to the bit."""
        arrays = {**model.to_model().arrays, **model.to_model().sums}
        return {name: arrays[name].tobytes() for name in ARRAYS}, model.n_rows_, model.to_model().classes

    @invariant()
    def it_is_the_model_of_the_rows_that_are_left(self):
        """Compare with all rows at once and, to the bit, with batches in another order."""
        parts = [self.batch(k) for k in self.held.elements()]
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        whole = self.estimator().fit(**rows, like=self.first)
        assert self.model.n_rows_ == whole.n_rows_ and self.model.to_model().classes == whole.to_model().classes
        X = np.concatenate(ROWS)
        found, wanted = (model.model_.decision_function(X) for model in (self.model, whole))
        assert np.allclose(found, wanted, rtol=1e-7, atol=self.tolerance())
        if self.exact:
            assert self.bits(self.model) == self.bits(self.fitted(sorted(self.held.elements())))

    def tolerance(self):
        """Return what rounding may have left in a decision value."""
        return 1e-8


class ExactClassifier(LivingModel):
    """Live on one grid: the same bits in any order."""

    exact = True


class WeightedClassifier(LivingModel):
    """Live with weights, whose bounds decide the grid."""

    weighted = True


class LivingRegressor(LivingModel):
    """Live with targets of very different size."""

    targets = TARGETS

    def estimator(self):
        return ESVMRegressor(map=self.kind, n_hidden=5, scale='none', nu=2)

    def nodes(self):
        return self.estimator().fit(**self.batch(0))

    def fitted(self, ks):
        model = self.estimator()
        for k in ks:
            model.partial_fit(**self.batch(k), like=self.first)
        return model

    def may_remain(self, ks):
        return bool(ks)

    def tolerance(self):
        return 1e-8 * max(1.0, self.largest)


@pytest.mark.parametrize('machine', [ExactClassifier, WeightedClassifier, LivingRegressor])
def test_an_estimator_that_lives_is_the_one_of_the_rows_that_are_left(machine):
    run_state_machine_as_test(machine, settings=settings(max_examples=20, stateful_step_count=12))


class LivingFile(RuleBasedStateMachine):
    """Change a model file by the command line, and compare it with one that never saw what is gone.

    folder : where packs of rows are, 0 to 4, and models may be written.
    """

    folder = None

    @initialize()
    def begin(self):
        """Train on the first pack."""
        models = tempfile.mkdtemp(dir=self.folder)
        self.paths = (Path(models, f'{number}.npz') for number in itertools.count())
        self.first = self.model = self.made('train', 'pesvm', self.folder / '0', '--hidden', 5)
        self.held = Counter({0: 1})

    def made(self, *arguments):
        """Run a command that must make a model: its path."""
        path, status, said = self.run(*arguments)
        assert status == 0
        assert all('gets new ones' in line for line in said.splitlines()), said  # classes that rows bring
        return path

    def run(self, *arguments):
        """Run a command that makes a model: its path, the status, what it prints as an error."""
        path = next(self.paths)
        with redirect_stderr(io.StringIO()) as said:
            status = main([*map(str, arguments), '--model', str(path), '-q'])
        return path, status, said.getvalue()

    @rule(k=st.integers(0, 4))
    def update(self, k):
        """Add a pack, perhaps once more."""
        self.model = self.made('update', self.model, self.folder / str(k))
        self.held[k] += 1

    @rule(k=st.integers(0, 4))
    def forget(self, k):
        """Take away a pack; one that is not there is refused, or was taken for others and can be given back."""
        path, status, said = self.run('forget', self.model, self.folder / str(k))
        left = self.held - Counter([k])
        if status:
            assert status == 1 and said.count('\n') == 1 and not path.exists() and (not self.held[k] or not left)
        elif self.held[k]:
            self.model, self.held = path, left
        else:
            assert contents(self.made('update', path, self.folder / str(k))) == contents(self.model)

    @rule(k=st.integers(0, 4))
    def merge(self, k):
        """Merge with a model of another pack, trained apart."""
        other = self.made('train', 'pesvm', self.folder / str(k), '--like', self.first)
        self.model = self.made('merge', self.model, other)
        self.held[k] += 1

    def teardown(self):
        """Compare with a model that was given the packs that are left, in their order."""
        head, *rest = sorted(self.held.elements())
        wanted = self.made('train', 'pesvm', self.folder / str(head), '--like', self.first)
        for k in rest:
            wanted = self.made('update', wanted, self.folder / str(k))
        assert contents(self.model) == contents(wanted)


def contents(path):
    """Return what tells two model files apart: arrays to the bit, classes, rows."""
    model = read_model(path, sums=True)
    arrays = {**model.arrays, **model.sums}
    return {name: array.tobytes() for name, array in arrays.items()}, model.classes, model.header.n_rows_used


def test_a_model_file_that_lives_is_the_one_of_the_rows_that_are_left(tmp_path):
    for k, labels in enumerate(['01', '01', '012', '02', '12']):
        rows = zip(itertools.cycle(labels), ROWS[k].tolist(), strict=False)
        (tmp_path / 'rows.csv').write_text(''.join(','.join(map(str, [label, *row])) + '\n' for label, row in rows))
        assert main(['pack', str(tmp_path / 'rows.csv'), '-o', str(tmp_path / str(k)), '--block-rows', '3', '-q']) == 0
    LivingFile.folder = tmp_path
    run_state_machine_as_test(LivingFile, settings=settings(max_examples=6, stateful_step_count=5))


SITES, MONTHS = ('north', 'a, "b"', 'ø'), (1, 2)
GROUPS = list(itertools.product(SITES, MONTHS))
OF_TABLE = '--label-column', 'y', '--drop', 'site,month'
OF_SITES = OF_TABLE, OF_TABLE, ()  # options of the rows of each site; the last ones are packed


def name_part(group):
    """Return the name of a part: its values as a row of csv."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator='').writerow(group)
    return stream.getvalue()


class LivingSums(LivingFile):
    """Interleave all that sums can do: train by parts, update, forget, merge, take parts out, add masked sums of sites.

    tables : number of a folder -> its rows, of all parts; the folders hold them as CSV, Parquet and packs. keys : of
    the sites, whose rows are those of the folders. layer : of all sites.
    """

    tables = {}

    @initialize(k=st.integers(0, 2))
    def begin(self, k):
        """Train on the rows of one folder, with the nodes of the layer."""
        models = tempfile.mkdtemp(dir=self.folder)
        self.paths = (Path(models, f'{number}.npz') for number in itertools.count())
        self.first = self.join_sites([0, 1, 2])
        self.model, self.parts = self.train(k), dict.fromkeys(GROUPS, k)
        self.held = Counter((k, group) for group in GROUPS)

    def train(self, k):
        """Train on a folder by parts."""
        words = '--label-column', 'y', '--part-by', 'site,month', '--like', self.first
        return self.made('train', 'pesvm', self.folder / str(k), *words)

    def join_sites(self, sites):
        """Return the model of the rows of some sites, by their masked sums."""
        keys, session, files = [self.keys[k] for k in sites], str(next(self.paths)), []
        for number, k in enumerate(sites):
            files.append(next(self.paths).with_suffix('.sums.npz'))
            words = *mask_words(number, keys, session), '-o', files[-1], '-q'
            succeed(elm('sums', self.folder / str(k), *OF_SITES[k], '--layer', self.layer, *words))
        return self.made('merge', *files)

    def all_of(self, k):
        """Count the groups of a folder, each once."""
        return Counter((k, group) for group in GROUPS)

    @rule(group=st.sampled_from(GROUPS), several=st.booleans())
    def take_out(self, group, several):
        """Take a part out, where the model has parts and others are left."""
        if group in self.parts and len(self.parts) > 1:
            self.model = self.made('parts', self.model, '--without', name_part(group))
            self.held -= Counter([(self.parts.pop(group), group)])

    @rule(k=st.integers(0, 2))
    def update(self, k):
        self.model, self.parts = self.made('update', self.model, self.folder / str(k)), {}
        self.held += self.all_of(k)

    @rule(k=st.integers(0, 2))
    def forget(self, k):
        left = self.held - self.all_of(k)
        if self.all_of(k) <= self.held and left:
            self.model, self.parts = self.made('forget', self.model, self.folder / str(k)), {}
            self.held = left

    @rule(sites=st.permutations(range(3)), n=st.integers(2, 3))
    def add_sites(self, sites, n):
        """Merge with the model of sites that mask their sums."""
        self.model, self.parts = self.made('merge', self.model, self.join_sites(sites[:n])), {}
        for k in sites[:n]:
            self.held += self.all_of(k)

    @rule(k=st.integers(0, 2), group=st.sampled_from(GROUPS))
    def merge(self, k, group):
        """Merge with the model of one part of another training."""
        part = self.made('parts', self.train(k), '--only', name_part(group))
        self.model, self.parts = self.made('merge', self.model, part), {}
        self.held[k, group] += 1

    def teardown(self):
        """Compare with a training on the rows that are left."""
        rows = [self.tables[k][group] for k, group in self.held.elements()]
        path = next(self.paths).with_suffix('.csv')
        pd.concat(rows).to_csv(path, index=False)
        wanted = read_model(self.made('train', 'pesvm', path, '--label-column', 'y', '--like', self.first))
        found, X = read_model(self.model), np.concatenate(ROWS)
        assert found.header.n_rows_used == wanted.header.n_rows_used
        np.testing.assert_allclose(found.decision_function(X), wanted.decision_function(X), rtol=0, atol=1e-8)


@pytest.fixture
def living_sums(tmp_path):
    """Write the rows of all folders, the keys of all sites, and their layer: the class of the state machine."""
    LivingSums.folder, statistics = tmp_path, []
    LivingSums.keys = [write_keys(tmp_path, k, X25519PrivateKey.generate()) for k in range(3)]
    LivingSums.layer = tmp_path / 'layer.npz'
    for k, kind in enumerate(['csv', 'parquet', 'packed']):
        X = RNG.standard_normal((60, 3))
        table = pd.DataFrame({f'x{j}': column for j, column in enumerate(X.T)})
        table['site'], table['month'] = np.array(SITES)[np.arange(60) % 3], np.arange(60) // 3 % 2 + 1
        table['y'] = np.arange(60) // 6 % 2
        table = table.sample(frac=1, random_state=k)
        LivingSums.tables[k] = {group: table[(table.site == group[0]) & (table.month == group[1])] for group in GROUPS}
        write_folder(tmp_path / str(k), table, kind)
        statistics.append(tmp_path / f'{k}.stats.json')
        succeed(elm('sums', tmp_path / str(k), *OF_SITES[k], '--statistics', '-o', statistics[-1], '-q'))
    succeed(elm('layer', 'pesvm', *statistics, '--hidden', 5, '--model', LivingSums.layer, '-q'))
    return LivingSums


def write_folder(folder, table, kind):
    """Write a table as rows of a kind, alone in a folder."""
    folder.mkdir()
    if kind == 'parquet':
        table.to_parquet(folder / 'rows.parquet', index=False)
        return
    path = folder.with_suffix('.csv') if kind == 'packed' else folder / 'rows.csv'
    table.to_csv(path, index=False)
    if kind == 'packed':
        words = '--label-column', 'y', '--part-by', 'site,month', '--block-rows', 7, '-q'
        succeed(elm('pack', path, '-o', folder, *words))


def test_a_model_to_which_all_is_done_that_sums_can_do_is_the_one_of_the_rows_that_are_left(living_sums):
    run_state_machine_as_test(living_sums, settings=settings(max_examples=8, stateful_step_count=6))


@pytest.mark.parametrize('seed', range(3))
def test_each_change_may_follow_each_other_one(living_sums, seed):
    """The state machine may leave a change out; here all are there, in an order that is drawn."""
    machine = living_sums()
    machine.begin(0)
    machine.take_out(GROUPS[1], True)
    changes = [
        lambda: machine.update(1),
        lambda: machine.add_sites([2, 0, 1], 2),
        lambda: machine.merge(1, GROUPS[3]),
        lambda: machine.forget(2),
        lambda: machine.forget(1),
    ]
    for number in np.random.default_rng(seed).permutation(len(changes)):
        changes[number]()
    machine.teardown()
