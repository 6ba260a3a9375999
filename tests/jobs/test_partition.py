"""How many reduce tasks share keys, and how evenly."""

from collections import Counter

import numpy as np
import pytest
from reference.hadoop_jobs import hash_key

from mr_elm.drivers.gram_job import count_reducers
from mr_elm.engines import make_engine
from mr_elm.engines.base import REDUCE_TASKS
from mr_elm.rows.wire import make_key
from mr_elm.sums.gram import GramSum, GridSteps, measure_tiles


# Hadoop hashes the bytes of a key as Java's documentation defines Arrays.hashCode(byte[]): h begins as 1, each byte b
# makes 31 h + b of it, and an int overflows at 2^31. By hand, with the bytes a 97, b 98, s 115, u 117, m 109, space 32,
# y 121, e 101:
#     ''         1
#     'a'        31 * 1 + 97 = 128
#     'ab'       31 * 128 + 98 = 4066
#     'sum yes'  s   31 * 1 + 115 = 146
#                u   31 * 146 + 117 = 4643
#                m   31 * 4643 + 109 = 144042
#                    31 * 144042 + 32 = 4465334
#                y   31 * 4465334 + 121 = 138425475
#                e   31 * 138425475 + 101 = 4291189826, which is 4291189826 - 2^32 = -3777470 as an int
#                s   31 * -3777470 + 115 = -117101455
# Its HashPartitioner deals a key out to the reduce task (hash & (2^31 - 1)) % n; -117101455 & (2^31 - 1) is
# 2^31 - 117101455 = 2030382193 = 7 * 290054599 = 10 * 203038219 + 3.
@pytest.mark.parametrize(
    'key, positive, task_of_7, task_of_10',
    [('', 1, 1, 1), ('a', 128, 2, 8), ('ab', 4066, 6, 6), ('sum yes', 2030382193, 0, 3)],
)
def test_a_key_has_the_hash_of_its_bytes_in_java(key, positive, task_of_7, task_of_10):
    assert hash_key(key) == positive
    assert (hash_key(key) % 7, hash_key(key) % 10) == (task_of_7, task_of_10)


def count_busiest(keys):
    """Return how many of some keys the busiest of the reduce tasks gets that Hadoop is asked for."""
    _, setting = make_engine('hadoop').reducers(min(len(keys), REDUCE_TASKS))
    return max(Counter(hash_key(key) % int(setting.rpartition('=')[2]) for key in keys).values())


def test_machines_are_shared_almost_evenly():
    for n_machines in range(2, 60):
        busiest = count_busiest([make_key('rows', machine, 0) for machine in range(n_machines)])
        assert busiest <= -(-n_machines // REDUCE_TASKS) + 2
        assert busiest == 1 or n_machines > REDUCE_TASKS


@pytest.mark.parametrize('n_hidden', [100, 1000, 5000])
def test_more_reduce_tasks_share_what_more_map_tasks_send(n_hidden):
    triangle = 32 / 3 * (n_hidden + 1) * (n_hidden + 2)  # bytes of high and low parts
    n_tiles = len(list(measure_tiles(n_hidden + 1)))
    tasks = [count_reducers(2**k, n_hidden) for k in range(24)]
    assert tasks == sorted(tasks) and (tasks[0], tasks[-1]) == (1, n_tiles)
    assert all(2**k * triangle <= 2**30 * n for k, n in enumerate(tasks) if n < n_tiles)


def test_one_reduce_task_is_not_asked_for_and_the_user_has_the_last_word():
    assert make_engine('hadoop').reducers(1) == []
    assert make_engine('hadoop', ('-D', 'mapreduce.job.reduces=3')).reducers(8) == []


def test_sizes_are_those_of_the_tiles():
    tiles = GramSum(700, GridSteps(1.0, 1.0, 1.0)).tiles()
    assert [(i, j, len(high)) for (i, j), (high, _) in tiles] == list(measure_tiles(700))
    assert sum(n for _, _, n in measure_tiles(700)) == 700 * 701 // 2
    assert np.all([n > 0 for _, _, n in measure_tiles(1)])
