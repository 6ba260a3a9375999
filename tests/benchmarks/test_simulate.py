"""The model of clusters that are not here: schedules, fits and forecasts."""
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks.scaling.__main__ import main
from benchmarks.scaling.cost_model import (
    MEASURED,
    Costs,
    SimulatedCluster,
    add_stages,
    fit,
    predict,
    queue_sums,
    validate,
)
from benchmarks.scaling.methods import METHODS, Problem
from benchmarks.scaling.runs import Run, write_runs
from benchmarks.scaling.schedule import draw_durations, list_schedule, makespan
from benchmarks.scaling.simulate import check_model, list_remedies, make_forecasts, space_evenly

QUIET = SimulatedCluster(stragglers=0.0, speculate=False)


@pytest.fixture
def durations():
    return np.random.default_rng(3).uniform(1, 9, 60)


def test_one_slot_does_all_the_work(durations):
    assert makespan(durations, 1) == pytest.approx(durations.sum())


@pytest.mark.parametrize('slots', [2, 3, 7, 60, 100])
def test_list_scheduling_keeps_its_bound(durations, slots):
    least = max(durations.sum() / slots, durations.max())
    assert least - 1e-9 <= makespan(durations, slots) <= (2 - 1 / slots) * least + 1e-9


def test_more_slots_are_never_slower(durations):
    spans = [makespan(durations, slots) for slots in range(1, 70)]
    assert all(a >= b - 1e-9 for a, b in zip(spans, spans[1:], strict=False)) and spans[-1] == durations.max()


def test_no_slot_does_two_things_at_once(durations):
    starts, ends, _ = list_schedule(durations, 4)
    running = [((starts <= moment) & (moment < ends)).sum() for moment in np.linspace(0, ends.max(), 500)[:-1]]
    assert max(running) == 4 and ends == pytest.approx(starts + durations)


def test_speculation_catches_stragglers():
    usual = np.full(40, 2.0)
    slow = np.where(np.arange(40) == 39, 30.0, 2.0)
    assert makespan(usual, 8, 2.0) == makespan(usual, 8) == 10.0
    assert makespan(slow, 8) == 38.0
    assert 10.0 < makespan(slow, 8, 2.0) <= 8 + 1.5 * 2 + 2


def test_tasks_are_drawn_about_the_usual():
    rng = np.random.default_rng(1)
    assert draw_durations(20000, 5.0, 0.2, rng).mean() == pytest.approx(5.0, rel=0.01)
    assert draw_durations(20000, 5.0, 0.0, rng, 0.1, 3.0).mean() == pytest.approx(6.0, rel=0.02)
    assert set(draw_durations(5, 5.0, 0.0, rng).tolist()) == {5.0}


def costs_of(method, jobs):
    return Costs(method, 'local', jobs=jobs, job_start=2.0, task_start=0.5, operation=2e-10, spread=0.0,
                 bytes_a_number=10.0, reduce_start=0.3, byte=4e-8, reduce_operation=3e-9, driver_start=1.5,
                 driver_operation=1e-10, driver_number=1e-8)


@pytest.fixture(scope='module')
def spark_runs():
    """Make runs on Spark that the model predicts, with 1, 2 and 20 map tasks a core: the last have a tree of sums."""
    costs, runs = replace(costs_of('pesvm', 1), runner='spark', task_gap=0.05), []
    for nodes, maps, rows in product((1, 2), (1, 2, 20), (10**5, 10**6)):
        problem, waves = Problem(rows, 50, 1000), replace(MEASURED, tree=None, waves=maps, reducers=1)
        stages, n_maps = predict(costs, problem, nodes, waves), maps * nodes
        long = costs.task_start + costs.operation * METHODS['pesvm'].work(problem) / n_maps
        runs.append(Run('speedup', 'spark', 'pesvm', nodes, rows, 50, 1000, 0, add_stages(stages),
                        *(stages[name] for name in ('start', 'map', 'reduce', 'driver')), 1,
                        round(10 * METHODS['pesvm'].emit(problem, n_maps)), 1, 1, n_maps,
                        ';'.join([str(long)] * n_maps), 'm'))
    return costs, runs


def test_runs_on_spark_that_obey_the_model_are_predicted(spark_runs):
    costs, runs = spark_runs
    assert len({run.setting for run in runs}) == len(runs) == 12
    assert [found for _, _, _, found in validate(runs)] == pytest.approx([run.seconds for run in runs], rel=0.03)
    fitted = fit(runs)
    assert (fitted.task_gap, fitted.reduce_start) == pytest.approx((costs.task_gap, costs.reduce_start), rel=0.05)
    assert check_model(runs).claim.value < 0.03 and check_model(runs).claim.verdict == 'unsteady'  # one run each


def test_a_tree_inside_a_job_queues_the_sums_of_few_tasks():
    assert queue_sums(16, 1.0, 4, lambda n: 1.0) == (0, 16)
    assert queue_sums(17, 1.0, 1, lambda n: 1.0) == (1, 2 * 16 + 2)
    assert queue_sums(17, 1.0, 2, lambda n: 0.5) == (1, 16 + 1)
    assert queue_sums(300, 1.0, 300, lambda n: 1.0) == (2, 16 + 16 + 2)
    assert queue_sums(300, 1.0, 300, lambda n: 1.0, 300) == (0, 300)


def made_up(costs, nodes, problem, factor=1.0, experiment='speedup'):
    """Make the run that the model predicts, all seconds times a factor."""
    method, stages = METHODS[costs.method], predict(costs, problem, nodes, replace(MEASURED, reducers=nodes))
    stages = {name: factor * seconds for name, seconds in stages.items()}
    worked = (costs.jobs - 1) if method.passes else 1
    long = costs.task_start + costs.operation * method.work(problem) / nodes
    tasks = '|'.join([';'.join([str(factor * long)] * nodes)] * worked
                     + [';'.join([str(factor * costs.task_start)] * nodes)] * (costs.jobs - worked))
    return Run(experiment, 'local', costs.method, nodes, problem.rows, problem.features, problem.hidden, 0,
               add_stages(stages), stages['start'], stages['map'], stages['reduce'], stages['driver'], 1,
               round(costs.bytes_a_number * method.emit(problem, nodes)), 1, costs.jobs, nodes * costs.jobs, tasks, 'm')


@pytest.mark.parametrize('method, jobs', [('pesvm', 1), ('mr-kelm-tiles', 3), ('mr-kelm-cg', 9), ('sparse-elm', 1),
                                          ('mr-kelm-svd', 4), ('mr-kelm-entries', 4), ('oelm', 1),
                                          ('sphere-svm', 1)])
def test_runs_that_obey_the_model_are_predicted(method, jobs):
    costs, default = costs_of(method, jobs), METHODS[method].default
    runs = [made_up(costs, nodes, replace(default, rows=default.rows * times // 4)) for nodes in (1, 2, 3)
            for times in (1, 2, 4)]
    assert [fitted for _, _, fitted, _ in validate(runs)] == pytest.approx([run.seconds for run in runs], rel=0.03)
    assert fit(runs).task_start == pytest.approx(0.5, rel=0.05)


def test_the_error_of_a_fit_is_that_of_the_runs():
    costs, default = costs_of('pesvm', 1), Problem(100_000, 50, 1000)
    runs = [made_up(costs, nodes, replace(default, rows=default.rows * times), 1 + 0.1 * (-1)**(nodes + times))
            for nodes in (1, 2) for times in (1, 2, 4, 8)]
    forecast, = make_forecasts(runs, [1, 10], [1e6], QUIET, print)
    assert 0.01 < forecast.error < 0.15 and forecast.error_left_out >= forecast.error / 2


def test_more_nodes_are_never_slower_without_stragglers_while_tasks_are_many():
    costs, rows = costs_of('pesvm', 1), Problem(10**9, 50, 1000)
    seconds = [add_stages(predict(costs, rows, nodes, QUIET)) for nodes in (1, 2, 5, 10, 50, 200, 1000)]
    assert seconds == sorted(seconds, reverse=True)


def test_a_wall_stands_where_one_reducer_is_busy_and_moves():
    runs = [made_up(costs_of('pesvm', 1), nodes, Problem(10**6, 50, 1000)) for nodes in (1, 2)]
    forecast, = make_forecasts(runs, space_evenly(1, 1000), [1e9], QUIET, print)
    ways = list(list_remedies(QUIET).values())
    nodes, stage = forecast.wall(1e9, **ways[0])
    assert stage == 'reduce' and nodes < 1000
    assert all(forecast.wall(1e9, **way)[0] > nodes for way in ways[1:])
    assert forecast.wall(1e9, **ways[-1])[0] >= max(forecast.wall(1e9, **way)[0] for way in ways[1:-1])


def test_a_tree_of_sums_is_taken_where_it_saves_time_and_nowhere_else():
    costs, many, few = costs_of('pesvm', 1), Problem(10**9, 50, 1000), Problem(10**7, 50, 1000)
    costs = replace(costs, byte=5e-9)
    chosen, without = (predict(costs, many, 1000, replace(QUIET, tree=tree))['reduce'] for tree in (None, 1))
    assert chosen < without / 2
    assert predict(costs, few, 1000, QUIET)['reduce'] <= predict(costs, few, 1000, replace(QUIET, tree=1))['reduce']
    assert predict(costs, few, 2, QUIET) == predict(costs, few, 2, replace(QUIET, tree=1))


def test_the_seconds_of_a_tree_are_those_of_a_second_job_and_of_its_totals():
    costs, problem = costs_of('pesvm', 1), Problem(1000, 50, 99)
    cluster = replace(MEASURED, tree=4, waves=2, reducers=1)
    one = 10 * 100 * 101 * 4e-8  # seconds for the sums of a map task; 5 nodes make 10 of them, and 3 groups
    assert predict(costs, problem, 5, cluster)['reduce'] == pytest.approx(0.3 + (2.0 + 0.5) + 4 * one + 3 * one)


def test_only_methods_that_send_sums_have_a_tree():
    costs, problem = costs_of('mr-kelm-tiles', 3), METHODS['mr-kelm-tiles'].default
    assert predict(costs, problem, 50, replace(MEASURED, tree=4)) == predict(costs, problem, 50, MEASURED)


def test_seconds_by_stage_are_those_of_the_formulas():
    costs, problem = costs_of('pesvm', 1), Problem(1000, 50, 99)
    stages = predict(costs, problem, 4, MEASURED)
    work = 1000 * 99 * (99 + 100)
    sent = 10 * 4 * 100 * 101
    assert stages == pytest.approx({'start': 2.0, 'map': 0.5 + 2e-10 * work / 4, 'reduce': 0.3 + 4e-8 * sent,
                                    'driver': 1.5 + 1e-10 * 99**3 / 3})


def test_the_command_draws_and_says_what_is_simulated(tmp_path, capsys):
    runs = [made_up(costs_of('pesvm', 1), nodes, Problem(10**6 * times, 50, 1000))
            for nodes in (1, 2) for times in (1, 2)]
    write_runs(tmp_path / 'runs.csv', [*runs, replace(runs[0], method='piesvm')])
    words = ('simulate', '--trace', tmp_path / 'runs.csv', '--nodes', '1..20', '--rows', '1e6..1e8', '-o', tmp_path)
    assert main([str(word) for word in words]) == 0
    page, others = capsys.readouterr()
    assert 'piesvm on local: left out' in others
    assert re.search(r'Median error [01]\.\d%', page) and 'scales up to' in page
    assert page == (tmp_path / 'simulated.md').read_text()
    assert (tmp_path / 'simulated-pesvm-local.png').stat().st_size > 10_000
    assert '</svg>' in (tmp_path / 'simulated-pesvm-local.svg').read_text()


def test_runs_that_say_too_little_are_refused(tmp_path, capsys):
    write_runs(tmp_path / 'runs.csv', [made_up(costs_of('pesvm', 1), 1, Problem(10**6, 50, 1000))])
    assert main(['simulate', '--trace', str(tmp_path / 'runs.csv'), '-o', str(tmp_path)]) == 1
    assert 'at least two numbers of nodes' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(['simulate', '--trace', 'x', '--nodes', '10..1'])


def test_round_numbers_are_spaced_evenly():
    assert space_evenly(1, 30) == [1, 2, 5, 10, 20, 30] and space_evenly(3, 3) == [3]
