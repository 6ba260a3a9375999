"""How many reduce tasks share keys, and how evenly."""

import numpy as np
import pytest

from mr_elm.drivers.gram_job import share_tiles
from mr_elm.engines.partition import REDUCE_TASKS, count_tasks, find_fewest_tasks, hash_key, measure_largest_shares
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


def test_shares_are_those_of_the_tasks_that_java_deals_keys_out_to():
    """Of 2 tasks, number 1 gets '' and 'sum yes'; of 3, number 1 gets all but 'a', since 128 = 3 * 42 + 2."""
    sizes = {'': 1.0, 'a': 2.0, 'ab': 3.0, 'sum yes': 4.0}
    assert list(measure_largest_shares(sizes, 3)) == [1.0, 0.5, 0.8]


@pytest.fixture
def sizes(rng):
    return {make_key('gram', i, j): float(rng.integers(1, 9)) for i in range(5) for j in range(i, 5)}


def test_the_busiest_task_has_what_its_keys_sum_up_to(sizes):
    for n, share in enumerate(measure_largest_shares(sizes, 40), 1):
        loads = [sum(size for key, size in sizes.items() if hash_key(key) % n == task) for task in range(n)]
        assert share == pytest.approx(max(loads) / sum(loads))


def test_no_fewer_tasks_would_do(sizes):
    shares = np.array(list(measure_largest_shares(sizes, 2 * len(sizes))))
    for share in (2.0, 1.0, 0.6, 0.3, 0.2):
        n, found = find_fewest_tasks(sizes, share)
        assert found == shares[n - 1] <= share + 1e-12 and (shares[: n - 1] > share).all()
    n, found = find_fewest_tasks(sizes, 1e-9)
    assert found == shares[n - 1] == shares.min()


def busiest(keys, n):
    return np.bincount([hash_key(key) % n for key in keys]).max()


def test_machines_are_shared_almost_evenly():
    for n_machines in range(1, 60):
        keys = [make_key('rows', machine, 0) for machine in range(n_machines)]
        found = busiest(keys, count_tasks(keys))
        assert found <= min(-(-n_machines // REDUCE_TASKS) + 1, busiest(keys, min(n_machines, REDUCE_TASKS)))
        assert found == 1 or n_machines > REDUCE_TASKS


@pytest.mark.parametrize('n_hidden', [100, 1000, 5000])
def test_more_reduce_tasks_share_what_more_map_tasks_send(n_hidden):
    triangle = 32 / 3 * (n_hidden + 1) * (n_hidden + 2)  # bytes of high and low parts
    found = [(2**k, *share_tiles(2**k, n_hidden)) for k in range(24)]
    tasks = [n for _, n, _ in found]
    assert tasks == sorted(tasks) and tasks[0] == 1 and (tasks[-1] > 1) == (n_hidden > 255)
    assert all(maps * triangle * share <= 2**30 for maps, n, share in found if n < tasks[-1])


def test_sizes_are_those_of_the_tiles():
    tiles = GramSum(700, GridSteps(1.0, 1.0, 1.0)).tiles()
    assert [(i, j, len(high)) for (i, j), (high, _) in tiles] == list(measure_tiles(700))
    assert sum(n for _, _, n in measure_tiles(700)) == 700 * 701 // 2
    assert np.all([n > 0 for _, _, n in measure_tiles(1)])
