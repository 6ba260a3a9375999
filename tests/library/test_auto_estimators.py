"""The estimators that choose their machines have scikit-learn's interface."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.estimators import AutoClassifier, AutoRegressor

FEW = {'budget': 10}  # nodes; as many as without a budget take twice as long, in hundreds of trainings


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(
    'estimator', [AutoClassifier(**FEW), AutoRegressor(**FEW), AutoClassifier(**FEW, keep_sums=True)], ids=repr
)
def test_scikit_learn_finds_no_fault(estimator):
    found = check_estimator(estimator, on_fail=None)
    assert [(row['check_name'], row['exception']) for row in found if row['status'] == 'failed'] == []


def test_verbose_says_what_is_chosen(capsys):
    X = np.random.default_rng(0).normal(size=(60, 2))
    for verbose in (False, True):
        AutoClassifier(budget=20, verbose=verbose).fit(X, X[:, 0] > 0)
        assert bool(capsys.readouterr().err) == verbose
