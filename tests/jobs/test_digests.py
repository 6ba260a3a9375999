"""The bits of the models of many trainings are those that are stored: whoever changes them does so on purpose."""

import json

import numpy as np
import pytest
from reference import digests

FILE = digests.read_file()
TRAININGS = FILE['trainings']
LOCAL = 'pesvm sigmoid', 'sphere-svm', 'mr-kelm'
HINT = 'the model has other bits than before: if that is intended, `make digests`, and say in the commit message why'


@pytest.fixture(scope='module')
def stored():
    """Give the digests of a machine like this one; the test is skipped where none are stored."""
    found, reason = digests.find_digests(FILE['digests'], digests.describe_machine())
    return found or pytest.skip(reason)


@pytest.fixture(scope='module')
def folder(stored, tmp_path_factory):
    """Give the rows of all trainings."""
    folder = tmp_path_factory.mktemp('digests')
    digests.write_rows(folder)
    return folder


@pytest.mark.parametrize('name', TRAININGS)
def test_a_training_makes_the_model_that_is_stored(name, stored, folder, tmp_path):
    assert digests.train(TRAININGS[name], folder, tmp_path / 'm.npz') == stored[name], HINT


@pytest.mark.parametrize('name', LOCAL)
def test_several_tasks_make_it_too(name, stored, folder, tmp_path):
    words = '-r', 'local', '-D', 'mapreduce.job.maps=3'
    assert digests.train(TRAININGS[name], folder, tmp_path / 'm.npz', *words) == stored[name], HINT


def test_every_machine_has_a_digest_of_every_training():
    assert len(TRAININGS) >= 30 and FILE['digests']
    for entry in FILE['digests']:
        assert list(entry['of']) == list(TRAININGS)
        assert entry['holds_for'].keys() == digests.describe_machine().keys()


def test_the_trainings_are_of_all_methods_and_differ():
    assert {commands[0][1] for commands in TRAININGS.values()} == {
        'auto',
        'pesvm',
        'elm',
        'sparse-elm',
        'oelm',
        'sphere-svm',
        'mr-kelm',
    }
    for entry in FILE['digests']:
        assert len(set(entry['of'].values())) == len(TRAININGS)


def test_another_machine_is_named_where_nothing_is_compared():
    machine = {**digests.describe_machine(), 'numpy': '1.0'}
    found, reason = digests.find_digests(FILE['digests'], machine)
    assert found is None and reason.endswith(f'{", ".join(machine.values())}: `make digests` adds it')


def test_a_digest_is_of_all_arrays_and_of_nothing_else(tmp_path):
    def digest(**arrays):
        np.savez(tmp_path / 'm.npz', **arrays)
        return digests.digest_model(tmp_path / 'm.npz')

    a, b = np.arange(6.0), np.zeros(2)
    whole = digest(header='x', a=a, b=b)
    assert digest(b=b, a=a, header='y') == whole
    np.savez(tmp_path / 'm.sums.npz', header='z', b=b)
    assert digest(header='x', a=a) == whole
    (tmp_path / 'm.sums.npz').unlink()
    for other in (
        {'a': a, 'b': -b},
        {'a': a.reshape(2, 3), 'b': b},
        {'a': a.astype(np.float32), 'b': b},
        {'a': a},
        {'a': a, 'c': b},
        {'a': np.nextafter(a, 9), 'b': b},
    ):
        assert digest(**other) != whole


def test_the_file_is_as_the_program_writes_it(tmp_path, monkeypatch):
    text = digests.FILE.read_text()
    monkeypatch.setattr(digests, 'FILE', tmp_path / 'digests.json')
    digests.write_file(FILE)
    assert digests.FILE.read_text() == text and json.loads(text) == FILE
