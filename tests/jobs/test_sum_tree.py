"""A tree of sums changes no bit of a model and no account of the rows, and is taken only where it is faster."""

import json
import math
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.files import GOOD

from mr_elm.drivers import gram_job
from mr_elm.drivers.gram_job import count_maps, find_fan_in
from mr_elm.engines import find_engine, make_engine
from mr_elm.engines.by_hand import main
from mr_elm.engines.sum_tree import SumCosts, choose_fan_in, predict_sum_seconds
from mr_elm.errors import AccountingError
from mr_elm.passes.data_set import DataSet, JobOutput
from mr_elm.passes.sum_tree import SumTree, plan_sums
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.splits import plan_splits
from mr_elm.streaming.mr_gram import MRGram
from mr_elm.streaming.mr_sum import MRSum

TRAINING = 'pesvm', 'packed', '--hidden', '12', '--nu', '10'


@pytest.fixture
def folder(packed_classes, elm, monkeypatch):
    """Work in a folder with packed rows of three classes, and the files of a stage of Gram."""
    monkeypatch.chdir(packed_classes.parent)
    os.rename('pack', 'packed')
    assert elm('layer', *TRAINING, '--model', 'm.npz', '-q').status == 0
    return packed_classes.parent


@pytest.fixture
def data(folder):
    """Plan to read the rows."""
    return DataSet(plan_inputs(['packed'], RowOptions()), make_engine(arguments=('-D', 'mapreduce.job.maps=5')))


FILES = ['--layer', 'm.layer.npz', '--grid', 'm.grid.json', '--class-weights', 'm.class-weights.json']


def run_in_tree(data, fan_in=2):
    """Run the job of Gram with a tree of sums: its pairs, and the accounts."""
    stage = data.run(MRGram, absolute(FILES), 'Gram', SumTree(MRSum, fan_in))
    return list(stage), stage.accounts


def absolute(words):
    """Make the names of files among words absolute, as tasks run elsewhere."""
    return [word if word.startswith('--') else os.path.abspath(word) for word in words]


@pytest.mark.parametrize(
    'runner, n_maps, fan_in', [('inline', 1, 2), ('inline', 8, 3), ('inline', 8, 100), ('local', 5, 2)]
)
def test_the_model_has_the_same_bits_with_any_tree(elm, folder, model_of, maps, monkeypatch, runner, n_maps, fan_in):
    assert elm('train', *TRAINING, '--model', 'whole.npz', '-q').status == 0
    monkeypatch.setattr(gram_job, 'find_fan_in', lambda *_: fan_in)
    done = elm('train', *TRAINING, '--model', 'tree.npz', '-q', '-r', runner, *maps(n_maps))
    assert done.status == 0, done.err
    (header, arrays), (expected, whole) = model_of('tree.npz'), model_of('whole.npz')
    assert header == expected
    assert {name: array.tobytes() for name, array in arrays.items()} == {
        name: array.tobytes() for name, array in whole.items()
    }


@pytest.fixture
def written(folder, by_hand):
    """Run a map task for each row group of packed rows: the lines that each wrote."""
    plan = plan_inputs(['packed'], RowOptions())
    return [
        by_hand(MRGram, plan, json.dumps(task).encode(), *FILES, '--planned-splits') for task in plan_splits(plan, 1000)
    ]


def join(lines):
    return b''.join(line + b'\n' for line in lines)


def test_any_tree_of_tasks_run_by_hand_writes_the_lines_of_one_reducer(written, by_hand_alone):
    every = [line for lines in written for line in lines]
    whole = by_hand_alone(MRGram, join(sorted(every)), *FILES, task='reducer')

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False), st.integers(1, 9))
    def check(rng: random.Random, n_groups):
        outputs = rng.sample(written, len(written))
        groups = [[line for lines in outputs[k::n_groups] for line in lines] for k in range(n_groups)]
        added = [line for group in groups for line in by_hand_alone(MRSum, join(group))]
        assert sorted(by_hand_alone(MRSum, join(sorted(added)), task='reducer')) == sorted(whole)

    check()


def test_rows_that_are_left_out_are_named_as_without_a_tree(elm, write, tmp_path, maps, monkeypatch):
    rows = write('rows.csv', GOOD + '1,bad,2\n')
    for name, fan_in in (('a', 1), ('b', 2)):
        monkeypatch.setattr(gram_job, 'find_fan_in', lambda *_, n=fan_in: n)
        done = elm(
            'train', 'pesvm', rows, '--hidden', 5, '--model', tmp_path / f'{name}.npz', '--bad-rows', 'skip', *maps(4)
        )
        assert done.status == 0, done.err
    assert (tmp_path / 'a.npz.rejected').read_bytes() == (tmp_path / 'b.npz.rejected').read_bytes() != b''


def test_the_accounts_are_those_of_the_first_job(data):
    _, accounts = run_in_tree(data)
    plain = data.run(MRGram, absolute(FILES), 'Gram')
    assert list(plain) and accounts.counts == plain.accounts.counts and len(accounts.counts) == 5


def change_parts(monkeypatch, change):
    """Let something happen to the parts that map tasks have written, after they are listed."""
    run_job = type(make_engine()).run_job

    def run(engine, job_class, plan, *arguments):
        if job_class is MRSum:
            plan = change(plan) or plan
        return run_job(engine, job_class, plan, *arguments)

    monkeypatch.setattr(type(make_engine()), 'run_job', run)


@pytest.mark.parametrize('keep', [lambda files: files[1:], lambda files: [*files[:-1]]])
def test_sums_of_a_lost_task_are_missed(data, monkeypatch, keep):
    change_parts(monkeypatch, lambda plan: type(plan)(keep(plan.files), n_tasks=2))
    with pytest.raises(AccountingError, match='every byte must be read once'):
        run_in_tree(data)


def test_sums_that_are_read_twice_are_refused(data, monkeypatch):
    change_parts(monkeypatch, lambda plan: type(plan)([*plan.files, plan.files[0]], n_tasks=2))
    with pytest.raises(AccountingError, match='a task was counted twice'):
        run_in_tree(data)


def test_a_file_of_sums_that_is_cut_is_refused(written, by_hand, read_pairs, tmp_path):
    path = tmp_path / 'part-0'
    path.write_bytes(join(written[0]))
    plan = plan_sums(JobOutput(MRSum, str(tmp_path)).entries(), 2)
    path.write_bytes(join(written[0][:-1]))
    lines = by_hand(MRSum, plan, json.dumps([[0, 0, plan.size]]).encode(), '--planned-splits')
    messages = [value['message'] for kind, _, value in read_pairs(lines) if kind == 'error']
    assert len(messages) == 1 and f'{path}: expected {plan.size:,} bytes of sums, found' in messages[0]


def test_stages_run_by_hand_write_the_same_lines_with_a_tree(folder, maps):
    def run(job_class, output, *words):
        assert main(job_class, [*words, '-q', '--output-dir', output]) == 0
        return sorted(line for path in Path(output).glob('part-*') for line in path.read_bytes().splitlines())

    plain = run(MRGram, 'plain', *FILES, 'packed', *maps(5))
    run(MRGram, 'partial', *FILES, 'packed', *maps(5), '-D', 'mapreduce.job.reduces=0')
    assert len(list(Path('partial').glob('part-*'))) == 5
    assert run(MRSum, 'tree', 'partial') == plain == run(MRSum, 'again', 'plain')


def test_sums_by_hand_that_are_damaged_are_refused(folder, capsys):
    (folder / 'm.part').write_bytes(b'gram 1 1\t3:AAAA\n')
    assert main(MRSum, ['m.part']) == 1 and 'damaged' in capsys.readouterr().err
    (folder / 'empty').write_bytes(b'')
    assert main(MRSum, ['empty']) == 1 and 'all are empty' in capsys.readouterr().err


COSTS = SumCosts(10.0, 1e-8)
sizes = st.integers(1, 5000), st.floats(1e3, 1e9)


@given(*sizes)
def test_the_tree_that_is_chosen_is_never_slower_than_none(n_maps, n_bytes):
    def seconds(fan_in):
        return predict_sum_seconds(n_maps, n_bytes, fan_in, n_maps, COSTS, lambda n: 1 / 8)

    fan_in = choose_fan_in(n_maps, n_bytes, lambda n: 1 / 8, COSTS)
    assert seconds(fan_in) <= min(seconds(1), seconds(2), seconds(16))
    assert fan_in == 1 or seconds(fan_in) < seconds(1)


@given(*sizes)
def test_no_tree_is_chosen_where_reduce_tasks_are_done_before_a_job_has_started(n_maps, n_bytes):
    if n_maps * n_bytes * COSTS.byte <= COSTS.job:
        assert choose_fan_in(n_maps, n_bytes, lambda n: 1.0, COSTS) == 1


def test_the_best_tree_of_many_maps_adds_about_as_many_sums_on_both_levels():
    fan_in = choose_fan_in(4096, 1e7, lambda n: 1.0, COSTS)
    assert fan_in == math.isqrt(4096)


def test_only_a_cluster_with_many_map_tasks_takes_a_tree():
    hadoop = make_engine('hadoop')
    assert [find_fan_in(hadoop, n_maps, 1000) for n_maps in (1, 10, 100)] == [1, 1, 1]
    assert find_fan_in(hadoop, 5000, 1000) > 1
    assert find_fan_in(make_engine('local'), 5000, 1000) == 1
    assert find_fan_in(find_engine('spark')(('--master', 'yarn')), 5000, 1000) == 1


def test_many_small_files_of_text_count_as_many_map_tasks_on_a_cluster(write):
    plan = plan_inputs([str(write('rows.csv', GOOD))], RowOptions())
    many = replace(plan, files=plan.files * 3000)
    assert count_maps(make_engine('hadoop'), many) == 3000 and count_maps(make_engine('local'), many) < 100
    assert count_maps(make_engine('hadoop'), plan) == 1


def test_each_file_of_sums_is_read_whole_by_one_of_the_tasks(tmp_path):
    for number in range(7):
        (tmp_path / f'part-{number}').write_bytes(b'x' * (100 + number) * (number != 4))
    plan = plan_sums(JobOutput(MRSum, str(tmp_path)).entries(), 3)
    tasks = plan_splits(plan, plan.n_tasks)
    assert len(tasks) == 2 and sorted(split for task in tasks for split in task) == [
        [number, 0, file.size] for number, file in enumerate(plan.files)
    ]
