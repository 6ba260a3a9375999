"""Spark makes the models whose digests are stored."""

import pytest
from reference import digests

FILE = digests.read_file()


@pytest.mark.parametrize('name', ['pesvm landmarks', 'pesvm leaves', 'sphere-svm'])
def test_a_training_on_spark_makes_the_model_that_is_stored(name, session, tmp_path):
    stored, reason = digests.find_digests(FILE['digests'], digests.describe_machine())
    if stored is None:
        pytest.skip(reason)
    digests.write_rows(tmp_path)
    words = '-r', 'spark', '--partitions-of-rows', 3
    assert digests.train(FILE['trainings'][name], tmp_path, tmp_path / 'm.npz', *words) == stored[name]
