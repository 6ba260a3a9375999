"""Every job runs on EMR and gives what it gives inline."""
import numpy as np
import pytest

OPTIONS = ('--hidden', 30, '--nu', 10, '--class-weight', 'balanced')


@pytest.fixture(scope='module')
def inline_model(here, rows, tmp_path_factory):
    """Train inline from text."""
    path = tmp_path_factory.mktemp('inline') / 'm.npz'
    here('train', 'pesvm', rows, *OPTIONS, '--model', path, '-q')
    return path


def test_x(account, rows, inline_model, model_of, tmp_path):
    r = account.elm('train', 'pesvm', rows, *OPTIONS, '--model', tmp_path / 'm.npz')
    print(r)
    print(account.left())
    assert 0
