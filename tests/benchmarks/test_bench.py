"""The benchmark: one table of all targets, in which a missed one shows, and a status that tells."""
import json

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from benchmarks import machine
from benchmarks.bench import __main__ as bench
from benchmarks.bench import kelm
from benchmarks.bench.context import Bench
from benchmarks.bench.sets import Result, judge_mean, judge_set, judge_sets, judge_slowest, race
from benchmarks.bench.sphere import compare_on_set
from benchmarks.verdict import COUNTED, Claim, at_least, at_most
from mr_elm.engines import make_engine

HELD = Claim('a', 0.5, at_most(1.0), [[1.0, 1.02], [2.0, 2.0]], '1 s')
MISSED = Claim('b', 2.0, at_least(3.0), COUNTED, '2 s')
MOVED = Claim('c', 0.9, at_most(1.0), [[9.0, 9.0], [1.0, 1.2]], '9 s')


@pytest.fixture
def parts(monkeypatch):
    """Put three parts in place of the real ones, on a clean and quiet machine; the value counts how often each ran."""
    ran = []
    monkeypatch.setattr(machine, 'read_commit', lambda: 'abc1234')
    monkeypatch.setattr(machine, 'measure_busy', lambda: 0.1)

    def part(name, *rows):
        return name, lambda bench: ran.append(name) or list(rows)

    for name, run in (part('pesvm/map', HELD), part('dual/grid', MISSED), part('kelm/fit', MOVED)):
        monkeypatch.setitem(bench.PARTS, name, run)
    return ran


def test_the_table_marks_what_was_missed(tmp_path, parts, capsys):
    assert bench.main([str(tmp_path / 'b.json'), 'pesvm/map', 'dual/grid', 'kelm/fit']) == 1
    said = capsys.readouterr().out
    assert said.strip() == (tmp_path / 'b.md').read_text().strip()
    assert '3 targets: 1 met, 1 missed, 1 unsteady' in said
    assert '| a | 0.50 | at most 1 | met | 1 s; runs moved by 2% |' in said
    assert '| b | 2.00 | at least 3 | **missed** | 2 s |' in said
    assert '| c | 0.90 | at most 1 | unsteady | 9 s; runs moved by 20% |' in said
    assert 'Not measured: ' in said and 'hadoop/bare' in said
    found = json.loads((tmp_path / 'b.json').read_text())
    assert list(found) == ['pesvm/map', 'dual/grid', 'kelm/fit']
    for part in found.values():
        assert all(part['machine'][name] for name in ('processor', 'cores', 'memory', 'numpy', 'BLAS', 'when'))


def test_the_status_is_that_of_the_parts_measured_now(tmp_path, parts):
    out = str(tmp_path / 'b.json')
    assert bench.main([out, 'dual/grid']) == 1
    assert bench.main([out, 'dual/grid', '--size', 'quick']) == 0
    assert bench.main([out, 'pesvm/map', 'kelm/fit']) == 0
    assert set(json.loads((tmp_path / 'b.json').read_text())) == {'dual/grid', 'pesvm/map', 'kelm/fit'}


def test_a_resumed_run_measures_only_what_is_not_there(tmp_path, parts):
    out = str(tmp_path / 'b.json')
    bench.main([out, 'pesvm/map'])
    bench.main([out, '--resume', 'pesvm/map', 'kelm/fit'])
    assert parts == ['pesvm/map', 'kelm/fit']


def test_changes_and_other_programs_keep_it_from_measuring(tmp_path, parts, monkeypatch):
    monkeypatch.setattr(machine, 'read_commit', lambda: 'abc1234-dirty')
    with pytest.raises(ValueError, match='without changes, found abc1234-dirty'):
        bench.main([str(tmp_path / 'b.json'), 'pesvm/map'])
    assert bench.main([str(tmp_path / 'b.json'), 'pesvm/map', '--size', 'quick']) == 0 and parts == ['pesvm/map']
    monkeypatch.setattr(machine, 'measure_busy', iter([0.9, 0.6, 0.4]).__next__)
    machine.wait_until_quiet()
    monkeypatch.setattr(machine, 'measure_busy', lambda: 0.75)
    with pytest.raises(ValueError, match='at most 50% of its cores, found 75%'):
        machine.wait_until_quiet(patience=0)


def test_what_other_programs_use_is_a_share_of_the_cores():
    assert 0 <= machine.measure_busy(0.05) <= 1


def test_without_names_all_is_measured_that_needs_no_cluster():
    chosen = bench.choose_parts([])
    assert set(bench.PARTS) - set(chosen) == {'hadoop/bare', 'hadoop/local', 'hadoop/spark'}
    assert bench.choose_parts(['hadoop', 'dual/grid']) == ['dual/grid', 'hadoop/bare', 'hadoop/local', 'hadoop/spark']
    with pytest.raises(ValueError, match='nothing'):
        bench.choose_parts(['nothing'])


def test_a_real_part_compares_two_real_fits(tmp_path):
    bench.main([str(tmp_path / 'b.json'), 'kelm/decompositions', '--size', 'quick'])
    rows = json.loads((tmp_path / 'b.json').read_text())['kelm/decompositions']['rows']
    assert len(rows) == 2 and all(row['value'] > 0 for row in rows)


def test_stages_of_the_kernel_machine_are_called_as_training_calls_them(tmp_path):
    runner = make_engine()
    with kelm.gather_rows(kelm.write_csv(tmp_path / 'rows.csv', *kelm.draw(30, 4)), runner) as data:
        V, omega = np.ones((30, 2)), np.empty((30, 30))
        kelm.fill_by_columns(data, 'tiles', omega)
        np.testing.assert_allclose(kelm.make_product(data)(V)[:, 0],
                                   np.tril(omega).sum(axis=1) + np.tril(omega, -1).sum(axis=0), rtol=1e-9)
        assert kelm.measure_map(data, 'entries')[1] > kelm.measure_map(data, 'tiles')[1] > 0


def test_a_mean_over_settings_is_geometric_and_moves_as_its_runs_do():
    pairs = [([1.0, 1.05], [4.0, 4.2]), ([2.0, 2.1], [2.0, 2.1])]
    row = judge_mean('fit', pairs, at_least(1.5), '')
    assert row.value == pytest.approx(2.0) and row.verdict == 'met'
    moved = judge_mean('fit', [*pairs, ([1.0, 2.0], [4.0, 4.0])], at_least(1.5), '')
    assert moved.verdict == 'unsteady'


def test_every_set_is_raced_and_the_mean_is_over_all_of_them(monkeypatch):
    monkeypatch.delenv('MR_ELM_DATA', raising=False)
    with Bench('normal') as bench:
        results = list(race(lambda d: {f'{d} features': (GaussianNB(), DummyClassifier())}, bench))
    assert [(one.name, one.n_rows, one.n_features, one.n_classes) for one in results] == [
        ('digits', 1797, 64, 10), ('iris', 150, 4, 3), ('wdbc', 569, 30, 2), ('wine', 178, 13, 3)]
    mean, = judge_sets(results, 'all', at_least(1.0))
    each = [judge_set(one, 'ours', 'peer') for one in results]
    assert mean.value == pytest.approx(np.exp(np.mean(np.log([row.value for row in each]))))
    assert {row.group for row in each} == {'ours : peer'} and mean.group == ''
    assert f'4 sets, smallest value {min(row.value for row in each):.2f} on ' in mean.note


def test_the_slowest_settings_of_all_sets_are_named_the_slowest_first():
    results = [Result(name, 100, 4, 2, {f'C {C}': [[1.0, 1.0], [ratio, ratio]] for C, ratio in ratios.items()})
               for name, ratios in {'a': {1: 3.0, 10: 0.5}, 'b': {1: 2.0, 10: 4.0}}.items()]
    rows = judge_slowest(results, 'ours', 'peer', 3)
    assert [row.value for row in rows] == [0.5, 2.0, 3.0] and [row.verdict for row in rows] == ['missed', 'met', 'met']
    assert rows[0].name == 'ours, slowest 1: on a, 100 x 4, 2 classes, C 10, times faster than peer'


def test_what_takes_the_peer_five_milliseconds_may_take_us_one_longer():
    seconds = {'short': (1.5e-3, 1e-3), 'longer': (2.5e-3, 1e-3), 'long': (6.5e-3, 6e-3)}
    pairs = {name: [[ours] * 2, [theirs] * 2] for name, (ours, theirs) in seconds.items()}
    rows = judge_slowest([Result('a', 100, 4, 2, pairs)], 'ours', 'peer')
    assert [row.name.split(', ')[-2] for row in rows] == ['longer', 'long']


@pytest.mark.parametrize('distance, reached', [(0.5, False), (6.0, True)])
def test_labels_that_algorithm_1_does_not_reach_are_a_miss(distance, reached):
    y = np.where(np.arange(200) % 2, 1.0, -1.0)
    X = np.random.default_rng(0).standard_normal((200, 2)) + distance / 2 * y[:, None]
    row = compare_on_set('two clouds', X, y)
    assert (row.value is not None) == reached
    assert (row.verdict == 'missed') or reached
