"""The estimators that choose their machines have scikit-learn's interface."""

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
